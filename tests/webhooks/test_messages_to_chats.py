"""Messages to a chat: one sentence with a link to a page, in the form of the chat, without a text or a path."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from memoryhub.actions.webhooks import deliveries, manage
from memoryhub.models import Attempt, AuditEntry, MemoryStore, User, Webhook
from memoryhub.pure.webhook_rules import chat
from memoryhub.pure.webhook_rules.events import EVENTS
from tests.api.harness import Hub
from tests.support.fixtures import signed_in
from tests.webhooks.hub import World, act, write
from tests.webhooks.receivers import Receiver

pytestmark = pytest.mark.django_db

SLACK, TEAMS = "https://hooks.slack.com/services/T0/B0/x", "https://acme.webhook.office.com/webhookb2/x"
DISCORD = "https://discord.com/api/webhooks/1/x"


def payload(type: str, **data: Any) -> str:
    return json.dumps({"id": "whevt_1", "data": {"type": type, "memory_store_id": "memstore_1", **data}})


def hook(store: MemoryStore, url: str, at: Any) -> Webhook:
    wanted = manage.WebhookSettings("Chat", url, ["review.needed", "memory.created"], True, is_chat=True)
    return manage.create_webhook(store.pk, wanted, act(at=at))


def test_a_chat_gets_a_sentence_with_a_link_and_neither_a_text_nor_a_path(
    hub: Hub, there: Receiver, world: World, superuser: User
) -> None:
    made = hook(hub.store, there.url, world.now)
    write(hub, "/notes/secret-name.md")
    deliveries.send_test(made.pk, act(at=world.now))
    assert world.deliver() >= 2
    bodies = [json.loads(one.body) for one in there.arrived]
    assert all(set(body) == {"text"} for body in bodies)
    texts = [body["text"] for body in bodies]
    assert any(text.startswith(f"{hub.store.name}: A memory was created. {settings.MEMORYHUB_URL}") for text in texts)
    assert any(text.startswith("This is a test message of MemoryHub.") for text in texts)
    assert not any("secret-name" in one.body or "text of a memory" in one.body for one in there.arrived)
    client = signed_in(superuser)
    for text in texts:
        page = re.findall(r"https?://\S+", text)[0].removeprefix(settings.MEMORYHUB_URL)
        assert client.get(page).status_code == 200, page


@pytest.mark.parametrize("event", [*EVENTS, "webhook.test"])
def test_every_event_has_a_sentence_and_a_page(event: str) -> None:
    told = json.loads(chat.body(SLACK, payload(event, id="whk_1"), "Support", "https://hub.example/"))["text"]
    assert re.fullmatch(r"(Support: )?[A-Z][^<>]*\. https://hub\.example/\S+", told)


def test_the_message_of_a_finding_names_its_kinds() -> None:
    found = [{"id": "find_1", "kind": "url_credentials"}, {"id": "find_2", "kind": "instructions"}]
    told = json.loads(chat.body(SLACK, payload("finding.opened", findings=found), "Support", "https://h"))["text"]
    assert "was found in what was written (2): instructions, url credentials. https://h/" in told
    told = json.loads(chat.body(SLACK, payload("finding.resolved", findings=[{"id": "find_1"}]), "", "https://h"))[
        "text"
    ]
    assert told.startswith("Findings were resolved. https://h/")


def test_each_chat_gets_its_own_form_and_a_name_mentions_no_one() -> None:
    name = "<!channel> @everyone [x](y) & more"
    more = payload("review.needed", memories=[{"id": "mem_1"}, {"id": "mem_2"}])
    slack, teams, discord = (json.loads(chat.body(url, more, name, "https://h")) for url in (SLACK, TEAMS, DISCORD))
    assert "&lt;!channel&gt;" in slack["text"] and "&amp; more" in slack["text"] and "(2)." in slack["text"]
    assert discord["allowed_mentions"] == {"parse": []} and "@everyone" not in discord["content"]
    card = teams["attachments"][0]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert card["content"]["actions"][0]["url"] == "https://h/review?store=memstore_1"
    assert "[x]" not in card["content"]["body"][0]["text"]


@pytest.mark.parametrize("name", ["https://evil.example/x", "evil.example", "Look at www.evil.example/x now"])
def test_a_name_does_not_become_a_link(name: str) -> None:
    for url in (SLACK, TEAMS, DISCORD):
        said = chat.body(url, payload("memory.created"), name, "https://hub.example")
        assert "evil.example" not in said and "https://evil" not in said and "evil.\\u200bexample" in said


@pytest.mark.both_databases
def test_a_person_makes_one_without_a_secret_and_sees_what_is_sent(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryhub.pure.outgoing.addresses_of", lambda host, port: ["93.184.216.34"])
    client, new = signed_in(alice), f"/stores/{store.id}/webhooks/new"
    fields = {"name": "Our chat", "url": SLACK, "events": ["review.needed"]}
    assert "A chat takes only messages" in client.post(new, fields).content.decode()
    form = re.findall(r'name="form" value="([^"]+)"', client.get(new).content.decode())[0]
    response = client.post(new, fields | {"kind": "chat", "form": form}, follow=True)
    page = response.content.decode()
    made = Webhook.objects.get()
    assert made.is_chat and "Messages to a chat" in page and "whsec_" not in page and "snippet-python" not in page
    sent = client.post(f"/webhooks/{made.pk}/test", follow=True).content.decode()
    assert "This is a test message of MemoryHub." in sent


def test_the_ticks_of_a_new_webhook_are_what_waits_for_a_person(store: MemoryStore, superuser: User) -> None:
    for address in ("/settings/webhooks/new", f"/stores/{store.id}/webhooks/new"):
        page = signed_in(superuser).get(address).content.decode()
        ticked = re.findall(r'name="events" value="([^"]+)"[^>]* checked', page)
        assert ticked == ["review.needed", "proposal.opened", "finding.opened"]


REFUSAL = (
    b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2b\r\ninvalid_token for\nanna.keller@example.com \x1b[1m!\r\n0\r\n\r\n"
)


@pytest.mark.both_databases
def test_the_pages_say_what_a_receiver_answered_that_refused_with_values_masked(
    hub: Hub, there: Receiver, world: World, superuser: User
) -> None:
    there.answer = REFUSAL
    made = hook(hub.store, there.url, world.now)
    write(hub, "/a.md")
    world.deliver()
    said = Attempt.objects.filter(delivery__webhook=made).values_list("said", flat=True)[0]
    assert said.startswith("invalid_token for [redacted:email]") and "\x1b" not in said
    page = signed_in(superuser).get(f"/webhooks/{made.pk}").content.decode()
    assert "The receiver refused it. It answered: invalid_token for [redacted:email]" in page


def test_an_administrator_of_the_hub_sees_the_webhooks_of_the_stores_with_their_state(
    store: MemoryStore, superuser: User
) -> None:
    made = manage.create_webhook(
        store.pk, manage.WebhookSettings("Nightly report", "https://example.com/x", ["memory.created"]), act()
    )
    manage.pause(made.pk, act())
    page = signed_in(superuser).get("/settings/webhooks").content.decode()
    section = page.split('id="of-stores-title"')[1]
    assert "Nightly report" in section and store.name in section and "Paused" in section


@pytest.mark.both_databases
@pytest.mark.parametrize("url", [SLACK, DISCORD, f"{TEAMS}?sig=1", "https://93.184.215.14/hooks/abc"])
def test_the_audit_does_not_have_the_address_of_a_chat_which_lets_anybody_write_there(
    hub: Hub, world: World, url: str
) -> None:
    wanted = manage.WebhookSettings("Chat", url, ["review.needed"], is_chat=True)
    made = manage.create_webhook(hub.store.pk, wanted, act(at=world.now))
    assert manage.edit_webhook(made.pk, replace(wanted, url=url.replace("x", "new")), act(at=world.now)) is ("x" in url)
    manage.delete_webhook(made.pk, act(at=world.now))
    told = (
        AuditEntry.objects.of_chain(hub.store.pk).filter(command__endswith="_webhook").values_list("input", flat=True)
    )
    host = url.split("/")[2]
    assert f'"https://{host}/' in told[0] and len(told) == (3 if "x" in url else 2)
    assert not any(
        secret in entry for entry in told for secret in ("/T0", "webhooks/1", "webhookb2", "sig=", "hooks/abc")
    )
