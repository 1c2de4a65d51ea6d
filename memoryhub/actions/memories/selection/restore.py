"""Restores several memories from the trash, each to its former path, or to another path if the former one is taken."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import count as numbers

from memoryhub.actions.core import plans, tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.plans import TooMuch
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings, refusals
from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import Done, Item, NotDone
from memoryhub.models import Directory, Hold, Memory, MemoryText, MemoryVersion, Operation
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError

TEXTS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Thrown:
    """The memories to restore from the trash: those with these `ids`, or all those that one act deleted.

    `entry` is the seq of the audit entry of that act.
    """

    ids: tuple[str, ...] = ()
    entry: int | None = None


class Obstacle(StrEnum):
    """Why a memory cannot be restored to its path.

    TAKEN: something is at the path. ABOVE: the path needs a directory where another memory is. TWICE: another
    restored memory gets the same path. GONE: the memory's text was redacted. HELD: a legal hold keeps the memory in the
    trash. BLOCKED: the rules for sensitive text do not allow its text or its path.
    """

    NONE = ""
    TAKEN = "taken"
    ABOVE = "above"
    TWICE = "twice"
    GONE = "gone"
    HELD = "held"
    BLOCKED = "blocked"


STAYS = (Obstacle.GONE, Obstacle.HELD, Obstacle.BLOCKED)
"""The obstacles that another path does not remove."""


@dataclass(frozen=True, slots=True)
class Return:
    """A memory in the trash, its target path, the obstacle at that path, and another free path to offer."""

    memory: StoredMemory
    to: str
    obstacle: Obstacle = Obstacle.NONE
    offer: str = ""
    hold: Hold | None = None
    why: ToolError | None = None  # set if the obstacle is BLOCKED

    @property
    def is_blocked(self) -> bool:
        return self.obstacle not in (Obstacle.NONE, *STAYS)


@dataclass(frozen=True, slots=True)
class ReturnPlan:
    """All memories to restore, by path. `vanished` counts requested memories that are no longer in the trash."""

    returns: tuple[Return, ...]
    vanished: int

    @property
    def blocked(self) -> list[Return]:
        return [one for one in self.returns if one.is_blocked]

    @property
    def gone(self) -> list[Return]:
        return [one for one in self.returns if one.obstacle == Obstacle.GONE]

    @property
    def held(self) -> list[Return]:
        return [one for one in self.returns if one.obstacle == Obstacle.HELD]

    @property
    def refused(self) -> list[Return]:
        return [one for one in self.returns if one.obstacle == Obstacle.BLOCKED]

    @property
    def going(self) -> list[Return]:
        return [one for one in self.returns if one.obstacle not in STAYS]

    @property
    def free(self) -> list[Return]:
        return [one for one in self.returns if one.obstacle == Obstacle.NONE]

    @property
    def is_plain(self) -> bool:
        """Return whether every requested memory can go back to its former path."""
        return not self.vanished and bool(self.returns) and all(not one.obstacle for one in self.returns)

    @property
    def digest(self) -> str:
        seen = [[one.memory.id, one.memory.head, one.to, one.obstacle, one.offer] for one in self.returns]
        return selection.digest_of([seen, self.vanished])


def return_plan(store_id: str, thrown: Thrown, at: datetime, places: Mapping[str, str] | None = None) -> ReturnPlan:
    """Return the plan that restores memories from the trash at a moment. `places` is {memory id: other target path}.

    Raises TooMuch.
    """
    found, vanished = _in_trash(store_id, thrown)
    wanted = {memory.id: (places or {}).get(memory.id) or memory.path for memory in found}
    occupied = _occupied(store_id, wanted.values())
    given = _Given(set(), set())
    in_force, blocked = holds.holds_of(store_id, at), _blocked(store_id, wanted, found)
    returns = []
    for memory in found:
        if hold := in_force.stops_changes(memory.id, memory.path):
            returns.append(Return(memory, memory.path, Obstacle.HELD, hold=hold))
            continue
        if why := blocked.get(memory.id):
            returns.append(Return(memory, memory.path, Obstacle.BLOCKED, why=why))
            continue
        returns.append(_return(store_id, memory, wanted[memory.id], occupied, given))
        if returns[-1].obstacle != Obstacle.GONE:
            given.add(returns[-1].offer or returns[-1].to)
    return ReturnPlan(tuple(returns), vanished)


def obstacles(store_id: str, ids: tuple[str, ...], at: datetime) -> list[tuple[str, Obstacle]]:
    """Return (former path, obstacle or Obstacle.NONE) for each of these memories that is in the trash.

    Raises TooMuch.
    """
    found, _ = _in_trash(store_id, Thrown(ids))
    occupied, given, told = _occupied(store_id, [memory.path for memory in found]), _Given(set(), set()), []
    in_force, blocked = holds.holds_of(store_id, at), _blocked(store_id, {}, found)
    for memory in found:
        obstacle = _obstacle(memory.path, occupied, given) if memory.text else Obstacle.GONE
        obstacle = Obstacle.BLOCKED if memory.id in blocked else obstacle
        if in_force.stops_changes(memory.id, memory.path):
            obstacle = Obstacle.HELD
        if not obstacle:
            given.add(memory.path)
        told.append((memory.path, obstacle))
    return told


def restore(store_id: str, thrown: Thrown, places: Mapping[str, str], digest: str | None, act: Act) -> Done:
    """Apply the plan with this digest: restore its memories, or none of them.

    Memories with an obstacle in STAYS stay in the trash. If a path is taken, the path in `places` or the offered
    path is used. If `digest` is None, the plan is applied only
    if every memory can go back to its former path. Raises ToolError for a limit, a legal hold or an archived store.
    Also raises NotDone and TooMuch.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        shown = return_plan(store_id, thrown, store.at)
        if shown.digest != digest and not (digest is None and shown.is_plain):
            raise NotDone(shown, changed=digest is not None)
        plan = return_plan(store_id, thrown, store.at, _places(shown, places)) if shown.blocked else shown
        if plan.blocked or not plan.going:
            raise NotDone(plan, changed=False)
        holds.require_may_return(store, [(one.memory.id, one.memory.path, one.to) for one in plan.going])
        for one in plan.going:
            put_back(store, one.memory, one.to)
        items = [Item(one.memory.id, one.to, 1, one.memory.size, one.memory) for one in plan.going]
        return selection.commit(store, "restore", items, from_trash=True)


