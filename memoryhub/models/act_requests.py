"""Acts that wait for a second person."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from memoryhub.models.access import Role, User
from memoryhub.models.fields import IdField
from memoryhub.models.sealed import Sealed, SealedQuerySet


class ActRequestState(models.TextChoices):
    WAITING = "waiting"
    ALLOWED = "allowed"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    USED = "used"


class ActRequestQuerySet(SealedQuerySet["ActRequest"]):
    def open(self, at: datetime) -> ActRequestQuerySet:
        """Return the requests that wait, and those that were allowed but not used yet.

        Expired requests, and requests of people who may no longer sign in, are left out.
        """
        states = (ActRequestState.WAITING, ActRequestState.ALLOWED)
        return self.filter(state__in=states, expires_at__gt=at, asked_by__is_active=True)

    def to_decide_by(self, user: User, at: datetime) -> ActRequestQuerySet:
        """Return the waiting requests about which this person may decide."""
        waiting = self.open(at).filter(state=ActRequestState.WAITING).exclude(asked_by=user)
        if user.is_superuser:
            return waiting
        return waiting.filter(store__in=user.memberships.filter(role=Role.ADMIN).values("store"))

    def concerning(self, user: User) -> ActRequestQuerySet:
        """Return the requests that a person made, and those for acts in stores of which the person is an admin.

        Ended requests are included. For a superuser, return all requests.
        """
        if user.is_superuser:
            return self.all()
        stores = user.memberships.filter(role=Role.ADMIN).values("store")
        return self.filter(Q(asked_by=user) | Q(store__in=stores))

    def newest(self) -> ActRequestQuerySet:
        return self.order_by("-id")


class ActRequest(Sealed):
    """A person's request that a second person allow an act. `act` is the name of the act, and `path` the address of its
    form.

    `content` is encrypted: the fields of the form, the act in words, and the reason for the request. The content is
    deleted when the request has ended. `digest` is a commitment to the content. `store` is the memory store in which
    the act is done (null: in none). Administrators of the hub may decide about every request, and admins of the store
    about the requests for acts in it.
    """

    OUTSIDE: ClassVar = {"content": "its commitment is sealed, and it goes when the request has ended"}

    id = IdField(primary_key=True)
    act = models.CharField(max_length=40)
    store = IdField(null=True)
    path = models.TextField()
    content = models.TextField(null=True)
    digest = models.TextField()
    asked_by = models.ForeignKey(User, models.CASCADE, related_name="+")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=ActRequestState.choices, default=ActRequestState.WAITING)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    decided_at = models.DateTimeField(null=True)

    objects = ActRequestQuerySet.as_manager()
