"""Requests that take seconds and not milliseconds: few of them are answered at once, in threads of their own.

An export reads a whole memory store, and an upload is unpacked. Many of them at once would hold every thread and share
Python's time out among themselves, and the call of an agent would come last. So they wait in a queue of their own.
"""

from memoryhub.serving.pool import Pool

AT_ONCE = 2
MOST_WAITING = 256
LONGEST_WAIT = 50.0
"""Proxies wait a minute for an answer."""

_ENDINGS = ("/export", "/imports/new", "/selection")


def is_heavy(path: str) -> bool:
    """Whether a form or a body that is sent to this address may ask for an export, an import or a table."""
    return path.endswith(_ENDINGS) or "/tables/" in path


def pool() -> Pool:
    """The threads of this process for such requests."""
    return Pool(AT_ONCE, most_waiting=MOST_WAITING, longest_wait=LONGEST_WAIT)
