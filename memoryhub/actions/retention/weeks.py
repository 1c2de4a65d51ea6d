"""Counts, by week, the memories that would have expired by the policies, and those that will expire by them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Any, NamedTuple

from memoryhub.actions.retention.rehearsal import APPROVED, PAGE, Row, Rules, facts_of, live
from memoryhub.models import AuditChain, AuditEntry, Memory, MemoryVersion, Redaction
from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import Policy, weeks as weeks_of
from memoryhub.pure.retention_rules.weeks import History, Weeks

MOST_EVENTS = 200_000
"""The most reads, and the most versions, that the replay of the past uses; the newest ones are used."""


def past_weeks(store_id: str, at: datetime, policies: Sequence[Policy] | None = None, weeks: int = 12) -> Weeks:
    """Return how many memories would have expired in each past week if the policies had always applied.

    Memories that are held or pinned now are left out. `policies` are used in place of the saved ones.
    """
    rules = Rules.of(store_id, at, policies)
    going = [policy for policy in rules.policies if policy.expires]
    reads, reads_from = _events(_reads(store_id), at) if any(one.expire_unread_days for one in going) else ({}, None)
    changes, changes_from = (
        _events(_changes(store_id), at) if any(one.expire_unchanged_days for one in going) else ({}, None)
    )
    histories = _histories(rules, reads, changes) if going else iter(())
    found = weeks_of.replay(rules.choose.of, histories, weeks_of.past(at, weeks))
    known = [moment for moment in (reads_from, changes_from, _known_from(store_id)) if moment is not None and going]
    known = [moment for moment in known if moment > at - timedelta(weeks=weeks)]
    return replace(found, exact_from=max(known, default=None))


def coming_weeks(store_id: str, at: datetime, policies: Sequence[Policy] | None = None, weeks: int = 12) -> Weeks:
    """Return how many memories will expire in each coming week if no memory is read or changed.

    Memories that are held or pinned are left out. `policies` are used in place of the saved ones.
    """
    rules = Rules.of(store_id, at, policies)
    expires = any(policy.expires for policy in rules.policies)
    rows = live(rules) if expires else iter(())
    dues = ((soon.at, size) for soon, size, _ in _coming(rules, rows))
    return weeks_of.counted(dues, weeks_of.coming(at, weeks))


class Soon(NamedTuple):
    """A memory that will move to the trash, and when."""

    at: datetime
    path: str
    memory: str


def coming_first(
    store_id: str, at: datetime, policies: Sequence[Policy] | None, policy_id: str | None, most: int
) -> list[Soon]:
    """Return the memories that expire first after the moment `at`, at most `most`.

    With `policy_id`, only memories that expire by this policy are returned.
    """
    rules = Rules.of(store_id, at, policies)
    going = any(policy.expires for policy in rules.policies if policy_id in (None, policy.id))
    found = _coming(rules, live(rules) if going else iter(()))
    return nsmallest(most, (soon for soon, _, by in found if soon.at > at and policy_id in (None, by)))


def _coming(rules: Rules, rows: Iterable[Row]) -> Iterator[tuple[Soon, int, str]]:
    """Yield (memory and time of expiry, its size, id of the policy) for the memories that are not held."""
    for row in rows:
        policy = rules.choose.of(row[0])
        due = retention_rules.due_next(policy, facts_of(row)) if policy and policy.expires else None
        if policy and due and rules.holds.stops_policies(row[1], row[0]) is None:
            yield Soon(due.at, row[0], row[1]), row[6], policy.id


Events = dict[str, list[datetime]]


def _reads(store_id: str) -> Any:
    """Return (memory, time) of the newest views, newest first. `memory` is None for a view of a directory."""
    found = AuditEntry.objects.of_chain(store_id).of_command("view").newest()
    return found.values_list("memory", "at")[:MOST_EVENTS]


def _known_from(store_id: str) -> datetime | None:
    """Return a time: all entries and versions that were made after it still exist. None if none was ever removed."""
    entries = AuditEntry.objects.of_chain(store_id)
    last = Redaction.objects.of_chain(store_id).removed().order_by("-entry_seq").values_list("entry_seq", flat=True)
    seq = last.first()
    found = entries.of_seqs([seq]).values_list("at", flat=True).first() if seq is not None else None
    if found is None and AuditChain.objects.filter(pk=store_id, start_seq__gt=0).exists():
        found = entries.oldest().values_list("at", flat=True).first()
    return found


def _changes(store_id: str) -> Any:
    """Return (memory, time) of the newest MOST_EVENTS versions, newest first."""
    found = MemoryVersion.objects.filter(store_id=store_id).order_by("-seq")
    return found.values_list("memory_id", "created_at")[:MOST_EVENTS]


def _events(found: Any, at: datetime) -> tuple[Events, datetime | None]:
    """Return ({memory: times}, the time since which the events are complete).

    The time is None if all events are complete.
    """
    events: Events = {}
    count, moment = 0, at
    for memory, moment in found.iterator(PAGE):
        count += 1
        if memory is not None:
            events.setdefault(memory, []).append(moment)
    return events, moment if count == MOST_EVENTS else None


def _histories(rules: Rules, reads: Events, changes: Events) -> Iterator[History]:
    """Yield the history of every memory, including those in the trash.

    Memories that are held or pinned now are left out.
    """
    columns = ["pk", "path", "size", "created_at", "restored_at", "deleted_at", "updated_at", "last_read_at"]
    if any(policy.keeps_approved for policy in rules.policies):
        columns.append("head__review_state")
    found = Memory.objects.filter(store_id=rules.store).order_by("pk")
    after = ""
    while page := list(found.filter(pk__gt=after).values_list(*columns)[:PAGE]):
        for pk, path, size, created_at, restored_at, deleted_at, updated_at, last_read_at, *state in page:
            if rules.holds.stops_policies(pk, path) is None:
                read = [*reads.get(pk, ()), *filter(None, [last_read_at])]
                changed = [*changes.get(pk, ()), updated_at]
                approved = deleted_at is None and bool(state) and state[0] in APPROVED
                yield History(path, size, created_at, changed, read, restored_at, deleted_at, approved)
        after = page[-1][0]
