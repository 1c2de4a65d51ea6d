"""The ways that lead to an erasure, or to a person who may erase: from a deletion, the search and the palette."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.models import MemoryStore, Role, User
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.memories.pages import new_curator, write

pytestmark = pytest.mark.django_db


def palette(client: Client, **parameters: str) -> str:
    return client.get(reverse("palette"), parameters, headers={"hx-request": "true"}).content.decode()


def test_a_deletion_leads_to_the_removal_for_good_or_says_whom_to_ask(store: MemoryStore, alice: User) -> None:
    memory = write(store, "/a/b.md")
    curator = signed_in(new_curator(store))
    removal = f"{reverse('remove_memories', args=[store.pk])}?id={memory.pk}"
    pages = {
        reverse("delete_memory", args=[store.pk, memory.pk]): removal,
        reverse("delete_directory", args=[store.pk, "a"]): reverse("trash", args=[store.pk])
        + '">In the trash, you can remove',
    }
    for address, way in pages.items():
        html = curator.get(address).content.decode()
        assert "For a permanent removal, ask an admin: Alice." in html and way not in html
        html = signed_in(alice).get(address).content.decode()
        assert way in html and "ask an admin" not in html


@pytest.mark.parametrize("typed", ["forget", "erase", "redact", "forget a person", "Erase"])
def test_naming_the_act_leads_to_its_page_and_not_to_the_word(store: MemoryStore, alice: User, typed: str) -> None:
    html = palette(signed_in(alice), q=typed)
    assert "Erase a person everywhere…" in html and "Erase “" not in html
    assert html.index("Erase a person everywhere…") < html.index("Search memories for")
    assert html.count("data-last") == 1, "only the search is offered beside what is found"


def test_what_follows_the_act_is_the_text_to_erase(store: MemoryStore, alice: User) -> None:
    html = palette(signed_in(alice), q=" forget  Jane Doe ")
    assert 'name="terms" value="Jane Doe"' in html and "Erase “Jane Doe” everywhere…" in html
    assert 'value="Jane forgets"' in palette(signed_in(alice), q="Jane forgets")
    assert "Erase “" not in palette(signed_in(alice), q="prometheus"), "no name, no address and no number"
    assert "Erase “" in palette(signed_in(alice), q="forget northwind")


def test_who_may_not_erase_learns_whom_to_ask(store: MemoryStore, alice: User, charlie: User) -> None:
    write(store, "/a.md", "Jane Doe called\n")
    curator = signed_in(new_curator(store))
    html = palette(curator, q="erase", store=store.pk)
    assert "To erase a text for good, ask an admin: Alice" in html and "#erasing-a-person" in html
    assert "ask an admin" not in palette(curator, q="plan")
    html = curator.get(reverse("search"), {"q": "Jane"}).content.decode()
    assert "To erase this text for good, ask an admin: Alice." in html
    assert "To erase a text for good, ask an administrator of the hub" in palette(signed_in(charlie), q="erase")
    for name in ("Ada", "Bea", "Cleo"):
        keys_and_roles.set_role(store, new_person(name), Role.ADMIN, **BY)
    keys_and_roles.set_role(store, alice, Role.VIEWER, **BY)
    assert "Ada, Bea, Cleo" in palette(curator, q="erase")


def test_without_an_admin_of_the_store_those_of_the_hub_are_named(store: MemoryStore, superuser: User) -> None:
    memory = write(store, "/a.md", "Jane Doe called\n")
    curator = signed_in(new_curator(store))
    named = f"ask an administrator of the hub: {superuser.name}"
    assert f"To erase this text for good, {named}." in curator.get(reverse("search"), {"q": "Jane"}).content.decode()
    assert named in curator.get(reverse("delete_memory", args=[store.pk, memory.pk])).content.decode()
    assert named in palette(curator, q="erase", store=store.pk)


def test_the_address_of_an_administrator_of_the_hub_is_not_shown(store: MemoryStore) -> None:
    people.create_user("root@example.com", name="", password="correct horse battery", is_superuser=True, **BY)
    write(store, "/a.md", "Jane Doe called\n")
    html = signed_in(new_curator(store)).get(reverse("search"), {"q": "Jane"}).content.decode()
    assert "ask an administrator of the hub." in html and "root@example.com" not in html


def test_the_search_says_whom_to_ask_whenever_it_finds_something(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md", "高橋 called\n")
    curator = signed_in(new_curator(store))
    assert (
        "To erase this text for good, ask an admin: Alice."
        in curator.get(reverse("search"), {"q": "高橋"}).content.decode()
    )
    assert "To erase this text for good" not in curator.get(reverse("search"), {"q": "高梨"}).content.decode()
    assert 'name="terms" value="高橋"' in signed_in(alice).get(reverse("search"), {"q": "高橋"}).content.decode()
    found = signed_in(alice).post(reverse("erase_everywhere"), {"terms": "高橋"}).content.decode()
    assert "Erase 1 place permanently" in found or "Erase 2 places permanently" in found
    assert "too short" in signed_in(alice).post(reverse("erase_everywhere"), {"terms": "ab"}).content.decode()
