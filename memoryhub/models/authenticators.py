"""Authenticator apps, recovery codes and passkeys: the things with which people prove who they are, beside a
password."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, PathField
from memoryhub.models.sealed import Sealed, SealedQuerySet


class AuthenticatorKind(models.TextChoices):
    APP = "app"
    RECOVERY = "recovery"
    PASSKEY = "passkey"


class AuthenticatorQuerySet(SealedQuerySet["Authenticator"]):
    def of(self, user: User) -> AuthenticatorQuerySet:
        return self.filter(user=user)

    def of_kind(self, kind: AuthenticatorKind) -> AuthenticatorQuerySet:
        """Return the authenticators of a kind, in the order in which they were added."""
        return self.filter(kind=kind).order_by("id")


class Authenticator(Sealed):
    """An app, a recovery code or a passkey of a person.

    `secret` depends on the kind: the encrypted secret of an app, the SHA-256 of a recovery code, or the public key of a
    passkey. `credential` is the id of a passkey. `counter` also depends on the kind: for an app, it is the time step of
    the last code that was used; for a passkey, it is the counter that the passkey sent last.
    """

    OUTSIDE: ClassVar = dict.fromkeys(("counter", "used_at"), "each use changes it; the entry of the sign-in says it")

    id = IdField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="authenticators")
    kind = models.CharField(max_length=8, choices=AuthenticatorKind.choices)
    name = models.CharField(max_length=100, default="", blank=True)
    secret = models.TextField()
    credential = PathField(unique=True, null=True)
    counter = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = AuthenticatorQuerySet.as_manager()
