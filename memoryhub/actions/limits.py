"""The limits of a memory store: one function decides for every door."""

from dataclasses import dataclass

from memoryhub.protocol import results
from memoryhub.protocol.errors import ToolError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes a memory, memories, bytes in all, and characters a view."""

    memory_bytes: int
    memories: int
    total_bytes: int
    view_characters: int


def check(limits: Limits, path: str, *, old_size: int | None, new_size: int, memories: int, total_bytes: int) -> None:
    """Raises the ToolError of the first limit that a write would pass; what makes things smaller is always allowed.

    `old_size` is null for a new memory; `memories` and `total_bytes` are those of the store before the write.
    """
    if new_size > limits.memory_bytes and new_size > (old_size or 0):
        raise ToolError(results.memory_too_large(path, new_size, limits.memory_bytes))
    if old_size is None and memories >= limits.memories:
        raise ToolError(results.too_many_memories(memories))
    total = total_bytes - (old_size or 0) + new_size
    if total > limits.total_bytes and new_size > (old_size or 0):
        raise ToolError(results.store_too_large(total, limits.total_bytes))
