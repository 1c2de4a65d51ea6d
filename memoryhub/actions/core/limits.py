"""The limits of a memory store, checked by one function for every door, and the count of a key's calls in a minute."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from memoryhub.protocol import results
from memoryhub.protocol.errors import ToolError

WINDOW = 60
"""The length of the window, in seconds, in which a key's calls are counted."""
LONGEST_DELAY = 60
"""The delay, in seconds, by which a call may be counted after a later one without an error in the count."""

Seconds = Sequence[tuple[int, int]]
"""(second since 1970, number of calls) for each second with calls, in order."""


class Limits(NamedTuple):
    """The limits of a store; None means no limit, and the names are those of MEMORYHUB_LIMITS.

    `memory_bytes` and `versions` limit one memory, `memories` and `total_bytes` the store, `view_characters` one view,
    `calls` one key in any 60 seconds, and `audit_bytes` the store's audit.
    """

    memory_bytes: int | None
    memories: int | None
    total_bytes: int | None
    versions: int | None
    view_characters: int | None
    calls: int | None
    audit_bytes: int | None


class Usage(NamedTuple):
    """What a store holds after a call, and the calls of its key in the last minute (None: not counted)."""

    memories: int
    total_bytes: int
    calls: int | None
    limits: Limits


def check(
    limits: Limits,
    path: str,
    *,
    old_size: int | None,
    new_size: int,
    memories: int,
    total_bytes: int,
    versions: int = 0,
) -> None:
    """Raise ToolError for the first limit that a write would exceed.

    Only the limit of versions stops a write that makes a memory smaller, since it makes a version too. `old_size`
    is None for a new memory. `memories` and `total_bytes` are those of the store before the write, `versions` the kept
    versions of the memory.
    """
    grows = new_size > (old_size or 0)
    if limits.memory_bytes is not None and new_size > limits.memory_bytes and grows:
        raise ToolError(results.memory_too_large(path, new_size, limits.memory_bytes))
    if limits.memories is not None and old_size is None and memories >= limits.memories:
        raise ToolError(results.too_many_memories(memories))
    total = total_bytes - (old_size or 0) + new_size
    if limits.total_bytes is not None and total > limits.total_bytes and grows:
        raise ToolError(results.store_too_large(total, limits.total_bytes))
    check_versions(limits, path, versions)


def check_versions(limits: Limits, path: str, versions: int) -> None:
    """Raise ToolError if a memory may have no further version; deletions do not check this."""
    if limits.versions is not None and versions >= limits.versions:
        raise ToolError(results.too_many_versions(path, versions))


# ------------------------------------------------------------------------------------------------ calls a minute


class Window(NamedTuple):
    """The result of counting some calls.

    `seconds` are the counts to store if the calls fit the limit, else None. `calls` is the number of calls in the last
    minute, these included if they fit. `wait` is the number of whole seconds until a retry if they do not fit.
    """

    seconds: Seconds | None
    calls: int
    wait: int


def count_calls(seconds: Seconds, at: datetime, calls: int, limit: int) -> Window:
    """Count calls made at a moment, all or none, so that no 60 seconds contain more calls than the limit.

    Calls are counted by whole seconds, and every second that the minute touches counts fully. Calls that arrive
    slightly out of order are counted on both sides of the moment; seconds far from it (the clock was set) are dropped.
    """
    now = int(at.timestamp())
    near = [(second, count) for second, count in seconds if abs(second - now) <= WINDOW + LONGEST_DELAY]
    there = _within(near, now)
    if there + calls > limit:
        return Window(None, there, _wait(near, now, calls, limit))
    known = dict(near)
    known[now] = known.get(now, 0) + calls
    return Window(sorted(known.items()), there + calls, 0)


def calls_within(seconds: Seconds, at: datetime) -> int:
    """Return the number of calls in the minute before a moment."""
    return _within(seconds, int(at.timestamp()))


def _within(seconds: Iterable[tuple[int, int]], middle: int) -> int:
    return sum(count for second, count in seconds if abs(second - middle) <= WINDOW)


def _wait(seconds: Seconds, now: int, calls: int, limit: int) -> int:
    """Return the fewest seconds until the calls would fit; at most WINDOW, because clients ignore longer waits.

    A call from the last fraction of a second can then be refused once more, for one second.
    """
    if calls > limit:
        return WINDOW
    ends = (second + WINDOW + 1 for second, _ in seconds)
    return min(WINDOW, *(end - now for end in ends if end > now and _within(seconds, end) + calls <= limit))
