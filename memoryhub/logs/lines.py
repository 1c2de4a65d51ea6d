"""The format of log lines, without the tokens of invitations."""

import logging
import re

_TOKEN = re.compile(r"(/invitations/)[\w-]{16,}")


class WithoutTokens(logging.Formatter):
    """A formatter that masks the tokens of invitations. Django logs the address of each answer with a status of 400 or
    more, and a traceback may contain it."""

    def format(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub(r"\1[token]", super().format(record))
