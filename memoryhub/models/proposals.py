"""Proposals: changes by agents that wait for a person's decision because of a path rule."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import ClassVar, NamedTuple

from django.db import models
from django.db.models import F, Q
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, Literal, PathField, PlainJSONField
from memoryhub.models.review import CLAIM
from memoryhub.models.rows import RowOfStore
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore


class ProposalState(models.TextChoices):
    OPEN = "open", _("Open")
    MERGED = "merged", _("Merged")
    PARTLY_MERGED = "partly_merged", _("Partly merged")
    REFUSED = "refused", _("Refused")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class ProposalOrigin(NamedTuple):
    """The origin of an imported proposal: the import, the agent that made the proposal, and the person who decided.

    The agent and the person belong to the hub from which the proposal was imported. `decided_by` is None if the
    proposal was still open in that hub.
    """

    of_import: str
    agent: str
    agent_name: str
    decided_by: str | None = None


class ProposalQuerySet(SealedQuerySet["Proposal"]):
    def of_store(self, store_id: str) -> ProposalQuerySet:
        return self.filter(store_id=store_id)

    def of_state(self, state: ProposalState) -> ProposalQuerySet:
        """Return the proposals of a state. The literal in the SQL lets SQLite use the partial index of open
        proposals."""
        return self.filter(Exact(F("state"), Literal(state.value)))


class Proposal(Sealed, RowOfStore):
    """Changes that one agent proposed in one session. While the proposal is open, later proposed changes of the session
    are added to it.

    `number` is its number in the store, from 1. `key` and `agent` are ids. `changed_at` is when a proposed change was
    last added. `seq` is the seq of the entry of the decision or withdrawal, and `reason` is the note that the person
    wrote. `assigned_to` is the person who is to decide about the proposal. `claimed_by` is the person who is reviewing
    it until `claimed_until`.

    An imported proposal has an `origin`: a `ProposalOrigin`. If it was imported with its decision, `seq` is the entry
    of the import.
    """

    HOME: ClassVar = "store_id"
    OUTSIDE: ClassVar = dict.fromkeys(("claimed_by", "claimed_until"), "a mark for some minutes, which decides nothing")

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="proposals")
    number = models.BigIntegerField()
    state = models.CharField(max_length=13, choices=ProposalState.choices, default=ProposalState.OPEN)
    key = IdField()
    agent = IdField()
    session = IdField(null=True)
    opened_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    seq = models.BigIntegerField(null=True)
    reason = models.TextField(default="", blank=True)
    assigned_to = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    claimed_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    origin = PlainJSONField(null=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "number"], name="proposal_number")]
        indexes = [
            models.Index(fields=["store", "state", "number"], name="proposal_of_state"),
            models.Index(fields=["store", "agent", "state"], name="proposal_of_agent"),
            models.Index(fields=["store", "agent", "session", "opened_at"], name="proposal_of_session"),
            models.Index(fields=["id"], condition=Q(state=ProposalState.OPEN), name="proposal_that_waits"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"

    @property
    def is_open(self) -> bool:
        return bool(self.state == ProposalState.OPEN)

    @property
    def came_from(self) -> ProposalOrigin | None:
        return ProposalOrigin(*self.origin) if self.origin else None

    @property
    def was_decided_elsewhere(self) -> bool:
        """Return whether the proposal was imported with its decision: this hub cannot take such a decision back."""
        return self.came_from is not None and self.came_from.decided_by is not None

    @property
    def decider(self) -> str:
        """Return the name of the person who decided in another hub, followed by "(imported)"; "unknown" in place of a
        missing name."""
        return _imported(self.came_from and self.came_from.decided_by) or str(_("unknown"))

    @property
    def imported_agent(self) -> str:
        """Return the name that the agent has in another hub, followed by "(imported)". Return "" if the proposal was
        not imported."""
        return _imported(self.came_from and self.came_from.agent_name)

    def is_claimed(self, at: datetime) -> bool:
        """Return whether a person (`claimed_by`) is reviewing the proposal at a moment."""
        return self.claimed_until is not None and at < self.claimed_until <= at + 2 * CLAIM


def _imported(name: str | None) -> str:
    return str(_("%(name)s (imported)") % {"name": name}) if name else ""


class ProposedChangeQuerySet(SealedQuerySet["ProposedChange"]):
    def of_proposal(self, proposal: Proposal) -> ProposedChangeQuerySet:
        """Return the changes of a proposal in the order in which the agent made them."""
        return self.filter(store_id=proposal.store_id, proposal=proposal.pk).order_by("number")

    def of_memory(self, store_id: str, memory: str) -> ProposedChangeQuerySet:
        return self.filter(store_id=store_id, memory=memory)

    def bases_of_open(self, store_id: str, memories: Collection[str]) -> set[str | None]:
        """Return the bases of those changes in open proposals that change one of `memories`.

        A base is the id of a version; None if the change has no base.
        """
        if not memories:
            return set()
        waiting = Proposal.objects.of_store(store_id).of_state(ProposalState.OPEN)
        changes = self.filter(store_id=store_id, memory__in=memories, proposal__in=waiting.values("pk"))
        return set(changes.values_list("base", flat=True))

    def with_text(self) -> ProposedChangeQuerySet:
        return self.filter(content__isnull=False)


class ProposedChange(Sealed, RowOfStore):
    """The change that one call would have made to one memory. `seq` is the seq of the call's entry.

    `memory` is the memory's id, and `base` the id of its newest version at the time of the call; both are null for a
    new memory. `content` is the memory's whole new text (null: the text does not change), and `new_path` its new path
    (null: the path does not change). `rule` is the number, from 1, of the path rule that required the proposal (null:
    unknown). `became` is the version that a merge in another hub made from the change, if this store has that version.
    """

    HOME: ClassVar = "store_id"

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    proposal = IdField()
    number = models.BigIntegerField()
    seq = models.BigIntegerField()
    memory = IdField(null=True)
    base = IdField(null=True)
    path = PathField()
    new_path = PathField(null=True)
    content = models.TextField(null=True)
    deletes = models.BooleanField(default=False)
    rule = models.BigIntegerField(null=True)
    became = IdField(null=True)

    objects = ProposedChangeQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "proposal", "number"], name="proposed_change_number")]
        indexes = [
            models.Index(fields=["store", "memory"], name="proposed_change_of_memory"),
            models.Index(fields=["store", "became"], condition=Q(became__isnull=False), name="proposed_change_became"),
        ]

    def __str__(self) -> str:
        return str(self.path)

    @property
    def operation(self) -> str:
        """Return what the change does: "created", "modified", "renamed" or "deleted"."""
        if self.deletes:
            return "deleted"
        if self.memory is None:
            return "created"
        return "modified" if self.new_path is None else "renamed"
