"""Moves a selection to the trash, except the memories that legal holds keep. A person first sees which memories
stay."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import Chosen, Done, Item, NotDone, Selected
from memoryhub.models import Hold, Memory


@dataclass(frozen=True, slots=True)
class Held:
    """A memory that was selected, alone or with its directory, and the legal hold that keeps it."""

    id: str
    path: str
    size: int
    hold: Hold


@dataclass(frozen=True, slots=True)
class Deletion:
    """The effect of deleting a selection: `going` moves to the trash, and `held` stays.

    The counts of a directory in `going` include only the memories that move to the trash.
    """

    selected: Selected
    going: tuple[Item, ...]
    held: tuple[Held, ...]

    @property
    def count(self) -> int:
        return sum(item.count for item in self.going)

    @property
    def size(self) -> int:
        return sum(item.size for item in self.going)

    @property
    def digest(self) -> str:
        """Return the digest of the selection and of the memories that stay, if any."""
        stays = [one.id for one in self.held]
        return selection.digest_of([self.selected.digest, stays]) if stays else self.selected.digest


def deletion(store_id: str, chosen: Chosen, at: datetime) -> Deletion:
    """Return the effect of deleting a selection at a moment. Raises TooMuch."""
    found = selection.selected(store_id, chosen)
    in_force = holds.holds_of(store_id, at)
    held = [list(_held_in(store_id, item, in_force)) for item in found.items]
    going = [_without(item, stays) for item, stays in zip(found.items, held, strict=True)]
    return Deletion(found, tuple(item for item in going if item.count), tuple(one for stays in held for one in stays))


def is_held(store_id: str, path: str, at: datetime) -> bool:
    """Return whether a legal hold keeps any memory in a directory from being deleted at a moment."""
    in_force = holds.holds_of(store_id, at)
    if in_force.stops_removal("", path) or any(holds.covers(path, place) for place in in_force.legal_places):
        return True
    held = Memory.objects.filter(store_id=store_id, pk__in=in_force.legal_memories)
    return bool(in_force.legal_memories) and held.under(path).exists()


def delete(store_id: str, chosen: Chosen, digest: str, act: Act) -> Done:
    """Carry out the deletion that the person saw, which had this digest: move its memories to the trash.

    Raises ToolError if a legal hold now keeps a memory, and none did when the deletion was shown; NotDone if the
    deletion has changed in another way, or if all memories would stay. Also raises TooMuch.
    """
    with tree.locked(store_id, act) as store:
        plan = deletion(store_id, chosen, store.at)
        if digest == plan.selected.digest:
            holds.require_free(store, [(one.id, one.path) for one in plan.held])
        if digest != plan.digest or not plan.count:
            raise NotDone(plan.selected, changed=digest != plan.digest)
        stays = {one.id for one in plan.held}
        gone = [part for item in plan.selected.items for part in _delete(store, item, stays)]
        return selection.commit(store, "delete", gone)


def _held_in(store_id: str, item: Item, in_force: Holds) -> Iterable[Held]:
    """Yield the memories of a selected item that a legal hold keeps."""
    if not in_force.legal_memories and not in_force.legal_places:
        return
    rows: Iterable[tuple[str, str, int]] = [(item.id, item.path, item.size)]
    if item.is_directory:
        rows = (
            Memory.objects.filter(store_id=store_id).under(item.path).order_by("path").values_list("pk", "path", "size")
        )
    for pk, path, size in rows:
        if hold := in_force.stops_removal(pk, path):
            yield Held(pk, path, size, hold)


def _without(item: Item, held: Sequence[Held]) -> Item:
    return replace(item, count=item.count - len(held), size=item.size - sum(one.size for one in held))


def _delete(store: Tree, item: Item, stays: set[str]) -> list[Item]:
    """Delete the memories of a selected item, except those whose ids are in `stays`.

    Return the item itself or, if some memories of a directory stay, one item for each deleted memory.
    """
    memories = [item.memory] if item.memory else tree.memories_under(store, item.path)
    going = [memory for memory in memories if memory.id not in stays]
    if len(going) == len(memories):
        tree.delete_memories(store, item.path, memories)
        return [item]
    for memory in going:
        tree.delete_memories(store, memory.path, [memory])
    return [Item(memory.id, memory.path, 1, memory.size, memory) for memory in going]
