"""The preview of what policies would remove: totals, the first items, and the difference from the saved policies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from memoryhub.actions.retention import policies, rehearsal, weeks as week_by_week
from memoryhub.actions.retention.rehearsal import Item, Totals
from memoryhub.models import Memory, MemoryStore
from memoryhub.pure.retention_rules import Policy
from memoryhub.web.common.pictures import Picture
from memoryhub.web.retention import sentences
from memoryhub.web.retention.charts import coming, past
from memoryhub.web.retention.rows import Row, rows

MOST = 100
"""The most items that are listed by name. The download has all of them."""

MOST_DIFFERENT = 25
MOST_SPARED, MOST_SOON = 10, 10
"""The most held memories that are listed, and the most memories that are listed because they will expire next."""

MOST_STORES = 50
AT_ONCE = 5_000
"""If a store has at most this many memories, the page contains the charts. For a larger store, they are loaded after
the page."""


@dataclass(frozen=True, slots=True)
class Some:
    """Items that would be removed or kept: their totals, the first of them (`rows`), and their `count`."""

    totals: Totals
    rows: Sequence[Row]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference from the saved policies: items that would be removed in addition, or kept instead."""

    going: Some
    staying: Some

    @property
    def is_none(self) -> bool:
        return not self.going.count and not self.staying.count


@dataclass(frozen=True, slots=True)
class Named:
    """A memory by its path and the URL of its page; `day` is when it will expire."""

    path: str
    url: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Soon:
    """The memories that expire next.

    If `is_of_one`, these are only the memories that one given policy will expire. If `is_cut`, there may be more.
    """

    rows: Sequence[Named]
    is_of_one: bool

    @property
    def is_cut(self) -> bool:
        return len(self.rows) == MOST_SOON


@dataclass(frozen=True, slots=True)
class Outlook:
    """The items that policies would remove from a store by the moment `at`.

    `all` counts and lists these items. `pictures` are charts of the weeks before and after `at`.
    """

    at: datetime
    all: Some
    held: int  # how many memories stay because of a hold or a pin
    approved: int  # how many memories stay because a person wrote or approved them
    spared: Sequence[Named]  # the first of the `held` memories, by path
    difference: Difference | None
    pictures: Sequence[Picture]
    soon: Soon | None


@dataclass(frozen=True, slots=True)
class InStore:
    """The items that the hub's policies would remove from one store, or from the hub's own audit if `store` is None.

    `url` leads to the rehearsal of the store.
    """

    store: MemoryStore | None
    totals: Totals
    going: int
    staying: int
    url: str


@dataclass(frozen=True, slots=True)
class OfHub:
    """The items that the hub's policies would remove from each store and from the hub's own audit.

    Only the first MOST_STORES stores are included. `is_cut` means that the hub has more stores.
    """

    at: datetime
    stores: Sequence[InStore]
    totals: Totals
    is_cut: bool


def outlook(
    store_id: str, at: datetime, tried: Sequence[Policy] | None, *, against_saved: bool, weeks: bool = True,
    policy: str | None = None, since: datetime | None = None,
) -> Outlook:  # fmt: skip
    """Return the items that a run at the moment `at` would remove. With `since`, return the items that all runs from
    `since` until `at` would remove.

    The runs apply the policies `tried`, or the saved policies if `tried` is None. `against_saved` adds the difference
    from the saved policies. `weeks` adds the charts and the memories that expire next. With `policy`, the id
    of a policy, these memories are only those that this policy will expire.
    """
    held: set[str] = set()
    approved: set[str] = set()
    items = list(rehearsal.rehearse(store_id, at, policies=tried, held=held, approved=approved))
    if since is not None:
        items = rehearsal.by_then(items, rehearsal.Rules.of(store_id, at, tried), since)
    difference = None
    if against_saved:
        going, staying = differences(rehearsal.rehearse(store_id, at), items)
        difference = Difference(
            _some(store_id, at, going, MOST_DIFFERENT), _some(store_id, at, staying, MOST_DIFFERENT)
        )
    shown = pictures(store_id, at, tried, against_saved=against_saved) if weeks else ()
    first = soon(store_id, at, tried, policy) if weeks else None
    everything = _some(store_id, at, items, MOST)
    return Outlook(at, everything, len(held), len(approved), _spared(store_id, held), difference, shown, first)


def _spared(store_id: str, held: set[str]) -> list[Named]:
    found = Memory.objects.among(store_id, sorted(held)[:MOST_SPARED]).values_list("path", "pk")
    return [_named(store_id, path, memory) for path, memory in sorted(found)]


def soon(store_id: str, at: datetime, tried: Sequence[Policy] | None, policy: str | None) -> Soon:
    """Return the memories that expire next by the policies `tried`, or by the saved policies if `tried` is None.

    With `policy`, the id of a policy, return only the memories that this policy will expire.
    """
    found = week_by_week.coming_first(store_id, at, tried, policy, MOST_SOON)
    rows = [_named(store_id, one.path, one.memory, sentences.day(one.at)) for one in found]
    return Soon(rows, policy is not None)


def _named(store_id: str, path: str, memory: str, day: str = "") -> Named:
    return Named(path, reverse("memory", args=[store_id, memory]), day)


def pictures(store_id: str, at: datetime, tried: Sequence[Policy] | None, *, against_saved: bool) -> Sequence[Picture]:
    """Return the charts of the weeks before and after the moment `at`, by the policies `tried` (None: the saved ones).

    `against_saved` adds the numbers of the saved policies. Computing the charts takes several times
    as long as listing the items.
    """
    return past(store_id, at, tried, against_saved), coming(store_id, at, tried, against_saved)


def outlook_of_hub(at: datetime, tried: Sequence[Policy]) -> OfHub:
    """Return the outlook of the hub's policies `tried`. A store's own policies take precedence."""
    stores = list(MemoryStore.objects.by_name()[: MOST_STORES + 1])
    found = [_in_store(store, at, tried) for store in (*stores[:MOST_STORES], None)]
    sums = Totals(*(sum(column) for column in zip(*(one.totals for one in found), strict=True)))
    return OfHub(at, found, sums, len(stores) > MOST_STORES)


def _in_store(store: MemoryStore | None, at: datetime, tried: Sequence[Policy]) -> InStore:
    store_id = store.pk if store else None
    own = [policy for policy in policies.concerning(store_id) if policy.store]
    items = list(rehearsal.rehearse(store_id, at, policies=[*own, *tried]))
    going, staying = differences(rehearsal.rehearse(store_id, at), items)
    url = reverse("rehearsal", args=[store_id]) if store_id else ""
    return InStore(store, rehearsal.totals(items), len(going), len(staying), url)


def differences(old: Iterable[Item], new: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    """Return the items that only `new` has, and the items that only `old` has.

    If `old` and `new` remove different numbers of versions of the same memory, or of audit entries, only the item with
    the larger number is returned, and its number becomes the difference.
    """
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
