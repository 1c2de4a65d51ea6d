"""The number of memories that policies would have expired in past weeks, and will expire in coming weeks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryhub.pure.retention_rules import Due, Facts, Policy, due_next


@dataclass(frozen=True, slots=True)
class Week:
    """Seven days from `start` to `end`, with the number and the bytes of the memories that expire in them."""

    start: datetime
    end: datetime
    count: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Weeks:
    """Weeks in order. `before` counts what was due before the first week; in a forecast, what is due already.

    Not everything is known about the time before `exact_from` (None: everything is known).
    """

    weeks: tuple[Week, ...]
    before: int = 0
    exact_from: datetime | None = None

    @property
    def count(self) -> int:
        return sum(week.count for week in self.weeks)


class History(NamedTuple):
    """What happened to a memory: when it was created, written, read, restored and deleted (None: never).

    `approved`: a person wrote or approved its newest version. It is not known since when this is so.
    """

    path: str
    size: int
    created_at: datetime
    changes: Sequence[datetime] = ()
    reads: Sequence[datetime] = ()
    restored_at: datetime | None = None
    deleted_at: datetime | None = None
    approved: bool = False


def past(at: datetime, weeks: int) -> list[Week]:
    """Return `weeks` consecutive weeks, the last of which ends at the moment `at`."""
    return [Week(at - timedelta(weeks=number), at - timedelta(weeks=number - 1)) for number in range(weeks, 0, -1)]


def coming(at: datetime, weeks: int) -> list[Week]:
    """Return `weeks` consecutive weeks, the first of which begins at the moment `at`."""
    return [Week(at + timedelta(weeks=number), at + timedelta(weeks=number + 1)) for number in range(weeks)]


def first_due(policy: Policy, history: History) -> Due | None:
    """Return when, and by which rule, a policy would first have moved a memory to the trash if it had always been in
    force.

    Return None if never.
    """
    moments = sorted({history.created_at, *history.changes, *history.reads, *filter(None, [history.restored_at])})
    facts = Facts(history.path, history.created_at, history.created_at, approved=history.approved)
    changes, reads = set(history.changes), set(history.reads)
    for moment, following in zip(moments, [*moments[1:], None], strict=True):
        facts = facts._replace(
            updated_at=moment if moment in changes else facts.updated_at,
            last_read_at=moment if moment in reads else facts.last_read_at,
            restored_at=moment if moment == history.restored_at else facts.restored_at,
        )
        found = due_next(policy, facts)
        if found is not None and (following is None or found.at <= following):
            return None if history.deleted_at is not None and history.deleted_at < found.at else found
    return None


def replay(choose: Callable[[str], Policy | None], histories: Iterable[History], weeks: Sequence[Week]) -> Weeks:
    """Return what policies would have expired in each week if they had always been in force. Each memory counts only
    once."""
    dues = []
    for history in histories:
        policy = choose(history.path)
        found = first_due(policy, history) if policy is not None and policy.expires else None
        if found is not None:
            dues.append((found.at, history.size))
    return counted(dues, weeks)


def counted(dues: Iterable[tuple[datetime, int]], weeks: Sequence[Week]) -> Weeks:
    """Return the weeks, each with the number and the total bytes of the `dues` in it. A due is (moment, bytes).

    A moment at the end of a week belongs to the next week.
    """
    first, last = weeks[0].start, weeks[-1].end
    counts, sizes, before = [0] * len(weeks), [0] * len(weeks), 0
    for moment, size in dues:
        if moment < first:
            before += 1
        elif moment < last:
            number = (moment - first) // timedelta(weeks=1)
            counts[number] += 1
            sizes[number] += size
    made = zip(weeks, counts, sizes, strict=True)
    return Weeks(tuple(Week(week.start, week.end, count, size) for week, count, size in made), before)
