"""Pages of findings across stores, newest first.

A page begins after the finding whose id is its cursor. The number of findings that are scanned for a page is limited.
A store is queried only when its newest finding may be the next one on the page.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from django.db.models import Count, OuterRef, Subquery

from memoryhub.models import Finding, FindingState, Memory, MemoryStore
from memoryhub.models.findings import FindingQuerySet
from memoryhub.pure.sensitive import KINDS, Group
from memoryhub.web.audit.filters import is_at
from memoryhub.web.common.filters import has_words
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.texts.kinds import SEVERITY, group_of
from memoryhub.web.findings.filters import Wanted

PAGE = 20
CHUNK = 200
WALK = 2_000
"""The most findings that are scanned for one page if the filter has to check each finding."""

LOOK = 500
"""The most open findings that are read together to choose the worst of them."""

_PLACE = re.compile(r"find_\w{26}", re.ASCII)


class Row(NamedTuple):
    """The columns of a finding that filters need."""

    id: str
    store: str
    memory: str
    kind: str


@dataclass(frozen=True, slots=True)
class Page:
    """Findings, newest first."""

    ids: Sequence[str]
    next: str | None  # where the next page begins, or None at the end
    stopped: bool = False  # the page ended at the limit of scanned findings


NOTHING = Page([], None)


def page(wanted: Wanted, place: str = "", *, size: int = PAGE, walk: int = WALK) -> Page:
    """Return at most `size` findings after `place`, or the newest findings if `place` is empty. Raise BadPlace if
    `place` is invalid. The page ends early after `walk` scanned findings."""
    if place and not _PLACE.fullmatch(place):
        raise BadPlace(place)
    rows = _rows(wanted, place, CHUNK if wanted.looks_at_rows else size + 1)
    chosen: list[str] = []
    looked, last = 0, ""
    while batch := list(islice(rows, CHUNK if wanted.looks_at_rows else size + 1)):
        paths = _paths(batch) if wanted.looks_at_paths else {}
        for row in batch:
            if _is_wanted(wanted, row, paths.get(row.memory)):
                if len(chosen) == size:
                    return Page(chosen, last)
                chosen.append(row.id)
            last, looked = row.id, looked + 1
        if looked >= walk:
            return Page(chosen, last, stopped=True)
    return Page(chosen, None)


def worst(stores: Sequence[str], size: int, *, look: int = LOOK) -> Mapping[str, int]:
    """Return {finding id: number of other open findings in its memory} for at most `size` of the worst open findings.

    Each memory has at most one finding in the result. The findings are sorted by their groups in the order of SEVERITY;
    in the same group, the newest finding is first.
    """
    rows = list(islice(_rows(Wanted(stores), "", CHUNK), look + 1))
    first: dict[str, Row] = {}
    if len(rows) > look:
        for group in SEVERITY:
            _add_newest(first, stores, group, size)
    else:
        for row in sorted(rows, key=lambda row: SEVERITY.index(group_of(row.kind))):  # stable: newest first
            first.setdefault(row.memory, row)
    worst = [*islice(first.values(), size)]
    of_memories = Finding.objects.filter(store_id__in={row.store for row in worst}, state=FindingState.OPEN)
    of_memories = of_memories.filter(memory_id__in=[row.memory for row in worst]).order_by()
    counts = dict(of_memories.values_list("memory_id").annotate(count=Count("pk")))
    return {row.id: counts.get(row.memory, 1) - 1 for row in worst}


def _add_newest(first: dict[str, Row], stores: Sequence[str], group: Group, size: int) -> None:
    """Add the newest open findings of `group` to `first`, one for each memory that has none in `first` yet, until
    `first` has `size` findings."""
    heads = _newest_of_kinds(stores, [kind.name for kind in KINDS.values() if kind.group == group])
    while heads and len(first) < size:
        head = heads.pop(heads.index(max(heads)))
        of_kind = Finding.objects.of_store(head.store).filter(state=FindingState.OPEN, kind=head.kind)
        for memory in of_kind.filter(id=head.id).values_list("memory_id", flat=True):
            first.setdefault(memory, Row(head.id, head.store, memory, head.kind))
        others = of_kind.filter(id__lt=head.id).exclude(memory_id__in=list(first)).newest()
        heads += [head._replace(id=id) for id in others.values_list("id", flat=True)[:1]]


class _Head(NamedTuple):
    id: str
    store: str
    kind: str


def _newest_of_kinds(stores: Sequence[str], kinds: Sequence[str]) -> list[_Head]:
    """Return the newest open finding of each kind in `kinds`, for each store."""
    of_store = Finding.objects.filter(store_id=OuterRef("pk"), state=FindingState.OPEN)
    newest = [Subquery(of_store.filter(kind=kind).newest().values("id")[:1]) for kind in kinds]
    found = MemoryStore.objects.filter(pk__in=stores).order_by("pk").values_list("pk", *newest)
    return [_Head(id, store, kind) for store, *heads in found for kind, id in zip(kinds, heads, strict=True) if id]


def _is_wanted(wanted: Wanted, row: Row, path: str | None) -> bool:
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    if wanted.path is not None and not is_at(path, wanted.path):
        return False
    return has_words(path, wanted.words) and not (wanted.other_path is not None and is_at(path, wanted.other_path))


def _paths(rows: Sequence[Row]) -> dict[str, str]:
    found = Memory.objects.filter(store_id__in={row.store for row in rows}, pk__in={row.memory for row in rows})
    return dict(found.values_list("pk", "path"))


def _rows(wanted: Wanted, place: str, chunk: int) -> Iterator[Row]:
    """Yield all findings after `place`, newest first, without filtering by path or kind."""
    waiting = deque(_begins(wanted, place))
    heads: list[tuple[Row, Iterator[Row]]] = []
    while waiting or heads:
        at = max(range(len(heads)), key=lambda at: heads[at][0].id, default=-1)
        if waiting and (at < 0 or waiting[0][1] > heads[at][0].id):
            stream = _of_store(waiting.popleft()[0], wanted.state, place, chunk)
        else:
            row, stream = heads.pop(at)
            yield row
        if following := next(stream, None):
            heads.append((following, stream))


def _of_store(store: str, state: FindingState, place: str, chunk: int) -> Iterator[Row]:
    while True:
        found = _after(Finding.objects.of_store(store).filter(state=state), place).newest()
        rows = [Row(*row) for row in found.values_list("id", "store_id", "memory_id", "kind")[:chunk]]
        yield from rows
        if len(rows) < chunk:
            return
        place = rows[-1].id


def _after(found: FindingQuerySet, place: str) -> FindingQuerySet:
    return found.filter(id__lt=place) if place else found


def _begins(wanted: Wanted, place: str) -> list[tuple[str, str]]:
    """Return (store id, id of its newest finding after `place`), newest finding first, for the stores with such a
    finding."""
    of_store = _after(Finding.objects.filter(store_id=OuterRef("pk"), state=wanted.state), place)
    stores = MemoryStore.objects.filter(pk__in=wanted.stores)
    with_newest = stores.annotate(newest=Subquery(of_store.newest().values("id")[:1])).filter(newest__isnull=False)
    return list(with_newest.order_by("-newest").values_list("pk", "newest"))
