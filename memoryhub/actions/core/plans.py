"""Plans: the states that memories would have after a restore or an undo.

A plan is first shown to a person, and then applied exactly as shown.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count, islice
from typing import TypeVar

from django.utils.crypto import salted_hmac

from memoryhub.models import Directory, Hold, Memory, MemoryVersion, Operation
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError

MOST = 10_000
"""The most memories that one act changes."""

MOST_NAMED = 100
"""The most ids that an entry's input lists; a longer list becomes its count and the SHA-256 of the sorted ids."""

T = TypeVar("T")


class TooMuch(Exception):
    """An act would change too many memories: at least `count`, while only `most` are allowed."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"{count} memories would change; one act changes {most} at most")
        self.count, self.most = count, most


class Choice(StrEnum):
    """The ways to treat one memory of a plan: APPLY makes the planned change, KEEP changes nothing.

    BEFORE is offered in an undo and in a conflict of a proposal. In an undo, the memory returns to its state before the
    undone act, and loses every later change. In a proposal, the proposed text replaces newer changes.
    """

    APPLY = "apply"
    KEEP = "keep"
    BEFORE = "before"


class Problem(StrEnum):
    """Why a person has to choose what to do with a memory.

    CONFLICT: the same lines were changed later. TAKEN: another memory has the path. REDACTED: the text no longer
    exists. UNMERGED: merging all later changes would take more work than one plan may do.
    """

    NONE = ""
    CONFLICT = "conflict"
    TAKEN = "taken"
    REDACTED = "redacted"
    UNMERGED = "unmerged"


@dataclass(frozen=True, slots=True)
class State:
    """A memory's path and text. `path` is None if the memory does not exist or is in the trash.

    `text` is the id of the text's row. It is None for a redacted text, and for a new text without a row. The new text
    is in `content`. A state that `is_redacted` is that of an existing memory whose path and text are unknown.
    """

    path: str | None
    text: str | None
    size: int
    sha256: str
    content: str | None = None
    is_redacted: bool = False

    @property
    def is_there(self) -> bool:
        return self.path is not None or self.is_redacted

    def same(self, other: "State") -> bool:
        """Return whether both states have the same path and text. Two deleted memories are the same.

        A redacted state is the same as no state.
        """
        if self.is_redacted or other.is_redacted:
            return False
        if not self.is_there:
            return not other.is_there
        return (self.path, self.sha256) == (other.path, other.sha256)


NOWHERE = State(None, None, 0, "")
REDACTED = State(None, None, 0, "", is_redacted=True)


@dataclass(frozen=True, slots=True)
class Change:
    """One memory in a plan: its state now, and its possible states."""

    memory: str
    head: str  # the id of the newest version
    number: int  # the number of the newest version
    now: State
    then: State  # after APPLY
    before: State | None = None  # after BEFORE (None: not offered)
    # in an undo: the other versions since the first undone one, oldest first
    # in a restore: the newest of the versions after `version`
    later: tuple[MemoryVersion, ...] = ()
    more_later: int = 0  # in a restore: how many versions after `version` are not in `later`
    version: str = ""  # in a restore: the id of the version to which the memory returns
    cancelled: frozenset[str] = frozenset()  # in an undo: versions of earlier undos that are skipped, too
    later_lines: int | None = 0  # lines of `later` that BEFORE drops (None: not counted)
    problem: Problem = Problem.NONE
    choices: tuple[Choice, ...] = (Choice.APPLY, Choice.KEEP)  # the first one is proposed
    replaced: tuple[str, ...] = ()  # in a proposal: ids of the agent's changes that its later changes replaced
    cut: tuple[str, ...] = ()  # in a proposal: ids of changes that later changes replaced in part
    refused: tuple[Choice, ...] = ()  # choices that `held` or `blocked` forbids
    held: Hold | None = None
    # why a rule for sensitive text, or a memory that must stay at a path that is needed, forbids a choice
    blocked: ToolError | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the change has neither a problem nor a forbidden choice."""
        return not self.problem and not self.refused

    @property
    def has_choice(self) -> bool:
        """Return whether a person can choose what happens to the memory."""
        return len(self.choices) > 1

    @property
    def is_new(self) -> bool:
        """Return whether the memory does not exist yet. Then `memory` is a name that only this plan uses."""
        return not self.number

    @property
    def kind(self) -> str:
        """Return `created`, `deleted`, `moved`, `modified` or `moved_modified`."""
        if not self.now.is_there:
            return "created"
        if not self.then.is_there:
            return "deleted"
        if self.now.path == self.then.path:
            return "modified"
        return "moved" if self.now.sha256 == self.then.sha256 else "moved_modified"

    @property
    def path(self) -> str:
        """Return the path to show: the memory's current path, or else the path that it would get."""
        return self.now.path or self.then.path or (self.before.path if self.before else None) or ""

    def effects(self, choice: Choice) -> tuple[str, ...]:
        """Return the effects of a choice: some of `created`, `deleted`, `moved`, `modified`; an empty tuple if it
        changes nothing."""
        state = self.chosen(choice)
        if state.same(self.now):
            return ()
        if not self.now.is_there or not state.is_there:
            return ("created" if state.is_there else "deleted",)
        moved = ("moved",) if state.path != self.now.path else ()
        return moved if state.sha256 == self.now.sha256 else (*moved, "modified")

    def chosen(self, choice: Choice) -> State:
        """Return the memory's state after a choice."""
        if choice == Choice.KEEP:
            return self.now
        return self.then if choice == Choice.APPLY or self.before is None else self.before


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes, sorted by path. Two plans with the same `digest` have the same memories, newest versions, problems
    and possible states."""

    store: str
    changes: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        return not self.changes

    @property
    def has_problems(self) -> bool:
        return any(change.problem for change in self.changes)

    @property
    def digest(self) -> str:
        seen = [
            [c.memory, c.head, c.problem, c.then.path, c.then.sha256, c.before and [c.before.path, c.before.sha256]]
            for c in self.changes
        ]
        # An HMAC: people who see only masked texts cannot check guesses with it.
        return salted_hmac("memoryhub.plan", json.dumps(seen, ensure_ascii=True), algorithm="sha256").hexdigest()


class PlanChanged(Exception):
    """The plan changed after it was shown, and nothing was applied; `plan` is the current one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__("the plan has changed")
        self.plan = plan


