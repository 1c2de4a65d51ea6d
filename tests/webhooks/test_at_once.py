"""Two processes at work for the same webhooks at the same moment: no event is lost, delayed or delivered twice."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.actions.webhooks import gather, send
from memoryhub.models import Delivery, Webhook, WebhookCursor
from tests.api.harness import Hub, new_hub
from tests.webhooks.hub import World, states, webhook, write
from tests.webhooks.receivers import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


class Beside:
    """Work of another process, begun once, in the midst of something: it ends, or it waits for a lock."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.errors: list[BaseException] = []
        self.work, self.thread = work, threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.errors.append(error)
        finally:
            connection.close()

    def begin(self) -> None:
        if self.thread.ident is None:
            self.thread.start()
            self.thread.join(1)

    def end(self) -> None:
        self.thread.join()
        assert not self.errors


def test_a_delivery_that_is_made_while_another_one_is_settled_is_due(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited until the next event, which may never come."""
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/one.md")
    world.gather()
    write(hub, "/two.md")
    beside, usual = Beside(world.gather), gather.next_of

    def next_of(webhook_id: str) -> Any:
        found = usual(webhook_id)
        beside.begin()
        return found

    monkeypatch.setattr(gather, "next_of", next_of)
    assert send.work(hook.pk, world.sender, lambda: world.now, 1) == 1
    beside.end()
    assert states(hook) == ["delivered", "waiting"]
    world.now += timedelta(seconds=1)
    assert send.due(world.now) == [(hook.pk, False)]


def test_webhooks_that_begin_at_once_get_each_event_once(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the hub set the cursor back to where it was before one of the store had begun."""
    usual, made = WebhookCursor.objects.bulk_create, []

    def begins() -> None:
        made.append(webhook(hub.store, there.url, ["memory.created"], at=world.now))
        write(hub, "/one.md")
        world.gather()

    beside = Beside(begins)

    def bulk_create(*args: Any, **more: Any) -> Any:
        beside.begin()
        return usual(*args, **more)

    monkeypatch.setattr(WebhookCursor.objects, "bulk_create", bulk_create)
    webhook(None, there.url, ["memory.created"], at=world.now, name="All")
    beside.end()
    world.gather()
    (of_store,) = made
    assert len(states(of_store)) == 1 and Webhook.objects.count() == 2
    assert Delivery.objects.filter(webhook=of_store).values("seq").distinct().count() == 1


def test_two_that_read_a_new_chain_at_once_make_its_deliveries_once(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = webhook(None, there.url, ["memory.created"], at=world.now)
    write(new_hub(), "/one.md")
    beside, usual = Beside(lambda: gather.gather(world.now)), gather._deliver

    def deliver(*args: Any) -> None:
        beside.begin()
        usual(*args)

    monkeypatch.setattr(gather, "_deliver", deliver)
    gather.gather(world.now)
    beside.end()
    world.gather()
    assert len(states(hook)) == 1
