"""Webhooks keep pace: where much waits, more is read in each step, more is sent, and no busy store holds up another."""

import pytest
from django.utils import timezone

from memoryhub.actions.webhooks import gather, send
from memoryhub.background import webhooks
from memoryhub.background.webhooks import Dispatcher
from memoryhub.models import AuditChain, Delivery, WebhookCursor
from tests.api.harness import Hub, new_hub
from tests.webhooks.hub import FAST, World, states, webhook, write
from tests.webhooks.receivers import Receiver


def steps(hurry: bool) -> int:
    """How many transactions it takes to read everything."""
    count = 1
    while not gather.gather(timezone.now(), most=1, turn=count, hurry=hurry):
        count += 1
    return count


def test_in_a_hurry_eight_times_as_much_is_read_in_a_step(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    names = [f"/{number}.md" for number in range(96)]
    write(hub, *names)
    assert steps(False) >= 8
    write(hub, *(f"/later{name}" for name in names))
    assert steps(True) <= 3
    assert Delivery.objects.filter(webhook=hook).count() == 192


def test_a_busy_store_holds_up_no_other(hub: Hub, there: Receiver, world: World) -> None:
    other = new_hub()
    for one in (hub, other):
        webhook(one.store, there.url, ["memory.created"], at=world.now)
    busy, quiet = sorted((hub, other), key=lambda one: one.store.pk)
    write(busy, *(f"/{number}.md" for number in range(60)))
    write(quiet, "/a.md")
    for turn in range(3):
        gather.gather(timezone.now(), most=1, turn=turn)
        write(busy, *(f"/{turn}-{number}.md" for number in range(12)))
    read = WebhookCursor.objects.get(pk=quiet.store.pk).seq
    assert read == AuditChain.objects.get(pk=quiet.store.pk).last_seq


def test_after_steps_that_did_not_come_to_the_end_the_dispatcher_hurries(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(hub.store, there.url, ["memory.created"], at=world.now)
    monkeypatch.setattr(webhooks, "SENDERS", 0)
    dispatcher = Dispatcher(FAST, timezone.now)
    write(hub, *(f"/{number}.md" for number in range(200)))
    taken = 1
    while not dispatcher.turn():
        taken += 1
    assert taken <= webhooks.LATE + 4 and dispatcher.late == 0


def test_between_the_deliveries_of_a_full_batch_the_pause_is_short(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, *(f"/{number}.md" for number in range(60)))
    world.gather()
    much: list[bool] = []
    send.work(hook.pk, FAST, lambda: world.now, 100, rest=lambda _, waits: much.append(waits))
    assert states(hook) == ["delivered"] * 60
    assert much == [True] * send.IN_ONE_GO + [False] * (60 - send.IN_ONE_GO)