def made(store: str, changes: Iterable[Change]) -> Plan:
    """Return a plan of the changes that have an effect or a problem. Raises TooMuch if they are more than MOST.

    If a target path is taken, a free path replaces it in the plan, and KEEP becomes the proposed choice.
    """
    real = [change for change in changes if change.problem or not change.then.same(change.now)]
    if len(real) > MOST:
        raise TooMuch(len(real), MOST)
    targets = _Targets(_occupied(store, real))
    placed = []
    for change in sorted(real, key=lambda change: (change.path, change.memory)):
        placed.append(_placed(store, change, targets))
        if _moves(placed[-1]):
            targets.add(str(placed[-1].then.path))
    return Plan(store, tuple(placed))


def of_version(version: MemoryVersion | None) -> State:
    """Return the memory's state after a version. It is NOWHERE for None and for a deletion."""
    if version is None or version.operation == Operation.DELETED:
        return NOWHERE
    if version.text_id is None:
        return REDACTED
    return State(version.path, version.text_id, version.size or 0, version.sha256 or "")


def of_memory(memory: Memory) -> State:
    """Return the current state of a memory; NOWHERE if it is in the trash."""
    if not memory.is_live:
        return NOWHERE
    return State(memory.path, memory.text_id, memory.size, memory.sha256)


