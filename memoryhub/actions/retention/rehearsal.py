"""Rehearsals: list exactly what a run would remove."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Q

from memoryhub.actions.core.rules.holds import Holds, holds_of
from memoryhub.actions.retention import policies as saved
from memoryhub.models import HUB, AuditChain, AuditEntry, Figures, Memory, MemoryVersion, Removal, ReviewState
from memoryhub.models.memories import MemoryQuerySet
from memoryhub.models.proposals import ProposedChange
from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import Chooser, Facts, Policy, VersionFacts

PAGE = 2_000
APPROVED = (None, ReviewState.APPROVED, ReviewState.EDITED)
"""The states of a newest version that a person wrote or approved."""


@dataclass(slots=True)
class Item:
    """A removal that is due by a rule."""

    removal: Removal
    memory: str  # "" for audit entries
    path: str  # "" for audit entries
    policy: str  # "" for the default grace
    rule: str
    days: int
    since: datetime
    due_at: datetime  # `days` after `since`
    count: int = 1  # 1 for a memory, else how many versions or entries
    bytes: int = 0
    last_read_at: datetime | None = None
    last_read_by: str | None = None  # set only by `with_readers`
    up_to: int | None = None  # the seq of the last entry to remove


class Totals(NamedTuple):
    """The totals of a rehearsal or a run. `memories` is how many memories expire, `purged` is how many are purged.

    `versions` and `entries` are how many are removed. `bytes` is the sum of the bytes of all items.
    """

    memories: int = 0
    purged: int = 0
    versions: int = 0
    entries: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Rules:
    """The policies and holds for a store's memories at a moment.

    If `store` is None, they are those for the hub's audit.
    """

    store: str | None
    at: datetime
    policies: Sequence[Policy]
    choose: Chooser
    holds: Holds
    held: set[str] = field(default_factory=set)
    approved: set[str] = field(default_factory=set)

    def holds_back(self, item: Item) -> bool:
        """Return whether a hold or a pin prevents a removal. If so, add the memory to `held`."""
        if self.holds.stops_policies(item.memory, item.path) is None:
            return False
        self.held.add(item.memory)
        return True

    @classmethod
    def of(cls, store_id: str | None, at: datetime, policies: Sequence[Policy] | None = None) -> "Rules":
        """Return the rules of a store, or of the hub's audit if `store_id` is None.

        `policies` replace the saved ones. If `policies` is None, the saved ones apply.
        """
        policies = saved.concerning(store_id) if policies is None else policies
        return cls(store_id, at, policies, Chooser(policies), holds_of(store_id, at) if store_id else Holds())


def rehearse(
    store_id: str | None, at: datetime, *, policies: Sequence[Policy] | None = None, held: set[str] | None = None,
    approved: set[str] | None = None,
) -> Iterator[Item]:  # fmt: skip
    """Yield exactly what a run as of `at` removes, in its order: expired and purged memories, old versions, entries.

    If `store_id` is None, only entries of the hub's own chain are removed. `policies` replace the saved ones. `held`
    gets the ids of the memories that only a hold or a pin keeps. `approved` gets the ids of the memories that would
    expire if no person had written or approved them.
    """
    rules = Rules.of(store_id, at, policies)
    rules.held = rules.held if held is None else held
    rules.approved = rules.approved if approved is None else approved
    purged: set[str] = set()
    if store_id is not None:
        yield from _expiring(rules)
        for item in _ending(rules):
            purged.add(item.memory)
            yield item
        yield from _pruned(rules)
    entries = entries_item(rules, purged)
    if entries is not None:
        yield entries


def by_then(items: Iterable[Item], rules: Rules, now: datetime) -> list[Item]:
    """Return the items of a rehearsal as of the future moment `rules.at`, as if there were a run every hour until then.

    If a memory expires, and its grace ends by `rules.at` too, its item becomes a permanent removal (PURGE).
    """
    policies, found = {policy.id: policy for policy in rules.policies}, list(items)
    ended: list[int] = []
    for place, item in enumerate(found):
        policy, begun = policies.get(item.policy), max(item.due_at, now)
        if policy is None or item.removal != Removal.EXPIRE:
            continue
        due_at = retention_rules.later(begun, policy.grace_days)
        if due_at is not None and due_at <= rules.at:
            over = replace(item, removal=Removal.PURGE, rule=retention_rules.GRACE, days=policy.grace_days)
            found[place] = replace(over, since=begun, due_at=due_at)
            ended.append(place)
    sizes = _sizes(str(rules.store), [found[place].memory for place in ended])
    for place in ended:
        found[place].bytes = sizes.get(found[place].memory, 0)
    return found


def totals(items: Iterable[Item]) -> Totals:
    counts = dict.fromkeys(Removal, 0)
    size = 0
    for item in items:
        counts[item.removal] += item.count
        size += item.bytes
    expired, purged, versions, entries = (counts[removal] for removal in Removal)
    return Totals(expired, purged, versions, entries, size)


def with_readers(store_id: str, items: Sequence[Item]) -> list[Item]:
    """Return the items with `last_read_by` set: who read each memory last, under the reader's name at that time.

    Call it with few items.
    """
    read = [item.memory for item in items if item.memory and item.last_read_at is not None]
    seqs = dict(Memory.objects.among(store_id, read).values_list("pk", "last_read_seq"))
    entries = AuditEntry.objects.of_chain(store_id).of_seqs(seq for seq in seqs.values() if seq is not None)
    labels = dict(entries.values_list("seq", "label"))
    return [replace(item, last_read_by=labels.get(seqs.get(item.memory) or 0)) for item in items]


# ------------------------------------------------------------------------------------------------ memories

_LIVE = (
    "path", "pk", "created_at", "updated_at", "last_read_at", "restored_at", "size", "version_count", "removed_versions"
)  # fmt: skip
Row = tuple[Any, ...]


def live(rules: Rules) -> Iterator[Row]:
    """Yield the columns `_LIVE` of the live memories, by path. No cursor stays open between pages.

    If a policy keeps approved memories, the state of the newest version is added as a last column.
    """
    columns = (*_LIVE, "head__review_state") if any(policy.keeps_approved for policy in rules.policies) else _LIVE
    after = ""
    while True:
        found: MemoryQuerySet = Memory.objects.live().filter(store_id=rules.store, path__gt=after).order_by("path")
        page = list(found.values_list(*columns)[:PAGE])
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1][0]


def facts_of(row: Row) -> Facts:
    """Return the facts in a row that `live` yields."""
    approved = len(row) > len(_LIVE) and row[-1] in APPROVED
    return Facts(row[0], *row[2:6])._replace(approved=approved)


def _expiring(rules: Rules) -> Iterator[Item]:
    """Yield the memories that expire, by path."""
    if not any(policy.expires for policy in rules.policies):
        return
    choose, cutoffs = rules.choose.of, {policy.id: policy.cutoffs(rules.at) for policy in rules.policies}
    for row in live(rules):
        policy = choose(row[0])
        if policy is None or not (cutoff := cutoffs[policy.id]) or not cutoff.is_due(*row[2:6]):
            continue
        facts = facts_of(row)
        due = retention_rules.due(policy, facts, rules.at)
        if due is None:
            if facts.approved and retention_rules.due(policy, facts._replace(approved=False), rules.at):
                rules.approved.add(row[1])
            continue
        item = Item(Removal.EXPIRE, row[1], row[0], policy.id, *due, 1, row[6], row[4])
        if not rules.holds_back(item):
            yield item


def _ending(rules: Rules) -> Iterator[Item]:
    """Yield the memories whose time in the trash is over, in the order of their deletion."""
    for page in _trash(str(rules.store), rules.at):
        found: list[Item] = []
        for memory, path, deleted_at, expired_by, last_read_at in page:
            policy = rules.choose.of(path)
            facts = Facts(path, deleted_at, deleted_at, deleted_at=deleted_at, expired=expired_by is not None)
            due = retention_rules.due(policy, facts, rules.at)
            if due is None:
                continue
            id = policy.id if policy else ""
            item = Item(Removal.PURGE, memory, path, id, *due, last_read_at=last_read_at)
            if not rules.holds_back(item):
                found.append(item)
        sizes = _sizes(str(rules.store), [item.memory for item in found])
        for item in found:
            item.bytes = sizes.get(item.memory, 0)
            yield item


def _trash(store_id: str, until: datetime) -> Iterator[list[Row]]:
    """Yield pages of the memories that were deleted at `until` or earlier, in the order of their deletion."""
    columns = ("pk", "path", "deleted_at", "expired_by", "last_read_at")
    trash = Memory.objects.in_trash().filter(store_id=store_id, deleted_at__lte=until).order_by("deleted_at", "pk")
    rest = trash
    while page := list(rest.values_list(*columns)[:PAGE]):
        yield page
        last, at = page[-1][0], page[-1][2]
        rest = trash.filter(deleted_at__gte=at).filter(Q(deleted_at__gt=at) | Q(pk__gt=last))


def _sizes(store_id: str, memories: Sequence[str]) -> dict[str, int]:
    """Return {memory: bytes of all its texts that still exist, including the texts of old versions}."""
    found: dict[str, int] = {}
    for part in _parts(memories):
        texts = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=part, text_id__isnull=False)
        for memory, _, size in texts.values_list("memory_id", "text_id", "size").distinct().order_by():
            found[memory] = found.get(memory, 0) + (size or 0)
    return found


def _parts(things: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    for first in range(0, len(things), size):
        yield things[first : first + size]


# ------------------------------------------------------------------------------------------------ old versions


def _pruned(rules: Rules) -> Iterator[Item]:
    """Yield the old versions to remove, by the path of their memory. Memories that expire in this run are left out."""
    if not any(policy.prunes for policy in rules.policies):
        return
    rows: list[tuple[Row, Policy]] = []
    for row in live(rules):
        policy = rules.choose.of(row[0])
        if policy is None or not policy.prunes or row[7] - row[8] <= (policy.keep_versions or 1):
            continue
        if retention_rules.due(policy, facts_of(row), rules.at):
            continue
        rows.append((row, policy))
        if len(rows) >= 500:
            yield from _pruned_of(rules, rows)
            rows = []
    yield from _pruned_of(rules, rows)


def _pruned_of(rules: Rules, rows: Sequence[tuple[Row, Policy]]) -> Iterator[Item]:
    versions = versions_of(str(rules.store), [row[1] for row, _ in rows])
    for row, policy in rows:
        item = prunable(policy, versions.get(row[1], []), rules.at)
        if item is not None:
            item.memory, item.path, item.last_read_at = row[1], row[0], row[4]
            if not rules.holds_back(item):
                yield item


class Version(NamedTuple):
    """A memory version with its text's id and size."""

    facts: VersionFacts
    text: str | None
    size: int


