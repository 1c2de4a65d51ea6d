"""Reads the rows of an export as they were at its entry, a few at a time. No database cursor stays open in between."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from django.db.models import F, OuterRef, Q, Subquery

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import seals
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.transfer.exporting.authors import Authors
from memoryhub.models import AuditEntry, Memory, MemoryVersion, Operation, Redaction, Seal
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure import chain
from memoryhub.pure.transfer.bundle import BundledVersion
from memoryhub.pure.transfer.written import JsonRow, WrittenVersion

PART = 50
"""The most rows with texts in memory at once."""
BRIEF = 1000
"""The most rows without texts in memory at once."""

T = TypeVar("T")
Cover = Callable[[Collection[MemoryVersion]], object]
"""A function that masks, in the rows, the texts that the exporting person may not see."""


class Current(NamedTuple):
    """A memory in an export: its last version, its id, its path (in the trash: its last path), and whether it is in the
    trash."""

    version: str
    memory: str
    path: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a store to export, as it was at the entry `seq`: all of it, or some directories and memories.

    With `with_trash`, the histories of memories in the trash are included.
    """

    store: str
    seq: int
    directories: tuple[str, ...] = ("",)
    memories: tuple[str, ...] = ()
    with_trash: bool = False

    @property
    def is_whole(self) -> bool:
        return "" in self.directories


