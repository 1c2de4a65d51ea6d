"""Paths that people type with the root of the memory tool, `/memories`."""

from collections.abc import Collection, Iterable

from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.protocol import paths


def below_root(typed: str, stores: Collection[str], saved: Iterable[str] = ()) -> str:
    """Return a typed path or pattern without the root of the tool, `/memories`, at its beginning.

    A path or pattern stays unchanged if one of the `stores` (ids) has or had a memory or directory whose own path in
    the store is `/memories`. A pattern in `saved` always stays unchanged, so that it keeps its meaning.
    """
    if (typed != paths.ROOT and not typed.startswith(f"{paths.ROOT}/")) or typed in saved:
        return typed
    versions = MemoryVersion.objects.filter(store_id__in=stores)
    if versions.at(paths.ROOT).exists() or versions.under(paths.ROOT).exists():
        return typed
    return "/" + typed.removeprefix(paths.ROOT).lstrip("/")


def is_only_directory(typed: str, stores: Collection[str]) -> bool:
    """Return whether a path without a final slash names a directory, and no memory, in one of the `stores` (ids)."""
    if not typed or typed.endswith("/") or "*" in typed:
        return False
    memories = Memory.objects.filter(store_id__in=stores)
    return memories.under(typed).exists() and not memories.at(typed).exists()
