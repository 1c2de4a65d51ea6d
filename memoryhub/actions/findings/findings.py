"""Screens new texts for sensitive values before they are stored, and records findings of flagged values."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from math import inf
from typing import Any, NamedTuple

from memoryhub.actions.core import audit, sql, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.audit.marks import fingerprint as fingerprint
from memoryhub.actions.core.plans import in_parts, named_ids
from memoryhub.actions.core.rules.ruling import Looked, Ruling, Spans
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Finding, FindingState, MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.pure import ids, sensitive
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import Action, Span, TooMuch
from memoryhub.pure.text.novelty import Novelty, apart, shifted

MOST = 1000
"""The most findings of one text: a hostile text could have tens of thousands."""

COMMANDS = {
    FindingState.DISMISSED: "dismiss_finding",
    FindingState.OPEN: "reopen_finding",
}
"""The states that a person can set. A finding is resolved only by its text (see `settling`)."""


class Screened(NamedTuple):
    """A text in the form in which it may be stored (`text`).

    `masked` has the spans of the masked values, in the text before masking. `flagged` has the spans of the flagged
    values, in `text`.
    """

    text: str
    masked: tuple[Span, ...] = ()
    flagged: tuple[Span, ...] = ()


class ScreenedPath(NamedTuple):
    """A path that may be stored, and its flagged spans."""

    path: str
    flagged: tuple[Span, ...] = ()


class NeedsReason(Exception):
    """A person has to give a reason, and nothing was written.

    A reason is needed if the person's text has flagged `spans`, if the path has flagged `path_spans`, or if the person
    dismisses a finding.
    """

    def __init__(
        self, spans: tuple[Span, ...] = (), text: str = "", path_spans: tuple[Span, ...] = (), path: str = ""
    ) -> None:
        super().__init__("a reason is needed")
        self.spans, self.text, self.path_spans, self.path = spans, text, path_spans, path


# ------------------------------------------------------------------------------------------------ screening


def screen_written(
    store: Tree, path: str, old: str | None, new: str, *, written: tuple[int, int] | None = None
) -> Screened:
    """Screen a text that an actor has just written; return the same as `screen`.

    Raises ToolError for a text that takes too long to screen, or is far too long for the store.
    """
    most = store.limits.memory_bytes
    if most is not None and len(new) > 2 * most and len(new) > len((old or "").encode("utf-8", "surrogatepass")):
        raise ToolError(results.memory_too_large(path, len(new.encode("utf-8", "surrogatepass")), most))
    try:
        return screen(store, path, old, new, written=written, steps=sensitive.STEPS)
    except TooMuch as error:
        store.masked = (new, sensitive.mask(new, [Span(0, len(new), error.kind)]))
        raise ToolError(results.too_much_like(path, error.kind)) from None


def screen(
    store: Tree, path: str, old: str | None, new: str, *, written: tuple[int, int] | None = None, steps: float = inf
) -> Screened:  # fmt: skip
    """Return the form of a new text that may be stored. Only lines that are not in the old text are screened.

    `written` is the span of the new text that was written, if known. Raises ToolError if the text has a value of a
    blocked kind; TooMuch if the screening takes more than `steps`.
    """
    rules = store.ruling
    if rules.is_idle or old == new:
        return Screened(new)
    known = store.looked.get((rules, old, new))
    if isinstance(known, TooMuch):
        raise known
    kept_out, flagged = known or spans_of(rules, Novelty(old, new, written, steps=steps))
    if not kept_out and not flagged:
        store.masked = (new, new) if old is None else None
        return Screened(new)
    if kept_out:
        store.kept_out += [(span.kind, new[span.start : span.end]) for span in kept_out]
        refuse_blocked(rules.actions, path, new, kept_out)
    if not kept_out:
        return Screened(new, (), tuple(flagged))
    masked = sensitive.mask(new, kept_out)
    store.masked = (new, masked) if old is None else None
    return Screened(masked, tuple(kept_out), tuple(shifted(flagged, new, kept_out)))


def spans_of(rules: Ruling, novelty: Novelty) -> Spans:
    """Return two lists: the spans of the values that are masked or blocked, and those of the flagged values.

    A flagged span that overlaps a span of the first list is left out.
    """
    if not novelty.has_any(rules.watched):
        return [], []
    kept_out = novelty.found(rules.kept_out)
    return kept_out, apart(novelty.found(rules.flagged), kept_out)


def look_ahead(rules: Ruling, texts: Iterable[str]) -> Looked:
    """Return the findings of the rules in new texts, for `Tree.looked`. Call it before the store is locked.

    If the rules change before the store is locked, the texts are screened again.
    """
    if rules.is_idle:
        return {}
    return {(rules, None, text): spans_of(rules, Novelty(None, text)) for text in texts}


def refuse_blocked(actions: Mapping[str, Action], path: str, text: str, spans: Iterable[Span]) -> None:
    """Raise ToolError for the first of the spans whose kind is blocked."""
    for span in spans:
        if actions[span.kind] == Action.BLOCK:
            raise ToolError(results.blocked(path, span.kind, sensitive.line_of(text, span.start)))


def screen_path(store: Tree, path: str) -> ScreenedPath:
    """Return a new path with its flagged spans. Raises ToolError if it contains a value of a masked or blocked kind."""
    rules = store.ruling
    if store.clean.rules is rules and path in store.clean.paths:
        return ScreenedPath(path)
    if kept_out := rules.spans(path):
        raise ToolError(results.path_blocked(kept_out[0].kind))
    return ScreenedPath(path, tuple(sensitive.find(path, rules.flagged)) if rules.flagged else ())


def masked_sentence(screened: Screened) -> str:
    """Return the sentence about masked values at the end of an agent's answer; "" if nothing was masked."""
    return results.masked([span.kind for span in screened.masked]) if screened.masked else ""


