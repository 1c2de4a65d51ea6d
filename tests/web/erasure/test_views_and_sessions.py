"""Saved views and sessions in an erasure: what others have made for themselves or share between stores."""

import pytest
from django.urls import reverse

from memoryhub.actions.accounts.keys_and_roles import issue_key
from memoryhub.models import (
    Agent,
    MemoryStore,
    Receipt,
    SavedView,
    User,
)
from tests.api.harness import BY, Hub
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import WHERE, erase, everywhere, fields, find

pytestmark = pytest.mark.django_db


def test_stores_that_share_a_saved_view_are_all_erased(store: MemoryStore, other: MemoryStore, superuser: User) -> None:
    client = signed_in(superuser)
    client.post(reverse("save_view"), {"page": "search", "query": "q=Quellenberg", "name": "Quellenberg"})
    assert "Erased from 3 memory stores" in erase(client, find(client, "quellenberg"))
    assert Receipt.objects.count() == 3 and SavedView.objects.get().query == ""


def test_an_admin_of_a_store_neither_sees_nor_empties_the_views_of_others(
    store: MemoryStore, alice: User, charlie: User, superuser: User
) -> None:
    theirs = {"page": "search", "query": "q=Graugans+Kuendigung", "name": "Graugans leaves"}
    signed_in(charlie).post(reverse("save_view"), theirs)
    for text, hidden in (("Graugans", "Kuendigung"), ("Graugant", "Graugans")):
        html = find(signed_in(alice), text)
        assert "These texts were not found" in html and hidden not in html
    every = signed_in(alice).post(f"/stores/{store.id}/erase", {"terms": "Graugans"}).content.decode()
    assert "No place contains these texts" in every and "only an administrator of the hub can" in every

    client = signed_in(superuser)
    assert "Graugans" not in find(client, "Graugant")
    every = client.post(f"/stores/{store.id}/erase", {"terms": "Graugans"}).content.decode()
    assert "Saved views" in every and "only its owner sees" in every and "Kuendigung" not in every
    letter = client.post(WHERE, fields(find(client, "Graugans"), "erase") | {"confirm": "Graugans"}).content.decode()
    assert "Erased from 1 memory store" in letter and everywhere("Graugans") == []


@pytest.mark.both_databases
def test_a_private_view_of_the_store_is_emptied_and_shown_to_no_one_else(
    store: MemoryStore, alice: User, bob: User
) -> None:
    sent = {"store": store.id, "page": "store_audit", "query": "q=Graugans+Kuendigung", "name": "Mine"}
    signed_in(bob).post(reverse("save_view"), sent)
    client = signed_in(alice)
    every = client.post(f"/stores/{store.id}/erase", {"terms": "Graugans"}).content.decode()
    assert "only its owner sees" in every and "Kuendigung" not in every
    assert "Graugans" not in find(client, "Graugant")
    letter = client.post(WHERE, fields(find(client, "Graugans"), "erase") | {"confirm": "Graugans"}).content.decode()
    assert "Erased from 1 memory store" in letter and SavedView.objects.get().query == ""


def test_the_name_of_a_session_of_several_stores_is_left_to_administrators_of_the_hub(
    store: MemoryStore, other: MemoryStore, agent: Agent, alice: User, superuser: User
) -> None:
    foreign = MemoryStore.objects.get(name="Foreign")
    key = issue_key(agent, all_stores=True, **BY)[1]
    for one in (store, foreign):
        hub = Hub(one, key)
        hub.send(hub.block(command="view", path="/memories"), memoryhub_session="ticket-of-Graugans")
    every = signed_in(alice).post(f"/stores/{store.id}/erase", {"terms": "Graugans"}).content.decode()
    assert "No place contains these texts" in every and "The name of a session that also worked" in every
    assert "ticket-of-" in every
    client = signed_in(superuser)
    letter = client.post(WHERE, fields(find(client, "Graugans"), "erase") | {"confirm": "Graugans"}).content.decode()
    assert "Erased from 2 memory stores" in letter and everywhere("Graugans") == []
