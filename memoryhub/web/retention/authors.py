"""The people who made or last changed the policies by which a run removed something."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from memoryhub.actions.retention import policies
from memoryhub.models import HUB, AuditEntry, User


@dataclass(frozen=True, slots=True)
class Saved:
    """A policy with the name that it had at a past moment."""

    name: str
    entry: AuditEntry  # the entry that created the policy, or changed it last before that moment
    is_new: bool  # `entry` created the policy
    url: str  # the URL of the entry's page


def saved_by(policy_ids: Iterable[str | None], chain: str, at: datetime, user: User) -> list[Saved]:
    """Return the policies with the ids `policy_ids` as they were at the moment `at`. `chain` is the chain in which they
    were saved.

    Policies of the hub are returned only to superusers.
    """
    chains = [chain, HUB] if user.is_superuser else [chain]
    found = (policies.last_saved(policy, chains, at) for policy in dict.fromkeys(policy_ids) if policy)
    return [_saved(entry) for entry in found if entry]


def _saved(entry: AuditEntry) -> Saved:
    details = json.loads(entry.input or "{}")
    is_new = details.get("name", [""])[0] is None
    return Saved(details.get("label", ""), entry, is_new, reverse("entry", args=[entry.chain, entry.seq]))
