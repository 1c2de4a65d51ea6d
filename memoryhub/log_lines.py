"""The lines of the log: whatever writes one, the token of an invitation is not in it."""

import logging
import re

_TOKEN = re.compile(r"(/invitations/)[\w-]{16,}")


class WithoutTokens(logging.Formatter):
    """Django logs the address of each answer of 400 and more, and a traceback may have it too."""

    def format(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub(r"\1[token]", super().format(record))
