"""Counts entries and versions by day, in the background. The counts come from the audit.

The counts are not audited, because they can be made again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, Subquery, Sum, When
from django.db.models.functions import Coalesce, Substr

from memoryhub.actions.core.audit import metering
from memoryhub.actions.core.audit.metering import Call
from memoryhub.actions.core.transactions import writing
from memoryhub.models import (
    Activity,
    AuditChain,
    AuditEntry,
    Directory,
    Figures,
    Growth,
    Memory,
    MemoryStore,
    MemoryVersion,
    Operation,
    ReviewState,
)
from memoryhub.models.figures import ALL, OK, Key
from memoryhub.pure.protocol import kinds

ENTRIES = 2_000
"""The most entries that one transaction counts, and the most uncounted entries that one page counts itself."""

VERSIONS = 4_000
"""The most versions of these entries that are counted, unless a single entry made more."""


@dataclass(slots=True)
class Delta:
    """The changes of one day in a store. `memories` and `bytes` can be negative."""

    memories: int = 0
    bytes: int = 0
    versions: int = 0

    def add(self, memories: int, bytes: int, versions: int) -> None:
        self.memories += memories
        self.bytes += bytes
        self.versions += versions


@dataclass(slots=True)
class Counted:
    """The counts of some entries."""

    seq: int  # the seq of the last counted entry
    at: datetime | None = None  # the time of the last counted entry (None: no entry)
    calls: list[Call] = field(default_factory=list)  # for each entry, the values that metrics need
    activity: Counter[Key] = field(default_factory=Counter)  # entries by (day, author, command, outcome)
    growth: dict[date, Delta] = field(default_factory=dict)  # the changes of memories by day

    def rolled_up(self) -> Counter[Key]:
        """Return the activity, with added sums for all authors and all commands."""
        counts: Counter[Key] = Counter()
        for (day, author, command, outcome), count in self.activity.items():
            for who in (author, ALL):
                for what in (command, ALL):
                    counts[day, who, what, outcome] += count
        return counts


# ------------------------------------------------------------------------------------------------ reading


def after(store_id: str, seq: int, most: int) -> Counted:
    """Count at most `most` entries of a store after `seq`, with their versions. Nothing is written."""
    found = Counted(seq)
    last = _last_by_versions(store_id, seq)
    entries = _entries(store_id, seq, most)
    for entry in entries:
        number, at, author = entry[:3]
        if last is not None and number > last:
            break
        call = _call_of(entry)
        found.activity[at.astimezone(UTC).date(), author or "", call.command, call.outcome] += 1
        found.calls.append(call)
        found.seq, found.at = number, at
    for day, memories, size in _changes(store_id, seq, found.seq):
        found.growth.setdefault(day, Delta()).add(memories, size, 1)
    return found


def _last_by_versions(store_id: str, seq: int) -> int | None:
    """Return the seq of the VERSIONS-th version after `seq`; None if there are fewer."""
    made = MemoryVersion.objects.filter(store_id=store_id, seq__gt=seq).order_by("seq")
    return made.values_list("seq", flat=True)[VERSIONS - 1 : VERSIONS].first()


def _entries(store_id: str, seq: int, most: int) -> list[tuple[Any, ...]]:
    """Return (seq, at, author, command, ok, start of the error, door, duration) of entries after `seq`.

    A repeated call has the error of the first call.
    """
    beginning = Substr("message", 1, kinds.LONGEST)
    # A repeated call has the error of the first call.
    first: Any = AuditEntry.objects.filter(chain=store_id, seq=OuterRef("replay_of")).annotate(start=beginning)
    start = Coalesce(beginning, Subquery(first.values("start")[:1]))
    found: Any = AuditEntry.objects.of_chain(store_id).filter(seq__gt=seq).oldest()
    found = found.annotate(start=Case(When(ok=False, then=start)))
    return list(found.values_list("seq", "at", "author_id", "command", "ok", "start", "door", "duration")[:most])


def _call_of(entry: tuple[Any, ...]) -> Call:
    number, _at, _author, command, ok, message, door, micros = entry
    return Call(number, command or "", door, OK if ok else kinds.kind_of((message or "")[1:]).value, micros)


def _changes(store_id: str, after: int, last: int) -> Iterator[tuple[date, int, int]]:
    """Yield (day, memories, bytes) for each version that the entries after `after`, up to `last`, made.

    `memories` is 1 if the version created or restored a memory, -1 if it deleted one, else 0. `bytes` is how much the
    memory grew. If the version changed or deleted a memory whose previous version was removed, `bytes` is 0.
    """
    if last <= after:
        return
    earlier = MemoryVersion.objects.filter(store_id=store_id, memory_id=OuterRef("memory_id"))
    before = earlier.filter(number=OuterRef("number") - 1)
    brought = earlier.filter(number__lt=OuterRef("number"), seq=OuterRef("seq")).order_by("-number")
    made: Any = MemoryVersion.objects.filter(store_id=store_id).between(after, last)
    made = made.annotate(
        **{
            name: Case(When(origin=None, then=before.values(column)[:1]), default=brought.values(column)[:1])
            for name, column in (("old", "operation"), ("old_size", "size"))
        }
    )
    rows = made.values_list("created_at", "number", "operation", "size", "old", "old_size", "origin")
    for at, number, operation, size, old, old_size, origin in rows.iterator(2000):
        is_there, was_there = operation != Operation.DELETED, old not in (None, Operation.DELETED)
        grown = (size or 0 if is_there else 0) - (old_size or 0 if was_there else 0)
        if old is None and number > 1 and origin is None:
            was_there = operation != Operation.CREATED  # only what was deleted is created again
            grown = 0 if was_there else grown
        yield at.astimezone(UTC).date(), is_there - was_there, grown


# ------------------------------------------------------------------------------------------------ counting


def behind(stores: Sequence[str] | None = None) -> dict[str, tuple[int, int]]:
    """Return {store: (seq of its last counted entry, seq of its last entry)} for stores with uncounted entries.

    `stores` are the ids of the stores to check (None: all).
    """
    counted = Figures.objects.filter(store_id=OuterRef("pk")).values("seq")
    within = MemoryStore.objects.values("pk") if stores is None else stores
    chains = AuditChain.objects.filter(pk__in=within).annotate(counted=Coalesce(Subquery(counted[:1]), 0))
    rows = chains.filter(last_seq__gt=F("counted")).order_by("pk").values_list("pk", "counted", "last_seq")
    return {store: (counted, last) for store, counted, last in rows}


def catch_up(most: int = 5) -> bool:
    """Count new entries of all stores in at most `most` transactions; return whether all have been counted.

    Entries that are written while this function runs may stay uncounted.
    """
    for store_id, (_, last) in behind().items():
        while most > 0 and count(store_id, last):
            most -= 1
        if most <= 0:
            return False
    return True


def count_up_to_now(store_id: str, most: int = 5) -> None:
    """Count a store's new entries in at most `most` transactions.

    Call it before versions are removed, because a removed version can no longer be counted.
    """
    while most > 0 and behind([store_id]):
        count(store_id)
        most -= 1


def count(store_id: str, last: int | None = None) -> int:
    """Count the next entries of a store, up to the entry `last`, in a transaction of its own. Return how many were
    counted.

    If two processes count at once, the second one writes nothing.
    """
    known = Figures.objects.filter(pk=store_id).values_list("seq", flat=True).first() or 0
    found = after(store_id, known, ENTRIES if last is None else min(ENTRIES, max(0, last - known)))
    if found.at is None:
        return 0
    with writing():
        if not MemoryStore.objects.filter(pk=store_id).exists():
            return 0
        Figures.objects.get_or_create(store_id=store_id, defaults={"at": found.at})
        row = Figures.objects.select_for_update().get(pk=store_id)
        if row.seq != known:
            return 0
        _add_activity(store_id, found.rolled_up())
        _add_growth(store_id, found.growth)
        metering.add(store_id, found.calls)
        row.seq, row.at = found.seq, found.at
        row.save(update_fields=["seq", "at"])
    return found.activity.total()


def meter_deleted(store_id: str) -> bool:
    """Count the next entries of a deleted store, for metrics alone; return whether there were any."""
    entries = _entries(store_id, metering.counted(store_id), ENTRIES)
    if entries:
        with writing():
            metering.add(store_id, [_call_of(entry) for entry in entries])
    return bool(entries)


def _add_activity(store_id: str, counts: Mapping[Key, int]) -> None:
    days = {key[0] for key in counts}
    there = Activity.objects.filter(store_id=store_id, day__in=days, author__in={key[1] for key in counts})
    known = there.counts()
    rows = [
        Activity(
            store_id=store_id,
            day=key[0],
            author=key[1],
            command=key[2],
            outcome=key[3],
            count=known[key] + number,
        )
        for key, number in counts.items()
    ]
    Activity.objects.bulk_create(
        rows,
        batch_size=500,
        update_conflicts=True,
        update_fields=["count"],
        unique_fields=["store", "author", "day", "command", "outcome"],
    )


def _add_growth(store_id: str, growth: Mapping[date, Delta]) -> None:
    for day, delta in growth.items():
        row, _ = Growth.objects.get_or_create(store_id=store_id, day=day)
        row.memories, row.bytes = row.memories + delta.memories, row.bytes + delta.bytes
        row.versions += delta.versions
        row.save()


# ------------------------------------------------------------------------------------------------ lists

LISTED = 100
MAPPED, MAPPED_DIRECTORIES = 100, 40
"""The most memories and directories that a tree map shows one by one."""

GROWING = timedelta(days=7)
SMALL = 1_000
"""A store with at most this many memories is small: its lists need no pause.