def put_back(store: Tree, memory: StoredMemory, to: str) -> None:
    """Restore a memory to a free path, with its text screened by the current rules."""
    place = findings.screen_path(store, to)
    kept = findings.screen_stored(store, memory.id, to, None, memory.text, memory.size, memory.sha256)
    tree.check_limits(store, to, old_size=None, new_size=kept.size, versions=memory.kept)
    version = tree.restore_memory(store, memory, to, kept.text, kept.size, kept.sha256)
    findings.note(store, memory.id, version, kept.screened, place, returns=True)


def _blocked(store_id: str, places: Mapping[str, str], found: Sequence[StoredMemory]) -> dict[str, ToolError]:
    """Return {memory: why the rules for sensitive text do not let it return}. `places` is {memory: target path}."""
    rules, why = refusals.rules_of(store_id), dict[str, ToolError]()
    if rules is None or not rules.kept_out:
        return why
    for part in plans.in_parts(found, TEXTS_AT_ONCE):
        texts = [one.text for one in part if one.text] if refusals.blocks_texts(rules) else []
        contents = MemoryText.objects.contents(store_id, texts)
        for one in part:
            path = places.get(one.id, one.path)
            content = contents.get(one.text)
            error = refusals.of_path(rules, path)
            if error is None and content is not None:
                error = refusals.of_text(rules, path, None, content)
            if error is not None:
                why[one.id] = error
    return why