def in_parts(things: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`, because a database limits the number of parameters."""
    rest = iter(things)
    while part := list(islice(rest, size)):
        yield part


def named_ids(ids: Collection[str]) -> list[str] | dict[str, object]:
    """Return ids as an entry's input has them: the sorted list or, if they are more than MOST_NAMED, their number and
    SHA-256."""
    if len(ids) <= MOST_NAMED:
        return sorted(ids)
    return {"count": len(ids), "sha256": hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()}


# ------------------------------------------------------------------------------------------------ paths that are taken


class _Targets:
    """The paths that are taken: those of other memories, and the target paths of other changes in the plan.

    A target path also takes every directory above it and every path under it.
    """

    def __init__(self, occupied: Collection[str]) -> None:
        self._occupied, self._placed = occupied, set[str]()
        self._directories: set[str] = set()

    def add(self, path: str) -> None:
        self._placed.add(path)
        self._directories.update(paths.ancestors(path)[1:])

    def above(self, path: str) -> str | None:
        """Return a directory above `path` that is the target path of a change, or None if there is none."""
        return next((place for place in paths.ancestors(path)[1:] if place in self._placed), None)

    def takes(self, path: str) -> bool:
        is_there = path in self._occupied or path in self._placed or path in self._directories
        return is_there or self.above(path) is not None


def _moves(change: Change) -> bool:
    """Return whether a change needs a path other than the memory's own."""
    return change.then.is_there and change.then.path != change.now.path


def _leaves(change: Change) -> bool:
    """Return whether the proposed choice makes the memory's current path free."""
    return change.now.is_there and change.then.path != change.now.path and change.choices[0] != Choice.KEEP


def _occupied(store: str, changes: Sequence[Change]) -> set[str]:
    """Return the target paths that are taken, because another memory will be at, above or under them."""
    wanted = {str(change.then.path) for change in changes if _moves(change)}
    leaving = {change.memory for change in changes if _leaves(change)}
    stays = {str(c.now.path) for c in changes if c.now.is_there and not _leaves(c)}
    near = {place for path in wanted for place in [path, *paths.ancestors(path)[1:]]}
    for part in in_parts(sorted(near)):
        found = Memory.objects.filter(store_id=store, path__in=part).live().values_list("pk", "path")
        stays.update(path for pk, path in found if pk not in leaving)
    directories: set[str] = set()
    for part in in_parts(sorted(wanted)):
        directories.update(Directory.objects.filter(store_id=store, path__in=part).values_list("path", flat=True))
    near_stays = {path for path in wanted if not stays.isdisjoint([path, *paths.ancestors(path)[1:]])}
    return near_stays | {path for path in directories - near_stays if _has_beneath(store, path, leaving)}


def _has_beneath(store: str, path: str, leaving: set[str]) -> bool:
    """Return whether a directory will still contain memories after those in `leaving` have left it."""
    beneath = Memory.objects.filter(store_id=store).under(path).values_list("pk", flat=True)
    return any(pk not in leaving for pk in beneath[: len(leaving) + 1])


def _placed(store: str, change: Change, targets: _Targets) -> Change:
    """Return the change with a free target path. If its own target path is taken, KEEP becomes the proposed choice."""
    if not _moves(change) or not targets.takes(str(change.then.path)):
        return change
    then = replace(change.then, path=_free_path(store, str(change.then.path), targets))
    choices = (Choice.KEEP, *(choice for choice in change.choices if choice != Choice.KEEP))
    return replace(change, then=then, problem=change.problem or Problem.TAKEN, choices=choices)


def _free_path(store: str, path: str, targets: _Targets) -> str:
    """Return a free path beside a taken one, such as `/notes/todo-restored.md`."""
    above = Memory.objects.filter(store_id=store, path__in=paths.ancestors(path)[1:]).live()
    place = above.values_list("path", flat=True).first() or targets.above(path) or path
    rest = path[len(place) :]
    # If a memory has the path of a directory above, the directory gets another name.
    for number in count(1):
        free = beside(place, number, len(rest.encode())) + rest
        if not targets.takes(free) and not lives(store, free):
            break
    return free


def beside(path: str, number: int, more: int) -> str:
    """Return another path in the same directory. The name gets `-restored` and, if `number` is 2 or more, the number.

    For `more`, see `marked`.
    """
    return marked(path, f"-restored{number if number > 1 else ''}", more)


def marked(path: str, mark: str, more: int = 0) -> str:
    """Return a path with a mark at the end of its name, before the ending (such as `.md`).

    The name is shortened if it would be too long, or if the path and `more` further bytes together would be too long.
    """
    directory, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".") if "." in name[1:] else (name, "", "")
    ending = f"{mark}{dot}{ending}"
    room = min(paths.MOST_BYTES_OF_NAME, paths.MOST_BYTES - more - len(directory.encode()) - 1) - len(ending.encode())
    return f"{directory}/{stem.encode()[: max(room, 1)].decode(errors='ignore')}{ending}"


def lives(store_id: str, path: str) -> bool:
    """Return whether a path is taken: a memory or a directory is at it, or a memory is above it."""
    places = [*paths.ancestors(path)[1:], path]
    if Memory.objects.live().filter(store_id=store_id, path__in=places).exists():
        return True
    return Directory.objects.filter(store_id=store_id).at(path).exists()
