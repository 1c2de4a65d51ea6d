"""The filter of proposals by the person to whom they are assigned."""

from collections.abc import Collection

from django.db.models import Q

from memoryhub.actions.review import assignments
from memoryhub.models.proposals import ProposalQuerySet
from memoryhub.pure.text.filter_words import MINE, UNASSIGNED
from memoryhub.web.common.filters.marks import MarkFilter


def assigned_as(found: ProposalQuerySet, stores: Collection[str], marks: MarkFilter) -> ProposalQuerySet:
    """Return those of the proposals `found`, all in `stores`, that match the filter's conditions about the assigned
    person."""
    assigned = assignments.standing_of_proposals(*stores).values("pk")
    means = {MINE: Q(pk__in=assigned.filter(assigned_to=marks.user)), UNASSIGNED: ~Q(pk__in=assigned)}
    for mark, condition in means.items():
        found = found.filter(condition) if mark in marks.has else found
        found = found.filter(~condition) if mark in marks.has_not else found
    return found
