"""The limits of a memory store: one function decides for every door; and how often a key may call in a minute."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from memoryhub.protocol import results
from memoryhub.protocol.errors import ToolError

WINDOW = 60
"""Seconds in which a key's calls are counted."""
LONGEST_DELAY = 60
"""Seconds by which a call may be counted after a later one and still be counted right."""

Seconds = Sequence[tuple[int, int]]
"""(second since 1970, calls in it) of those seconds that had any, in order."""


class Limits(NamedTuple):
    """Of a memory its bytes, of a store its memories and bytes, of a memory its versions, of a view its characters, of
    a key its calls in any 60 seconds, of a store's audit its bytes; null is no limit. The names are those of
    MEMORYHUB_LIMITS."""

    memory_bytes: int | None
    memories: int | None
    total_bytes: int | None
    versions: int | None
    view_characters: int | None
    calls: int | None
    audit_bytes: int | None


class Usage(NamedTuple):
    """What a store holds after a call, and the calls of its key in the last minute (null where nobody counts them)."""

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
    """Raises the ToolError of the first limit that a write would pass; what makes things smaller is allowed, but for
    the versions: that too makes one.

    `old_size` is null for a new memory; `memories` and `total_bytes` are those of the store before the write,
    `versions` the kept ones of the memory.
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
    """Raises the ToolError of a memory that may have no further version; deleting asks nobody."""
    if limits.versions is not None and versions >= limits.versions:
        raise ToolError(results.too_many_versions(path, versions))


# ------------------------------------------------------------------------------------------------ calls a minute


class Window(NamedTuple):
    """What became of some calls: the seconds to keep where they fit (else null), how many calls there were in the
    last minute with them, and after how many whole seconds to try again where they do not fit."""

    seconds: Seconds | None
    calls: int
    wait: int


def count_calls(seconds: Seconds, at: datetime, calls: int, limit: int) -> Window:
    """Counts calls made at a moment, all or none, so that no 60 seconds ever hold more than the limit.

    Calls are counted by whole seconds, and every second that a minute touches counts wholly. Those that came in a
    little out of order are seen on both sides of the moment; seconds far from it (the clock was set) are forgotten.
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
    """The calls of the minute before a moment."""
    return _within(seconds, int(at.timestamp()))


def _within(seconds: Iterable[tuple[int, int]], middle: int) -> int:
    return sum(count for second, count in seconds if abs(second - middle) <= WINDOW)


def _wait(seconds: Seconds, now: int, calls: int, limit: int) -> int:
    """The fewest seconds after which they would fit, never more than WINDOW: clients take no longer wait seriously.

    A call of the last fraction of a second may then be refused once more, for one second.
    """
    if calls > limit:
        return WINDOW
    ends = (second + WINDOW + 1 for second, _ in seconds)
    return min(WINDOW, *(end - now for end in ends if end > now and _within(seconds, end) + calls <= limit))
