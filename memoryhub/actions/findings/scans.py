"""Scans search the texts and paths of all versions in a store for some kinds of sensitive values.

A scan reads the versions memory by memory, the oldest first, in short steps.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q
from django.db.models.query import QuerySet

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.plans import named_ids
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.rules import actions_of
from memoryhub.models import (
    Door,
    Finding,
    HubSettings,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Scan,
    ScanState,
    User,
)
from memoryhub.pure import ids, sensitive
from memoryhub.pure.sensitive import KINDS, Action, Span
from memoryhub.pure.text.novelty import Novelty

STEP_VERSIONS = 200
STEP_BYTES = 256 * 1024
"""The most versions and bytes of one step (at least one version); only lines that a version added are searched."""


class ScanRuns(Exception):
    """Another scan of the store (`scan`) is still running. Only one at a time is allowed."""

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan.pk)
        self.scan = scan


class Nothing(Exception):
    """There is nothing to search for: no kind was chosen, and the store's rules are all off."""


class _Content(NamedTuple):
    """The text and the path of a memory before some version. `text` is None if there was none or if it was redacted."""

    memory: str
    text: str | None
    path: str | None


class _Version(NamedTuple):
    """A version to read. `memory` and `text` are ids; `text` is None for a deletion or a redacted version."""

    id: str
    memory: str
    number: int
    path: str | None
    text: str | None
    size: int | None
    redacted_seq: int | None


def watched(store: MemoryStore) -> list[str]:
    """Return the kinds that the store's rules do not switch off, in the order of KINDS."""
    actions = actions_of(audit.to_json(store.rules), audit.to_json(HubSettings.current().rules))
    return [kind for kind in KINDS if actions[kind] != Action.OFF]


def start(store_id: str, kinds: Collection[str], act: Act, *, by: User | None = None) -> Scan:
    """Begin a scan and return it. `by` is the person who started it (None: no person). Raises ScanRuns and Nothing.

    If `kinds` is empty, the scan searches for the kinds that the store's rules watch.
    """
    with tree.locked(store_id, act) as store:
        running = of_store(store_id).filter(state=ScanState.RUNNING).first()
        if running is not None:
            raise ScanRuns(running)
        chosen = [kind for kind in KINDS if kind in kinds] or watched(MemoryStore.objects.get(pk=store_id))
        if not chosen:
            raise Nothing
        scan = Scan.objects.create(
            id=ids.new_id(ids.SCAN, act.at),
            store_id=store_id,
            state=ScanState.RUNNING,
            started_at=act.at,
            kinds=chosen,
            started_by=by,  # type: ignore[misc]
        )
        tree.commit(store, Record("start_scan", input=audit.to_json({"scan": scan.pk, "kinds": chosen})))
    return scan


def cancel(scan_id: str, act: Act) -> bool:
    """End a running scan and keep its findings. Return False if it was not running."""
    store_id = Scan.objects.values_list("store_id", flat=True).get(pk=scan_id)
    with tree.locked(store_id, act) as store:
        return _end(store, scan_id, ScanState.CANCELLED)


def of_store(store_id: str) -> "QuerySet[Scan]":
    return Scan.objects.filter(store_id=store_id)


def running() -> "QuerySet[Scan]":
    """Return the running scans of all stores, the oldest first."""
    return Scan.objects.filter(state=ScanState.RUNNING).order_by("id")


def step(scan_id: str, at: datetime) -> bool:
    """Scan the next versions, and record the findings in one short transaction. Return whether the scan continues.

    If one of these versions was removed or redacted after it was read, nothing is recorded, and the next step reads the
    versions again.
    """
    scan = Scan.objects.filter(pk=scan_id, state=ScanState.RUNNING).first()
    if scan is None:
        return False
    if scan.total == 0:
        total = MemoryVersion.objects.filter(store_id=scan.store_id).count()
        with writing():
            Scan.objects.filter(pk=scan_id).update(total=total)
    memory, number = _place(scan.position)
    versions = _next(scan.store_id, memory, number)
    found = list(_findings(scan, versions, at))
    act = Act(Actor.system("scan"), Door.COMMAND, at)
    try:
        with tree.locked(scan.store_id, act) as store:
            if not versions:
                _end(store, scan_id, ScanState.DONE)
                return False
            if _is_as_read(scan.store_id, versions):
                _go_on(store, scan, versions, found)
    except tree.NoSuchStore:
        return False
    return True


# ------------------------------------------------------------------------------------------------ internals


def _place(position: str) -> tuple[str, int]:
    memory, _, number = position.partition("/")
    return memory, int(number or 0)


def _next(store_id: str, memory: str, number: int) -> list[_Version]:
    """Return the versions of `memory` after version `number`, then the versions of the memories with higher ids.

    At most STEP_VERSIONS are returned, with at most STEP_BYTES in total. A single version may be larger.
    """
    fields = ("pk", "memory_id", "number", "path", "text_id", "size", "redacted_seq")
    after = Q(memory_id__gt=memory) | Q(memory_id=memory, number__gt=number)
    rows = MemoryVersion.objects.filter(after, store_id=store_id, memory_id__gte=memory)
    chosen: list[_Version] = []
    size = 0
    for row in rows.order_by("memory_id", "number").values_list(*fields)[:STEP_VERSIONS]:
        version = _Version(*row)
        size += version.size or 0
        if chosen and size > STEP_BYTES:
            break
        chosen.append(version)
    return chosen


def _findings(scan: Scan, versions: Sequence[_Version], at: datetime) -> Iterator[Finding]:
    """Yield findings in the texts and paths of some versions.

    Findings that the previous version already had are left out.
    """
    texts = MemoryText.objects.contents(scan.store_id, {version.text for version in versions if version.text})
    before = _before(scan, versions)
    kinds = frozenset(scan.kinds)
    for version in versions:
        if before is None or before.memory != version.memory:
            before = _Content(version.memory, None, None)
        text = texts.get(version.text or "", before.text)
        for old, new, in_path in ((before.text, text, False), (before.path, version.path, True)):
            if new and new != old:
                spans = Novelty(None if in_path else old, new).found(kinds)
                yield from _rows(scan, version, new, findings.recorded(spans, new), in_path, at)
        before = _Content(version.memory, text, version.path)


def _before(scan: Scan, versions: Sequence[_Version]) -> _Content | None:
    """Return the last content that the memory of `versions[0]` had before that version.

    Return None if the scan has not read a version of that memory yet.
    """
    memory, number = _place(scan.position)
    if not versions or versions[0].memory != memory:
        return None
    earlier = MemoryVersion.objects.filter(store_id=scan.store_id, memory_id=memory, number__lte=number)
    version = earlier.filter(text__isnull=False).select_related("text").order_by("-number").first()
    return _Content(memory, version.content, version.path) if version else None


def _rows(
    scan: Scan, version: _Version, content: str, spans: Sequence[Span], in_path: bool, at: datetime
) -> Iterator[Finding]:
    for span in spans:
        yield Finding(
            id=ids.new_id(ids.FINDING, at),
            store_id=scan.store_id,
            memory_id=version.memory,
            version_id=version.id,
            kind=span.kind,
            in_path=in_path,
            line=sensitive.line_of(content, span.start),
            start=span.start,
            end=span.end,
            fingerprint=findings.fingerprint(span.kind, content[span.start : span.end]),
            at=at,
        )


def _is_as_read(store_id: str, versions: Sequence[_Version]) -> bool:
    """Return whether none of these versions was removed or redacted since it was read."""
    now = MemoryVersion.objects.among(store_id, [version.id for version in versions])
    return dict(now.values_list("pk", "redacted_seq")) == {version.id: version.redacted_seq for version in versions}


def _go_on(store: Tree, scan: Scan, versions: Sequence[_Version], found: Sequence[Finding]) -> None:
    """Store the position of the scan, and the new findings with an entry."""
    last = versions[-1]
    moved = Scan.objects.filter(pk=scan.pk, state=ScanState.RUNNING, position=scan.position).update(
        position=f"{last.memory}/{last.number}", checked=scan.checked + len(versions)
    )
    if not moved:  # cancelled, or moved on by another process
        return
    known = _known(scan.store_id, {one.memory_id for one in found})
    new: dict[tuple[str, str, str | None], Finding] = {}
    for one in found:
        if _key(one) not in known:
            new.setdefault(_key(one), one)
    if new:
        Finding.objects.bulk_create(new.values())
        details = {"scan": scan.pk, "findings": named_ids([one.pk for one in new.values()]), "found": len(new)}
        tree.commit(store, Record("note_findings", input=audit.to_json(details)))
        Scan.objects.filter(pk=scan.pk).update(found=scan.found + len(new))


def _key(one: Finding) -> tuple[str, str, str | None]:
    return one.memory_id, one.kind, one.fingerprint


def _known(store_id: str, memories: Collection[str]) -> set[tuple[str, str, str | None]]:
    rows = Finding.objects.filter(store_id=store_id, memory_id__in=memories)
    return set(rows.values_list("memory_id", "kind", "fingerprint"))


def _end(store: Tree, scan_id: str, state: ScanState) -> bool:
    """End a running scan, with an entry. Return False if it was not running."""
    ended = Scan.objects.filter(pk=scan_id, state=ScanState.RUNNING).update(state=state, ended_at=store.at)
    if ended:
        scan = Scan.objects.get(pk=scan_id)
        details = {"scan": scan_id, "kinds": scan.kinds, "checked": scan.checked, "found": scan.found}
        command = "end_scan" if state == ScanState.DONE else "cancel_scan"
        tree.commit(store, Record(command, input=audit.to_json(details)))
    return bool(ended)
