"""The filters of the audit, and a search in one chain, with a limited amount of work.

With several filters, the one that has an index and matches the fewest entries selects the entries to check. A search
ends when it has enough results or has checked enough entries, and returns the last seq that it checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from memoryhub.models import AuditChain, AuditEntry, Door, MemoryVersion, Review
from memoryhub.models.audit import (
    UNINDEXED_NEW_PATH,
    UNINDEXED_PATH,
    AuditEntryQuerySet,
    at_or_beneath,
    by_path_alone,
    was_refused_with,
)
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.models.review import ReviewQuerySet
from memoryhub.pure.protocol.kinds import REFUSALS, Kind, beginnings_of

MOST = 300
"""The most entries that a search checks for one page."""

FEW = 3_000
"""The entries under a directory are sorted if there are at most this many."""

DECIDED = 100
"""In a search for a path, decisions are found only about memories that have one of this many newest versions at the
path."""

WRITES = frozenset((
    "create", "str_replace", "insert", "delete", "rename", "edit", "restore", "restore_moment", "undo", "move",
    "revert", "take_out", "merge_proposal", "edit_and_merge_proposal", "import",
))  # fmt: skip
"""The commands with which agents and people write memories."""

READS = frozenset((
    "view", "search", "history", "view_proposal", "view_text", "download", "export", "export_table", "export_audit",
    "reveal", "collect",
))  # fmt: skip
"""The commands with which agents and people get texts of memories: calls, pages, downloads and revealed values."""

ANY_SESSION = "any"
"""The value of `session` that matches entries of any session. A search for entries outside of sessions excludes it."""

_FIRST_PART, _PART = 100, 1_000

Seqs = Callable[[int, int, int], Sequence[int]]
"""(low, high, count): returns the first `count` seqs of candidate entries between two seqs, in order."""


@dataclass(frozen=True, slots=True)
class Look:
    """The matching entries, in order. `reached` is the last checked seq if the search ended early, else None."""

    entries: list[AuditEntry]
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """The filters of a search; None matches anything. A `path` with a final slash matches this directory and
    everything under it.

    An entry is about a path if it names the path, moved a memory from or to it, made a version there, or decided about
    a version there. Entries that match one of the searches in `excluded` are left out. If you set
    `key`, also set `author` to the key's agent, because only authors have an index.
    """

    author: str | None = None
    key: str | None = None
    session: str | None = None
    command: str | None = None
    path: str | None = None
    door: str | None = None
    ok: bool | None = None
    proposed: bool | None = None
    refused: bool | None = None
    error: Kind | None = None
    commands: frozenset[str] | None = None
    token: str | None = None
    memory: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    excluded: Sequence[Search] = ()

    def first(self, chain: str, low: int, high: int, limit: int, *, newest: bool = True) -> list[AuditEntry]:
        """Return the first `limit` matching entries of a chain between two seqs, newest or oldest first.

        The work is not limited.
        """
        return self.look(chain, low, high, limit, newest=newest, most=high - low + 1).entries

    def look(self, chain: str, low: int, high: int, limit: int, *, newest: bool = True, most: int = MOST) -> Look:
        """Return the first `limit` matching entries between two seqs, newest or oldest first.

        At most `most` entries are checked.
        """
        entries = AuditEntry.objects.of_chain(chain)
        if self.start is not None or self.end is not None:
            first, last = entries.seqs_near(self.start, self.end)
            low, high = max(low, first), min(high, last)
        if low > high:
            return Look([])
        indexed = self._indexed(entries)
        if self.path is None and not self.excluded and len(indexed) == self._count() <= 1:
            found = (indexed or [entries])[0].within(self.start, self.end).between(low, high)
            return Look(list(found.in_order(newest=newest).in_brief()[:limit]))
        return _Looking(self, chain, entries, indexed, newest).look(low, high, limit, most)

    def _count(self) -> int:
        """Return how many filters are set. The time range does not count, because every search has one."""
        filters = (
            self.author,
            self.key,
            self.session,
            self.command,
            self.path,
            self.door,
            self.ok,
            self.proposed,
            self.refused,
            self.error,
            self.commands,
            self.token,
            self.memory,
        )
        return sum(value is not None for value in filters)

    def _indexed(self, entries: AuditEntryQuerySet) -> list[AuditEntryQuerySet]:
        """Return the filters that have an index in the order of seq, each as a query of its matching entries."""
        found = [
            entries.of_session(self.session) if self.session is not None else None,
            entries.by_author(self.author) if self.author is not None else None,
            entries.that_ended(ok=False) if self.ok is False else None,
            entries.through_other(self.door) if self.door is not None and self.door != Door.TOOL else None,
            entries.of_command(self.command) if self.command is not None else None,
        ]
        return [each for each in found if each is not None]


@dataclass(frozen=True, slots=True)
class _Lead:
    """The filter that selects the entries to check against all other filters.

    `indexed` is the query of its entries. It is None if the filter is a path.
    """

    seqs: Seqs
    indexed: AuditEntryQuerySet | None


@dataclass(frozen=True, slots=True)
class _Looking:
    """A search with several filters, or with a filter that has no index in the order of seq."""

    search: Search
    chain: str
    entries: AuditEntryQuerySet
    indexed: Sequence[AuditEntryQuerySet]
    newest: bool

    def look(self, low: int, high: int, limit: int, most: int) -> Look:
        """Check one batch after another, until `limit` entries were found, `most` entries were checked, or no entry is
        left."""
        size, left = min(_FIRST_PART, most), most
        lead, seqs = self._lead(low, high, size)
        found: list[AuditEntry] = []
        while seqs:
            found += self._matching(lead, seqs)[: limit - len(found)]
            if len(found) == limit or len(seqs) < size:
                return Look(found)
            low, high = (low, seqs[-1] - 1) if self.newest else (seqs[-1] + 1, high)
            left -= size
            if left <= 0:
                return Look(found, reached=seqs[-1])
            size = min(_PART, left)
            seqs = lead.seqs(low, high, size)
        return Look(found)

    def _lead(self, low: int, high: int, size: int) -> tuple[_Lead, Sequence[int]]:
        """Return the filter that matches the fewest entries (an estimate).

        Also return the filter's first batch: the seqs of the first entries that it matches.
        """
        leads = [_Lead(_of_index(each, self.newest), each) for each in self.indexed]
        path = self.search.path
        if path is not None and not path.endswith("/"):
            leads.append(_Lead(_of_path(self.chain, path, self.newest), None))
        elif path is not None and (few := _beneath(self.chain, path[:-1], low, high, self.newest)) is not None:
            leads.append(_Lead(few, None))
        if not leads:
            leads.append(_Lead(_of_chain(self.chain, self.newest), self.entries))
        firsts = [(lead, lead.seqs(low, high, size)) for lead in leads]
        return min(firsts, key=lambda first: _nearness(first[1], size, self.newest))

    def _matching(self, lead: _Lead, seqs: Sequence[int]) -> AuditEntryQuerySet:
        """Return the entries of a batch that match all filters. The filters with an index are applied first."""
        for each in self.indexed:
            if each is not lead.indexed and seqs:
                seqs = list(each.of_seqs(seqs).values_list("seq", flat=True))
        if not seqs:
            return self.entries.none()
        found = self.entries.between(min(seqs), max(seqs)) if isinstance(seqs, range) else self.entries.of_seqs(seqs)
        found = found.within(self.search.start, self.search.end).in_order(newest=self.newest).in_brief()
        found = found.filter(_without_index(self.search))
        for excluded in self.search.excluded:
            found = found.exclude(_matches(excluded, self.chain))
        if self.search.path is None or lead.indexed is None:
            return found
        return found.filter(_about(self.chain, self.search.path))


def _matches(search: Search, chain: str) -> Q:
    """Return the condition that an entry of a chain matches a search."""
    in_any = search.session == ANY_SESSION
    values = {
        "author_id": search.author, "session": None if in_any else search.session, "command": search.command,
        "at__gte": search.start, "at__lt": search.end,
    }  # fmt: skip
    condition = _all_of(values) & _without_index(search)
    if in_any:
        condition &= Q(session__isnull=False)
    return condition if search.path is None else condition & _about(chain, search.path)


def _without_index(search: Search) -> Q:
    """Return the condition that an entry matches the filters without an index. It is empty if none of them is set."""
    values = {
        "actor_id": search.key, "door": search.door, "ok": search.ok, "memory": search.memory, "token": search.token,
    }  # fmt: skip
    condition = _all_of(values)
    if search.proposed is not None:
        condition &= _became_a_proposal(search.proposed)
    if search.refused:
        condition &= was_refused_with(*(beginning for kind in REFUSALS for beginning in beginnings_of(kind)))
    if search.error is not None:
        condition &= _is_of_kind(search.error)
    return condition if search.commands is None else condition & Q(command__in=search.commands)


def _all_of(values: Mapping[str, Any]) -> Q:
    """Return the condition that columns have these values. A column whose value is None may have any value."""
    return Q(**{name: value for name, value in values.items() if value is not None})


def _became_a_proposal(is_proposed: bool) -> Q:
    """Return the condition that a call was refused because its change became part of a proposal.

    Without `is_proposed`, return the opposite condition.
    """
    became = was_refused_with(*beginnings_of(Kind.PROPOSED))
    return became if is_proposed else ~became


def _is_of_kind(kind: Kind) -> Q:
    """Return the condition that a call was refused with an error of this kind."""
    known = was_refused_with(*beginnings_of(kind))
    return Q(ok=False) & ~known if kind == Kind.OTHER else known


def _about(chain: str, path: str) -> Q:
    """Return the condition that an entry is about a path, as `Search` defines it.

    If the path ends with a slash, decisions about versions in the directory do not count.
    """
    named = at_or_beneath(UNINDEXED_PATH, path) | at_or_beneath(UNINDEXED_NEW_PATH, path)
    versions = MemoryVersion.objects.filter(store_id=chain)
    made = versions.filter(seq=OuterRef("seq")).about(path)
    about = named | (Q(digest__isnull=False) & Q(Exists(made)))
    if path.endswith("/"):
        return about
    moved = versions.at(path).filter(superseded_seq__isnull=False)
    decided = Review.objects.filter(store_id=chain, memory_id__in=_memories(chain, path), version__path=path)
    return about | Q(seq__in=moved.values("superseded_seq")) | Q(seq__in=decided.values("seq"))


def _nearness(seqs: Sequence[int], size: int, newest: bool) -> tuple[bool, int]:
    """Return a sort key for the first batch of a filter: filters that match fewer entries come first.

    A batch with fewer than `size` seqs has all matches of its filter, so it comes before full batches. Of the full
    batches, one that covers a longer part of the chain comes first.
    """
    if len(seqs) < size:
        return False, len(seqs)
    return True, seqs[-1] if newest else -seqs[-1]


def _of_chain(chain: str, newest: bool) -> Seqs:
    """Return a function that returns the seqs of every entry of a chain."""
    last = AuditChain.objects.filter(pk=chain).values_list("last_seq", flat=True).first() or 0

    def seqs(low: int, high: int, count: int) -> Sequence[int]:
        every = range(low, min(high, last) + 1)
        return (every[::-1] if newest else every)[:count]

    return seqs


def _of_index(entries: AuditEntryQuerySet, newest: bool) -> Seqs:
    """Return a function that returns the seqs of the entries of a filter."""

    def seqs(low: int, high: int, count: int) -> Sequence[int]:
        found = entries.between(low, high).in_order(newest=newest)
        return list(found.values_list("seq", flat=True)[:count])

    return seqs


def _of_path(chain: str, path: str, newest: bool) -> Seqs:
    """Return a function that returns the seqs of the entries about a path."""
    entries = AuditEntry.objects.of_chain(chain)
    named = [_of_index(each, newest) for each in (entries.at_path(path), entries.to_path(path))]
    versions = MemoryVersion.objects.filter(store_id=chain).at(path)
    reviews = [Review.objects.of_memory(chain, each).filter(version__path=path) for each in _memories(chain, path)]
    decided = [_of_reviews(each, newest) for each in reviews]

    def seqs(low: int, high: int, count: int) -> Sequence[int]:
        found = {seq for each in named for seq in each(low, high, count)}
        for made, superseded in _versions(versions, low, high, count, newest):
            found |= {seq for seq in (made, superseded) if seq is not None and low <= seq <= high}
        for each in decided:
            found.update(each(low, high, count))
        return sorted(found, reverse=newest)[:count]

    return seqs


def _of_reviews(reviews: ReviewQuerySet, newest: bool) -> Seqs:
    """Return a function that returns the seqs of the entries that recorded these reviews."""

    def seqs(low: int, high: int, count: int) -> Sequence[int]:
        found = reviews.filter(seq__gte=low, seq__lte=high).order_by("-seq" if newest else "seq")
        return list(found.values_list("seq", flat=True).distinct()[:count])

    return seqs


def _memories(chain: str, path: str) -> list[str]:
    """Return the ids of the memories that were at a path, according to the newest DECIDED versions at this path."""
    versions = MemoryVersion.objects.filter(store_id=chain).at(path).order_by("-seq")
    return list(dict.fromkeys(versions.values_list("memory_id", flat=True)[:DECIDED]))


def _versions(
    versions: MemoryVersionQuerySet, low: int, high: int, count: int, newest: bool
) -> Iterable[tuple[int, int | None]]:
    """Return (seq, superseded_seq) of versions at one path.

    These are the first `count` versions with a seq from `low` to `high`, and the last version before `low`.
    """
    columns, order = ("seq", "superseded_seq"), versions.order_by("-seq" if newest else "seq")
    found = list(order.filter(seq__gte=low, seq__lte=high).values_list(*columns)[:count])
    return found + list(versions.order_by("-seq").filter(seq__lt=low).values_list(*columns)[:1])


def _beneath(chain: str, path: str, low: int, high: int, newest: bool) -> Seqs | None:
    """Return a function that returns the seqs of entries about a directory and about paths under it.

    Return None if there are more than FEW such entries, which are too many to sort.
    """
    entries, versions = AuditEntry.objects.of_chain(chain), MemoryVersion.objects.filter(store_id=chain)
    tables: tuple[QuerySet[Any], ...] = (
        entries.at_path(path), entries.beneath(path), entries.to_path(path), entries.to_beneath(path),
        versions.at(path), versions.under(path),
    )  # fmt: skip
    if any(by_path_alone(rows, low, high).values("place")[: FEW + 1].count() > FEW for rows in tables):
        return None
    order = "-place" if newest else "place"

    def seqs(low: int, high: int, count: int) -> Sequence[int]:
        parts = (by_path_alone(rows, low, high).order_by(order).values_list("place", flat=True) for rows in tables)
        return sorted({seq for part in parts for seq in part.distinct()[:count]}, reverse=newest)[:count]

    return seqs
