"""Figures of some stores: the stored counts, and the entries written after them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Min, Q, Sum

from memoryhub import models
from memoryhub.actions import figures
from memoryhub.actions.figures import Counted, Delta
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import Activity, Growth
from memoryhub.models.figures import ALL, OK
from memoryhub.pure.protocol.kinds import Kind

READ, ERROR, PROPOSED = "view", "error", Kind.PROPOSED.value


@dataclass(frozen=True, slots=True)
class Newer:
    """Counts of the entries that are newer than the stored counts."""

    counted: Mapping[str, Counted]  # by store
    up_to: datetime | None  # the time up to which all entries were counted; None if all were


@dataclass(slots=True)
class Figures:
    """Counts of some stores."""

    all: Counter[tuple[date, str]] = field(default_factory=Counter)  # operations by (day, command)
    ok: Counter[tuple[date, str]] = field(default_factory=Counter)  # operations without an error, by (day, command)
    proposed: Counter[date] = field(default_factory=Counter)  # calls that became part of a proposal, by day
    # operations by (author, ending): OK, PROPOSED or ERROR
    authors: Counter[tuple[str, str]] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)  # successful writes by author
    errors: Counter[str] = field(default_factory=Counter)  # errors by kind

    def on(self, day: date, commands: Collection[str]) -> int:
        """Return how many operations with one of the `commands` succeeded on a day."""
        return sum(self.ok[day, command] for command in commands)

    def between(self, first: date, last: date, commands: Collection[str]) -> int:
        """Return how many operations with one of the `commands` succeeded from the day `first` to the day `last`,
        inclusive."""
        return sum(self.on(first + timedelta(days=ago), commands) for ago in range((last - first).days + 1))

    def errors_on(self, day: date) -> int:
        """Return the number of errors on a day."""
        done = sum(count - self.ok[at, command] for (at, command), count in self.all.items() if at == day)
        return done - self.proposed[day]


def newer(stores: Sequence[str]) -> Newer:
    """Count the entries that are newer than the stored counts, at most figures.ENTRIES for all stores together."""
    counted: dict[str, Counted] = {}
    left: list[datetime] = []
    most = figures.ENTRIES
    for store_id, (seq, last) in figures.behind(stores).items():
        found = figures.after(store_id, seq, most) if most > 0 else Counted(seq)
        counted[store_id] = found
        most -= found.activity.total()
        if found.seq < last and (at := found.at or _counted_at(store_id)):
            left.append(at)
    return Newer(counted, min(left, default=None))


def _counted_at(store_id: str) -> datetime | None:
    return models.Figures.objects.filter(pk=store_id).values_list("at", flat=True).first()


def first_day(stores: Sequence[str], more: Newer) -> date | None:
    """Return the first day with an entry, or None if the stores have no entries."""
    found = Activity.objects.of_stores(stores).in_sum().aggregate(first=Min("day"))["first"]
    days = [day for counted in more.counted.values() for day, *_ in counted.activity]
    return min([*days, *([found] if found else [])], default=None)


def figures_of(stores: Sequence[str], more: Newer, start: date, author: str = "") -> Figures:
    """Return the figures since the day `start`. If an `author` is given, they are limited to this author, except for
    the counts by author, which always include all authors."""
    found = Figures()
    there = Activity.objects.of_stores(stores).since(start)
    commands = there.by_command(author or ALL)
    rows = commands.values("day", "command").annotate(total=Sum("count"), ok=Sum("count", filter=Q(outcome=OK)))
    for day, command, total, ok in rows.values_list("day", "command", "total", "ok"):
        found.all[day, command] += total
        found.ok[day, command] += ok or 0
    for at, outcome, total in there.in_sum(author or ALL).exclude(outcome=OK).summed("day", "outcome"):
        _add_error(found, at, str(outcome), _number(total))  # type: ignore[arg-type]
    for who, outcome, total in there.by_author().summed("author", "outcome"):
        found.authors[str(who), ended(str(outcome))] += _number(total)
    for who, total in there.exclude(author=ALL).filter(command__in=WRITES, outcome=OK).summed("author"):
        found.writes[str(who)] += _number(total)
    for counted in more.counted.values():
        _add(found, counted, start, author)
    return found


def ended(outcome: str) -> str:
    """Return OK, PROPOSED or ERROR for an outcome."""
    return outcome if outcome in (OK, PROPOSED) else ERROR


def _add_error(found: Figures, day: date, outcome: str, count: int) -> None:
    if outcome == PROPOSED:
        found.proposed[day] += count
    elif outcome != OK:
        found.errors[outcome] += count


def _number(value: Any) -> int:
    return int(value)


def _add(found: Figures, counted: Counted, start: date, author: str) -> None:
    for (day, who, command, outcome), count in counted.activity.items():
        if day < start:
            continue
        found.authors[who, ended(outcome)] += count
        found.writes[who] += count if outcome == OK and command in WRITES else 0
        if author in ("", who):
            found.all[day, command] += count
            found.ok[day, command] += count if outcome == OK else 0
            _add_error(found, day, outcome, count)


def growth_of(stores: Sequence[str], more: Newer, start: date) -> tuple[Delta, dict[date, Delta]]:
    """Return the totals of the stores before the day `start`, and {day: change} from that day on."""
    there = Growth.objects.filter(store__in=stores)
    sums = there.filter(day__lt=start).aggregate(a=Sum("memories"), b=Sum("bytes"), c=Sum("versions"))
    before, days = Delta(sums["a"] or 0, sums["b"] or 0, sums["c"] or 0), dict[date, Delta]()
    rows = there.filter(day__gte=start).values("day").annotate(a=Sum("memories"), b=Sum("bytes"), c=Sum("versions"))
    for day, memories, size, versions in rows.values_list("day", "a", "b", "c"):
        days[day] = Delta(memories, size, versions)
    for counted in more.counted.values():
        for day, delta in counted.growth.items():
            into = before if day < start else days.setdefault(day, Delta())
            into.add(delta.memories, delta.bytes, delta.versions)
    return before, days
