"""Receivers in trouble: gone, slow, hanging, redirecting or private; nobody else waits for them."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.core.hub import clock
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.webhooks import deliveries, manage, send as webhooks_sending
from memoryhub.actions.webhooks.deliveries import IsPaused
from memoryhub.background import webhooks
from memoryhub.background.webhooks import Dispatcher
from memoryhub.models import (
    Attempt,
    AuditEntry,
    Webhook,
)
from memoryhub.pure.outgoing import Limits, Sender
from tests.api.harness import Hub, new_hub
from tests.support.patience import wait_until
from tests.support.write_guard import arranging
from tests.webhooks import receivers
from tests.webhooks.hub import FAST, World, act, states, webhook, write
from tests.webhooks.receivers import Receiver, entries_told, receiver, status, told

DOWN = status(500)


def test_it_is_given_up_after_days_and_the_webhook_pauses(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md")
    world.now = timezone.now()
    there.answer = DOWN
    world.live(timedelta(days=4), timedelta(hours=1))
    hook.refresh_from_db()
    assert hook.paused_at is not None and hook.paused_for == "failing"
    entry = AuditEntry.objects.of_chain(hub.store.pk).newest()[0]
    assert (entry.command, entry.actor_kind) == ("pause_webhook", "system")
    tries = len(there.arrived)
    write(hub, "/while-paused.md")
    world.live(timedelta(days=1), timedelta(hours=2))
    assert len(there.arrived) == tries and len(states(hook)) == 1
    there.answer = status(200)
    manage.resume(hook.pk, act(world.now))
    world.deliver()
    assert states(hook) == ["delivered"] and len(there.arrived) == tries + 1


def test_a_clock_that_was_a_year_ahead_keeps_no_delivery_waiting_once_it_is_right(
    hub: Hub, there: Receiver, world: World
) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    right = world.now = timezone.now()
    write(hub, "/a.md", "/b.md")
    there.answer = DOWN
    world.later(days=400)
    world.deliver()  # fails, and is to be tried again in 400 days
    there.answer = status(200)
    world.now = right + timedelta(minutes=1)
    world.deliver()
    assert states(hook) == ["delivered", "delivered"]
    world.later(days=400)
    write(hub, "/c.md")
    world.gather()
    assert webhooks_sending.claim(hook.pk, world.now)  # and the process is killed while it sends
    world.now = right + timedelta(minutes=2)
    world.deliver()
    assert states(hook) == ["delivered"] * 3


def test_a_webhook_that_was_made_while_the_clock_was_ahead_gets_what_happens_once_it_is_right(
    hub: Hub, there: Receiver, world: World
) -> None:
    webhook(hub.store, there.url, ["memory.deleted"], at=world.now)
    write(hub, "/before.md")
    world.gather()
    late = webhook(hub.store, there.url, ["memory.created"], at=world.now + timedelta(days=400))
    write(hub, "/a.md", "/b.md")
    world.now = timezone.now()
    world.deliver()
    assert told(there) == ["memory.created"] * 2 and states(late) == ["delivered"] * 2


def test_what_is_aside_is_tried_again_too_once_a_clock_that_was_ahead_is_right(
    hub: Hub, there: Receiver, world: World
) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md")
    there.answer = status(404)
    right = world.now = timezone.now()
    world.later(days=400)
    world.deliver()
    there.answer = status(200)
    world.now = right + timedelta(minutes=1)
    world.deliver()
    assert states(hook) == ["delivered"]


def test_time_in_which_the_hub_was_stopped_or_its_clock_jumped_pauses_no_webhook(
    hub: Hub, there: Receiver, world: World
) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    world.now = timezone.now()
    clock.advance(world.now, timedelta())
    write(hub, "/a.md")
    there.answer = DOWN
    world.deliver()
    world.later(days=4)
    clock.advance(world.now, timedelta(seconds=1))
    world.deliver()
    hook.refresh_from_db()
    assert len(there.arrived) == 2 and hook.paused_at is None
    for _ in range(4):
        world.later(days=1)
        clock.advance(world.now, timedelta(days=1))
        world.deliver()
    hook.refresh_from_db()
    assert hook.paused_for == "failing"


def test_a_receiver_that_is_gone_pauses_its_webhook_at_once(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md", "/b.md")
    there.answer = status(410)
    world.now = timezone.now()
    world.deliver()
    hook.refresh_from_db()
    assert hook.paused_for == "gone" and states(hook) == ["waiting", "waiting"] and len(there.arrived) == 1
    with pytest.raises(IsPaused):
        deliveries.send_test(hook.pk, act(world.now))
    there.answer = status(200)
    manage.resume(hook.pk, act(world.now))
    world.deliver()
    assert states(hook) == ["delivered", "delivered"], "what was answered with 410 is sent again"
    assert there.arrived[0].body in [one.body for one in there.arrived[1:]] and len(there.arrived) == 3


def test_a_receiver_that_says_when_is_asked_then(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md")
    there.answer = status(429, Retry_After=600)
    world.now = timezone.now()
    world.live(timedelta(minutes=9))
    assert len(there.arrived) == 1
    there.answer = status(204)
    world.live(timedelta(minutes=2))
    assert states(hook) == ["delivered"]


def test_redirects_and_private_addresses_are_failures_that_are_told(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md")
    there.answer = status(302, Location=there.url + "/elsewhere")
    world.now = timezone.now()
    world.deliver()
    assert Attempt.objects.values_list("status", "problem").get() == (302, "redirect") and len(there.arrived) == 1
    with arranging():
        Webhook.objects.filter(pk=hook.pk).update(may_be_private=False, url="https://internal.example/")
    world.sender = Sender(resolve=lambda host, port: ["10.0.0.7"], limits=FAST.limits)
    world.later(seconds=6)
    world.deliver()
    assert Attempt.objects.values_list("status", "problem").last() == (None, "private")


# ------------------------------------------------------------------------------------------------ nobody waits


def test_no_transaction_is_open_while_something_is_sent(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md")
    world.now = timezone.now()
    world.gather()
    (message,) = webhooks_sending.claim(webhooks_sending.due(world.now)[0][0], world.now)
    with writing(), pytest.raises(RuntimeError):
        webhooks_sending.send(message, FAST, world.now)
    assert there.arrived == []


@pytest.mark.django_db(transaction=True)
def test_tool_calls_go_on_and_others_are_told_while_a_receiver_hangs() -> None:
    """With the threads of the server: the one that hangs waits alone."""
    hub, stop = new_hub(), threading.Event()
    with receiver() as hanging, receiver() as healthy:
        hanging.answer = receivers.hang
        webhook(hub.store, hanging.url, ["memory.created"], at=timezone.now(), name="hangs")
        webhook(hub.store, healthy.url, ["memory.created"], at=timezone.now())
        dispatcher = Dispatcher(Sender(limits=Limits(whole=2)), timezone.now)
        thread = threading.Thread(target=dispatcher.run, args=(stop,))
        thread.start()
        try:
            write(hub, "/0.md")
            wait_until(lambda: bool(hanging.arrived))
            for number in range(1, 10):
                write(hub, f"/{number}.md")
            wait_until(lambda: len(healthy.arrived) == 10)
            assert len(hanging.arrived) == 1 and len(dispatcher.busy) <= 2
        finally:
            stop.set()
            thread.join()
            wait_until(lambda: not dispatcher.busy)
    seqs = entries_told(healthy)
    assert seqs == sorted(seqs)


def test_receivers_that_are_slow_and_take_everything_leave_threads_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhooks, "SLOW", -1.0)
    monkeypatch.setattr(webhooks_sending, "work", lambda *args, **options: 1)
    dispatcher = Dispatcher(FAST, timezone.now)
    for number in range(webhooks.SENDERS):
        dispatcher._send(f"slow{number}")
    taken = [dispatcher._take(f"slow{number}", False) for number in range(webhooks.SENDERS)]
    assert sum(taken) == webhooks.FOR_FAILING
    others = webhooks.SENDERS - webhooks.FOR_FAILING
    assert all(dispatcher._take(f"healthy{number}", False) for number in range(others))


def test_a_webhook_gives_the_thread_back_when_its_turn_is_over(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(hub.store, there.url, ["memory.created"])
    for number in range(4):
        write(hub, f"/{number}.md")
    world.gather()
    due = webhooks_sending.due(world.now)[0][0]
    with monkeypatch.context() as patch:
        patch.setattr(webhooks_sending, "IN_ONE_GO", 1)
        patch.setattr(webhooks_sending, "GO_FOR", timedelta(seconds=-1))
        assert webhooks_sending.work(due, FAST, lambda: world.now, 200, may_go_on=lambda: False) == 1
    assert len(there.arrived) == 1


# ------------------------------------------------------------------------------------------------ sent again, forgotten
