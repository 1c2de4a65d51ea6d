"""Accepts a SECRET_KEY that was changed on purpose."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import installation
from memoryhub.models import Door
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = "Accepts a SECRET_KEY that was changed on purpose; everyone must sign in again."
    needs = ("MEMORYHUB_AUDIT_KEY",)

    def handle(self, **_: Any) -> None:
        if "SECRET_KEY" in settings.MEMORYHUB_ABSENT_SECRETS:
            raise CommandError(
                f"There is no SECRET_KEY to accept: set it, or write it to {settings.DATA_DIR}/secret_key."
            )
        act = Act(Actor.system("accept_secret_key"), Door.COMMAND, timezone.now())
        done = installation.accept_secret_key(act)
        self.stdout.write("The new SECRET_KEY was accepted." if done else "SECRET_KEY is the same as before.")
