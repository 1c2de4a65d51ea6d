"""Paths that people type as agents write them: with the root of the memory tool, `/memories`, before the path."""

from collections.abc import Collection

from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.protocol import paths


def below_root(typed: str, stores: Collection[str]) -> str:
    """Return a typed path or pattern without the root of the tool at its beginning.

    It stays unchanged if one of the stores (ids) has or had a memory or a directory of that name.
    """
    if typed != paths.ROOT and not typed.startswith(f"{paths.ROOT}/"):
        return typed
    versions = MemoryVersion.objects.filter(store_id__in=stores)
    if versions.at(paths.ROOT).exists() or versions.under(paths.ROOT).exists():
        return typed
    return "/" + typed.removeprefix(paths.ROOT).lstrip("/")


def is_only_directory(typed: str, stores: Collection[str]) -> bool:
    """Return whether a path without a slash at the end names a directory of one of the stores (ids), and no memory."""
    if not typed or typed.endswith("/") or "*" in typed:
        return False
    memories = Memory.objects.filter(store_id__in=stores)
    return memories.under(typed).exists() and not memories.at(typed).exists()
