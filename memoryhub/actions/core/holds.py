"""Legal holds and pins. People place and release them, and every removal checks them first."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from memoryhub import chain, ids
from memoryhub.actions.core import audit, sql, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Hold, HoldKind, Memory
from memoryhub.models.audit import ActorKind
from memoryhub.protocol import paths, results
from memoryhub.protocol.errors import ToolError

LONGEST_REASON = 2_000


class Released(Exception):
    """Raised for a hold that has already ended, or that belongs to another store."""


Marks = dict[str, Hold]
"""Holds by memory id, or by path."""


@dataclass(slots=True)
class Holds:
    """The holds and pins of a store that are in force at a moment, by memory id and by path.

    `memories` and `places` have all of them, `pinned_…` only pins, `legal_…` only legal holds, `freezing_…` only legal
    holds that freeze.
    """

    memories: dict[str, Hold] = field(default_factory=dict)
    places: dict[str, Hold] = field(default_factory=dict)
    pinned_memories: dict[str, Hold] = field(default_factory=dict)
    pinned_places: dict[str, Hold] = field(default_factory=dict)
    legal_memories: dict[str, Hold] = field(default_factory=dict)
    legal_places: dict[str, Hold] = field(default_factory=dict)
    freezing_memories: dict[str, Hold] = field(default_factory=dict)
    freezing_places: dict[str, Hold] = field(default_factory=dict)
    _known: dict[str, Hold | None] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.memories and not self.places

    def stops_policies(self, memory_id: str, path: str) -> Hold | None:
        """Return the hold or pin that stops policies, or None.

        It is on the memory, its path, a directory above it or the store.
        """
        if self.memories and memory_id in self.memories:
            return self.memories[memory_id]
        if not self.places:
            return None
        directory = path[: path.rfind("/")]
        if directory not in self._known:
            self._known[directory] = _above(self.places, directory)
        return self._known[directory] or self.places.get(path)

    def stops_removal(self, memory_id: str, path: str) -> Hold | None:
        """Return the legal hold that forbids a removal, or None.

        It is on the memory, its path, a directory above it or the store.
        """
        return self.legal_memories.get(memory_id) or (_above(self.legal_places, path) if self.legal_places else None)

    def stops_changes(self, memory_id: str, path: str) -> Hold | None:
        """Return the freezing hold on a memory, its path, a directory above it or the store, or None."""
        return self.freezing_memories.get(memory_id) or _above(self.freezing_places, path)

    def pin(self, memory_id: str, path: str) -> Hold | None:
        """Return the pin on a memory, its path, a directory above it or the store, or None."""
        return self.pinned_memories.get(memory_id) or _above(self.pinned_places, path)


def _above(places: Marks, path: str) -> Hold | None:
    """Return the hold on a path or on a directory above it, or None; the topmost one if there are several."""
    return next((places[place] for place in (*paths.ancestors(path), path) if place in places), None)


def holds_of(store_id: str, at: datetime) -> Holds:
    """Return the holds and pins of a store that are in force at a moment."""
    found = Holds()
    for hold in Hold.objects.of_store(store_id).active(at).order_by("-kind", "id"):  # pins first: a hold replaces them
        if hold.memory is not None:
            found.memories[hold.memory] = hold
        else:
            found.places[hold.path or ""] = hold
        if hold.kind == HoldKind.PIN and hold.memory is not None:
            found.pinned_memories[hold.memory] = hold
        elif hold.kind == HoldKind.PIN:
            found.pinned_places[hold.path or ""] = hold
        elif hold.memory is not None:
            found.legal_memories[hold.memory] = hold
        else:
            found.legal_places[hold.path or ""] = hold
        if hold.freezes and hold.memory is not None:
            found.freezing_memories[hold.memory] = hold
        elif hold.freezes:
            found.freezing_places[hold.path or ""] = hold
    return found


# ------------------------------------------------------------------------------------------------ placing, releasing


def place(
    store_id: str, act: Act, *, kind: HoldKind, reason: str, memory: str | None = None, path: str | None = None,
    ends_at: datetime | None = None, freezes: bool = False,
) -> Hold:  # fmt: skip
    """Hold or pin one memory (live or in the trash), or everything at and under a path (`""`: the store).

    A legal hold with `freezes` also keeps texts and paths as they are. Raises ValidationError (by field),
    Memory.DoesNotExist and NoSuchStore.
    """
    path = _checked(act, reason, memory, path, ends_at)
    if freezes and kind != HoldKind.HOLD:
        raise ValidationError({"freezes": _("Only a legal hold can freeze the text.")})
    with tree.locked(store_id, act) as store:
        at = path
        if memory is not None:
            at = Memory.objects.values_list("path", flat=True).get(store_id=store_id, pk=memory)
        hold = Hold(
            id=ids.new_id(ids.HOLD, act.at), store_id=store_id, kind=kind, memory=memory, path=path,
            reason=reason.strip(), owner_id=_person(act), created_at=act.at, ends_at=ends_at, seq=store.seq,
            freezes=freezes,
        )  # fmt: skip
        hold.save(force_insert=True)
        details = {name: [None, value] for name, value in _told(hold).items()}
        _tell(store, "hold", hold, at, details)
    return hold


def release(store_id: str, hold_id: str, act: Act) -> None:
    """End a hold or a pin now. Raises Released if it has already ended or is not in this store."""
    with tree.locked(store_id, act) as store:
        hold = Hold.objects.of_store(store_id).filter(pk=hold_id).active(act.at).first()
        if hold is None:
            raise Released(hold_id)
        hold.released_at, hold.released_by_id, hold.released_seq = act.at, _person(act), store.seq
        hold.save(update_fields=["released_at", "released_by_id", "released_seq"])
        at = hold.path
        if hold.memory is not None:
            at = Memory.objects.filter(store_id=store_id, pk=hold.memory).values_list("path", flat=True).first()
        _tell(store, "release", hold, at, {name: [value, None] for name, value in _told(hold).items()})


def _checked(act: Act, reason: str, memory: str | None, path: str | None, ends_at: datetime | None) -> str | None:
    """Check a new hold. Return its path in the stored form, or None if it is on a memory. Raises ValidationError.

    A path in any other form would match no memory.
    """
    errors: dict[str, str] = {}
    if not 0 < len(reason.strip()) <= LONGEST_REASON or "\0" in reason:
        errors["reason"] = _("Say why, in at most %(most)s characters.") % {"most": LONGEST_REASON}
    if ends_at is not None and ends_at <= act.at:
        errors["ends_at"] = _("The end must be in the future.")
    if memory is None:
        try:
            path = None if path is None else paths.from_tool(paths.to_tool(path))
        except ToolError:
            errors["path"] = _("This is not a path.")
        if path is None:
            errors["path"] = _("Choose a memory or a path.")
    if errors:
        raise ValidationError(errors)
    return path if memory is None else None


def _person(act: Act) -> str | None:
    return act.actor.id if act.actor.kind == ActorKind.USER else None


def _told(hold: Hold) -> dict[str, object]:
    ends = chain.moment(hold.ends_at) if hold.ends_at else None
    return {"kind": str(hold.kind), "reason": hold.reason, "ends_at": ends, "owner": hold.owner_id} | (
        {"freezes": True} if hold.freezes else {}
    )  # fmt: skip


def _tell(store: Tree, command: str, hold: Hold, path: str | None, changes: dict[str, list[object]]) -> None:
    """Write the act's entry: the hold, what it covers, and each of its settings before and after."""
    details = {"hold": hold.pk, "what": str(hold.kind), "memory": hold.memory, "path": hold.path, **changes}
    tree.commit(store, Record(command, path=path or None, memory=hold.memory, input=audit.to_json(details)))