def versions_of(store_id: str, memories: Sequence[str]) -> dict[str, list[Version]]:
    """Return {memory: its versions, oldest first}. Call it with few memories."""
    bases = ProposedChange.objects.bases_of_open(store_id, memories)
    found = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=memories).order_by("memory_id", "number")
    rows = found.values_list("memory_id", "pk", "number", "created_at", "review_state", "text_id", "size")
    return {
        memory: [
            Version(VersionFacts(pk, number, at, state == ReviewState.UNREVIEWED or pk in bases), text, size or 0)
            for _, pk, number, at, state, text, size in group
        ]
        for memory, group in groupby(rows.iterator(PAGE), itemgetter(0))
    }


def prunable(policy: Policy, versions: Sequence[Version], at: datetime) -> Item | None:
    """Return an item for those versions of one memory that a policy removes; None if it removes none."""
    going = retention_rules.removable(policy, [version.facts for version in versions], at)
    if not going:
        return None
    ids = {version.id for version in going}
    stays = {version.text for version in versions if version.facts.id not in ids}
    sizes = {version.text: version.size for version in versions if version.text and version.text not in stays}
    moments = {version.facts.number: version.facts.created_at for version in versions}
    since, due_at = retention_rules.pruned_since(policy, going[-1], moments)
    return Item(
        Removal.VERSIONS, "", "", policy.id, retention_rules.VERSIONS, policy.keep_version_days or 0, since, due_at,
        len(going), sum(sizes.values()),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ audit entries


def entries_item(rules: Rules, purged: set[str]) -> Item | None:
    """Return an item for the oldest entries that can be removed; None if there are none.

    A hold or a pin keeps all entries. The entry of a version that awaits review stays, unless its memory is in
    `purged`.
    """
    policy = retention_rules.for_entries(rules.policies)
    if policy is None or policy.paused or policy.keep_entry_days is None or not rules.holds.is_empty:
        return None
    chain = AuditChain.objects.filter(pk=rules.store or HUB).first()
    if chain is None:
        return None
    last = _before_review(rules, purged, _last_old(chain, policy.keep_entry_days, rules.at))
    if last <= chain.start_seq:
        return None
    since = AuditEntry.objects.values_list("at", flat=True).get(chain=chain.pk, seq=last)
    due_at = retention_rules.later(since, policy.keep_entry_days) or since
    return Item(
        Removal.ENTRIES, "", "", policy.id, retention_rules.ENTRIES, policy.keep_entry_days, since, due_at,
        last - chain.start_seq, up_to=last,
    )  # fmt: skip


def old_entries(rules: Rules) -> int:
    """Return how many of the oldest entries are older than their policy allows.

    Entries that are still kept by a hold, a pin or a version that awaits review are counted too.
    """
    policy, chain = (
        retention_rules.for_entries(rules.policies),
        AuditChain.objects.filter(pk=rules.store or HUB).first(),
    )
    if policy is None or policy.paused or policy.keep_entry_days is None or chain is None:
        return 0
    return max(0, _last_old(chain, policy.keep_entry_days, rules.at) - chain.start_seq)


def _last_old(chain: AuditChain, days: int, at: datetime) -> int:
    """Return the highest seq up to which all entries are old. The newest entry of the chain is never old.

    An old entry is older than `days`, is counted in the figures, and belongs to a call that can no longer be repeated.
    """
    young = Q(at__gt=retention_rules.earlier(at, days))
    young |= Q(at__gte=at - timedelta(days=settings.MEMORYHUB_IDEMPOTENCY_DAYS + 1))
    entries = AuditEntry.objects.of_chain(chain.pk)
    last = chain.last_seq - 1
    counted = Figures.objects.filter(store_id=chain.pk).values_list("seq", flat=True).first()
    last = last if counted is None else min(last, counted)
    # The first young entries by time limit how many entries are scanned in the order of the chain.
    near = list(entries.filter(young).order_by("at").values_list("seq", flat=True)[:100])
    last = min([last, *(seq - 1 for seq in near)])
    first = entries.between(chain.start_seq + 1, last).filter(young).oldest().values_list("seq", flat=True).first()
    return last if first is None else first - 1


def _before_review(rules: Rules, purged: set[str], last: int) -> int:
    waiting = MemoryVersion.objects.filter(store_id=rules.store or "", seq__lte=last).unreviewed().order_by("seq")
    for seq, memory in waiting.values_list("seq", "memory_id").iterator(PAGE):
        if memory not in purged:
            return int(seq) - 1
    return last
