"""What the tests of webhooks share: a hub whose clock they set, and webhooks to a receiver on loopback."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.webhooks import gather, manage, send
from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.models import Delivery, Door, MemoryStore, Webhook
from memoryhub.pure.outgoing import Limits, Sender
from memoryhub.pure.webhook_rules.events import EVENTS
from tests.api.harness import Hub
from tests.support.fixtures import AT

FAST = Sender(limits=Limits(resolve=2, connect=2, whole=2))
"""So that what hangs does not hold up the tests."""


def act(at: datetime = AT, **more: Any) -> Act:
    return Act(Actor.system("tests"), Door.COMMAND, at, **more)


def webhook(store: MemoryStore | None, url: str, events: Sequence[str] = EVENTS, **more: Any) -> Webhook:
    """One that may send to loopback."""
    wanted = WebhookSettings(more.pop("name", "Receiver"), url, events, may_be_private=True)
    return manage.create_webhook(store.pk if store else None, wanted, act(**more))


@dataclass
class World:
    """A clock that stands still until it is moved, and the background work at its moments."""

    now: datetime = AT
    sender: Sender = field(default_factory=lambda: FAST)

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)

    def gather(self) -> None:
        while not gather.gather(self.now):
            pass

    def deliver(self, most: int = 1_000) -> int:
        """Everything that is due now, one webhook after the other; the number of tries."""
        self.gather()
        return sum(
            send.work(id, self.sender, lambda: self.now, most, chance=lambda: 0.5) for id, _ in send.due(self.now)
        )

    def live(self, until: timedelta, step: timedelta = timedelta(seconds=30)) -> None:
        """Lets so much time pass, delivering whatever falls due."""
        end = self.now + until
        while self.now < end:
            self.deliver()
            self.now += step
        self.deliver()


def write(hub: Hub, *paths: str) -> None:
    """Creates a memory at each path, as the hub's agent."""
    for path in paths:
        hub.call(command="create", path=f"/memories{path}", file_text="text of a memory\n")


def states(hook: Webhook) -> list[str]:
    return list(Delivery.objects.filter(webhook=hook).order_by("id").values_list("state", flat=True))
