"""The format of log lines, without the tokens of links."""

import logging
import re

_TOKEN = re.compile(r"(/invitations/|/password/user_\w+/|/unsubscribe/)[\w:-]{16,}")


class WithoutTokens(logging.Formatter):
    """A formatter that masks the tokens of invitations, of new passwords and of e-mails.

    Django logs the address of each answer with a status of 400 or more, and a traceback may contain it.
    """

    def format(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub(r"\1[token]", super().format(record))
