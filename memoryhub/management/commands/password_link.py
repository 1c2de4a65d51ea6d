"""Lets the person who runs the server give somebody a link for a new password."""

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.accounts import people, sign_in
from memoryhub.actions.core.audit import Actor
from memoryhub.models import Door, User
from memoryhub.models.access import fold_email
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = (
        "Prints a link with which a person sets a new password, for an administrator who has lost it and whom no other"
        " can help. The link works once. The audit records it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", help="the e-mail address of the person's account")

    def handle(self, *, email: str, **_: Any) -> None:
        user = User.objects.filter(email=fold_email(email)).first()
        if user is None:
            raise CommandError(f"Nobody has an account with the address {email}.")
        if not user.is_active:
            raise CommandError(f"{user.email} is deactivated: an administrator can activate the account in People.")
        if not sign_in.may_use_password(user):
            raise CommandError(f"{user.email} signs in at the identity provider, and may have no password.")
        by: dict[str, Any] = {"actor": Actor.system("password_link"), "door": Door.COMMAND, "at": timezone.now()}
        token = people.invite(email=user.email, user=user, **by)[1]
        days = people.INVITATION_LASTS.days
        self.stdout.write(f"{user.email} sets a new password with this link, which works once, for {days} days:")
        self.stdout.write(f"  {settings.MEMORYHUB_URL}/invitations/{token}")
        if not os.environ.get("MEMORYHUB_URL", "").strip():
            self.stdout.write("MEMORYHUB_URL is not set: if the hub has another address, put it in place of this one.")
