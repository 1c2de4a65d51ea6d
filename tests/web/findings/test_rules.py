"""The pages of the rules for sensitive text: who sets them, what they say they do, and a text to try them on."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, HubSettings, MemoryStore, Role, User
from memoryhub.pure.sensitive import KINDS
from memoryhub.web.common.texts.kinds import KIND_WORDS
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.findings.flagged import CARD

pytestmark = pytest.mark.django_db


@pytest.fixture
def curator(store: MemoryStore) -> User:
    user = new_person("Carla")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


def of(store: MemoryStore) -> str:
    return reverse("rules", args=[store.pk])


def save(client: Client, address: str, **rules: str) -> Any:
    return client.post(address, {f"rule-{kind}": action for kind, action in rules.items()}, follow=True)


def messages(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def chosen(response: Any, kind: str) -> str:
    rules = [rule for part in response.context["parts"] for rule in part.rules]
    [rule] = [rule for rule in rules if rule.kind == kind]
    return next(choice.label for choice in rule.choices if choice.is_chosen)


def test_every_kind_has_words() -> None:
    assert set(KIND_WORDS) == set(KINDS)


def test_an_admin_sets_a_stores_rules_and_the_entry_has_before_and_after(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    assert chosen(client.get(of(store)), "card") == "Hub’s: flag"
    response = save(client, of(store), card="mask", email="block")
    assert "2 kinds" in messages(response)
    assert chosen(response, "card") == "Mask"
    save(client, of(store), card="off")
    store.refresh_from_db()
    assert store.rules == {"card": "off"}
    entry = AuditEntry.objects.of_chain(store.pk).newest()[0]
    assert entry.command == "edit_rules"
    told = json.loads(entry.input or "")
    assert told["before"] == {"card": "mask", "email": "block"}
    assert told["after"] == {"card": "off"}
    said = signed_in(alice).get(reverse("store_audit", args=[store.pk])).content.decode()
    assert re.search(r"[^;]+: mask → off; [^;]+: block → \w+ by default", said)
    before = entry.seq
    assert "Nothing was changed" in messages(save(client, of(store), card="off"))
    assert AuditEntry.objects.of_chain(store.pk).newest()[0].seq == before


def test_a_store_inherits_what_a_superuser_sets_for_the_hub(store: MemoryStore, alice: User, superuser: User) -> None:
    assert "Default: flag" in signed_in(superuser).get(reverse("hub_rules")).content.decode()
    response = save(signed_in(superuser), reverse("hub_rules"), card="block")
    assert "1 kind" in messages(response)
    assert HubSettings.current().rules == {"card": "block"}
    assert chosen(signed_in(alice).get(of(store)), "card") == "Hub’s: block"
    to_hub = f'<a href="{reverse("hub_rules")}">Rules of the hub</a>'
    assert to_hub in signed_in(superuser).get(of(store)).content.decode()
    assert to_hub not in signed_in(alice).get(of(store)).content.decode(), "only administrators of the hub see them"


def test_who_may_see_and_set_rules(store: MemoryStore, alice: User, bob: User, curator: User, charlie: User) -> None:
    given = {"rule-card": "off"}
    codes = {
        user: (signed_in(user).get(of(store)).status_code, signed_in(user).post(of(store), given).status_code)
        for user in (bob, curator, charlie)
    }
    assert codes == {bob: (403, 403), curator: (200, 403), charlie: (404, 404)}
    for user in (alice, curator):
        assert signed_in(user).get(reverse("hub_rules")).status_code == 403
        assert signed_in(user).post(reverse("hub_rules"), given).status_code == 403
    assert signed_in(alice).put(of(store)).status_code == 405
    assert signed_in(alice).post(of(store), {"rule-card": "burn"}).status_code == 400
    store.refresh_from_db()
    assert store.rules == {}
    assert "Save the rules" not in signed_in(curator).get(of(store)).content.decode()


def test_a_text_is_tried_and_nothing_of_it_is_kept(
    store: MemoryStore, alice: User, curator: User, superuser: User
) -> None:
    entries = AuditEntry.objects.count()
    for user, address in ((alice, of(store)), (curator, of(store)), (superuser, reverse("hub_rules"))):
        response = signed_in(user).post(address, {"text": f"Hello\r\nCard {CARD}, thanks"})
        html = response.content.decode().partition('id="try-text"')[2].partition("</textarea>")
        assert "stored as it is" in html[2]
        assert "line 2" in html[2]
        assert "[redacted:card]" in html[2]
        assert CARD not in html[2]
        assert response.headers["Cache-Control"] == "no-store"
    assert AuditEntry.objects.count() == entries


@pytest.mark.parametrize(
    ("action", "said"), [("mask", "stored like this"), ("block", "would be refused"), ("off", "Nothing would be found")]
)
def test_trying_says_what_each_action_does(store: MemoryStore, alice: User, action: str, said: str) -> None:
    client = signed_in(alice)
    save(client, of(store), card=action)
    assert said in client.post(of(store), {"text": CARD}).content.decode()


def test_a_text_that_is_too_long_is_not_looked_at(store: MemoryStore, alice: User) -> None:
    response = signed_in(alice).post(of(store), {"text": "a" * 100_001})
    assert "too long" in response.content.decode()
    assert "tried" not in response.context


def test_rules_are_of_an_archived_store_too_but_stay_as_they_are(store: MemoryStore, alice: User) -> None:
    stores.set_archived(store, True, **BY)
    response = save(signed_in(alice), of(store), card="off")
    store.refresh_from_db()
    assert store.rules == {}
    assert "Save the rules" not in response.content.decode()


def test_trying_a_text_uses_and_keeps_what_is_chosen_and_saves_nothing(
    store: MemoryStore, alice: User, superuser: User
) -> None:
    for client, address in ((signed_in(alice), of(store)), (signed_in(superuser), reverse("hub_rules"))):
        response = client.post(address, {"rule-card": "block", "text": "4111 1111 1111 1111"})
        assert "This text would be refused" in response.content.decode()
        assert chosen(response, "card") == "Block"
        assert (
            "This text would be refused" not in client.post(address, {"text": "4111 1111 1111 1111"}).content.decode()
        )
    saved = signed_in(alice).post(of(store), {"rule-card": "mask", "text": "left over", "save": "yes"}, follow=True)
    assert chosen(saved, "card") == "Mask"
