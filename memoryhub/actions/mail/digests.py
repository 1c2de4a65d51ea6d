"""Daily digests: puts due digests into the outbox, and collects their contents when they are sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Q

from memoryhub.actions.comments import notices
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.mail import choices
from memoryhub.actions.review import assignments
from memoryhub.models import (
    Comment,
    Digest,
    Finding,
    Mail,
    MailChoice,
    MailKind,
    MemoryStore,
    MemoryVersion,
    Notice,
    Proposal,
    ProposalState,
    Review,
    User,
)  # fmt: skip
from memoryhub.pure import ids

AT_ONCE = 200
LONGEST_WAIT = timedelta(days=3)
"""A person's next digest is never further ahead than this, unless its time was computed while the clock was wrong."""
MOST_NOTICES = 12
MOST_STORES = 20
"""The most comments and decisions of a digest, and the most memory stores that it names."""
MOST = 1_000
"""Counting stops at this number."""


@dataclass(frozen=True, slots=True)
class InStore:
    """How many items wait for a decision in a memory store, by kind."""

    store: MemoryStore
    versions: int
    proposals: int
    findings: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """The items that wait for a person: notices, assigned versions and proposals, and stores with items to decide.

    `more_…` count the notices and stores that are not listed.
    """

    notices: Sequence["About"]
    assigned: int
    stores: Sequence[InStore]
    more_notices: int
    more_stores: int

    @property
    def is_none(self) -> bool:
        return not (self.notices or self.assigned or self.stores)


@dataclass(frozen=True, slots=True)
class About:
    """A notice with its cause: a comment, or a decision about a flag (then `comment` is None).

    `proposal` is the proposal that the cause is about, or None.
    """

    notice: Notice
    comment: Comment | None
    decision: Review | None
    proposal: Proposal | None

    @property
    def by(self) -> str:
        cause = self.comment or self.decision
        return str(cause.by) if cause and cause.by else ""


def put_due(at: datetime) -> None:
    """Put due digests into the outbox, and compute when the next ones are due."""
    without = list(User.objects.filter(is_active=True, mail_choice=None).order_by("pk")[:AT_ONCE])
    if without:
        with writing():
            MailChoice.objects.bulk_create((MailChoice(user=user) for user in without), ignore_conflicts=True)
    rows = MailChoice.objects.exclude(digest=Digest.OFF)
    to_plan = Q(next_at=None) | Q(next_at__gt=at + LONGEST_WAIT)
    due = rows.filter(Q(next_at__lte=at) | to_plan).order_by("next_at", "pk")
    if not due.exists():
        return
    with writing():
        taken = list(due.select_for_update(of=("self",)).select_related("user")[:AT_ONCE])
        waiting = set(Mail.objects.waiting().filter(kind=MailKind.DIGEST).values_list("to", flat=True))
        late = [
            row for row in taken if row.next_at and row.next_at <= at and row.user.is_active and row.pk not in waiting
        ]
        outbox.put(MailKind.DIGEST, [row.pk for row in late], at)
        for row in taken:
            MailChoice.objects.filter(pk=row.pk).update(next_at=choices.next_digest(row, at))


def waiting_for(user: User) -> Waiting:
    """Return the items that wait for a person now, in the stores that the person may see.

    If the person has chosen `Digest.DANGER`, these are only open findings.
    """
    stores = list(MemoryStore.objects.visible_to(user).by_name())
    seen = [store.pk for store in stores]
    told = notices.waiting_for(user, seen).select_related("store", "memory")
    newest = list(told[: MOST_NOTICES + 1])
    in_stores = list(_in_stores(user, stores))
    if choices.of(user).digest == Digest.DANGER:
        found = [replace(one, versions=0, proposals=0) for one in in_stores if one.findings]
        return Waiting((), 0, found[:MOST_STORES], 0, max(0, len(found) - MOST_STORES))
    return Waiting(
        abouts(newest[:MOST_NOTICES]),
        assignments.standing(*seen).filter(to=user).count(),
        in_stores[:MOST_STORES],
        told.count() - MOST_NOTICES if len(newest) > MOST_NOTICES else 0,
        max(0, len(in_stores) - MOST_STORES),
    )


def abouts(shown: Sequence[Notice]) -> list[About]:
    """Return the notices, each with the comment or decision that caused it.

    A notice whose cause was removed is left out.
    """
    found: list[About] = []
    for one in shown:
        if one.comment >= ids.REVIEW:
            decision = Review.objects.filter(store_id=one.store_id, pk=one.comment).select_related("by").first()
            if decision is not None and one.memory:
                found.append(About(one, None, decision, None))
            continue
        comment = Comment.objects.filter(store_id=one.store_id, pk=one.comment).select_related("by").first()
        if comment is None or comment.removed_at is not None:
            continue
        proposal = Proposal.objects.filter(store_id=one.store_id, pk=comment.proposal).first()
        if one.memory or proposal:
            found.append(About(one, comment, None, proposal))
    return found


def _in_stores(user: User, stores: Sequence[MemoryStore]) -> Iterator[InStore]:
    """Yield the numbers of waiting items for each store in which a person may decide."""
    decides = {
        pk
        for pk, role in user.memberships.values_list("store_id", "role")
        if role in assignments.ROLES
    }  # fmt: skip
    for store in stores:
        if store.is_archived or not (user.is_superuser or store.pk in decides):
            continue
        versions = MemoryVersion.objects.filter(store_id=store.pk).unreviewed().values("seq")[:MOST].count()
        open_ones = Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN)
        proposals = open_ones.values("number")[:MOST].count()
        findings = Finding.objects.of_store(store.pk).open().order_by().values("pk")[:MOST].count()
        if versions or proposals or findings:
            yield InStore(store, versions, proposals, findings)
