"""The formats of log lines, in which the secret tokens of links are masked."""

import json
import logging
import re
from datetime import UTC, datetime

from memoryhub.pure import request_ids

_TOKEN = re.compile(r"(/invitations/|/password/user_\w+/|/unsubscribe/)[\w:-]{16,}")


class WithoutTokens(logging.Formatter):
    """A formatter that masks the secret tokens in links: to accept an invitation, to set a new password, or to stop
    e-mails.

    Django logs the addresses of such links, and tracebacks may contain them.
    """

    def format(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub(r"\1[token]", super().format(record))


class Json(WithoutTokens):
    """A formatter that writes each record as one line of JSON, with the id of the request during which the record was
    made."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _TOKEN.sub(r"\1[token]", record.getMessage()),
        }
        if request_id := request_ids.current.get():
            line["request_id"] = request_id
        if record.exc_info:
            line["error"] = _TOKEN.sub(r"\1[token]", self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)