For a larger store, there is a pause of PAUSE between two updates of its lists.
"""

PAUSE = timedelta(minutes=5)


def lists_of(store_id: str, at: datetime) -> dict[str, Any]:
    """Return the lists of a store's memories at a moment. Every live memory of the store is read.

    `unread` has the ids of the memories that no agent ever read. `risky` has the ids of the memories whose newest
    version was read and awaits review. `growing` has (id, bytes added in the last GROWING). `largest` and `directories`
    have the ids of the largest memories and directories, for the tree map. The totals are `unread_count`,
    `unread_bytes` and `risky_count`.
    """
    live = Memory.objects.filter(store_id=store_id).live()
    unread = live.filter(read_count=0)
    of_head = AuditEntry.objects.of_chain(store_id).filter(path=OuterRef("path"), seq__gt=OuterRef("head__seq"))
    read = Exists(of_head.filter(version=OuterRef("head_id"), first_line__isnull=False))
    waiting = live.filter(head__review_state=ReviewState.UNREVIEWED, last_read_seq__gt=F("head__seq"))
    risky = waiting.filter(read)  # the last read of `waiting` may be one of an older version, by its id
    directories = Directory.objects.filter(store_id=store_id).exclude(path="").order_by("-total_bytes", "path")
    return {
        "unread": _ids(unread.order_by("-version_count", "-size", "pk"), LISTED),
        "risky": _ids(risky.order_by("-read_count", "pk"), LISTED),
        "growing": _growing(store_id, at),
        "largest": _ids(live.order_by("-size", "pk"), MAPPED),
        "directories": _ids(directories, MAPPED_DIRECTORIES),
        "risky_count": risky.count(),
    } | unread.aggregate(unread_count=Count("pk"), unread_bytes=Sum("size"))


def _ids(found: Any, most: int) -> list[str]:
    return list(found.values_list("pk", flat=True)[:most])


def _growing(store_id: str, at: datetime) -> list[tuple[str, int]]:
    """Return (id, added bytes) of the memories that grew most in the period GROWING that ended at the moment `at`."""
    since = at - GROWING
    earlier = AuditEntry.objects.of_chain(store_id).filter(at__lt=since).order_by("-at", "-seq")
    seq = earlier.values_list("seq", flat=True).first() or 0
    before = MemoryVersion.objects.filter(store_id=store_id, memory_id=OuterRef("pk"), seq__lte=seq)
    size = Coalesce(Subquery(before.order_by("-number").values("size")[:1]), 0)
    changed = Memory.objects.filter(store_id=store_id, updated_at__gte=since).live().annotate(added=F("size") - size)
    return list(changed.filter(added__gt=0).order_by("-added", "pk").values_list("pk", "added")[:LISTED])


def make_lists(at: datetime, most: int = 10) -> None:
    """Update the lists of at most `most` stores in which entries were counted since the last update.

    The lists of a store with more than SMALL memories are updated at most once per PAUSE.
    """
    due = Figures.objects.filter(seq__gt=F("listed_seq")).filter(
        Q(listed_at=None) | Q(listed_at__lte=at - PAUSE) | Q(listed_at__gt=at) | Q(store__memory_count__lte=SMALL)
    )
    for store_id, seq in list(due.order_by("listed_at", "pk").values_list("pk", "seq")[:most]):
        lists = lists_of(store_id, at)
        with writing():
            Figures.objects.filter(pk=store_id).update(lists=lists, listed_seq=seq, listed_at=at)


# ------------------------------------------------------------------------------------------------ counting again


def forget(store_id: str) -> None:
    """Delete a store's figures; they are counted again from its first entry."""
    with writing():
        Figures.objects.filter(pk=store_id).delete()
        Activity.objects.filter(store_id=store_id).delete()
        Growth.objects.filter(store_id=store_id).delete()


