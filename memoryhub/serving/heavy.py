"""Requests that take seconds. Only AT_ONCE of them run at once, in threads of their own.

An export and the search of an erasure read a whole memory store, and an upload is unpacked. Many of these at once would
occupy every thread and the processor, and delay the calls of agents. So they wait in a queue of their own.
"""

from memoryhub.serving.pool import Pool

AT_ONCE = 2
MOST_WAITING = 256
LONGEST_WAIT = 50.0
"""The longest wait for a thread in seconds; proxies wait a minute for an answer."""
LONGEST_WORK = 300.0
"""Seconds of the processor after which such a request is stopped."""

_ENDINGS = ("/export", "/imports/new", "/copy", "/selection", "/erase")


def is_heavy(path: str) -> bool:
    """Return whether a request with a body, sent to this address, may ask for an export, an import, an
    erasure or a table: these take seconds."""
    return path.endswith(_ENDINGS) or "/tables/" in path


def pool() -> Pool:
    """Return this process's pool for heavy requests."""
    return Pool(AT_ONCE, most_waiting=MOST_WAITING, longest_wait=LONGEST_WAIT, longest_work=LONGEST_WORK)
