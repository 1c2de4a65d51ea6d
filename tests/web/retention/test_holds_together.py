"""Holds on several memories at once: from a selection, from a search, with one case, and released together."""

import re

import pytest
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Directory, Hold, HoldKind, Memory, MemoryStore, Role, User
from memoryhub.web.search import search
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import act, new_curator, newest, page, write
from tests.web.retention.pages import url

TERMS = {"act": "hold", "kind": "hold", "reason": "Dispute", "case_number": "2291"}


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def post(client: Client, address: str, fields: dict[str, str]) -> str:
    answer = client.post(address, fields, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.both_databases
def test_a_selection_is_held_for_one_case_and_released_together(client: Client, store: MemoryStore) -> None:
    first, second = write(store, "/a.md"), write(store, "/b.md")
    write(store, "/guests/ada.md")
    guests = Directory.objects.at("/guests").get(store=store)
    write(store, "/trashed.md")
    curation.delete(store.pk, "/trashed.md", act())
    trashed = Memory.objects.get(path="/trashed.md")
    ids = f"{first.pk} {second.pk} {guests.pk} {trashed.pk} mem_gone"
    assert ">Hold…<" in page(client, url("store", store.pk))
    asked = post(client, url("selection", store.pk), {"act": "hold", "ids": ids})
    assert "Pin or hold all these memories" in asked and "/guests/" in asked and "/trashed.md" in asked
    assert not Hold.objects.exists()
    html = post(client, url("selection", store.pk), TERMS | {"ids": ids})
    assert "4 legal holds were placed." in html and html.count("<b>2291</b>") == 4
    rows = [html.index(f">{path}</a>") for path in ("/a.md", "/b.md")]
    assert rows == sorted(rows), "those of one act are in the order in which they were selected"
    assert {(hold.memory, hold.path) for hold in Hold.objects.all()} == {
        (first.pk, None), (second.pk, None), (trashed.pk, None), (None, "/guests"),
    }  # fmt: skip
    entries = AuditEntry.objects.of_chain(store.pk).of_command("hold")
    assert entries.count() == 4 and len(set(entries.values_list("group", flat=True))) == 1
    assert "(case 2291)" in page(client, url("entry", store.pk, newest(store).seq))
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason="other", path="/x", case_number="2291")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="other", path="/y", case_number="2292")
    address = url("release_hold", store.pk, Hold.objects.get(memory=first.pk).pk)
    assert "Release all 4 holds of case 2291" in page(client, address)
    assert "4 legal holds were released." in post(client, address, {"together": "1", "note": "settled"})
    assert set(Hold.objects.active(act().at).values_list("path", flat=True)) == {"/x", "/y"}
    assert newest(store).command == "release" and newest(store).note == "settled"


def test_what_is_held_for_the_case_already_is_not_held_again(client: Client, store: MemoryStore) -> None:
    first, second = write(store, "/a.md"), write(store, "/b.md")
    address = url("selection", store.pk)
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="other", memory=second.pk, case_number="2292")
    post(client, address, TERMS | {"ids": f"{first.pk} {second.pk}"})
    third = write(store, "/c.md")
    html = post(client, address, TERMS | {"ids": f"{first.pk} {second.pk} {third.pk}", "reason": "The same"})
    assert "1 legal hold was placed. 2 existed already." in html and html.count("<b>2291</b>") == 3
    unnamed = TERMS | {"case_number": "", "ids": f"{first.pk} {second.pk}"}
    assert "2 legal holds were placed." in post(client, address, unnamed)
    assert "0 legal holds were placed. 2 existed already." in post(client, address, unnamed)
    assert "2 legal holds were placed." in post(client, address, unnamed | {"reason": "Another"})


def test_all_or_none_is_held(client: Client, store: MemoryStore) -> None:
    first = write(store, "/a.md")
    for changes, words in (({"reason": ""}, "required"), ({"kind": "x"}, "available choices")):
        assert words in post(client, url("selection", store.pk), TERMS | {"ids": first.pk} | changes)
    assert "The selected items no longer exist" in post(
        client, url("selection", store.pk), TERMS | {"ids": "mem_x dir_y"}
    )
    many = " ".join(f"mem_{number:026}" for number in range(501))
    assert "At most 500" in post(client, url("selection", store.pk), TERMS | {"ids": many})
    assert not Hold.objects.exists()
    post(client, url("selection", store.pk), TERMS | {"everything": "1", "in": ""})
    assert Hold.objects.get().path == ""


