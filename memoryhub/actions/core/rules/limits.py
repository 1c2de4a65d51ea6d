"""The limits of a memory store, checked by one function for every door, and the count of a key's calls per minute."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

WINDOW = 60
"""The length of the window, in seconds, in which a key's calls are counted."""
LONGEST_DELAY = 60
"""A call may be counted up to this many seconds after a later call; the count is still right."""

Seconds = Sequence[tuple[int, int]]
"""(second since 1970, number of calls) for each second with calls, in order."""


class Limits(NamedTuple):
    """The limits of a store, with the names of MEMORYHUB_LIMITS. None means no limit.

    `memory_bytes` and `versions` limit one memory; `memories` and `total_bytes` limit the store. `view_characters`
    limits one view, `calls` one key in any 60 seconds, and `audit_bytes` the store's audit.
    """

    memory_bytes: int | None
    memories: int | None
    total_bytes: int | None
    versions: int | None
    view_characters: int | None
    calls: int | None
    audit_bytes: int | None


class Usage(NamedTuple):
    """The number and size of a store's memories after a call, and the calls of the key in the last minute.

    `memories` and `total_bytes` are None if the key does not see all memories. `calls` is None if calls are not
    counted.
    """

    memories: int | None
    total_bytes: int | None
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

    `old_size` is None for a new memory. `memories` and `total_bytes` are those of the store before the write.
    `versions` counts the kept versions of the memory. A write that does not make an existing memory larger is checked
    only against the limit of versions.
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
    """Raise ToolError if a memory has reached the limit of versions. Deletions do not check this."""
    if limits.versions is not None and versions >= limits.versions:
        raise ToolError(results.too_many_versions(path, versions))


# ------------------------------------------------------------------------------------------------ calls a minute


class Window(NamedTuple):
    """The result of counting some calls.

    `seconds` has the pairs (second, number of calls) to store; it is None if the calls are refused. `calls` counts the
    calls in the last minute, including the new ones if they are allowed. `wait` is the number of whole seconds until a
    retry (0: the calls are allowed).
    """

    seconds: Seconds | None
    calls: int
    wait: int


def count_calls(seconds: Seconds, at: datetime, calls: int, limit: int) -> Window:
    """Count `calls` more calls at the moment `at`: all of them or none.

    No 60 seconds may contain more than `limit` calls. Calls are counted by whole seconds. Calls can arrive slightly out
    of order, so the minute after `at` counts too.
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
    """Return how many calls were made within one minute before or after `at`.

    `seconds` has pairs (second, number of calls).
    """
    return _within(seconds, int(at.timestamp()))


def _within(seconds: Iterable[tuple[int, int]], middle: int) -> int:
    return sum(count for second, count in seconds if abs(second - middle) <= WINDOW)


def _wait(seconds: Seconds, now: int, calls: int, limit: int) -> int:
    """Return the number of seconds until the calls are allowed, at most WINDOW."""
    if calls > limit:
        return WINDOW
    ends = (second + WINDOW + 1 for second, _ in seconds)
    # Clients ignore longer waits. Because whole seconds are counted, the retry may be refused for one more second.
    return min(WINDOW, *(end - now for end in ends if end > now and _within(seconds, end) + calls <= limit))
