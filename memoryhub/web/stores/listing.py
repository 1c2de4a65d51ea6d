"""The list of memory stores: its filter, its order, and the facts about each store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict

from memoryhub.models import AuditEntry, Member, MemoryStore, MemoryVersion, Role, User
from memoryhub.models.stores import MemoryStoreQuerySet
from memoryhub.web.dashboards.stores import Facts, facts_of
from memoryhub.web.stores.limits import usage
from memoryhub.web.stores.limits.usage import Meter

SIZE = 25
ACTIVE, ARCHIVED, ALL = "active", "archived", "all"


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter that a person selected, and where the page begins: after the store with the id `after`."""

    state: str = ACTIVE
    words: str = ""
    after: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Filter":
        state = query.get("state", ACTIVE)
        words = query.get("q", "").strip()
        return cls(state if state in (ARCHIVED, ALL) else ACTIVE, words, query.get("after", ""))

    def query(self, **changes: str) -> str:
        """Return the query string of this filter after the `changes`. Default values are left out."""
        given = {"state": self.state if self.state != ACTIVE else "", "q": self.words} | changes
        made = QueryDict(mutable=True)
        made.update({name: value for name, value in given.items() if value and (name, value) != ("state", ACTIVE)})
        return "?" + made.urlencode()


@dataclass(frozen=True, slots=True)
class Row:
    """A store with recent facts, and its last change."""

    store: MemoryStore
    role: Role
    changed_at: datetime | None  # an import counts at its own time
    changed_seq: int | None  # the entry of the change
    changed_by: str | None  # the author of the change
    facts: Facts
    full: Meter | None  # the meter nearest to its limit, only for administrators of the store


@dataclass(frozen=True, slots=True)
class Page:
    """One page of stores; `next` is the id after which the next page begins, or None at the end."""

    rows: Sequence[Row]
    next: str | None

    @property
    def has_full(self) -> bool:
        """Return whether the page has a column for the fullest meter of each store (`Row.full`).

        It has this column if the person is an admin of one of the stores.
        """
        return any(row.role == Role.ADMIN for row in self.rows)


def page(user: User, chosen: Filter, today: date) -> Page:
    """Return the stores that the person may see and that match the filter, sorted by name."""
    visible = MemoryStore.objects.visible_to(user)
    start = visible.filter(pk=chosen.after).first() if chosen.after else None
    found = _chosen(visible.following(start) if start else visible, chosen)
    stores = list(_with_last_change(found.by_name())[: SIZE + 1])
    roles, facts = _roles(user, stores), facts_of([store.id for store in stores[:SIZE]], today)
    full = usage.fullest([store for store in stores[:SIZE] if roles.get(store.id, Role.ADMIN) == Role.ADMIN])
    rows = [
        _row(store, roles.get(store.id, Role.ADMIN), facts[store.id], full.get(store.id)) for store in stores[:SIZE]
    ]
    return Page(rows, rows[-1].store.id if len(stores) > SIZE else None)


def _row(store: Any, role: Role, facts: Facts, full: Meter | None) -> Row:
    return Row(store, role, store.changed_at, store.changed_seq, store.changed_by, facts, full)


def _chosen(stores: MemoryStoreQuerySet, chosen: Filter) -> MemoryStoreQuerySet:
    if chosen.state != ALL:
        stores = stores.archived() if chosen.state == ARCHIVED else stores.active()
    return stores.named_like(chosen.words) if chosen.words else stores


def _with_last_change(stores: MemoryStoreQuerySet) -> MemoryStoreQuerySet:
    newest = MemoryVersion.objects.filter(store=OuterRef("pk")).order_by("-seq")
    entry = AuditEntry.objects.filter(chain=OuterRef("pk"), seq=OuterRef("changed_seq"))
    stores = stores.annotate(changed_seq=Subquery(newest.values("seq")[:1]))
    made = Coalesce(Subquery(entry.values("at")[:1]), Subquery(newest.values("created_at")[:1]))
    return stores.annotate(changed_at=made, changed_by=Subquery(entry.values("label")[:1]))


def _roles(user: User, stores: Sequence[MemoryStore]) -> dict[str, Role]:
    """Return {store id: the person's role}; empty for a superuser, who needs no role."""
    if user.is_superuser:
        return {}
    rows = Member.objects.filter(user=user, store__in=stores).values_list("store_id", "role")
    return {store: Role(role) for store, role in rows}
