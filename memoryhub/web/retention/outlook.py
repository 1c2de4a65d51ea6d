"""What policies would remove: all of it in numbers, the first of it by name, and how it differs from today's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from memoryhub.actions.retention import policies, rehearsal
from memoryhub.actions.retention.rehearsal import Item, Totals
from memoryhub.models import MemoryStore
from memoryhub.retention_rules import Policy
from memoryhub.web.common.pictures import Picture
from memoryhub.web.retention.charts import coming, past
from memoryhub.web.retention.rows import Row, rows

MOST = 100
"""So many of a list are named; the download has all of them."""

MOST_DIFFERENT = 25
MOST_STORES = 50
AT_ONCE = 5_000
"""In a store with more memories the pictures come after the page."""


@dataclass(frozen=True, slots=True)
class Some:
    """Things that go or stay: all of them in numbers, the first by name."""

    totals: Totals
    rows: Sequence[Row]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class Difference:
    """To the policies that are saved: what goes now that stayed, and what stays now that went."""

    going: Some
    staying: Some

    @property
    def is_none(self) -> bool:
        return not self.going.count and not self.staying.count


@dataclass(frozen=True, slots=True)
class Outlook:
    """What policies would do to a store at a moment, and in the weeks before and after it."""

    at: datetime
    all: Some
    difference: Difference | None
    pictures: Sequence[Picture]


@dataclass(frozen=True, slots=True)
class InStore:
    """What the hub's policies would do to one store; `url` shows it whole."""

    store: MemoryStore
    totals: Totals
    going: int
    staying: int
    url: str


@dataclass(frozen=True, slots=True)
class OfHub:
    """What the hub's policies would do, store by store; `is_cut`: there are more stores."""

    at: datetime
    stores: Sequence[InStore]
    totals: Totals
    is_cut: bool


def outlook(
    store_id: str, at: datetime, tried: Sequence[Policy] | None, *, against_saved: bool, weeks: bool = True
) -> Outlook:
    """Of the saved policies (`tried` null) or of others."""
    items = list(rehearsal.rehearse(store_id, at, policies=tried))
    difference = None
    if against_saved:
        going, staying = differences(rehearsal.rehearse(store_id, at), items)
        difference = Difference(
            _some(store_id, at, going, MOST_DIFFERENT), _some(store_id, at, staying, MOST_DIFFERENT)
        )
    shown = pictures(store_id, at, tried, against_saved=against_saved) if weeks else ()
    return Outlook(at, _some(store_id, at, items, MOST), difference, shown)


def pictures(store_id: str, at: datetime, tried: Sequence[Policy] | None, *, against_saved: bool) -> Sequence[Picture]:
    """The weeks before and after a moment; they cost several times what the lists do."""
    return past(store_id, at, tried, against_saved), coming(store_id, at, tried, against_saved)


def outlook_of_hub(at: datetime, tried: Sequence[Policy]) -> OfHub:
    """With the policies that each store has itself, which come first there."""
    stores = list(MemoryStore.objects.active().by_name()[: MOST_STORES + 1])
    found = [_in_store(store, at, tried) for store in stores[:MOST_STORES]]
    sums = Totals(*(sum(column) for column in zip(*(one.totals for one in found), strict=True))) if found else None
    return OfHub(at, found, sums or Totals(*(0,) * len(Totals._fields)), len(stores) > MOST_STORES)


def _in_store(store: MemoryStore, at: datetime, tried: Sequence[Policy]) -> InStore:
    own = [policy for policy in policies.concerning(store.pk) if policy.store]
    items = list(rehearsal.rehearse(store.pk, at, policies=[*own, *tried]))
    going, staying = differences(rehearsal.rehearse(store.pk, at), items)
    url = reverse("rehearsal", args=[store.pk])
    return InStore(store, rehearsal.totals(items), len(going), len(staying), url)


def differences(old: Iterable[Item], new: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    """What goes in the new that did not in the old, and what stays; of versions only those that differ."""
    before = {(item.removal, item.memory): item for item in old}
    going = []
    for item in new:
        known = before.pop((item.removal, item.memory), None)
        if known is None:
            going.append(item)
        elif item.count > known.count:
            going.append(_part(item, known))
        elif item.count < known.count:
            before[item.removal, item.memory] = _part(known, item)
    return going, list(before.values())


def _part(more: Item, less: Item) -> Item:
    return replace(more, count=more.count - less.count, bytes=max(0, more.bytes - less.bytes))


def _some(store_id: str, at: datetime, items: Sequence[Item], most: int) -> Some:
    return Some(rehearsal.totals(items), rows(store_id, at, rehearsal.with_readers(store_id, items[:most])), len(items))