def problems(store_id: str) -> Iterator[str]:
    """Yield a sentence for each figure that differs when counted again. Nothing is written.

    For a store from which retention has removed entries or versions, the result is uncertain.
    """
    counted = Figures.objects.filter(pk=store_id).values_list("seq", flat=True).first() or 0
    activity, growth = _again(store_id, counted)
    there = Activity.objects.filter(store_id=store_id).counts()
    for key in sorted(activity.keys() | there.keys()):
        if activity[key] != there[key]:
            yield f"{' '.join(map(str, key))} is counted {there[key]} times and happened {activity[key]} times"
    rows = Growth.objects.filter(store_id=store_id).values_list("day", "memories", "bytes", "versions")
    grown = {day: Delta(*numbers) for day, *numbers in rows}
    for day in sorted(growth.keys() | grown.keys()):
        if growth.get(day, Delta()) != grown.get(day, Delta()):
            yield f"the growth of {day} is wrong"


def _again(store_id: str, last: int) -> tuple[Counter[Key], dict[date, Delta]]:
    """Return the activity and the growth of a store, counted again from its first entry to `last`."""
    activity: Counter[Key] = Counter()
    growth: dict[date, Delta] = {}
    seq = 0
    while seq < last:
        found = after(store_id, seq, min(ENTRIES, last - seq))
        if found.at is None:
            break
        activity.update(found.rolled_up())
        for day, delta in found.growth.items():
            growth.setdefault(day, Delta()).add(delta.memories, delta.bytes, delta.versions)
        seq = found.seq
    return activity, growth
