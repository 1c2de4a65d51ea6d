"""Legal holds and pins. People place and release them, and every removal checks them first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils.translation import gettext as _

from memoryhub.actions.core import audit, sql, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Hold, HoldKind, Memory
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

LONGEST_REASON = 2_000
LONGEST_CASE = 100


class Released(Exception):
    """Raised for a hold that has already ended, or that belongs to another store."""


Marks = dict[str, Hold]
"""Holds by memory id, or by path."""


@dataclass(slots=True)
class Holds:
    """The holds and pins of a store that are in force at a moment, by memory id and by path.

    `pinned_…` are only pins, `legal_…` only legal holds, and `freezing_…` only legal holds that freeze.
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
        """Return the hold or pin that keeps retention policies from removing anything of a memory, or None."""
        if self.memories and memory_id in self.memories:
            return self.memories[memory_id]
        if not self.places:
            return None
        directory = path[: path.rfind("/")]
        if directory not in self._known:
            self._known[directory] = _above(self.places, directory)
        return self._known[directory] or self.places.get(path)

    def stops_removal(self, memory_id: str, path: str) -> Hold | None:
        """Return the legal hold that forbids the removal of a memory, or None."""
        return self.legal_memories.get(memory_id) or (_above(self.legal_places, path) if self.legal_places else None)

    def stops_changes(self, memory_id: str, path: str) -> Hold | None:
        """Return the freezing hold that covers a memory, or None."""
        return self.freezing_memories.get(memory_id) or _above(self.freezing_places, path)

    def fixes(self, memory_id: str, path: str) -> Hold | None:
        """Return the legal hold that requires a memory or a directory to keep its path, or None.

        This is a freezing hold that covers it, or a legal hold on its path or on a path under it.
        """
        frozen = self.stops_changes(memory_id, path)
        return frozen or next(
            (self.legal_places[place] for place in sorted(self.legal_places) if covers(path, place)), None
        )

    def stops_move(self, memory_id: str, path: str, new_path: str) -> Hold | None:
        """Return the legal hold that forbids a move, or None.

        Such a hold fixes the path (see `fixes`), or is on a directory that the memory would leave.
        """
        return self.fixes(memory_id, path) or self._left(path, new_path)

    def stops_return(self, memory_id: str, path: str, new_path: str) -> Hold | None:
        """Return the legal hold that forbids the return of a memory from the trash, or None.

        `path` is the memory's path in the trash. Such a hold freezes the memory, or covers `path` but not `new_path`.
        """
        return self.stops_changes(memory_id, path) or self._left(path, new_path)

    def _left(self, path: str, new_path: str) -> Hold | None:
        """Return the topmost legal hold that covers `path` but not `new_path`, or None."""
        if not self.legal_places:
            return None
        stays = {*paths.ancestors(new_path), new_path}
        left = (place for place in (*paths.ancestors(path), path) if place in self.legal_places and place not in stays)
        return next((self.legal_places[place] for place in left), None)

    def end(self, memory_id: str, path: str) -> datetime | None:
        """Return when the last of the holds and pins that cover a memory ends by itself.

        Return None if no hold or pin covers the memory, or if one that covers it has no end.
        """
        over = [self.pinned_memories.get(memory_id), self.legal_memories.get(memory_id)]
        for place in (*paths.ancestors(path), path):
            over += [self.pinned_places.get(place), self.legal_places.get(place)]
        ends = [hold.ends_at for hold in over if hold]
        return None if None in ends else max(filter(None, ends), default=None)

    def pin(self, memory_id: str, path: str) -> Hold | None:
        """Return the pin on a memory, its path, a directory above it or the store, or None."""
        return self.pinned_memories.get(memory_id) or _above(self.pinned_places, path)


def frozen_under(store_id: str, in_force: Holds, path: str) -> tuple[Memory, Hold] | None:
    """Return the first memory under `path` whose id has a freezing hold, and this hold.

    Holds on paths do not count. Return None if there is no such memory.
    """
    if not in_force.freezing_memories:
        return None
    frozen = Memory.objects.filter(store_id=store_id, pk__in=in_force.freezing_memories).under(path)
    first = frozen.order_by("path").first()
    return (first, in_force.freezing_memories[first.pk]) if first else None


