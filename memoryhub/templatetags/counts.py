"""The counts in the bar of each page: open findings, notices for the person, and what awaits review."""

from functools import cache
from typing import Any, NamedTuple

from django import template
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from memoryhub.actions.comments import notices
from memoryhub.actions.core import sql
from memoryhub.actions.core.sql.counted import counted
from memoryhub.models import Finding, MemoryStore, MemoryVersion, Proposal, ProposalState, User
from memoryhub.web.review.proposed import where_decided

register = template.Library()

MOST, MOST_NOTICES = 1000, 100
"""Counting stops at these numbers."""
ANYONE = "the person who is asking"


class Counts(NamedTuple):
    """The numbers in the bar of each page, none higher than MOST (for `notices`: MOST_NOTICES).

    `findings` is the number of open findings in the stores that the person may see. `notices` is the number of
    conversations with a notice that the person has not dismissed. `versions` is the number of unreviewed versions about
    which the person may decide. `proposals` is the number of open proposals about which the person may decide.
    """

    findings: int = 0
    notices: int = 0
    versions: int = 0
    proposals: int = 0

    @property
    def to_review(self) -> int:
        return self.versions + self.proposals


@register.simple_tag(takes_context=True)
def counts(context: template.Context) -> Counts:
    """Return the counts for the person who sent the request. The database is asked only once in a request."""
    request = context["request"]
    if not hasattr(request, "counts"):
        request.counts = counts_for(request.user)
    found: Counts = request.counts
    return found


def counts_for(user: User | AnonymousUser) -> Counts:
    """Return the counts for a person, by one statement."""
    if not isinstance(user, User):
        return Counts()
    statement, values = _statement(user.is_superuser)
    row = sql.first(statement, *(user.pk if value == ANYONE else value for value in values))
    return Counts(*row or ())


@cache
def _statement(everywhere: bool) -> tuple[sql.Statement, tuple[object, ...]]:
    """Return (the SQL statement that selects the numbers of Counts, the values for its placeholders).

    The caller replaces the value ANYONE by the id of the person. `everywhere`: the person is a hub administrator.
    """
    return counted(_counted(User(pk=ANYONE, is_superuser=everywhere)))


def _counted(user: User) -> list[QuerySet[Any, Any]]:
    """Return one query for each field of Counts, in the order of the fields. The value of a field is the number of rows
    that its query selects."""
    stores = MemoryStore.objects.visible_to(user).order_by().values("pk")
    waiting = MemoryVersion.objects.unreviewed()
    if not user.is_superuser:
        waiting = waiting.filter(store_id__in=MemoryStore.objects.reviewed_by(user).order_by().values("pk"))
    proposals = Proposal.objects.filter(store_id__in=where_decided(user).order_by().values("pk"))
    return [
        Finding.objects.filter(store_id__in=stores).open().order_by().values("store_id")[:MOST],
        notices.waiting_for(user, stores).order_by().values("store_id")[:MOST_NOTICES],
        waiting.values("seq")[:MOST],
        proposals.of_state(ProposalState.OPEN).values("number")[:MOST],
    ]