def _places(shown: ReturnPlan, places: Mapping[str, str]) -> dict[str, str]:
    return {one.memory.id: places.get(one.memory.id) or one.offer for one in shown.blocked}


def _in_trash(store_id: str, thrown: Thrown) -> tuple[list[StoredMemory], int]:
    """Return the requested memories that are in the trash, by path, and how many requested memories are not there.

    Raises TooMuch.
    """
    wanted = set(thrown.ids) if thrown.entry is None else _thrown_by(store_id, thrown.entry)
    if len(wanted) > plans.MOST:
        raise TooMuch(len(wanted), plans.MOST)
    found: list[StoredMemory] = []
    for part in plans.in_parts(sorted(wanted)):
        trash = Memory.objects.in_trash().among(store_id, part)
        found += map(selection.stored, trash)
    return sorted(found, key=lambda memory: (memory.path, memory.id)), len(wanted) - len(found)


def _thrown_by(store_id: str, seq: int) -> set[str]:
    """Return the ids of the memories that an entry moved to the trash and that have been in the trash since then."""
    versions = MemoryVersion.objects.of_entry(store_id, seq).filter(operation=Operation.DELETED, superseded_seq=None)
    return set(versions.values_list("memory_id", flat=True)[: plans.MOST + 1])


# ------------------------------------------------------------------------------------------------ paths


@dataclass(frozen=True, slots=True)
class _Occupied:
    """Taken paths in the store: `taken` has the paths of memories and directories, `memories` only the paths of
    memories."""

    taken: frozenset[str]
    memories: frozenset[str]


def _occupied(store_id: str, wanted: Iterable[str]) -> _Occupied:
    places = set(wanted)
    above = {over for path in places for over in paths.ancestors(path)[1:]}
    memories: set[str] = set()
    directories: set[str] = set()
    for part in plans.in_parts(sorted(places | above)):
        memories.update(Memory.objects.live().filter(store_id=store_id, path__in=part).values_list("path", flat=True))
    for part in plans.in_parts(sorted(places)):
        directories.update(Directory.objects.filter(store_id=store_id, path__in=part).values_list("path", flat=True))
    return _Occupied(frozenset(memories | directories), frozenset(memories))


@dataclass(frozen=True, slots=True)
class _Given:
    """The target paths that earlier memories of the plan get, and the directories above these paths."""

    paths: set[str]
    directories: set[str]

    def add(self, path: str) -> None:
        self.paths.add(path)
        self.directories.update(paths.ancestors(path))

    def has(self, path: str) -> bool:
        """Return whether an earlier memory of the plan will be at a path, above it or under it."""
        return path in self.paths or path in self.directories or not self.paths.isdisjoint(paths.ancestors(path))


def _return(store_id: str, memory: StoredMemory, to: str, occupied: _Occupied, given: _Given) -> Return:
    if not memory.text:
        return Return(memory, to, Obstacle.GONE)
    one = Return(memory, to, _obstacle(to, occupied, given))
    return replace(one, offer=_free_path(store_id, one, occupied, given)) if one.obstacle else one


def _obstacle(to: str, occupied: _Occupied, given: _Given) -> Obstacle:
    if not occupied.memories.isdisjoint(paths.ancestors(to)):
        return Obstacle.ABOVE
    if to in occupied.taken:
        return Obstacle.TAKEN
    return Obstacle.TWICE if given.has(to) else Obstacle.NONE


def _free_path(store_id: str, one: Return, occupied: _Occupied, given: _Given) -> str:
    """Return a free path beside a taken one, such as `/notes/todo-restored.md`."""
    # If a memory has the path of a directory above, the directory gets another name.
    over = [place for place in paths.ancestors(one.to)[1:] if place in occupied.memories or place in given.paths]
    place = over[0] if over else one.to
    rest = one.to[len(place) :]
    for number in numbers(1):
        free = plans.beside(place, number, len(rest.encode())) + rest
        if not given.has(free) and not plans.lives(store_id, free):
            break
    return free