def _above(places: Marks, path: str) -> Hold | None:
    """Return the hold on a path or on a directory above it, or None; the topmost one if there are several."""
    return next((places[place] for place in (*paths.ancestors(path), path) if place in places), None)


def holds_of(store_id: str, at: datetime) -> Holds:
    """Return the holds and pins of a store that are in force at a moment.

    If a memory or a path has several of one kind, only the one that lasts longest is included. If a memory has a pin
    and a legal hold, `memories` has the legal hold. If a path has both, `places` has the legal hold.
    """
    found = Holds()
    in_force = Hold.objects.of_store(store_id).active(at).order_by("-kind", F("ends_at").asc(nulls_last=True), "id")
    for hold in in_force:  # pins first: a hold replaces them
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


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a hold: its kind, reason, end, and case. Holds with one `case_number` can be released together."""

    kind: HoldKind
    reason: str
    ends_at: datetime | None = None
    freezes: bool = False
    case_number: str = ""


def place(
    store_id: str, act: Act, *, kind: HoldKind, reason: str, memory: str | None = None, path: str | None = None,
    ends_at: datetime | None = None, freezes: bool = False, case_number: str = "",
) -> Hold:  # fmt: skip
    """Hold or pin one memory (live or in the trash), or everything at and under a path (`""`: the store).

    If `ends_at` is None, the hold has no end. A legal hold with `freezes` also keeps texts and paths as they are.
    Raises ValidationError (by field) if a value is invalid; NoSuchStore if the store does not exist;
    Memory.DoesNotExist if the store does not have the memory; IndexError if the memory or path is already held on the
    same terms.
    """
    return place_several(store_id, act, [(memory, path)], Terms(kind, reason, ends_at, freezes, case_number))[0]


def place_several(store_id: str, act: Act, places: Sequence[tuple[str | None, str | None]], terms: Terms) -> list[Hold]:
    """Hold or pin several places on the same terms, all or none. Each hold has its own entry.

    A place is (memory, None) or (None, path). Places that are already held on these terms are left out. Raises the
    errors of `place`, except IndexError.
    """
    places = [(memory, _checked(act, terms, memory, path)) for memory, path in places]
    if terms.freezes and terms.kind != HoldKind.HOLD:
        raise ValidationError({"freezes": _("Only a legal hold can freeze the text.")})
    with tree.locked(store_id, _grouped(act, len(places))) as store:
        held = _held_so(store, terms)
        return [_put(store, terms, memory, path) for memory, path in places if (memory, path) not in held]


def _held_so(store: Tree, terms: Terms) -> frozenset[tuple[str | None, str | None]]:
    """Return the (memory, path) pairs that are already held on these terms."""
    case, reason = terms.case_number.strip(), terms.reason.strip()
    holds = Hold.objects.of_store(store.store).filter(kind=terms.kind, ends_at=terms.ends_at, freezes=terms.freezes)
    same = holds.filter(case_number=case) if case else holds.filter(case_number="", reason=reason)
    return frozenset(same.active(store.at).values_list("memory", "path"))


def _put(store: Tree, terms: Terms, memory: str | None, path: str | None) -> Hold:
    at, act = path, store.act
    if memory is not None:
        at = Memory.objects.values_list("path", flat=True).get(store_id=store.store, pk=memory)
    hold = Hold(
        id=ids.new_id(ids.HOLD, act.at), store_id=store.store, kind=terms.kind, memory=memory, path=path,
        reason=terms.reason.strip(), case_number=terms.case_number.strip(), owner_id=_person(act), created_at=act.at,
        ends_at=terms.ends_at, seq=store.seq, freezes=terms.freezes,
    )  # fmt: skip
    hold.save(force_insert=True)
    _write_entry(store, "hold", hold, at, {name: [None, value] for name, value in _settings_of(hold).items()})
    return hold


def release(store_id: str, hold_id: str, act: Act) -> None:
    """End a hold or a pin now. Raises Released if it has already ended or is not in this store."""
    with tree.locked(store_id, act) as store:
        hold = Hold.objects.of_store(store_id).filter(pk=hold_id).active(act.at).first()
        if hold is None:
            raise Released(hold_id)
        _let_go(store, hold)


def release_case(store_id: str, kind: HoldKind, case_number: str, act: Act) -> int:
    """End all holds, or all pins, of a case now, with an entry each; return how many were ended."""
    with tree.locked(store_id, _grouped(act, 2)) as store:
        found = list(Hold.objects.of_case(store_id, kind, case_number).active(act.at).order_by("id"))
        for hold in found:
            _let_go(store, hold)
    return len(found)


def _let_go(store: Tree, hold: Hold) -> None:
    hold.released_at, hold.released_by_id, hold.released_seq = store.act.at, _person(store.act), store.seq
    hold.save(update_fields=["released_at", "released_by_id", "released_seq"])
    at = hold.path
    if hold.memory is not None:
        at = Memory.objects.filter(store_id=store.store, pk=hold.memory).values_list("path", flat=True).first()
    _write_entry(store, "release", hold, at, {name: [value, None] for name, value in _settings_of(hold).items()})


def _grouped(act: Act, count: int) -> Act:
    """Return the act with which to write `count` entries. If `count` is 2 or more, this act puts them in one group."""
    return act if count < 2 else act._replace(group=act.group or ids.new_id(ids.GROUP, act.at))


def _checked(act: Act, terms: Terms, memory: str | None, path: str | None) -> str | None:
    """Check a new hold. Return its path in the stored form, or None if the hold is on a memory. Raises
    ValidationError."""
    errors: dict[str, str] = {}
    if not 0 < len(terms.reason.strip()) <= LONGEST_REASON or "\0" in terms.reason:
        errors["reason"] = _("Say why, in at most %(most)s characters.") % {"most": LONGEST_REASON}
    if len(terms.case_number) > LONGEST_CASE or "\0" in terms.case_number:
        errors["case_number"] = _("A case has at most %(most)s characters.") % {"most": LONGEST_CASE}
    if terms.ends_at is not None and terms.ends_at <= act.at:
        errors["ends_at"] = _("The end must be in the future.")
    if memory is None:
        try:
            # A path in any other form would match no memory.
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


def _settings_of(hold: Hold) -> dict[str, object]:
    ends = chain.moment(hold.ends_at) if hold.ends_at else None
    return {"kind": str(hold.kind), "reason": hold.reason, "ends_at": ends, "owner": hold.owner_id} | (
        {"freezes": True} if hold.freezes else {}
    ) | ({"case_number": hold.case_number} if hold.case_number else {})  # fmt: skip


def _write_entry(store: Tree, command: str, hold: Hold, path: str | None, changes: dict[str, list[object]]) -> None:
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
    """Raise ToolError if a legal hold forbids one of the moves (path, new path)."""
    places = _legal(store)[1]
    if not places:
        return
    for old, new in moves:
        tree.frozen(store).require_still(old)
        stays = {*paths.ancestors(new), new}
        left = [place for place in places if place not in stays and (covers(place, old) or covers(old, place))]
        if left:
            raise ToolError(results.held_in(old, min(left)))


def require_may_return(store: Tree, returns: Iterable[tuple[str, str, str]]) -> None:
    """Raise ToolError if a legal hold forbids one of the restores from the trash.

    Each item of `returns` is (memory, path in the trash, new path).
    """
    returns = list(returns)
    tree.frozen(store).require_free((memory, path) for memory, path, _new in returns)
    places = _legal(store)[1] if returns else set()
    for _memory, old, new in returns:
        left = [place for place in places if covers(place, old) and not covers(place, new)]
        if left:
            raise ToolError(results.held_in(old, min(left)))


def covers(place: str, path: str) -> bool:
    """Return whether a path equals `place` or is under it."""
    return path == place or path.startswith(place + "/")


def _legal(store: Tree) -> tuple[set[str], set[str]]:
    """Return two sets: the memories and the paths under a legal hold. This takes one indexed query."""
    rows = sql.rows(sql.LEGAL_HOLDS, store.store, store.now)
    return {memory for memory, path in rows if memory is not None}, {path for memory, path in rows if memory is None}