class Kept(NamedTuple):
    """The row of a text that may become a memory's newest text, and the result of screening the text."""

    text: str
    size: int
    sha256: str
    screened: Screened = Screened("")


def screen_stored(store: Tree, memory_id: str, path: str, old: str | None, text: str, size: int, sha256: str) -> Kept:
    """Screen a stored text again before it becomes a memory's newest text. `text` is the id of its row.

    `old` is the memory's text until now (None: no text). If a value is masked, the masked text gets a new row;
    otherwise the result has the given row.
    """
    if store.ruling.is_idle:
        return Kept(text, size, sha256)
    screened = screen(store, path, old, text_of(store, text) or "")
    if not screened.masked:
        return Kept(text, size, sha256, screened)
    return add_screened(store, memory_id, screened)


def add_screened(store: Tree, memory_id: str, screened: Screened) -> Kept:
    """Add a row for a screened text and return it as `Kept`."""
    encoded = screened.text.encode()
    row_id = tree.add_text(store, memory_id, screened.text)
    return Kept(row_id, len(encoded), hashlib.sha256(encoded).hexdigest(), screened)


def text_of(store: Tree, text: str | None) -> str | None:
    """Return the text of the row with this id. None if there is no such row, or if all kinds are off."""
    row = sql.one(sql.TEXT, store.store, text) if text and not store.ruling.is_idle else None
    return row[0] if row else None


# ------------------------------------------------------------------------------------------------ recording


def note(
    store: Tree,
    memory_id: str,
    version_id: str,
    screened: Screened,
    place: ScreenedPath | None = None,
    *,
    returns: bool = False,
) -> None:
    """Record the flagged spans of a version. Call it before the version's entry is written. Raises NeedsReason.

    An open or dismissed finding of a value does not change. A resolved finding of a value is opened again by
    `settling`, and gets the new version and position. With `returns` (a restore or an undo), the resolved finding keeps
    its old version and position if the old version still has the value.
    """
    spans = recorded(screened.flagged, screened.text) if screened.flagged else []
    found = [_row(store, memory_id, version_id, span, screened.text) for span in spans]
    if place is not None:
        found += [_row(store, memory_id, version_id, span, place.path, in_path=True) for span in place.flagged]
    if found:
        _write(store, found, screened, place, returns=returns)


