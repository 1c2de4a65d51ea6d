"""The acts of a run, a few items per transaction.

Each item is checked again under the lock, removed, and recorded in the audit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from memoryhub.actions.core import audit, settling, sql, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import selection
from memoryhub.actions.retention import rehearsal, removal
from memoryhub.actions.retention.rehearsal import Item, Rules
from memoryhub.models import HUB, Door, Memory, Removal, Run, RunItem
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain, retention_rules
from memoryhub.pure.retention_rules import Due, Facts, Policy

MOST = 80
"""The most items of one transaction: tool calls wait for it."""
SHORT = 0.065
"""Seconds after which a transaction takes up no further item while others write. The others wait a little longer for a
run than for other work, but less often: see `background.tasks.RUN_EVERY`."""

MOST_VERSIONS = 50
"""The most old versions of a memory that one transaction removes."""
_size = pace.Size(MOST)

Plan = Sequence[Item]
COUNTERS = {
    Removal.EXPIRE: "expired", Removal.PURGE: "purged", Removal.VERSIONS: "versions", Removal.ENTRIES: "entries",
}  # fmt: skip


class Skip(Exception):
    """Raised to leave an item unchanged, for a `reason`.

    `reason` is `gone`, `deleted`, `restored`, `held`, `approved`, `read`, `changed` or `policy`. If it is empty, the
    item was processed before, and nothing is recorded.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Progress:
    """The progress of a transaction: it has finished `done` items, and `part` versions or entries of the next item.

    `counters` are the names of the run's columns that were changed.
    """

    done: int = 0
    part: int = 0
    counters: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Work:
    """One transaction of a run: the locked store (None: the hub's audit), and the rules that apply now."""

    run: Run
    store: Tree | None
    rules: Rules
    at: datetime
    rows: Mapping[str, Memory]
    policies: Mapping[str, Policy]

    def act(self, policy: Policy | None) -> Act:
        """Return an act of the policy. If `policy` is None, return an act of the hub itself.

        An item has no policy if it is removed only because the default grace has ended.
        """
        actor = Actor.system("retention")
        if policy is not None:
            actor = Actor(ActorKind.POLICY.value, policy.id, policy.id, policy.name)
        return Act(actor, Door.COMMAND, self.at, group=self.run.pk)

    def tree(self, policy: Policy | None) -> Tree:
        """Return the locked store, prepared for the next act of the same transaction. For `policy`, see `act`."""
        assert self.store is not None  # only the removal of entries has no store
        self.store = replace(self.store, act=self.act(policy), made=[])
        return self.store


def do_some(store: Tree | None, run: Run, plan: Plan, at: datetime) -> Progress:
    """Process the next items of a plan and count them in the run; return the progress.

    Call it inside the transaction that locked the store.
    """
    progress = Progress()
    rules = Rules.of(run.store_id, run.at)
    first = list(islice(plan, min(MOST, _size.next)))
    wanted = [item.memory for item in first if item.memory]
    found = Memory.objects.among(str(run.store_id), wanted).select_related("head") if wanted else ()
    rows = {row.pk: row for row in found}
    work = Work(run, store, rules, at, rows, {policy.id: policy for policy in rules.policies})
    made: list[RunItem] = []
    expiring = [rows[item.memory] for item in first if item.removal == Removal.EXPIRE and item.memory in rows]
    if store is not None and expiring:
        store.resolved_ahead = settling.resolved_by_deletion(store.store, [_deleted(row) for row in expiring])
    for item in pace.some(first, SHORT):
        part = _do(work, item, made)
        if part is not None:
            progress.part = part
            break
        progress.done += 1
    _size.learn(progress.done, len(first), SHORT)
    progress.counters = _count(run, made)
    _keep(run, made)
    return progress


def _deleted(row: Memory) -> settling.Changed:
    return settling.Changed(row.pk, row.text_id, row.path, None, None)


def _do(work: Work, item: Item, made: list[RunItem]) -> int | None:
    """Process an item, and add the results to `made`.

    If the item is not finished, return how many of its versions or entries are done; otherwise return None.
    """
    did = RunItem(
        run_id=work.run.pk,
        removal=item.removal,
        memory=item.memory,
        policy=item.policy or None,
        rule=item.rule,
        days=item.days,
        since=item.since,
        count=0,
    )
    try:
        more = _VERBS[item.removal](work, item, did)
    except Skip as skip:
        if not skip.reason:
            return None
        did.skipped, did.count, more = skip.reason, item.count, False
    made.append(did)
    return did.count if more else None


# ------------------------------------------------------------------------------------------------ removals


def _expire(work: Work, item: Item, did: RunItem) -> bool:
    row = _row(work, item)
    if not row.is_live:
        raise Skip("" if row.expired_by == work.run.pk else "deleted")
    approved = row.head.review_state in rehearsal.APPROVED
    facts = Facts(row.path, row.created_at, row.updated_at, row.last_read_at, row.restored_at, approved=approved)
    policy, due = _still_due(work, item, row, facts)
    store = work.tree(policy)
    tree.delete_memories(store, row.path, [selection.stored(row)])
    sql.run(sql.EXPIRED, work.run.pk, row.store_id, row.pk)
    record = Record("expire", path=row.path, memory=row.pk, version=store.made[0].id, versions=tuple(store.made))
    _fill_in(did, due, policy, 1, row.size)
    did.seq = tree.commit(store, record._replace(input=_input(work, due, size=row.size)))
    return False