class Rows:
    """Reads the rows of a scope. `cover` masks texts. With `proofs`, rows have the values that a verification needs.

    Deletions have their notes if `notes`, and no `cover`.
    """

    def __init__(self, scope: Scope, *, cover: Cover | None = None, proofs: bool = False, notes: bool = True) -> None:
        self.scope, self.cover, self.proofs, self.notes = scope, cover, proofs, notes and cover is None
        self.authors = Authors(scope.store)

    def heads(self) -> Iterator[WrittenVersion]:
        """Yield the newest versions of the live memories. Within a directory they are sorted by path."""
        for part in _parts(self.current(trash=False), PART):
            by_id = {version.pk: version for version in self._of_ids([one.version for one in part])}
            yield from self._written([by_id[one.version] for one in part if one.version in by_id], part)

    def histories(self) -> Iterator[WrittenVersion]:
        """Yield every version of every memory, memory by memory, oldest first."""
        for part in _parts(self.current(trash=self.scope.with_trash), PART):
            for few in self._few_versions(part):
                for versions in self._history(few):
                    yield from self._written(versions, few)

    def in_order(self, *, history: bool) -> Iterator[WrittenVersion]:
        """Yield versions in the order of their entries.

        With `history`, all versions are included, each with the path that its memory had before this version. Without
        `history`, only the versions that were the newest at the export's entry are included.
        """
        wanted = None if self.scope.is_whole else {one.memory for one in self.current(trash=history)}
        rows = MemoryVersion.objects.filter(store_id=self.scope.store, seq__lte=self.scope.seq)
        if not history:
            rows = rows.as_of(self.scope.seq)
        brief = _flat(_pages(rows.only("id", "seq", "memory_id", "number"), "seq", "id", BRIEF))
        found = ((row.seq, row.number, row.pk) for row in brief if wanted is None or row.memory_id in wanted)
        numbered = (sorted(same) for _, same in groupby(found, key=itemgetter(0)))
        for few in _parts(_flat(numbered), PART):
            place = {id: order for order, (_, _, id) in enumerate(few)}
            versions = sorted(self._of_ids(list(place), with_old=history), key=lambda version: place[version.pk])
            yield from self._written(versions, ())

    def current(self, *, trash: bool) -> Iterator[Current]:
        """Yield the memories of the scope: first the live ones by path; then, with `trash`, those in the trash."""
        then = self._then()
        for directory in self.scope.directories:
            yield from _current(then.exclude(operation=Operation.DELETED).under(directory))
        for ids in in_parts(self.scope.memories, PART):
            yield from sorted(map(_as_current, self._of_memories(ids, trash=trash)), key=lambda one: one.path)
        if trash:
            deleted = then.filter(operation=Operation.DELETED)
            for directory in self.scope.directories:
                yield from _current(deleted.under(directory))
            if self.scope.is_whole:
                yield from map(_as_current, _flat(_pages(deleted.filter(path=None), "seq", "id", BRIEF)))

    def entries(self) -> Iterator[JsonRow]:
        """Yield every audit entry up to the export's own. `seals` has the hashes of the entry's seals."""
        entries = AuditEntry.objects.of_chain(self.scope.store)
        after = 0
        while page := list(entries.between(after + 1, self.scope.seq).oldest()[:PART]):
            sealed = Seal.objects.of_chain(self.scope.store).filter(seq__gte=page[0].seq, seq__lte=page[-1].seq)
            seals_of = defaultdict(list)
            for seal in seals.in_order(sealed):
                seals_of[seal.seq].append(seals.member(seal))
            yield from ({**_proven(entry), "seals": seals_of[entry.seq]} for entry in page)
            after = page[-1].seq

    def redactions(self) -> Iterator[JsonRow]:
        """Yield the redactions that were recorded by entries up to the export's own."""
        recorded = Redaction.objects.of_chain(self.scope.store).filter(seq__lte=self.scope.seq)
        yield from map(_columns, _flat(_pages(recorded, "seq", "id", BRIEF)))

    def _then(self) -> MemoryVersionQuerySet:
        """Return each memory's newest version at the export's entry, even if it is a deletion."""
        seq = self.scope.seq
        newest = Q(superseded_seq=None) | Q(superseded_seq__gt=seq)
        return MemoryVersion.objects.filter(newest, store_id=self.scope.store, seq__lte=seq).defer("salt", "commitment")

    def _of_memories(self, ids: Collection[str], *, trash: bool) -> MemoryVersionQuerySet:
        """Return the versions of the given memories that were current at the scope's entry.

        Memories that were in the trash then are included only with `trash`.
        """
        seq = self.scope.seq
        found = MemoryVersion.objects.filter(store_id=self.scope.store, memory_id__in=ids)
        # `+ 0` keeps SQLite from scanning all versions of the store by seq.
        found = found.annotate(made=F("seq") + 0).filter(made__lte=seq)
        found = found.filter(Q(superseded_seq=None) | Q(superseded_seq__gt=seq))
        return found if trash else found.exclude(operation=Operation.DELETED)

    def _few_versions(self, part: list[Current]) -> Iterator[list[Current]]:
        """Yield groups of memories with at most PART versions together. A memory with more versions is one group."""
        ids = [one.memory for one in part]
        counts = dict(Memory.objects.among(self.scope.store, ids).values_list("pk", "version_count"))
        group: list[Current] = []
        total = 0
        for one in part:
            count = counts.get(one.memory, PART + 1)
            if group and total + count > PART:
                yield group
                group, total = [], 0
            group.append(one)
            total += count
        if group:
            yield group

    def _history(self, few: list[Current]) -> Iterator[list[MemoryVersion]]:
        """Yield the versions of these memories in lists: memory by memory as in `few`, oldest version first."""
        order = {one.memory: place for place, one in enumerate(few)}
        found = MemoryVersion.objects.filter(store_id=self.scope.store, memory_id__in=list(order))
        found = found.annotate(made=F("seq") + 0).filter(made__lte=self.scope.seq).select_related("text")
        if len(few) > 1:
            yield sorted(found, key=lambda version: (order[version.memory_id], version.number))
            return
        after = 0
        while page := list(found.filter(number__gt=after).order_by("number")[:PART]):
            after = page[-1].number
            yield page
            del page  # free the page's memory before the next one is read

    def _of_ids(self, ids: list[str], *, with_old: bool = False) -> list[MemoryVersion]:
        found = MemoryVersion.objects.among(self.scope.store, ids).select_related("text")
        return list(_with_old_path(found) if with_old else found)

    def _written(self, versions: list[MemoryVersion], part: Iterable[Current]) -> Iterator[WrittenVersion]:
        if self.cover is not None:
            self.cover(versions)
        self.authors.find(versions)
        places = {one.memory: one for one in part}
        for version in versions:
            place = places.get(version.memory_id)
            sha256 = None if self.cover is not None or _is_redacted(version) else version.sha256
            yield WrittenVersion(
                self._bundled(version),
                version.memory_id,
                sha256,
                _proof(version) if self.proofs else None,
                place.path if place else "",
                place.deleted if place else False,
                _old_path(version),
                version.superseded_seq == version.seq,
            )

    def _bundled(self, version: MemoryVersion) -> BundledVersion:
        is_redacted = _is_redacted(version)
        return BundledVersion(
            version.pk,
            version.number,
            version.operation,
            version.path or "",
            None if is_redacted else version.content,
            version.created_at,
            self.authors.of(version),
            is_redacted,
            self.authors.note_of(version) if self.notes else None,
        )