def recorded(spans: Iterable[Span], text: str) -> list[Span]:
    """Return the spans of a text to record: the first span of each value, at most MOST.

    If there are more, one span of each kind is taken in turn.
    """
    by_kind: dict[str, dict[str, Span]] = defaultdict(dict)
    for span in spans:
        by_kind[span.kind].setdefault(text[span.start : span.end], span)
    turns = zip_longest(*(values.values() for values in by_kind.values()))
    return sorted(islice((span for turn in turns for span in turn if span is not None), MOST))


def note_path(store: Tree, memories: Sequence[StoredMemory], place: ScreenedPath) -> None:
    """Record the flagged spans of a new path, for the memories that have just moved to it or under it."""
    if place.flagged:
        made = [version.id for version in store.made[-len(memories) :]]
        moved = zip([memory.id for memory in memories], made, strict=True)
        rows = [_row(store, *one, span, place.path, in_path=True) for one in moved for span in place.flagged]
        _write(store, rows, Screened(""), place)


def _row(store: Tree, memory: str, version: str, span: Span, text: str, *, in_path: bool = False) -> Finding:
    return Finding(
        id=ids.new_id(ids.FINDING, store.at),
        store_id=store.store,
        memory_id=memory,
        version_id=version,
        kind=span.kind,
        in_path=in_path,
        line=sensitive.line_of(text, span.start),
        start=span.start,
        end=span.end,
        fingerprint=fingerprint(span.kind, text[span.start : span.end]),
        at=store.at,
        seq=store.seq,
    )


def _write(
    store: Tree, rows: Sequence[Finding], screened: Screened, place: ScreenedPath | None, *, returns: bool = False
) -> None:
    wanted = {(row.memory_id, row.kind, row.fingerprint): row for row in reversed(rows)}
    known = _known(store, wanted)
    fresh = {key: row for key, row in wanted.items() if known.get(key, _RESOLVED)[1] == FindingState.RESOLVED}
    if not fresh:
        return
    if store.asks or store.reason:
        _require_reason(store, fresh.values(), screened, place)
    again = {known[key][0]: row for key, row in fresh.items() if key in known}
    Finding.objects.bulk_create([row for key, row in fresh.items() if key not in known], batch_size=100)
    kept = _with_text(store, again) if returns else frozenset()
    for pk, row in again.items():
        names = (*(() if pk in kept else _FOUND_AGAIN), *(() if row.state == FindingState.OPEN else _DECIDED))
        if names:
            Finding.objects.of_store(store.store).filter(pk=pk).update(**{name: getattr(row, name) for name in names})


def _with_text(store: Tree, ids: Collection[str]) -> frozenset[str]:
    """Return the ids of the findings whose version still has the text (or the path) that contains the value."""
    found: set[str] = set()
    for part in in_parts(sorted(ids)):
        rows = Finding.objects.of_store(store.store).filter(pk__in=part).values_list("pk", "version_id", "in_path")
        named = list(rows)
        versions = MemoryVersion.objects.among(store.store, sorted({version for _, version, _ in named}))
        there = {pk: (text, path) for pk, path, text in versions.values_list("pk", "path", "text_id")}
        found |= {pk for pk, version, in_path in named if there.get(version, (None, None))[in_path] is not None}
    return frozenset(found)


_RESOLVED = ("", FindingState.RESOLVED)
_FOUND_AGAIN = ("version_id", "in_path", "line", "start", "end", "at", "seq")
_DECIDED = ("state", "note", "decided_at", "decided_by_id", "decided_seq")

_Key = tuple[str, str, str | None]


def _known(store: Tree, wanted: Iterable[_Key]) -> dict[_Key, tuple[str, str]]:
    """Return {(memory, kind, fingerprint): (id, state)} of existing findings of the memories in `wanted`."""
    marks: dict[str, set[str]] = defaultdict(set)
    for memory, _kind, mark in wanted:
        if mark:
            marks[memory].add(mark)
    known: dict[_Key, tuple[str, str]] = {}
    for memories in in_parts(sorted(marks)):
        for part in in_parts(sorted(set().union(*(marks[memory] for memory in memories)))):
            found = Finding.objects.of_store(store.store).filter(memory_id__in=memories, fingerprint__in=part)
            for pk, memory, kind, mark, state in found.values_list("pk", "memory_id", "kind", "fingerprint", "state"):
                known[memory, kind, mark] = (pk, state)
    return known