def _purge(work: Work, item: Item, did: RunItem) -> bool:
    row = _row(work, item)
    if row.deleted_at is None:
        raise Skip("restored")
    if row.expired_by == work.run.pk:
        raise Skip
    facts = Facts(
        row.path, row.created_at, row.updated_at, deleted_at=row.deleted_at, expired=row.expired_by is not None
    )
    policy, due = _still_due(work, item, row, facts)
    store = work.tree(policy)
    removed = removal.purge(store, row.pk)
    record = Record("purge", path=row.path, memory=row.pk, redactions=removed.redactions)
    _fill_in(did, due, policy, 1, removed.bytes)
    details = _input(work, due, versions=removed.versions, size=removed.bytes)
    did.seq = tree.commit(store, record._replace(input=details))
    return False


def _prune(work: Work, item: Item, did: RunItem) -> bool:
    row = _row(work, item)
    if not row.is_live:
        raise Skip("deleted")
    policy = work.rules.choose.of(row.path)
    if work.rules.holds.stops_policies(row.pk, row.path):
        raise Skip("held")
    if policy is None or not policy.prunes:
        raise Skip("policy")
    versions = rehearsal.versions_of(str(work.run.store_id), [row.pk]).get(row.pk, [])
    going = retention_rules.removable(policy, [one.facts for one in versions], work.rules.at)
    numbers = [one.number for one in going[: min(item.count, MOST_VERSIONS)]]
    if not numbers:
        raise Skip("changed")
    store = work.tree(policy)
    chosen = [one.id for one in going[: len(numbers)]]
    removed = removal.remove_versions(store, row.pk, chosen)
    due = Due(item.rule, item.days, item.since, item.due_at)
    _fill_in(did, due, policy, removed.versions, removed.bytes)
    details = _input(work, due, versions=removed.versions, size=removed.bytes, first=numbers[0], last=numbers[-1])
    record = Record("prune_versions", path=row.path, memory=row.pk, redactions=removed.redactions, input=details)
    did.seq = tree.commit(store, record)
    return len(going) > len(numbers) and item.count > len(numbers)


def _forget_entries(work: Work, item: Item, did: RunItem) -> bool:
    policy = retention_rules.for_entries(work.rules.policies)
    if not work.rules.holds.is_empty:
        raise Skip("held")
    if policy is None or policy.paused or policy.keep_entry_days is None or item.up_to is None:
        raise Skip("policy")
    if policy.keep_entry_days > item.days:
        raise Skip("policy")
    count = removal.remove_entries(work.run.store_id or HUB, item.up_to, work.act(policy))
    if not count:
        raise Skip
    _fill_in(did, Due(item.rule, item.days, item.since, item.due_at), policy, count, 0)
    return count < item.count


_VERBS = {
    Removal.EXPIRE: _expire, Removal.PURGE: _purge, Removal.VERSIONS: _prune, Removal.ENTRIES: _forget_entries,
}  # fmt: skip


def _row(work: Work, item: Item) -> Memory:
    row = work.rows.get(item.memory)
    if row is None:
        done = RunItem.objects.filter(run_id=work.run.pk, removal=item.removal, memory=item.memory).exists()
        raise Skip("" if done else "gone")
    return row


def _still_due(work: Work, item: Item, row: Memory, facts: Facts) -> tuple[Policy | None, Due]:
    """Return the policy and the rule by which an item is still due. Raises Skip if it is not due any more."""
    if work.rules.holds.stops_policies(row.pk, row.path):
        raise Skip("held")
    policy = work.rules.choose.of(row.path)
    due = retention_rules.due(policy, facts, work.rules.at)
    if due is not None:
        return policy, due
    if policy is None or policy != work.policies.get(item.policy):
        raise Skip("policy")
    if policy.keeps_approved and facts.approved:
        raise Skip("approved")
    raise Skip("read" if row.last_read_at != item.last_read_at else "changed")


# ------------------------------------------------------------------------------------------------ results


def _fill_in(did: RunItem, due: Due, policy: Policy | None, count: int, size: int) -> None:
    did.rule, did.days, did.since, did.policy = due.rule, due.days, due.since, policy.id if policy else None
    did.count, did.bytes = count, size


def _input(work: Work, due: Due, **more: int) -> str:
    details = {"run": work.run.pk, "rule": due.rule, "days": due.days, "since": chain.moment(due.since), **more}
    return audit.to_json(details)


def _count(run: Run, made: Sequence[RunItem]) -> set[str]:
    """Add the results to the run's counters; return the names of the changed columns."""
    names: set[str] = set()
    for did in made:
        name = "skipped" if did.skipped else COUNTERS[Removal(did.removal)]
        setattr(run, name, getattr(run, name) + (1 if did.skipped else did.count))
        run.bytes += did.bytes
        names |= {name, "bytes"}
    return names


def _keep(run: Run, made: Sequence[RunItem]) -> None:
    """Save the results. If an item already has a row, because it was done in part or skipped, that row is updated."""
    known = RunItem.objects.filter(run_id=run.pk, memory__in=[did.memory for did in made])
    before = {(row.removal, row.memory): row for row in known} if made else {}
    fresh = []
    for did in made:
        row = before.get((did.removal, did.memory))
        if row is None:
            fresh.append(did)
            continue
        done = 0 if row.skipped else row.count
        values = {"skipped": did.skipped, "count": done + did.count, "bytes": row.bytes + did.bytes, "seq": did.seq}
        RunItem.objects.filter(pk=row.pk).update(**values)
    RunItem.objects.bulk_create(fresh)
