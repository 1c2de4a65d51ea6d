"""Moves a selection into another directory. The plan is shown first, and then applied as it was shown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memoryhub.actions.core import plans, tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import Chosen, Done, Item, NotDone, Selected
from memoryhub.models import Directory, Hold, Memory
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError


class Obstacle(StrEnum):
    """Why an item cannot move to its target.

    Two obstacles do not prevent the move of the other items. STAYS: the item is already there. HELD: a legal hold keeps
    it. If any item has another obstacle, no item moves. TAKEN: something is at the target. TWICE: another selected item
    has the same name. INSIDE: the directory would be inside itself. LONG: a path would be too long, too deep, or
    impossible.
    """

    NONE = ""
    STAYS = "stays"
    TAKEN = "taken"
    TWICE = "twice"
    INSIDE = "inside"
    LONG = "long"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Move:
    """A selected memory or directory, its target path, and the obstacle. `hold` is set if the obstacle is HELD."""

    item: Item
    to: str
    obstacle: Obstacle
    hold: Hold | None = None

    @property
    def is_blocked(self) -> bool:
        return self.obstacle not in (Obstacle.NONE, Obstacle.STAYS, Obstacle.HELD)


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The move of a selection to the directory `into`, which may be new.

    `above` is the path of a memory at `into` or above it (None: no such memory). Such a memory prevents the move.
    """

    selected: Selected
    into: str
    is_new: bool
    above: str | None
    moves: tuple[Move, ...]

    @property
    def moving(self) -> list[Move]:
        return [move for move in self.moves if move.obstacle == Obstacle.NONE]

    @property
    def blocked(self) -> list[Move]:
        return [move for move in self.moves if move.is_blocked]

    @property
    def staying(self) -> list[Move]:
        return [move for move in self.moves if move.obstacle == Obstacle.STAYS]

    @property
    def held(self) -> list[Move]:
        return [move for move in self.moves if move.obstacle == Obstacle.HELD]

    @property
    def count(self) -> int:
        """Return how many memories get a new path."""
        return sum(move.item.count for move in self.moving)

    @property
    def can_be_done(self) -> bool:
        return self.above is None and not self.blocked and bool(self.moving)

    @property
    def digest(self) -> str:
        seen = [[move.item.id, move.item.path, move.to, move.obstacle] for move in self.moves]
        return selection.digest_of([seen, self.into, self.above, self.selected.vanished])


def move_plan(store_id: str, chosen: Chosen, into: str, at: datetime) -> MovePlan:
    """Return the plan that moves a selection into a directory at a moment. Raises TooMuch."""
    found = selection.selected(store_id, chosen)
    is_new = not Directory.objects.filter(store_id=store_id).at(into).exists()
    above = _memory_at(store_id, [*paths.ancestors(into), into][1:]) if is_new else None
    wanted = {item.id: f"{into}/{item.name}" for item in found.items}
    taken = _taken(store_id, wanted.values())
    in_force = holds.holds_of(store_id, at)
    held = {item.id: _hold(store_id, item, wanted[item.id], in_force) for item in found.items}
    times = Counter(to for id, to in wanted.items() if not held[id])
    moves = []
    for item in found.items:
        to, hold = wanted[item.id], held[item.id]
        obstacle = Obstacle.HELD if hold else _obstacle(store_id, item, to, taken, times)
        moves.append(Move(item, to, obstacle, hold))
    return MovePlan(found, into, is_new, above, tuple(moves))


def _hold(store_id: str, item: Item, to: str, in_force: Holds) -> Hold | None:
    """Return the legal hold that prevents the move of a selected item to the path `to`, or None."""
    if to == item.path:
        return None
    memory = item.memory.id if item.memory else ""
    hold = in_force.stops_move(memory, item.path, to)
    if hold or not item.is_directory:
        return hold
    found = holds.frozen_under(store_id, in_force, item.path)
    return found[1] if found else None


def move(store_id: str, chosen: Chosen, into: str, digest: str, act: Act) -> Done:
    """Apply the plan with this digest: move its items, or none of them. Items with the obstacle STAYS or HELD stay.

    Raises ToolError if the store is archived, or if a limit, a hold or a rule for sensitive text forbids a move;
    NotDone if the plan has changed or cannot be applied. Also raises TooMuch.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        plan = move_plan(store_id, chosen, into, store.at)
        if plan.digest != digest or not plan.can_be_done:
            raise NotDone(plan, changed=plan.digest != digest)
        holds.require_may_move(store, [(one.item.path, one.to) for one in plan.moving])
        for one in plan.moving:
            _move(store, one)
        items = [one.item for one in plan.moving]
        return selection.commit(store, "move", items, plan.moving[0].to, into=into or "/")


def _move(store: Tree, one: Move) -> None:
    item = one.item
    moved = [item.memory] if item.memory else tree.memories_under(store, item.path)
    place = findings.screen_path(store, one.to)
    tree.check_versions(store, moved)
    if item.memory:
        tree.move_memory(store, item.memory, one.to)
    else:
        tree.move_directory(store, item.id, item.path, one.to, moved)
    findings.note_path(store, moved, place)


def _memory_at(store_id: str, places: list[str]) -> str | None:
    """Return the path of a memory that is at one of these paths, or None."""
    found = Memory.objects.live().filter(store_id=store_id, path__in=places)
    return found.values_list("path", flat=True).first()


def _taken(store_id: str, wanted: Iterable[str]) -> set[str]:
    """Return the given paths at which there is a memory or a directory."""
    found: set[str] = set()
    for part in plans.in_parts(sorted(set(wanted))):
        found.update(Memory.objects.live().filter(store_id=store_id, path__in=part).values_list("path", flat=True))
        found.update(Directory.objects.filter(store_id=store_id, path__in=part).values_list("path", flat=True))
    return found


def _obstacle(store_id: str, item: Item, to: str, taken: set[str], times: Counter[str]) -> Obstacle:
    if to == item.path:
        return Obstacle.STAYS if times[to] == 1 else Obstacle.TWICE
    if item.is_directory and to.startswith(item.path + "/"):
        return Obstacle.INSIDE
    if to in taken:
        return Obstacle.TAKEN
    if times[to] > 1:
        return Obstacle.TWICE
    return Obstacle.LONG if _is_too_long(store_id, item, to) else Obstacle.NONE


def _is_too_long(store_id: str, item: Item, to: str) -> bool:
    """Return whether the item's new path, or a path under it, would be too long, too deep or not allowed."""
    if not item.is_directory:
        return not _are_allowed([to])
    beneath = Memory.objects.filter(store_id=store_id).under(item.path).values_list("path", flat=True)
    return not _are_allowed([to + path[len(item.path) :] for path in beneath])


def _are_allowed(moved: Sequence[str]) -> bool:
    try:
        paths.require_moved(moved)
    except ToolError:
        return False
    return True
