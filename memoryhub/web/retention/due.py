"""The future of one memory by the retention policy that applies to it: what will happen, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.retention import policies, rehearsal
from memoryhub.models import Hold, HoldKind, Memory
from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import Due, Facts, Policy
from memoryhub.web.retention import sentences


@dataclass(frozen=True, slots=True)
class Fate:
    """The policy that applies to a memory, and the rule of this policy that is due next."""

    policy: Policy | None
    due: Due | None  # None if no rule will be due
    why: str  # the reason in words
    is_over: bool  # the rule is already due
    is_live: bool
    is_approved: bool = False  # a person's approval keeps the memory

    @property
    def is_unless_read(self) -> bool:
        """Return whether reading the memory would postpone the time at which the rule is due."""
        together = self.policy is not None and self.policy.expires_together and self.policy.expire_unread_days
        return self.due is not None and bool(self.due.rule == retention_rules.UNREAD or (together and self.is_live))


@dataclass(frozen=True, slots=True)
class Kept:
    """The pins and holds on a memory, and its fate."""

    holds: Sequence[Hold]
    fate: Fate | None  # None for a live memory without policies
    held_until: datetime | None = None  # None if a pin or hold has no last day

    @property
    def legal(self) -> Hold | None:
        return next((hold for hold in self.holds if hold.kind == HoldKind.HOLD), None)

    @property
    def until(self) -> datetime | None:
        """Return when a policy will remove the memory, or None if no policy will."""
        if self.fate is None or self.fate.due is None or (self.holds and self.held_until is None):
            return None
        return max(filter(None, (self.fate.due.at, self.held_until)))


def facts_of(memory: Memory) -> Facts:
    """Return the fields of a memory that the retention rules use."""
    return Facts(
        memory.path,
        memory.created_at,
        memory.updated_at,
        memory.last_read_at,
        memory.restored_at,
        memory.deleted_at,
        memory.expired_by is not None,
    )


def fate_of(memory: Memory, saved: Sequence[Policy], now: datetime) -> Fate:
    """Return the effect of the saved policies on a memory, without regard to pins and holds."""
    policy, facts = retention_rules.chosen(saved, memory.path), facts_of(memory)
    if policy is not None and policy.keeps_approved and policy.expires and memory.is_live:
        facts = facts._replace(approved=memory.head.review_state in rehearsal.APPROVED)
    due = retention_rules.due_next(policy, facts)
    why = sentences.reason(due.rule, due.since, now, due.days, is_read=memory.last_read_at is not None) if due else ""
    return Fate(policy, due, why, due is not None and due.at <= now, memory.is_live, facts.approved)


def kept(memory: Memory, now: datetime) -> Kept:
    """Return the holds and the fate of one memory."""
    return kept_by(memory, policies.concerning(memory.store_id), holds.holds_of(memory.store_id, now), now)


def kept_by(memory: Memory, saved: Sequence[Policy], found: Holds, now: datetime) -> Kept:
    """Return the holds and the fate of a memory, from the given policies and holds of its store."""
    fate = fate_of(memory, saved, now) if saved or not memory.is_live else None
    return Kept(_over(found, memory.pk, memory.path), fate, found.end(memory.pk, memory.path))


def over(store_id: str, memory_id: str, path: str, now: datetime) -> list[Hold]:
    """Return the holds that cover a memory or a path: at most one legal hold, followed by at most one pin.

    If several legal holds cover it, one that freezes the text is preferred.
    """
    return _over(holds.holds_of(store_id, now), memory_id, path)


def _over(found: Holds, memory_id: str, path: str) -> list[Hold]:
    legal = found.stops_changes(memory_id, path) or found.stops_removal(memory_id, path)
    return [hold for hold in (legal, found.pin(memory_id, path)) if hold]
