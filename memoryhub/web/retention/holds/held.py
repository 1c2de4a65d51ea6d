"""What legal holds keep, for pages that ask before an act."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memoryhub.actions.core.rules import holds
from memoryhub.models import Hold, Memory, MemoryStore

MOST = 20
"""The most paths that are listed for one hold."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A legal hold, the first MOST paths that it keeps, and the number of its further paths (`rest`)."""

    hold: Hold
    paths: tuple[str, ...]
    rest: int


def by_hold(kept: Iterable[tuple[Hold, str]]) -> list[Kept]:
    """Return each hold of the pairs (hold, path) once, with its paths, in the order of the pairs."""
    paths: dict[str, list[str]] = {}
    found: dict[str, Hold] = {}
    for hold, path in kept:
        found.setdefault(hold.pk, hold)
        paths.setdefault(hold.pk, []).append(path)
    return [Kept(hold, tuple(paths[pk][:MOST]), max(0, len(paths[pk]) - MOST)) for pk, hold in found.items()]


def going_along(store: MemoryStore, moving: Iterable[tuple[str, str]], now: datetime) -> list[Kept]:
    """Return the legal holds on single memories that would be moved, with the paths of these memories.

    `moving` has (id, path) of each memory and directory to move. Holds on directories are left out.
    """
    on_memories = holds.holds_of(store.pk, now).legal_memories
    if not on_memories:
        return []
    moved = dict(moving)
    rows = Memory.objects.live().filter(store=store, pk__in=on_memories).order_by("path").values_list("pk", "path")
    under = tuple(f"{path}/" for path in moved.values())
    return by_hold((on_memories[pk], path) for pk, path in rows if pk in moved or path.startswith(under))


def fixing(store: MemoryStore, path: str, now: datetime, memory: str = "") -> Kept | None:
    """Return the legal hold that forbids moving or renaming the memory or directory at `path`, with a held path.

    The held path is `path` itself or, if `path` is a directory, perhaps a path in it. Return None if there is no such
    hold.
    """
    in_force = holds.holds_of(store.pk, now)
    hold = in_force.fixes(memory, path)
    if hold is None and not memory and (found := holds.frozen_under(store.pk, in_force, path)):
        frozen, hold = found
        return Kept(hold, (frozen.path,), 0)
    return Kept(hold, (path if hold.path is None or holds.covers(hold.path, path) else hold.path,), 0) if hold else None
