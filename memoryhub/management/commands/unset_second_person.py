"""Lets the person who runs the server switch off the need for a second person."""

from typing import Any

from django.utils import timezone

from memoryhub.actions.accounts import second_person
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Door
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = (
        "Makes a second person unnecessary for acts that cannot be undone, in a hub whose other administrators are"
        " gone. The audit records it."
    )

    def handle(self, **_: Any) -> None:
        act = Act(Actor.system("unset_second_person"), Door.COMMAND, timezone.now())
        done = second_person.turn(act, on=False)
        self.stdout.write("No act needs a second person any more." if done else "No act needs a second person.")