def test_curators_pin_what_they_select_and_viewers_do_not(client: Client, store: MemoryStore, bob: User) -> None:
    memory = write(store, "/a.md")
    carol = signed_in(new_curator(store))
    assert "available choices" in post(carol, url("selection", store.pk), TERMS | {"ids": memory.pk})
    html = post(carol, url("selection", store.pk), TERMS | {"ids": memory.pk, "kind": "pin"})
    assert "1 pin was placed." in html and "Put a legal hold" not in html
    assert signed_in(bob).post(url("selection", store.pk), TERMS | {"ids": memory.pk}).status_code == 403


def test_the_results_of_a_search_are_held(
    client: Client, store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 60)  # else the page goes on by a script
    made = [write(store, f"/{name}.md", "about Ada\n") for name in ("a", "b")]
    write(store, "/c.md", "about others\n")
    html = page(client, url("search") + "?q=Ada")
    assert "Pin or hold all these memories…" in html and "Memories in the trash would not be held" in html
    assert "Memories in the trash would not be held" not in page(client, url("search") + "?q=Ada&trash=yes")
    ids = re.findall(r'form="hold-found" name="id" value="(\w+)"', html)
    assert set(ids) == {memory.pk for memory in made}
    asked = client.post(url("selection", store.pk), {"act": "hold", "id": ids}).content.decode()
    assert "/a.md" in asked and "/b.md" in asked and "/c.md" not in asked
    assert "hold-found" not in page(signed_in(bob), url("search") + "?q=Ada")


def test_a_search_in_several_stores_leads_to_the_same_search_in_one_where_it_can_be_held(
    client: Client, store: MemoryStore, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 60)
    other = stores.create_store(stores.StoreSettings(name="Others"), **BY)
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    keys_and_roles.set_role(other, bob, Role.VIEWER, **BY)
    write(store, "/a.md", "about Ada\n")
    html = page(client, url("search") + "?q=Ada&trash=yes")
    assert "To pin or hold all these memories" in html and "Pin or hold all these memories…" not in html
    (address,) = re.findall(r'href="\?(q=Ada&amp;[^"]*store=' + store.pk + '[^"]*)"', html)
    html = page(client, url("search") + "?" + address.replace("&amp;", "&"))
    assert "Pin or hold all these memories…" in html and "trash=yes" in address
    assert "To pin or hold all these memories" not in page(signed_in(bob), url("search") + "?q=Ada")


def test_the_page_of_holds_says_how_everything_about_one_customer_is_held(client: Client, store: MemoryStore) -> None:
    assert f"?store={store.pk}&amp;trash=yes" in page(client, url("holds", store.pk))


def test_after_a_hold_the_page_begins_at_its_top_and_names_its_button(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    html = page(client, url("holds", store.pk) + f"?memory={memory.pk}&kind=hold")
    assert "Put a legal hold" in html and "Pin or hold it" not in html
    given = {"place": "/a.md", "kind": "hold", "reason": "x", "case_number": "7"}
    answer = client.post(url("holds", store.pk), given)
    assert answer.url.endswith("/holds#main") and Hold.objects.get().case_number == "7"
    html = page(client, url("holds", store.pk))
    assert "q=command%3Arelease" in html and "q=command%3Ahold" in html
    client.post(url("release_hold", store.pk, Hold.objects.get().pk))
    assert "released the legal hold" in page(client, url("store_audit", store.pk) + "?q=command%3Arelease")


@pytest.mark.parametrize("typed", ["hold", "legal", "freeze", "pin"])
def test_the_palette_finds_the_page(client: Client, store: MemoryStore, typed: str) -> None:
    assert url("holds", store.pk) in page(client, url("palette") + f"?q={typed}&store={store.pk}")
