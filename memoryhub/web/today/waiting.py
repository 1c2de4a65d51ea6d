"""Versions that await review, grouped by memory store and by session or author, and open proposals."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.urls import reverse

from memoryhub.actions.verification.entries import ANY_SESSION
from memoryhub.models import AuditEntry, Finding, MemoryStore, MemoryVersion, Session, User
from memoryhub.pure.text.filter_words import NOT
from memoryhub.web.common.filters.keys import VERSION
from memoryhub.web.proposals.rows import Row as Heading
from memoryhub.web.review.proposed import oldest_open

SIZE = 6
LOOK = 300
"""The most versions that are read to form groups. They are the oldest ones."""
LOOK_BACK = 50
"""The most versions that are read to form the newest group, if the group is not among those of the oldest versions."""
MOST_STORES = 20
"""The most stores that are read. They are those with the oldest versions."""


class _Row(NamedTuple):
    seq: int
    id: str
    memory: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """The versions of one session in a store, or of one author without a session, oldest first."""

    store: MemoryStore
    entry: AuditEntry
    session: str | None
    versions: Sequence[str]
    memories: int
    oldest: datetime
    latest: datetime
    found: int  # open findings in the memories
    is_cut: bool  # there may be more versions
    is_newest: bool = False  # shown only because it is the newest

    @property
    def key(self) -> tuple[str, str]:
        return self.store.pk, self.entry.session or self.entry.author_id or ""

    @property
    def plus(self) -> str:
        """Return `+` if the group may have more versions than its numbers say, else ""."""
        return "+" if self.is_cut else ""

    @property
    def count(self) -> int:
        return len(self.versions)

    @property
    def these(self) -> str:
        return ",".join(self.versions)

    @property
    def review_url(self) -> str:
        entry = self.entry
        of_author = {"agent": entry.author_id, f"{NOT}session": ANY_SESSION} if entry.author_id else {}
        who = {"session": entry.session} if entry.session else of_author
        return reverse("review") + "?" + urlencode({"what": VERSION, "store": self.store.pk, **who})


@dataclass(frozen=True, slots=True)
class Waiting:
    """The groups and proposals to review first."""

    rows: Sequence[Group | Heading]
    oldest: datetime | None  # the time of the oldest version or proposal
    more: bool  # there may be further groups or proposals


def waiting(stores: Sequence[str], user: User) -> Waiting:
    """Return at most SIZE rows of the stores in which the person may decide.

    Groups with open findings come first, then the oldest groups and proposals. If there may be more rows, the last
    returned row is the newest group.
    """
    begins = _begins(stores)
    groups: list[Group] = []
    left = LOOK
    for store, _since in begins:
        rows = _oldest(store.pk, left + 1)
        groups += _groups(store, rows[:left], is_cut=len(rows) > left)
        left -= len(rows)
        if left <= 0:
            break
    both: list[Group | Heading] = [*groups, *oldest_open(user, SIZE + 1)]
    both.sort(key=_rank)
    is_cut = left <= 0 or len(begins) == MOST_STORES
    oldest = min([_rank(row)[1] for row in both] + [since for _, since in begins[:1]], default=None)
    first, has_more = both[:SIZE], is_cut or len(both) > SIZE
    newest = max(groups, key=lambda group: group.latest, default=None)
    if is_cut:
        newest = _newest([store for store, _ in begins], groups)
    if has_more and newest and newest.key not in [row.key for row in first if isinstance(row, Group)]:
        first = [*first[: SIZE - 1], replace(newest, is_newest=True)]
    return Waiting(first, oldest, has_more)


def _newest(stores: Sequence[MemoryStore], groups: Sequence[Group]) -> Group | None:
    """Return the group with the newest unreviewed version in these stores, or None. It may be one of `groups`."""
    unreviewed = MemoryVersion.objects.filter(store_id=OuterRef("pk")).unreviewed().order_by("-seq")
    begun = MemoryStore.objects.filter(pk__in=[store.pk for store in stores])
    latest = begun.annotate(latest=Subquery(unreviewed.values("created_at")[:1])).order_by("-latest", "pk")
    store = latest.filter(latest__isnull=False).first()
    if store is None:
        return None
    rows = [_Row(*row) for row in _unreviewed(store.pk).reverse().values_list(*_COLUMNS)[:LOOK_BACK]][::-1]
    last = rows[-1].id if rows else ""
    found = next((one for one in _groups(store, rows, is_cut=True) if last in one.versions), None)
    return next((one for one in groups if found and one.key == found.key), found)


def _rank(row: Group | Heading) -> tuple[bool, datetime]:
    return (not row.found, row.oldest) if isinstance(row, Group) else (True, row.proposal.opened_at)


def _begins(stores: Sequence[str]) -> list[tuple[MemoryStore, datetime]]:
    """Return at most MOST_STORES stores with the time of their oldest unreviewed version, oldest first."""
    unreviewed = MemoryVersion.objects.filter(store_id=OuterRef("pk")).unreviewed().order_by("seq")
    found = MemoryStore.objects.filter(pk__in=stores).annotate(since=Subquery(unreviewed.values("created_at")[:1]))
    begun: Iterable[Any] = found.filter(since__isnull=False).order_by("since", "pk")[:MOST_STORES]
    return [(store, store.since) for store in begun]


_COLUMNS = ("seq", "pk", "memory_id", "created_at")


def _unreviewed(store_id: str) -> QuerySet[MemoryVersion]:
    return MemoryVersion.objects.filter(store_id=store_id).unreviewed().order_by("seq", "pk")


def _oldest(store_id: str, most: int) -> list[_Row]:
    return [_Row(*row) for row in _unreviewed(store_id).values_list(*_COLUMNS)[:most]]


def _groups(store: MemoryStore, rows: Sequence[_Row], *, is_cut: bool) -> list[Group]:
    """Return the groups of one store, in the order of their oldest versions."""
    columns = ("chain", "seq", "actor_kind", "author_id", "label", "session")
    written = AuditEntry.objects.of_chain(store.pk).of_seqs({row.seq for row in rows})
    entries = {entry.seq: entry for entry in written.only(*columns)}
    by_run: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        if entry := entries.get(row.seq):
            by_run[entry.session or entry.author_id or ""].append(row)
    names = dict(Session.objects.filter(pk__in=by_run).values_list("pk", "name"))
    found = _found(store.pk, {row.memory for row in rows})
    return [_group(store, entries[of_run[0].seq], of_run, names, found, is_cut=is_cut) for of_run in by_run.values()]


def _group(
    store: MemoryStore,
    entry: AuditEntry,
    rows: Sequence[_Row],
    names: Mapping[str, str],
    found: Mapping[str, int],
    *,
    is_cut: bool,
) -> Group:
    memories = {row.memory for row in rows}
    return Group(
        store=store,
        entry=entry,
        session=names.get(entry.session or "", entry.session),
        versions=[row.id for row in rows],
        memories=len(memories),
        oldest=rows[0].at,
        latest=rows[-1].at,
        found=sum(found.get(memory, 0) for memory in memories),
        is_cut=is_cut,
    )


def _found(store_id: str, memories: Iterable[str]) -> dict[str, int]:
    """Return {memory: number of its open findings}. Memories without open findings are left out."""
    found = Finding.objects.of_store(store_id).open().filter(memory_id__in=list(memories)).order_by()
    return dict(found.values_list("memory_id").annotate(count=Count("pk")))