def _is_redacted(version: MemoryVersion) -> bool:
    return version.redacted_at is not None or (version.operation != Operation.DELETED and version.text_id is None)


def _old_path(version: MemoryVersion) -> str | None:
    """Return the memory's path before a version that `_with_old_path` loaded; None if the memory was not live then."""
    is_there = getattr(version, "old_operation", None) not in (None, Operation.DELETED)
    return getattr(version, "old_path", None) if is_there else None


def _proof(version: MemoryVersion) -> JsonRow:
    names = (
        "seq",
        "salt",
        "commitment",
        "text_id",
        "size",
        "superseded_seq",
        "review_state",
        "redacted_at",
        "redacted_by",
        "redacted_seq",
        "seal",
        "origin",
    )
    return {name.removesuffix("_id"): _plain(getattr(version, name)) for name in names}


def _proven(entry: AuditEntry) -> JsonRow:
    """Return the columns of an entry, with all its salts and commitments."""
    told = {"salts": proofs.read(entry).salts, "commitments": proofs.commitments_of(entry)}
    return {name: value for name, value in {**_columns(entry), **told}.items() if name != "proof"}


def _columns(row: AuditEntry | Redaction) -> JsonRow:
    return {field.name: _plain(getattr(row, field.attname)) for field in row._meta.concrete_fields}


def _plain(value: Any) -> object:
    return chain.moment(value) if hasattr(value, "isoformat") else value


def _with_old_path(found: MemoryVersionQuerySet) -> MemoryVersionQuerySet:
    """Annotate `old_path` and `old_operation`: the path and the operation of the memory's previous version."""
    before = MemoryVersion.objects.filter(
        store_id=OuterRef("store_id"), memory_id=OuterRef("memory_id"), number__lt=OuterRef("number")
    ).order_by("-number")
    return found.annotate(
        old_path=Subquery(before.values("path")[:1]), old_operation=Subquery(before.values("operation")[:1])
    )


def _current(rows: MemoryVersionQuerySet) -> Iterator[Current]:
    yield from map(_as_current, _flat(_pages(rows, "path", "id", BRIEF)))


def _as_current(version: MemoryVersion) -> Current:
    return Current(version.pk, version.memory_id, version.path or "", version.operation == Operation.DELETED)


def _pages(rows: Any, first: str, second: str, size: int) -> Iterator[list[Any]]:
    """Yield pages of rows in the order of two columns. No cursor stays open during a slow download."""
    ordered = rows.order_by(first, second)
    beyond = Q()
    while page := list(ordered.filter(beyond)[:size]):
        a, b, is_last = getattr(page[-1], first), getattr(page[-1], second), len(page) < size
        yield page
        if is_last:
            return
        del page  # free the page's memory before the next one is read
        # The first column alone is bounded too, so that an index that begins with it is read from there.
        beyond = Q(**{f"{first}__gte": a}) & (Q(**{f"{first}__gt": a}) | Q(**{first: a, f"{second}__gt": b}))


def _flat(pages: Iterable[list[T]]) -> Iterator[T]:
    for page in pages:
        yield from page


def _parts(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    found = iter(rows)
    while part := list(islice(found, size)):
        yield part