def _require_reason(store: Tree, rows: Iterable[Finding], screened: Screened, place: ScreenedPath | None) -> None:
    """Mark findings as dismissed with the person's reason. Raises NeedsReason without a reason."""
    rows = list(rows)
    store.reason = store.ruling.masked((store.reason or "").strip())
    if not store.reason:
        inside, named = (
            tuple(sorted(Span(row.start, row.end, row.kind) for row in rows if row.in_path == in_path))
            for in_path in (False, True)
        )
        raise NeedsReason(inside, screened.text, named, place.path if place else "")
    actor = store.act.actor
    by = actor.id if actor.kind == ActorKind.USER else None
    for row in rows:
        row.state, row.note = FindingState.DISMISSED, store.reason
        row.decided_at, row.decided_by_id, row.decided_seq = store.at, by, store.seq
    store.overridden += [row.kind for row in rows]


# ------------------------------------------------------------------------------------------------ deciding


def decide(store_id: str, finding_ids: Sequence[str], state: FindingState, note: str, act: Act) -> int:
    """Dismiss open findings, or open dismissed findings again; return how many changed.

    Raises NeedsReason for a dismissal without a note.
    """
    state = FindingState(state)
    if state not in COMMANDS:
        raise ValueError("no one can claim that a text is gone")
    if state == FindingState.DISMISSED and not note.strip():
        raise NeedsReason
    with tree.locked(store_id, act._replace(note=note.strip() or act.note)) as store:
        found = _of_ids(store_id, finding_ids, state)
        if not found:
            return 0
        actor = store.act.actor
        by = actor.id if actor.kind == ActorKind.USER else None
        for part in in_parts([finding.pk for finding in found]):
            Finding.objects.of_store(store_id).filter(pk__in=part).update(
                state=state, note=store.act.note or "", decided_at=store.at, decided_by_id=by, decided_seq=store.seq
            )
        tree.commit(store, _record_of(found, state))
    return len(found)


def _of_ids(store_id: str, finding_ids: Sequence[str], state: FindingState) -> list[Finding]:
    """Return the findings whose state will change to `state`."""
    other = FindingState.OPEN if state == FindingState.DISMISSED else FindingState.DISMISSED
    found: list[Finding] = []
    for part in in_parts(sorted(set(finding_ids))):
        found += Finding.objects.of_store(store_id).filter(pk__in=part, state=other)
    return found


def _record_of(found: Sequence[Finding], after: FindingState) -> Record:
    """Return the record of a decision: the findings by their earlier state, the new state, and the kinds."""
    before = {
        state: named_ids([finding.pk for finding in found if finding.state == state])
        for state in sorted({str(finding.state) for finding in found})
    }
    details: dict[str, Any] = {"before": before, "after": after.value, "kinds": sorted({one.kind for one in found})}
    record = Record(COMMANDS[after], input=audit.to_json(details))
    if len({finding.memory_id for finding in found}) > 1:
        return record
    first = MemoryVersion.objects.among(found[0].store_id, [found[0].version_id])
    version = first.values_list("pk", "path").first()
    pk, path = version or (None, None)
    return record._replace(memory=found[0].memory_id, version=pk, path=path)


def reveal(store_id: str, version_id: str, act: Act) -> str | None:
    """Return the whole text of a version, and record who has seen it.

    If the version has no text, return None and record nothing.
    """
    with tree.locked(store_id, act) as store:
        version = MemoryVersion.objects.among(store_id, [version_id]).select_related("text").first()
        if version is None or version.content is None:
            return None
        details = audit.to_json({"version": version.pk, "state": ["masked", "shown"]})
        record = Record("reveal", path=version.path, memory=version.memory_id, version=version.pk, input=details)
        tree.commit(store, record)
        return version.content
