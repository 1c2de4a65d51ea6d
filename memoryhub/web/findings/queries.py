"""Pages of findings across stores, newest first, with keys as cursors and bounded work.

Within a store, an index returns the findings in order. A store is queried only when its newest finding may be the next
one on the page.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from django.db.models import Count, OuterRef, Subquery

from memoryhub.models import Finding, FindingState, Memory, MemoryStore
from memoryhub.models.findings import FindingQuerySet
from memoryhub.sensitive import KINDS, Group
from memoryhub.web.common.kinds import SEVERITY, group_of
from memoryhub.web.findings.filters import Wanted

PAGE = 20
CHUNK = 200
WALK = 2_000
"""The most findings scanned for a page whose filter must check each one."""

LOOK = 1_000
"""The most open findings of a group of kinds, newest first, among which the worst are chosen."""

_PLACE = re.compile(r"find_\w{26}", re.ASCII)


class BadPlace(ValueError):
    """The value is not a place that a page has returned."""


class Row(NamedTuple):
    """The columns of a finding that the filter needs."""

    id: str
    store: str
    memory: str
    kind: str


@dataclass(frozen=True, slots=True)
class Page:
    """Findings, newest first; `next` is the place where the next page begins (None at the end).

    `stopped` means that the page ended early because enough findings had been scanned.
    """

    ids: Sequence[str]
    next: str | None
    stopped: bool = False


NOTHING = Page([], None)


def page(wanted: Wanted, place: str = "", *, size: int = PAGE, walk: int = WALK) -> Page:
    """Return the findings after a place, or the newest ones if it is empty. Raise BadPlace if it is invalid."""
    if place and not _PLACE.fullmatch(place):
        raise BadPlace(place)
    rows = _rows(wanted, place, CHUNK if wanted.looks_at_rows else size + 1)
    chosen: list[str] = []
    looked, last = 0, ""
    while batch := list(islice(rows, CHUNK if wanted.looks_at_rows else size + 1)):
        paths = _paths(batch) if wanted.path is not None else {}
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
    """Return the worst open findings, one for each memory, and the number of other open findings in that memory, by id.

    The worst kinds come first, and among equally bad ones the newest. Of each group of kinds the newest LOOK findings
    are considered, so that many findings of a harmless kind hide no worse one.
    """
    rows = list(islice(_rows(Wanted(stores), "", CHUNK), look))
    if len(rows) == look:
        rows += chain.from_iterable(_newest_of(stores, group, look) for group in SEVERITY)
    rows.sort(key=lambda row: row.id, reverse=True)
    rows.sort(key=lambda row: SEVERITY.index(group_of(row.kind)))  # stable: within a group they stay newest first
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.memory, row)
    worst = [*islice(first.values(), size)]
    of_memories = Finding.objects.filter(store_id__in={row.store for row in worst}, state=FindingState.OPEN)
    of_memories = of_memories.filter(memory_id__in=[row.memory for row in worst]).order_by()
    counts = dict(of_memories.values_list("memory_id").annotate(count=Count("pk")))
    return {row.id: counts.get(row.memory, 1) - 1 for row in worst}


def _newest_of(stores: Sequence[str], group: Group, most: int) -> Iterator[Row]:
    """Yield the newest open findings of the kinds of one group."""
    kinds = [kind.name for kind in KINDS.values() if kind.group == group]
    found = Finding.objects.filter(store_id__in=stores, state=FindingState.OPEN, kind__in=kinds).newest()
    return (Row(*row) for row in found.values_list("id", "store_id", "memory_id", "kind")[:most])


def _is_wanted(wanted: Wanted, row: Row, path: str | None) -> bool:
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    return wanted.path is None or (path is not None and (path == wanted.path or path.startswith(f"{wanted.path}/")))


def _paths(rows: Sequence[Row]) -> dict[str, str]:
    found = Memory.objects.filter(store_id__in={row.store for row in rows}, pk__in={row.memory for row in rows})
    return dict(found.values_list("pk", "path"))


def _rows(wanted: Wanted, place: str, chunk: int) -> Iterator[Row]:
    """Yield all findings after a place, newest first and not filtered by path or kind.

    A store is queried only when its newest finding may be the next one.
    """
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
    """Return (store id, id of its newest finding after the place); the store with the newest finding comes first.

    Stores without a finding after the place are left out.
    """
    of_store = _after(Finding.objects.filter(store_id=OuterRef("pk"), state=wanted.state), place)
    stores = MemoryStore.objects.filter(pk__in=wanted.stores)
    with_newest = stores.annotate(newest=Subquery(of_store.newest().values("id")[:1])).filter(newest__isnull=False)
    return list(with_newest.order_by("-newest").values_list("pk", "newest"))
