"""Recent facts of stores: their activity, their waiting versions, and the latest acts of people."""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice

from django.db.models import Max, OuterRef, Subquery

from memoryhub.models import Activity, AuditEntry, MemoryStore, MemoryVersion, Proposal, ProposalState
from memoryhub.pure import charts, ids
from memoryhub.web.audit.filters import NO_FILTER
from memoryhub.web.audit.rows import Row as Act, rows_of, words_by_entry
from memoryhub.web.common.filters.keys import VERSION
from memoryhub.web.dashboards.figures import ERROR, Newer, ended, newer
from memoryhub.web.dashboards.links import Links, days
from memoryhub.web.dashboards.lists import MOST, at_most, review_url

SPARK_DAYS = 14
SPARK = (112, 24)
"""The width and height of a sparkline."""

ACTS = 5
LOOKED_AT = 12
"""The most pairs of a store and a person whose latest acts are queried."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Recent facts of a store. `waiting` counts versions that await review; `points` is the store's sparkline."""

    points: str
    calls: int
    waiting: int
    waiting_shown: str
    oldest: datetime | None
    review_url: str
    errors: int
    errors_url: str


def facts_of(stores: Sequence[str], today: date) -> dict[str, Facts]:
    """Return {store id: Facts} of a page of stores."""
    calls, errors = _by_day(stores, newer(stores), today - timedelta(days=SPARK_DAYS - 1))
    return {store: _facts(store, calls, errors, today) for store in stores}


def _facts(store: str, calls: Counter[tuple[str, date]], errors: Counter[tuple[str, date]], today: date) -> Facts:
    values = [calls[store, today - timedelta(days=ago)] for ago in reversed(range(SPARK_DAYS))]
    yesterday = today - timedelta(days=1)
    unreviewed = MemoryVersion.objects.filter(store=store).unreviewed().order_by("seq")
    waiting = len(unreviewed.values_list("seq", flat=True)[:MOST])
    return Facts(
        charts.spark(values, *SPARK),
        sum(values),
        waiting,
        at_most(waiting),
        unreviewed.values_list("created_at", flat=True).first() if waiting else None,
        review_url(what=VERSION, store=store),
        errors[store, today] + errors[store, yesterday],
        Links(store).audit(outcome="error", **days(yesterday)),
    )


def _by_day(stores: Sequence[str], more: Newer, start: date) -> tuple[Counter[tuple[str, date]], ...]:
    """Return two counters by (store id, day): of all operations, and of the operations with an error."""
    calls, errors = Counter[tuple[str, date]](), Counter[tuple[str, date]]()
    rows = Activity.objects.of_stores(stores).in_sum().since(start).summed("store_id", "day", "outcome")
    for store, day, outcome, count in rows:
        calls[store, day] += count  # type: ignore[index,operator]
        errors[store, day] += count if ended(str(outcome)) == ERROR else 0  # type: ignore[index,operator]
    for store in set(stores) & more.counted.keys():
        for (day, _author, _command, outcome), count in more.counted[store].activity.items():
            calls[store, day] += count
            errors[store, day] += count if ended(outcome) == ERROR else 0
    return calls, errors


def waiting(stores: Sequence[str]) -> tuple[str, datetime | None]:
    """Return how many versions await review, as text, and when the oldest one was written (None if there are none).

    At most MOST versions are counted.
    """
    found = MemoryVersion.objects.filter(store__in=stores).unreviewed()
    count = len(found.order_by().values_list("seq", flat=True)[:MOST])
    if not count:
        return at_most(0), None
    first = MemoryVersion.objects.filter(store=OuterRef("pk")).unreviewed().order_by("seq")
    oldest = MemoryStore.objects.filter(pk__in=stores).annotate(first=Subquery(first.values("created_at")[:1]))
    return at_most(count), min((at for at in oldest.values_list("first", flat=True) if at), default=None)


def open_proposals(stores: Sequence[str]) -> int:
    """Return the number of open proposals in these stores, up to MOST."""
    found = Proposal.objects.filter(store__in=stores).of_state(ProposalState.OPEN)
    return len(found.order_by().values_list("number", flat=True)[:MOST])


def acts_of_people(stores: Sequence[str], today: date) -> list[Act]:
    """Return the ACTS latest acts of people in these stores, newest first.

    Only people active in the last 30 days are considered, and at most LOOKED_AT pairs of a store and a person.
    """
    people = Activity.objects.of_stores(stores).by_author().since(today - timedelta(days=30))
    people = people.filter(author__gte=ids.USER, author__lt=ids.USER[:-1] + "`")
    pairs = people.values("store_id", "author").annotate(last=Max("day")).order_by("-last", "store_id", "author")
    streams = [
        list(AuditEntry.objects.of_chain(store).by_author(author).in_brief().newest()[:ACTS])
        for store, author in pairs.values_list("store_id", "author")[:LOOKED_AT]
    ]
    newest = heapq.merge(*streams, key=lambda entry: (entry.at, entry.seq), reverse=True)
    entries = list(islice(newest, ACTS))
    words = words_by_entry(entries)
    return [replace(row, words=words[row.entry.chain, row.entry.seq]) for row in rows_of(entries, NO_FILTER)]
