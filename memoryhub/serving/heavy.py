"""Requests that take seconds, such as exports. At most AT_ONCE of them run at once, in threads of their own.

So they do not occupy every thread, and do not delay the calls of agents.
"""

from memoryhub.serving.pool import Pool

AT_ONCE = 2
MOST_WAITING = 256
LONGEST_WAIT = 50.0
"""The longest wait for a thread in seconds; proxies wait a minute for an answer."""
LONGEST_WORK = 300.0
"""Seconds of the processor after which a heavy request is stopped."""

_ENDINGS = ("/export", "/imports/new", "/copy", "/selection", "/erase")


def is_heavy(path: str) -> bool:
    """Return whether requests with a body are heavy at this address: they may ask for an export, an import, an erasure
    or a table."""
    return path.endswith(_ENDINGS) or "/tables/" in path


def pool() -> Pool:
    """Return this process's pool for heavy requests."""
    return Pool(AT_ONCE, most_waiting=MOST_WAITING, longest_wait=LONGEST_WAIT, longest_work=LONGEST_WORK)
