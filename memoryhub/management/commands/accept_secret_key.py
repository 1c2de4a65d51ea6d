"""Says that SECRET_KEY was changed on purpose."""

from typing import Any

from django.utils import timezone

from memoryhub.actions import installation
from memoryhub.actions.audit import Act, Actor
from memoryhub.models import Door
from memoryhub.starting import HubCommand


class Command(HubCommand):
    help = "Accepts a SECRET_KEY that was changed on purpose; everybody signs in again."
    writes = False

    def handle(self, **_: Any) -> None:
        act = Act(Actor.system("accept_secret_key"), Door.COMMAND, timezone.now())
        done = installation.accept_secret_key(act)
        self.stdout.write("The new SECRET_KEY was accepted." if done else "SECRET_KEY is the same as before.")
