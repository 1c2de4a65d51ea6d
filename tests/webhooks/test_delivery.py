"""Deliveries: what happens in a store arrives, signed, in order and at least once, whatever the receiver does."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import pytest
import standardwebhooks
from django.utils import timezone

from memoryhub.actions.core import plans, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.history import apply_plan
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.webhooks import deliveries, gather, manage, send as webhooks_sending
from memoryhub.models import (
    Attempt,
    AuditEntry,
    Delivery,
    DeliveryState,
    Memory,
    MemoryStore,
    MemoryVersion,
    Run,
    RunState,
    Webhook,
    WebhookCursor,
)
from memoryhub.pure.outgoing import Answer
from memoryhub.pure.webhook_rules.events import GROUPS, OFFICIAL
from tests.api.harness import Hub, new_hub
from tests.support.fixtures import BY
from tests.webhooks.hub import World, act, states, webhook, write
from tests.webhooks.receivers import Receiver, entries_told, status, told

DOWN = status(500)


# ------------------------------------------------------------------------------------------------ what arrives


def test_the_official_sdk_and_standard_webhooks_verify_what_arrives(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory_store.archived", "memory.created"], at=world.now)
    write(hub, "/notes/secret-name.md")
    stores.set_archived(hub.store, True, **(BY | {"at": world.now}))
    world.now = timezone.now()
    assert world.deliver() == 2 and states(hook) == ["delivered"] * 2
    secret = manage.secrets_of(hook, world.now)[0]
    client = anthropic.Anthropic(api_key="x", webhook_key=secret)
    events = [client.beta.webhooks.unwrap(one.body, headers=one.headers) for one in there.arrived]
    assert [event.data.type for event in events] == ["memory.created", "memory_store.archived"]
    archived = events[1]
    assert isinstance(archived.data, anthropic.types.beta.BetaWebhookMemoryStoreArchivedEventData)
    assert archived.data.id == hub.store.pk and archived.data.workspace_id.startswith("wrkspc_")
    assert archived.type == "event" and isinstance(archived.created_at, datetime)
    for one in there.arrived:
        assert standardwebhooks.Webhook(secret).verify(one.body, one.headers)["id"] == one.headers["webhook-id"]
        assert "secret-name" not in one.body and "text of a memory" not in one.body
        for headers, body in ((one.headers, one.body + " "), (one.headers | {"webhook-id": "x"}, one.body)):
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                standardwebhooks.Webhook(secret).verify(body, headers)


def test_both_secrets_sign_for_a_day_after_a_rotation(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, at=world.now)
    (old,) = manage.secrets_of(hook, world.now)
    hook = manage.rotate(hook.pk, act(world.now))
    new = manage.secrets_of(hook, world.now)[0]
    deliveries.send_test(hook.pk, act(world.now))
    world.deliver()
    (one,) = there.arrived
    assert old != new and one.headers["webhook-signature"].count("v1,") == 2
    for secret in (old, new):
        standardwebhooks.Webhook(secret).verify(one.body, one.headers)
    world.later(hours=24)
    deliveries.send_test(hook.pk, act(world.now))
    world.deliver()
    assert there.arrived[1].headers["webhook-signature"].count("v1,") == 1
    assert manage.secrets_of(hook, world.now) == [new]


def test_a_webhook_is_told_of_what_it_wants_from_when_it_was_made(hub: Hub, there: Receiver, world: World) -> None:
    write(hub, "/before.md")
    webhook(hub.store, there.url, ["memory.deleted", "memory.renamed"], at=world.now)
    other = new_hub()
    write(other, "/elsewhere.md")
    write(hub, "/a.md")
    hub.call(command="rename", old_path="/memories/a.md", new_path="/memories/b.md")
    hub.call(command="delete", path="/memories/b.md")
    hub.call(command="delete", path="/memories/b.md")  # refused: there is nothing any more
    world.now = timezone.now()
    world.deliver()
    assert told(there) == ["memory.renamed", "memory.deleted"]
    assert not WebhookCursor.objects.filter(chain=other.store.pk).exists()


@pytest.mark.both_databases
def test_a_memory_that_retention_removes_is_told(hub: Hub, there: Receiver, world: World) -> None:
    write(hub, "/a.md")
    memory = Memory.objects.get(store=hub.store)
    hub.call(command="delete", path="/memories/a.md")
    webhook(hub.store, there.url, ["memory.purged"], at=world.now)
    with tree.locked(hub.store.pk, act(world.now)) as store:
        removed = removal.purge(store, memory.pk)
        tree.commit(store, Record("purge", path=memory.path, memory=memory.pk, redactions=removed.redactions))
    world.now = timezone.now()
    world.deliver()
    (data,) = [json.loads(one.body)["data"] for one in there.arrived]
    assert (data["type"], data["memories"]) == ("memory.purged", [{"id": memory.pk}])


def test_a_webhook_of_the_hub_is_told_of_all_stores_and_of_new_ones(hub: Hub, there: Receiver, world: World) -> None:
    write(hub, "/before.md")
    webhook(None, there.url, ["memory.created", *OFFICIAL], at=world.now)
    write(hub, "/a.md")
    made = stores.create_store(stores.StoreSettings("New"), **(BY | {"at": world.now}))
    delete.delete_store(made.pk, act=act(world.now))
    world.now = timezone.now()
    world.deliver()
    data = [json.loads(one.body)["data"] for one in there.arrived]
    own = [one["type"] for one in data if one.get("id") == made.pk]
    assert own == ["memory_store.created", "memory_store.deleted"]
    assert sorted(one["type"] for one in data) == ["memory.created", *sorted(own)]


def test_without_a_webhook_nothing_is_read_and_nothing_is_written(hub: Hub, world: World) -> None:
    write(hub, "/a.md")
    world.deliver()
    assert not WebhookCursor.objects.exists() and not Delivery.objects.exists()


# ------------------------------------------------------------------------------------------------ order and loss


def test_a_receiver_that_is_down_for_an_hour_misses_nothing_and_gets_it_in_order(
    hub: Hub, there: Receiver, world: World
) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    world.later(seconds=1)
    there.answer = DOWN
    for number in range(6):
        write(hub, f"/{number}.md")
        world.now = max(world.now, timezone.now())
        world.live(timedelta(minutes=10))
    assert set(states(hook)) == {"waiting"} and Attempt.objects.count() == len(there.arrived) <= 8
    assert len({one.headers["webhook-id"] for one in there.arrived}) == 1  # those behind the first wait for it
    hook.refresh_from_db()
    assert hook.failing_since is not None and hook.paused_at is None
    there.arrived.clear()
    there.answer = status(200)
    world.live(timedelta(hours=1), timedelta(minutes=5))
    assert states(hook) == ["delivered"] * 6 and len(there.arrived) == 6
    made = AuditEntry.objects.of_chain(hub.store.pk).filter(command="create").oldest()
    assert entries_told(there) == list(made.values_list("seq", flat=True))
    hook.refresh_from_db()
    assert hook.failing_since is None and hook.next_at is None


def test_what_a_receiver_refuses_does_not_hold_up_the_rest(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md", "/b.md")
    there.answer = lambda connection: connection.sendall(status(422 if len(there.arrived) == 1 else 200))
    world.now = timezone.now()
    world.deliver()
    assert states(hook) == ["waiting", "delivered"]
    world.later(seconds=6)
    world.deliver()
    assert states(hook) == ["delivered", "delivered"] and len(there.arrived) == 3


def test_a_process_that_is_killed_at_any_moment_loses_nothing(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each step: reading, claiming, sending, writing down. Some arrive twice, with the same id."""

    class Killed(BaseException):
        pass

    def killed(place: Any, name: str, *, before: bool) -> None:
        real = getattr(place, name)

        def kill(*given: Any, **more: Any) -> Any:
            if not before:
                real(*given, **more)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(place, name, kill)
            with pytest.raises(Killed):
                world.deliver()

    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    steps = [(gather, "_deliver"), (webhooks_sending, "claim"), (webhooks_sending, "settle")]
    number = 0
    for place, name in (*steps, (webhooks_sending, "send")):
        for before in (True, False):
            number += 1
            write(hub, f"/{number}.md")
            world.now = max(world.now, timezone.now())
            killed(place, name, before=before)
            world.later(minutes=2)  # until then another process would take the first for alive
    world.deliver()
    assert states(hook) == ["delivered"] * number
    seqs = entries_told(there)
    assert len(set(seqs)) == number and list(dict.fromkeys(seqs)) == sorted(set(seqs))
    assert len({one.headers["webhook-id"] for one in there.arrived}) == number < len(there.arrived)


