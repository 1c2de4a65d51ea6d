"""The identities of people at the identity provider."""

from __future__ import annotations

from django.db import models

from memoryhub.models.access import User
from memoryhub.models.fields import PathField
from memoryhub.models.sealed import Sealed, SealedQuerySet


class IdentityQuerySet(SealedQuerySet["Identity"]):
    """A query of identities. A model that is `Sealed` needs a `SealedQuerySet`."""


class Identity(Sealed):
    """A person's identity at an identity provider. Anyone who signs in there with this subject is signed in as this
    person."""

    user = models.ForeignKey(User, models.CASCADE, related_name="identities")
    issuer = PathField()
    subject = PathField()
    created_at = models.DateTimeField()

    objects = IdentityQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once")]
