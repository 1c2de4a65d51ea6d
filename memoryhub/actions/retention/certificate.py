"""Certificates of retention. They show that nothing is left which a store's policies should have removed.

Overdue items are counted by the same code that removes them in a run. There is a second proof that does not use this
code: the times of the oldest data, read from the rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import Min

from memoryhub.actions.core.audit import Act, documents
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.retention import policies as saved, rehearsal
from memoryhub.models import (
    Agent,
    AuditChain,
    AuditEntry,
    Key,
    Member,
    Memory,
    MemoryStore,
    MemoryVersion,
    Removal,
)
from memoryhub.pure import chain
from memoryhub.pure.retention_rules import Chooser, Policy

RULES = (
    "expire_unread_days", "expire_unchanged_days", "expire_older_days", "grace_days", "trash_days", "keep_versions",
    "keep_version_days", "keep_entry_days", "expires_together", "keeps_approved",
)  # fmt: skip
CHECKED = [
    "overdue: what a retention run at this moment would remove, counted by the code that removes it",
    "paused: such a policy removes nothing, so nothing is overdue by it",
    "without_policy: memories in the trash that a policy put there, and to which none applies any more",
    "kept: of the memories that would expire, those that a hold or pin keeps, and those that a person approved",
    "kept.audit_entries: those that are older than their policy says, and that a hold, a pin or a waiting review keeps",
    "oldest: the oldest moments, read from the rows of the database without that code",
    "processing: agents with a key, and people with a role; the administrators of the hub can read the memories, too",
    "not checked: backups, exports, and Claude runs with their throw-away copies of the memory store",
]


def state(store_id: str, at: datetime) -> dict[str, Any]:
    """Return the content of a certificate for a memory store at a moment. No memory is named.

    The content has the policies, the overdue items, the old items that are kept, the times of the oldest data, and the
    agents and people who can read the memories.
    """
    with snapshot():
        policies = saved.concerning(store_id)
        held: set[str] = set()
        approved: set[str] = set()
        items = list(rehearsal.rehearse(store_id, at, policies=policies, held=held, approved=approved))
        overdue: Counter[tuple[str, str]] = Counter()
        for item in items:
            overdue[item.policy, item.removal] += item.count
        chooser = Chooser(list(policies))
        old_entries = rehearsal.old_entries(rehearsal.Rules.of(store_id, at, policies))
        entries = old_entries - sum(count for (_, removal), count in overdue.items() if removal == Removal.ENTRIES)
        oldest = _oldest(store_id, chooser)
        return {
            "policies": [_policy(one, overdue, oldest.get(one.id, {})) for one in _in_order(policies)],
            "overdue": sum(overdue.values()),
            "without_policy": {"trash": _left(store_id, chooser), "overdue": overdue["", Removal.PURGE]},
            "kept": {"by_holds_and_pins": len(held), "approved": len(approved), "audit_entries": max(0, entries)},
            "rest": _rest(store_id),
            "processing": _processing(store_id, at),
            "checked": CHECKED,
        }


def certify(store_id: str, act: Act) -> str:
    """Write an entry and return the signed certificate as JSON text. Raises tree.NoSuchStore."""
    found = state(store_id, act.at)
    counted = {"overdue": found["overdue"], "policies": len(found["policies"])}
    return documents.certified("retention_certificate", store_id, found, counted, act)


def _in_order(policies: Iterable[Policy]) -> list[Policy]:
    return sorted(policies, key=lambda policy: policy.specificity)


def _policy(policy: Policy, overdue: Mapping[tuple[str, str], int], oldest: Mapping[str, Any]) -> dict[str, Any]:
    rules = {name: days for name, days in asdict(policy).items() if name in RULES and days not in (None, False)}
    due = {removal: count for (id, removal), count in overdue.items() if id == policy.id}
    told = {"id": policy.id, "name": policy.name, "pattern": policy.pattern, "of_hub": policy.store is None}
    return {**told, "paused": policy.paused, "rules": rules, "overdue": due, **oldest}


def _left(store_id: str, chooser: Chooser) -> int:
    """Return how many memories in the trash were moved there by a policy, and are covered by no policy any more."""
    expired = Memory.objects.in_trash().filter(store=store_id, expired_by__isnull=False)
    return sum(chooser.of(path) is None for path in expired.values_list("path", flat=True).iterator(rehearsal.PAGE))


def _oldest(store_id: str, chooser: Chooser) -> dict[str, dict[str, Any]]:
    """Return {policy: {"memories": number of memories to which it applies, "oldest": times}}.

    Each memory has three moments: its last read (its creation if it was never read), its last change, and its creation.
    A moment before the memory's last restore is replaced by the time of the restore. `times` has the earliest moment
    of each kind over the memories of the policy.
    """
    found: dict[str, list[datetime]] = {}
    counts: Counter[str] = Counter()
    rows = Memory.objects.live().filter(store=store_id).values_list(
        "path", "created_at", "updated_at", "last_read_at", "restored_at"
    )  # fmt: skip
    for path, created, updated, read, restored in rows.iterator(rehearsal.PAGE):
        policy = chooser.of(path)
        if policy is None:
            continue
        begun = max(created, restored or created)
        moments = [max(begun, read or begun), max(updated, restored or updated), begun]
        known = found.get(policy.id)
        found[policy.id] = moments if known is None else [min(pair) for pair in zip(known, moments, strict=True)]
        counts[policy.id] += 1
    names = ("unread_since", "unchanged_since", "begun")
    return {
        id: {"memories": counts[id], "oldest": dict(zip(names, map(chain.moment, moments), strict=True))}
        for id, moments in found.items()
    }


def _processing(store_id: str, at: datetime) -> dict[str, Any]:
    """Return the record of processing: the purpose, and the agents and people who can read the memories."""
    store = MemoryStore.objects.get(pk=store_id)
    keys = Key.objects.for_store(store).usable(at).values("agent")
    agents = Agent.objects.filter(pk__in=keys).order_by("name", "pk").values("id", "name")
    members = Member.objects.filter(store=store, user__is_active=True).select_related("user").order_by("user__name")
    people = [{"id": one.user_id, "name": str(one.user), "role": str(one.role)} for one in members]
    return {"purpose": store.description, "memories": store.memory_count, "agents": list(agents), "people": people}


def _rest(store_id: str) -> dict[str, Any]:
    """Return the number of items, and the time of the oldest one, for each of three kinds.

    The kinds are memories in the trash, old versions and audit entries.
    """
    trash = Memory.objects.in_trash().filter(store=store_id)
    old = MemoryVersion.objects.filter(store=store_id, superseded_seq__isnull=False)
    audited = AuditChain.objects.get(pk=store_id)
    first = AuditEntry.objects.of_chain(store_id).oldest().values_list("at", flat=True).first()
    return {
        "trash": _counted(trash.count(), trash.aggregate(oldest=Min("deleted_at"))["oldest"]),
        "old_versions": _counted(old.count(), old.aggregate(oldest=Min("created_at"))["oldest"]),
        "audit_entries": _counted(audited.last_seq - audited.start_seq, first),
    }


def _counted(count: int, oldest: datetime | None) -> dict[str, Any]:
    return {"count": count, "oldest": chain.moment(oldest) if oldest else None}