def test_two_processes_send_nothing_twice(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md", "/b.md")
    world.now = timezone.now()
    world.gather()
    (first,) = webhooks_sending.claim(hook.pk, world.now, 1)
    assert webhooks_sending.claim(hook.pk, world.now) == webhooks_sending.due(world.now) == []
    webhooks_sending.settle([(first, Answer(200), world.now)])
    (second,) = webhooks_sending.claim(hook.pk, world.now)
    assert second.delivery > first.delivery


def test_one_delivery_or_all_that_failed_are_sent_again_with_the_same_id(
    hub: Hub, there: Receiver, world: World
) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    write(hub, "/a.md", "/b.md", "/c.md")
    world.now = timezone.now()
    world.deliver()
    first = Delivery.objects.filter(webhook=hook).order_by("id")[0]
    assert deliveries.replay(hook.pk, first.pk, act(world.now))
    world.deliver()
    *before, again = there.arrived  # the first three came at once, in any order
    [same] = [one for one in before if one.headers["webhook-id"] == again.headers["webhook-id"]]
    assert again.body == same.body
    assert list(Attempt.objects.filter(delivery=first).order_by("id").values_list("number", flat=True)) == [1, 2]
    with writing():
        Delivery.objects.filter(webhook=hook).update(state=DeliveryState.FAILED)
    assert deliveries.replay_failed(hook.pk, world.now + timedelta(days=1), act(world.now)) == 0
    assert deliveries.replay_failed(hook.pk, datetime(2020, 1, 1, tzinfo=UTC), act(world.now)) == 3
    world.deliver()
    assert states(hook) == ["delivered"] * 3 and sorted(entries_told(there)[4:]) == sorted(entries_told(there)[:3])
    assert not deliveries.replay(hook.pk, "delivery_nowhere", act(world.now))


def test_the_log_is_kept_for_thirty_days_and_goes_with_its_webhook(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory.created"], at=world.now)
    other = webhook(hub.store, there.url, ["memory.created"], at=world.now, name="Other")
    write(hub, "/a.md")
    world.now = timezone.now()
    world.deliver()
    assert webhooks_sending.forget(world.now + timedelta(days=29)) == 0
    manage.delete_webhook(hook.pk, act(world.now))
    assert not Webhook.objects.filter(pk=hook.pk).exists() and len(states(hook)) == 1
    while webhooks_sending.forget(world.now):
        pass
    assert not Webhook.every.filter(pk=hook.pk).exists() and states(hook) == [] and len(states(other)) == 1
    assert webhooks_sending.forget(world.now + timedelta(days=31)) == 1
    assert not Attempt.objects.exists()


# ------------------------------------------------------------------------------------------------ what is read


def test_acts_of_people_runs_and_many_memories_are_told(hub: Hub, there: Receiver, world: World) -> None:
    webhook(hub.store, there.url, at=world.now)
    write(hub, "/d/a.md", "/d/b.md")
    hub.call(command="create", path="/memories/card.md", file_text="Card: 4111 1111 1111 1111\n")
    hub.call(command="delete", path="/memories/d")
    version = MemoryVersion.objects.filter(store=hub.store, path="/d/a.md", operation="created").get()
    decisions.approve_many(hub.store.pk, [version.pk], act(world.now))
    with writing():
        Run.objects.create(id="run_1", store=hub.store, at=world.now, state=RunState.WAITING, started_at=world.now)
    world.gather()
    with writing():
        Run.objects.filter(pk="run_1").update(state=RunState.DONE, ended_at=world.now)
    world.now = timezone.now()
    while world.deliver():
        pass
    data = [json.loads(one.body)["data"] for one in there.arrived]
    by_type = {one["type"]: one for one in data}
    (deleted,) = [one for one in data if one["type"] == "memory.deleted"]
    assert len(deleted["memories"]) == 2 and deleted["actor"]["type"] == "api_actor"
    assert by_type["finding.opened"]["findings"][0]["kind"] and "4111" not in json.dumps(data)
    assert by_type["review.approved"]["memories"] == [
        {"id": version.memory_id, "memory_version_id": version.pk}
    ]  # fmt: skip
    runs = [one["type"] for one in data if one["type"].startswith("retention_run")]
    assert runs == ["retention_run.blocked", "retention_run.finished"]
    assert by_type["retention_run.blocked"]["retention_run_id"] == "run_1"


def test_what_an_undo_reverts_and_flags_is_told_like_every_other_decision(
    hub: Hub, there: Receiver, world: World
) -> None:
    write(hub, "/bad.md", "/later.md")
    webhook(hub.store, there.url, GROUPS["review"], at=world.now)
    bad, later = (MemoryVersion.objects.get(path=path) for path in ("/bad.md", "/later.md"))
    plan = apply_plan.undo_plan(hub.store.pk, [bad.pk])
    apply_plan.undo(hub.store.pk, [bad.pk], {}, plan.digest, act(world.now), flagged=[later.pk])
    world.deliver()
    told = {data["type"]: data["memories"] for data in (json.loads(one.body)["data"] for one in there.arrived)}
    assert told == {
        "review.reverted": [{"id": bad.memory_id, "memory_version_id": bad.pk}],
        "review.flagged": [{"id": later.memory_id, "memory_version_id": later.pk}],
    }


def test_an_undo_tells_of_all_that_it_reverts_also_if_its_entry_has_only_their_number(
    hub: Hub, there: Receiver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MOST_NAMED", 2)
    write(hub, "/a.md", "/b.md", "/c.md")
    webhook(hub.store, there.url, ["review.reverted"], at=world.now)
    bad = list(MemoryVersion.objects.filter(store=hub.store, path__in=["/a.md", "/b.md", "/c.md"]))
    versions = [version.pk for version in bad]
    plan = apply_plan.undo_plan(hub.store.pk, versions)
    apply_plan.undo(hub.store.pk, versions, {}, plan.digest, act(world.now))
    world.deliver()
    (event,) = [json.loads(one.body)["data"] for one in there.arrived]
    assert {one["memory_version_id"]: one["id"] for one in event["memories"]} == {
        version.pk: version.memory_id for version in bad
    }


def test_the_webhook_of_a_store_is_told_of_its_deletion(hub: Hub, there: Receiver, world: World) -> None:
    hook = webhook(hub.store, there.url, ["memory_store.deleted"], at=world.now)
    delete.delete_store(hub.store.pk, act=act(world.now))
    there.answer = status(410)
    world.now = timezone.now()
    world.deliver()
    assert told(there) == ["memory_store.deleted"]
    assert Webhook.objects.get(pk=hook.pk).paused_for == "gone"  # its chain is closed, and tells nothing more
    assert AuditEntry.objects.of_chain(hub.store.pk).newest()[0].command == "delete_store"


@pytest.mark.both_databases
@pytest.mark.parametrize("of_hub", [False, True])
def test_the_rows_of_a_deleted_store_stay_until_what_happened_in_it_was_read(
    hub: Hub, there: Receiver, world: World, of_hub: bool
) -> None:
    webhook(None if of_hub else hub.store, there.url, ["memory.created", "memory_store.deleted"], at=world.now)
    write(hub, "/a.md", "/b.md")
    delete.delete_store(hub.store.pk, act=act(timezone.now()))
    world.now = timezone.now()
    for _ in range(2):
        while delete.step(hub.store.pk):
            pass
        world.deliver()
    assert told(there) == ["memory.created", "memory.created", "memory_store.deleted"]
    while delete.step(hub.store.pk):
        pass
    assert not MemoryVersion.objects.filter(store_id=hub.store.pk).exists()
    assert not MemoryStore.every.filter(pk=hub.store.pk).exists()
