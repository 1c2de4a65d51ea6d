"""The pages of webhooks: who may, what they show, and that each act is told by the audit."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.webhooks import deliveries, gather, manage, send
from memoryhub.actions.webhooks.manage import MOST
from memoryhub.models import AuditEntry, Delivery, DeliveryState, MemoryStore, User, Webhook
from memoryhub.pure.outgoing import Answer
from memoryhub.web.audit import sentences
from tests.api.harness import Hub
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.memories.pages import newest, page, write
from tests.webhooks.hub import act, webhook

PUBLIC = "https://93.184.215.14/hook?token=abc"
FORM = {"name": "Chat", "url": PUBLIC, "events": ["memory.created", "review.needed"]}
ACTS = ("pause_webhook", "resume_webhook", "rotate_webhook", "reveal_webhook", "test_webhook", "replay_failed")


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def hook(store: MemoryStore) -> Webhook:
    return webhook(store, "http://127.0.0.1:9/hook", at=timezone.now())


def url(name: str, *args: Any) -> str:
    return reverse(name, args=args)


def post(client: Client, route: str, /, *args: Any, **form: Any) -> str:
    answer = client.post(url(route, *args), form, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def told(store: MemoryStore) -> dict[str, Any]:
    entry = newest(store)
    return {"command": entry.command, **json.loads(str(entry.input or "{}"))}


def tried(hook: Webhook, answer: Answer) -> Delivery:
    """A test event, and what came back."""
    at = timezone.now()
    made = deliveries.send_test(hook.pk, act(at))
    (message,) = send.claim(hook.pk, at)
    assert message.delivery == made.pk
    send.settle([(message, answer, at)])
    return made


# ------------------------------------------------------------------------------------------------ who may


def test_admins_of_the_store_and_nobody_else(
    store: MemoryStore, hook: Webhook, bob: User, charlie: User, superuser: User, client: Client
) -> None:
    made = tried(hook, Answer(200))
    pages = [
        url("store_webhooks", store.pk), url("new_store_webhook", store.pk), url("webhook", hook.pk),
        url("edit_webhook", hook.pk), url("delete_webhook", hook.pk), url("delivery", hook.pk, made.pk),
    ]  # fmt: skip
    acts = [url(name, hook.pk) for name in ACTS] + [url("replay_delivery", hook.pk, made.pk)]
    before = AuditEntry.objects.count()
    for user, status in ((bob, 403), (charlie, 404)):
        other = signed_in(user)
        assert {other.get(address).status_code for address in pages} == {status}
        assert {other.post(address).status_code for address in acts} == {status}
        assert {other.post(address).status_code for address in pages[1:2] + pages[3:5]} == {status}
    assert AuditEntry.objects.count() == before
    for user_client in (client, signed_in(superuser)):
        assert {user_client.get(address).status_code for address in pages} == {200}
    assert {client.get(address).status_code for address in acts} == {405}
    assert {client.post(address).status_code for address in (pages[0], pages[2], pages[5])} == {405}


def test_those_of_the_hub_are_for_superusers(client: Client, superuser: User, store: MemoryStore) -> None:
    own = webhook(None, "http://127.0.0.1:9/hook", at=timezone.now())
    for name in ("webhooks", "new_webhook"):
        assert client.get(url(name)).status_code == 403
    assert client.get(url("webhook", own.pk)).status_code == client.post(url("reveal_webhook", own.pk)).status_code
    assert client.get(url("webhook", own.pk)).status_code == 404
    root = signed_in(superuser)
    assert own.name in page(root, url("webhooks")) and "memory_store.created" in page(root, url("new_webhook"))
    assert "was deleted" in post(root, "delete_webhook", own.pk)
    assert AuditEntry.objects.of_chain("hub").newest()[0].command == "delete_webhook"


def test_unknown_and_deleted_ones_are_not_found(client: Client, hook: Webhook) -> None:
    manage.delete_webhook(hook.pk, act())
    for wanted in (hook.pk, "webhook_0", "x"):
        assert client.get(url("webhook", wanted)).status_code == 404
        assert client.post(url("pause_webhook", wanted)).status_code == 404


# ------------------------------------------------------------------------------------------------ making


def test_a_new_one_shows_its_secret_and_the_audit_tells_all_but_that(client: Client, store: MemoryStore) -> None:
    assert "No webhooks yet" in page(client, url("store_webhooks", store.pk))
    answer = client.post(url("new_store_webhook", store.pk), FORM)
    html = answer.content.decode()
    hook = Webhook.objects.get()
    (secret,) = manage.secrets_of(hook, timezone.now())
    assert secret in html and "no-store" in answer.headers["Cache-Control"] and "webhooks.unwrap" in html
    assert (hook.url, hook.events) == (PUBLIC, ["memory.created", "review.needed"]) and not hook.may_be_private
    entry = told(store)
    assert entry["command"] == "create_webhook" and entry["state"][1]["events"] == hook.events
    assert "abc" not in json.dumps(entry) and entry["state"][1]["url"] == "https://93.184.215.14/hook?…"
    shown = page(client, url("store_webhooks", store.pk)) + page(client, url("webhook", hook.pk))
    assert secret not in shown and "Nothing sent yet" in shown and "Nothing has been sent yet" in shown


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"url": "http://example.com/"}, "does not begin with https://"),
    ({"url": "https://127.0.0.1/"}, "An administrator of the hub can allow it."),
    ({"url": "https://u:p@example.com/"}, "user name or password"),
    ({"url": "no address"}, "not a valid URL"),
    ({"url": ""}, "This field is required."),
    ({"name": "\0"}, "Null characters are not allowed."),
    ({"events": []}, "Choose at least one event."),
    ({"events": ["memory.exploded", "memory_store.created"]}, "Choose at least one event."),
    ({"url": "https://127.0.0.1/", "may_be_private": "on"}, "An administrator of the hub can allow it."),
]


def test_what_cannot_be_is_said_and_nothing_is_lost(client: Client, store: MemoryStore) -> None:
    for change, said in REFUSED:
        html = post(client, "new_store_webhook", store.pk, **(FORM | change))
        assert said in html and not Webhook.objects.exists(), change
        ticked = 'value="review.needed" id="event-reviewneeded" checked'
        assert (ticked in html) == ("events" not in change), change


def test_only_a_superuser_allows_a_private_address_and_only_for_that_address(
    client: Client, superuser: User, store: MemoryStore
) -> None:
    private = FORM | {"url": "http://127.0.0.1:9/hook", "may_be_private": "on"}
    assert "Allow a private address" not in page(client, url("new_store_webhook", store.pk))
    refused = post(signed_in(superuser), "new_store_webhook", store.pk, **(FORM | {"url": "https://127.0.0.1/"}))
    assert "tick “Allow a private address”" in refused
    signed_in(superuser).post(url("new_store_webhook", store.pk), private)
    hook = Webhook.objects.get()
    assert hook.may_be_private
    assert "was saved" in post(client, "edit_webhook", hook.pk, **(private | {"name": "Other"}))
    hook.refresh_from_db()
    assert hook.may_be_private and hook.name == "Other"
    html = post(client, "edit_webhook", hook.pk, **(private | {"url": "http://127.0.0.1:22/"}))
    assert "does not begin with https://" in html
    post(client, "edit_webhook", hook.pk, **(private | {"url": PUBLIC}))
    hook.refresh_from_db()
    assert hook.url == PUBLIC and not hook.may_be_private
    assert told(store)["may_be_private"] == [True, False]
    assert "Nothing was changed." in post(client, "edit_webhook", hook.pk, **FORM)


def test_there_are_not_too_many(client: Client, store: MemoryStore) -> None:
    for number in range(MOST):
        webhook(store, "http://127.0.0.1:9/", name=str(number), at=timezone.now())
    assert f"There are already {MOST} webhooks." in post(client, "new_store_webhook", store.pk, **FORM)
    assert f"You can have at most {MOST} webhooks." in page(client, url("store_webhooks", store.pk))


# ------------------------------------------------------------------------------------------------ acting


def test_each_act_is_done_and_told(client: Client, store: MemoryStore, hook: Webhook) -> None:
    old = manage.secrets_of(hook, timezone.now())[0]
    assert old in post(client, "reveal_webhook", hook.pk) and told(store)["command"] == "reveal_webhook"
    html = post(client, "rotate_webhook", hook.pk, form="once")
    hook.refresh_from_db()
    assert manage.secrets_of(hook, timezone.now())[0] in html and old not in html and "is also valid until" in html
    assert told(store)["generation"] == [1, 2]
    post(client, "rotate_webhook", hook.pk, form="once")  # the same form sent again
    assert Webhook.objects.get().generation == 2
    assert "This delivery has not been tried yet." in post(client, "test_webhook", hook.pk)
    assert "The webhook is paused." in post(client, "pause_webhook", hook.pk)
    assert told(store)["state"] == ["active", "paused"]
    html = post(client, "test_webhook", hook.pk)
    assert "Resume it to send anything" in html
    assert (
        "A person paused this webhook. Deliveries that waited when the webhook was paused are kept for 30 days" in html
    )
    for name, more in (("replay_failed", ()), ("replay_delivery", (Delivery.objects.get().pk,))):
        assert "Resume it to send anything" in post(client, name, hook.pk, *more)
    assert "The webhook is resumed" in post(client, "resume_webhook", hook.pk)
    assert told(store)["command"] == "resume_webhook"
    assert "Delete this webhook" in page(client, url("delete_webhook", hook.pk))
    assert "was deleted" in post(client, "delete_webhook", hook.pk) and not Webhook.objects.exists()


def test_the_list_counts_the_tries_from_before_it_was_sent_again(client: Client, hook: Webhook) -> None:
    failed = tried(hook, Answer(500, "status"))
    html = page(client, url("webhook", hook.pk))
    assert "No delivery has succeeded yet." in html and "No delivery has succeeded since" not in html
    post(client, "replay_delivery", hook.pk, failed.pk)
    later = timezone.now() + timedelta(minutes=1)
    send.settle([(message, Answer(500, "status"), later) for message in send.claim(hook.pk, later)])
    assert Delivery.objects.get().attempts == 1
    assert '<span class="not-narrow">2</span>' in page(client, url("webhook", hook.pk))


def test_every_entry_has_words(client: Client, store: MemoryStore, hook: Webhook) -> None:
    failed = tried(hook, Answer(410, "status"))
    manage.resume(hook.pk, act())
    with tampering():
        Delivery.objects.filter(pk=failed.pk).update(state=DeliveryState.FAILED, ended_at=timezone.now())
    post(client, "edit_webhook", hook.pk, name="100% new", url=PUBLIC, events=["memory.created"])
    assert "is sent again" in post(client, "replay_failed", hook.pk, days="30")
    post(client, "replay_delivery", hook.pk, failed.pk)
    for name in ("pause_webhook", "resume_webhook", "rotate_webhook", "reveal_webhook", "test_webhook"):
        post(client, name, hook.pk)
    post(client, "delete_webhook", hook.pk)
    found = AuditEntry.objects.of_chain(store.pk).filter(command__endswith="_webhook")
    words = {entry.command: sentences.words_of(entry, sentences.told_of(entry.input), {}) for entry in found.oldest()}
    assert words.keys() == {command for command in COMMANDS if command.endswith("_webhook")}
    assert words["edit_webhook"].endswith("private address allowed: yes → no") and "100% new" in words["edit_webhook"]
    assert words["replay_webhook"] == "sent a delivery of the webhook “100% new” again"
    first = found.filter(command="pause_webhook").oldest()[0]
    assert "its receiver said that it no longer exists" in sentences.words_of(first, sentences.told_of(first.input), {})
    html = page(client, url("store_audit", store.pk))
    assert all(sentence in html for sentence in ("viewed the secret of the webhook", "created the webhook"))


# ------------------------------------------------------------------------------------------------ deliveries


@pytest.mark.both_databases
def test_a_page_says_how_it_is_doing_and_what_came_back(client: Client, store: MemoryStore, hook: Webhook) -> None:
    tried(hook, Answer(204, "", "", 12_000))
    html = page(client, url("webhook", hook.pk))
    assert "Delivering" in html and "204" in html and "No delivery has succeeded since" not in html
    made = tried(hook, Answer(None, "private"))
    html = page(client, url("webhook", hook.pk))
    assert "Failing" in html and "No delivery has succeeded since" in html and "private or special network" in html
    assert "Failing" in page(client, url("store_webhooks", store.pk))
    html = page(client, url("delivery", hook.pk, made.pk))
    assert "webhook.test" in html and "private or special network" in html and "next try" in html
    assert "whevt_" in html and "Send now" in html and url("entry", store.pk, made.seq) in html


@pytest.mark.both_databases
def test_a_delivery_says_which_memory_it_is_about(client: Client, store: MemoryStore) -> None:
    hook = webhook(store, "http://127.0.0.1:9/hook")
    write(store, "/plans/a.md", "text")
    while not gather.gather(timezone.now()):
        pass
    made = Delivery.objects.get(webhook=hook, event="memory.created")
    assert "/plans/a.md" in page(client, url("webhook", hook.pk))
    assert "/plans/a.md" in page(client, url("delivery", hook.pk, made.pk)) and "/plans/a.md" not in made.payload


def test_the_list_asks_again_while_something_waits(client: Client, hook: Webhook, store: MemoryStore) -> None:
    made = deliveries.send_test(hook.pk, act(timezone.now()))
    asked: Any = {"headers": {"hx-request": "true"}}
    for address, part in ((url("webhook", hook.pk), "deliveries"), (url("delivery", hook.pk, made.pk), "tries")):
        html = client.get(f"{address}?part={part}", **asked).content.decode()
        assert "hx-trigger" in html and "<html" not in html
        assert "<html" in page(client, f"{address}?part={part}")
    (message,) = send.claim(hook.pk, timezone.now() + timedelta(seconds=1))
    send.settle([(message, Answer(200), timezone.now())])
    for address, part in ((url("webhook", hook.pk), "deliveries"), (url("delivery", hook.pk, made.pk), "tries")):
        assert "hx-trigger" not in client.get(f"{address}?part={part}", **asked).content.decode()


@pytest.mark.both_databases
def test_deliveries_are_paged_and_filtered(client: Client, store: MemoryStore, key: str) -> None:
    hook = webhook(store, "http://127.0.0.1:9/hook", ["memory.created"], at=timezone.now())
    hub = Hub(store, key)
    for number in range(30):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="x")
    gather.gather(timezone.now())
    html = page(client, url("webhook", hook.pk))
    assert html.count("data-list-item") == 25 and "Older" in html
    twenty_fifth = Delivery.objects.filter(webhook=hook).newest()[24].pk
    assert page(client, url("webhook", hook.pk) + f"?before={twenty_fifth}").count("data-list-item") == 5
    assert "No deliveries match" in page(client, url("webhook", hook.pk) + "?state=failed")
    assert page(client, url("webhook", hook.pk) + "?state=waiting").count("data-list-item") == 25
    assert page(client, url("webhook", hook.pk) + "?state=nonsense").count("data-list-item") == 25
    other = webhook(store, "http://127.0.0.1:9/other", name="Other", at=timezone.now())
    assert client.get(url("delivery", other.pk, twenty_fifth)).status_code == 404
