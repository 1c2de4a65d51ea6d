"""Open work of a person who is deactivated or leaves a store: reviews, mentions, imports, and requests for a second
person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q
from django.utils.translation import ngettext

from memoryhub.actions.review import assignments
from memoryhub.actions.transfer import importing
from memoryhub.models import ActRequest, Import, ImportState, MemoryStore, Notice, ProposalState, Role, User

MOST_NAMED = 5
"""The most unanswered mentions that are named on the page."""


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """The open work that a person leaves behind."""

    reviews: int  # the number of reviews that are assigned to the person
    waiting: Sequence[Import]  # imports that wait for a decision
    running: Sequence[Import]  # imports that run in the person's name
    requests: int  # open requests for a second person
    mentions: int = 0  # conversations in which the person has not answered a mention
    mentioned: Sequence[Notice] = ()  # the newest notices of these

    def __bool__(self) -> bool:
        return bool(self.reviews or self.waiting or self.running or self.requests or self.mentions)

    @property
    def _without_answer(self) -> str:
        return ngettext(
            "%(count)s mention of this person has no answer.",
            "%(count)s mentions of this person have no answer.",
            self.mentions,
        )

    @property
    def outcome(self) -> str:
        """Return one sentence for each kind of open work that the person has left behind, about what has become of
        it."""
        said = (
            (
                ngettext(
                    "%(count)s review is assigned to no one now.",
                    "%(count)s reviews are assigned to no one now.",
                    self.reviews,
                ),
                self.reviews,
            ),
            (self._without_answer, self.mentions),
            (
                ngettext("%(count)s running import stops.", "%(count)s running imports stop.", len(self.running)),
                len(self.running),
            ),
            (
                ngettext(
                    "%(count)s import waits until somebody else starts or cancels it.",
                    "%(count)s imports wait until somebody else starts or cancels them.",
                    len(self.waiting),
                ),
                len(self.waiting),
            ),
            (
                ngettext(
                    "%(count)s request to a second person has lapsed.",
                    "%(count)s requests to a second person have lapsed.",
                    self.requests,
                ),
                self.requests,
            ),
        )
        return " ".join(words % {"count": count} for words, count in said if count)


def left_behind(user: User, at: datetime) -> LeftBehind:
    """Return the open work of a person who is to be deactivated, in all memory stores that the person may see."""
    requests = ActRequest.objects.open(at).filter(Q(asked_by=user) | Q(decided_by=user))
    stores = list(MemoryStore.objects.visible_to(user).values_list("pk", flat=True))
    return replace(_left_in(stores, user), requests=requests.count())


def left_in(store: MemoryStore, user: User, role: Role | None) -> LeftBehind:
    """Return the open work that a member leaves behind in a memory store by getting the role `role` there (None: no
    role)."""
    stays = user.is_superuser or (role is not None and role in assignments.ROLES)
    return _left_in([] if stays else [store.pk], user)


def _left_in(stores: Sequence[str], user: User) -> LeftBehind:
    memories = assignments.standing(*stores).filter(to=user).count()
    proposals = assignments.standing_of_proposals(*stores).of_state(ProposalState.OPEN).filter(assigned_to=user)
    imports = Import.objects.filter(store_id__in=stores, state__in=importing.OPEN).select_related("store")
    mentions = Notice.objects.filter(store_id__in=stores, to=user, is_mention=True)
    found = list(imports.order_by("store__name", "pk"))
    return LeftBehind(
        reviews=memories + proposals.count(),
        waiting=[job for job in found if job.state != ImportState.RUNNING and job.created_by_id == user.pk],
        running=[job for job in found if job.state == ImportState.RUNNING and job.actor.get("id") == user.pk],
        requests=0,
        mentions=mentions.count(),
        mentioned=list(mentions.select_related("store", "memory").order_by("-comment")[:MOST_NAMED]),
    )