# ------------------------------------------------------------------------------------------------ before a removal


def require_free(store: Tree, memories: Iterable[tuple[str, str]]) -> None:
    """Raise ToolError for the first (memory, path) under a legal hold. Call it before the first write."""
    memories = list(memories)
    tree.frozen(store).require_free(memories)
    held, places = _legal(store)
    if not held and not places:
        return
    for memory, path in memories:
        if memory in held or not places.isdisjoint((*paths.ancestors(path), path)):
            raise ToolError(results.held(path))


def require_may_move(store: Tree, moves: Iterable[tuple[str, str]]) -> None:
    """Raise ToolError for the first (path, new path) that a legal hold forbids.

    A memory must not leave a held directory, and a held path must not move, alone or with a directory above it.
    """
    places = _legal(store)[1]
    if not places:
        return
    for old, new in moves:
        tree.frozen(store).require_still(old)
        stays = {*paths.ancestors(new), new}
        left = [place for place in places if place not in stays and (covers(place, old) or covers(old, place))]
        if left:
            raise ToolError(results.held_in(old, min(left)))


def covers(place: str, path: str) -> bool:
    """Return whether a path equals `place` or is under it."""
    return path == place or path.startswith(place + "/")


def _legal(store: Tree) -> tuple[set[str], set[str]]:
    """Return two sets: the memories and the paths under a legal hold. This takes one indexed query."""
    rows = sql.rows(sql.LEGAL_HOLDS, store.store, store.now)
    return {memory for memory, path in rows if memory is not None}, {path for memory, path in rows if memory is None}
