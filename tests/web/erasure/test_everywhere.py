"""Erasing a person from several stores: what is found and said before, one confirmation, and the letter."""

import re

import pytest
from django.core import signing
from django.urls import reverse

from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.core.audit import documents
from memoryhub.actions.core.rules.holds import place, release
from memoryhub.actions.erasure import elsewhere, erasure
from memoryhub.actions.stores.delete import delete_store
from memoryhub.actions.stores.stores import StoreSettings, create_store
from memoryhub.actions.verification import verify
from memoryhub.models import (
    AuditEntry,
    Hold,
    HoldKind,
    ImportItem,
    ImportState,
    Memory,
    MemoryStore,
    Receipt,
    Role,
    User,
)
from memoryhub.web.erasure import asked, everywhere as view
from memoryhub.web.search import search
from tests.api.harness import BY
from tests.support.fixtures import signed_in
from tests.transfer.hostile import archive
from tests.web.erasure.erasing import WHERE, erase, everywhere, fields, find, text_of, write
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, page
from tests.web.transfer.test_imports import brought, text_of as text_of_import

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_three_spellings_over_two_stores_are_gone_after_one_confirmation(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    assert "Foreign" not in html and re.search(r'name="near" value="Quellenburg" id="near-1">', html)
    html = client.post(WHERE, fields(html, "look") | {"near": ["Quellenburg"]}).content.decode()
    letter = erase(client, html, note="request 8")
    for text in ("Erased from 2 memory stores", "Quellenberg", "QUELLENBERG", "Quellenburg", "Alice", "Sales"):
        assert text in letter and ">request 8<" in letter, text
    found = list(Receipt.objects.filter(store__in=[store.id, other.id]).order_by("pk"))
    assert {one.store for one in found} == {store.id, other.id} and all(one.pk in letter for one in found)
    for one in found:
        assert documents.is_signed(one.content, one.signature)
        entry = AuditEntry.objects.of_chain(one.store).get(seq=one.content["entry"])
        assert (entry.command, entry.note, entry.author_id) == ("erase", "request 8", alice.id)
        assert verify.verify(one.store, None)[1] is None  # type: ignore[arg-type]
        assert "uellenb" not in str(one.content)
    assert everywhere("QUELLENBERG") == everywhere("Quellenburg") == []
    assert text_of(Memory.objects.at("/secret.md").get()) == "Quellenberg\n"
    again = page(client, reverse("erasure_letter", args=[found[0].content["group"]]))
    assert "Erased from 2 memory stores" in again and ">request 8<" in again and "uellenb" not in again


def test_a_text_that_is_found_nowhere_is_said(other: MemoryStore, alice: User) -> None:
    said = r"Not found in any spelling:\s*<code>([^<]*)</code>"
    page = find(signed_in(alice), "quellen berg", "quellenberg@example.com")
    assert re.findall(said, page) == ["quellenberg@example.com"]
    assert not re.findall(said, find(signed_in(alice), "QUELLENBERG"))


def test_a_spelling_that_is_not_ticked_is_named_among_what_stays(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    write(store, "/spaced.md", "De-Kleine-Bakker\n")
    page = find(signed_in(alice), "Quellenberg", "de kleine bakker")
    kept = page[page.index("What is not erased:") : page.index("Type this to confirm:")]
    assert re.findall(r"<code[^>]*>([^<]*)</code>", kept) == ["De-Kleine-Bakker", "Quellenburg"]
    assert "Everything else that these memories say: only the ticked spellings are replaced." in kept


def test_the_settings_of_the_hub_lead_to_erasing_everywhere(superuser: User, store: MemoryStore, alice: User) -> None:
    assert f'href="{WHERE}"' in signed_in(superuser).get(reverse("hub_limits")).content.decode()
    assert 'href="/settings/limits"' in signed_in(superuser).get(WHERE).content.decode()
    assert 'href="/settings/limits"' not in signed_in(alice).get(WHERE).content.decode()


def test_a_store_that_is_not_ticked_keeps_everything(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    letter = erase(client, find(client, "quellenberg"), store=[other.id])
    assert "Erased from 1 memory store" in letter
    assert Receipt.objects.get().store == other.id


def test_holds_of_one_case_are_one_line(store: MemoryStore, alice: User) -> None:
    for name in ("one", "more"):
        write(store, f"/{name}.md", "Quellenberg again\n")
    for memory in Memory.objects.live().filter(store=store):
        place(store.id, act(alice), kind=HoldKind.HOLD, reason="a lawsuit", case_number="88", memory=memory.pk)
    assert Hold.objects.count() > 1 and find(signed_in(alice), "quellenberg").count("<b>a lawsuit</b>") == 1


def test_a_held_store_is_named_before_and_the_others_go_on(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    hold = place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 77", path="")
    client = signed_in(alice)
    html = find(client, "quellenberg")
    assert "case 77" in html and "held: nothing is erased here" in html
    release(store.id, hold.pk, act(alice))
    assert "case 77" not in client.post(WHERE, fields(html, "look")).content.decode(), "it is searched again"
    place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 77", path="")
    letter = erase(client, html)
    assert Receipt.objects.get().store == other.id and "a legal hold protects it" in letter


def test_a_failure_in_one_store_is_said_and_can_be_resumed(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    write(other, "/later.md", "Quellenberg again\n")
    letter = erase(client, html)
    assert "In 1 memory store nothing was erased:" in letter and "since the search" in letter
    assert Receipt.objects.get().store == store.id
    rest = client.post(WHERE, fields(letter, "look")).content.decode()
    assert "Sales" in rest and 'value="QUELLENBERG"' not in rest
    letter = erase(client, rest)
    assert "Erased from 2 memory stores" in letter and "QUELLENBERG" in letter
    groups = {one.content["group"] for one in Receipt.objects.all()}
    assert Receipt.objects.count() == 2 and len(groups) == 1


def test_what_there_was_no_time_to_erase_goes_on_with_a_press(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "SECONDS_OF_ERASING", -1.0)
    client = signed_in(alice)
    letter = erase(client, find(client, "quellenberg"))
    assert "Erased from 1 memory store" in letter and "there was no time left for it" in letter
    letter = client.post(WHERE, fields(letter, "erase")).content.decode()
    assert "Erased from 2 memory stores" in letter and "no time left" not in letter
    assert everywhere("QUELLENBERG") == [] and Receipt.objects.count() == 2


def test_spellings_beyond_those_listed_are_said_and_not_taken_for_unticked(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (elsewhere, asked):
        monkeypatch.setattr(module, "MOST_SPELLINGS", 1)
    client = signed_in(alice)
    html = find(client, "quellenberg")
    assert "1 more spelling is not listed" in html
    letter = erase(client, html)
    assert "1 more spelling. The receipts contain a checksum of it." in letter and "kept on purpose" not in letter


def test_sending_the_confirmation_again_erases_nothing_twice(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    first, second = erase(client, html), erase(client, html)
    assert Receipt.objects.count() == 2
    assert "Erased from 2 memory stores" in first and "Erased from 2 memory stores" in second


def test_what_takes_too_long_is_said_and_searched_when_the_person_goes_on(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "SECONDS", 1e6)
    ends = iter([1.0])
    real = erasure.survey

    def survey(*arguments: object, **options: object) -> object:
        if next(ends, None) is None:
            raise elsewhere.TooLong
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(erasure, "survey", survey)
    client = signed_in(alice)
    html = find(client, "quellenberg")
    assert "1 memory store is not searched yet:" in html
    monkeypatch.setattr(erasure, "survey", real)
    html = client.post(WHERE, fields(html, "look")).content.decode()
    assert "not searched yet" not in html
    assert "Erased from 2 memory stores" in erase(client, html)


def test_a_store_that_is_too_large_leads_to_its_own_search(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "SECONDS", -1.0)
    html = find(signed_in(alice), "quellenberg")
    assert "is too large to be searched with the others" in html
    assert 'value="erase"' not in html
    large = re.search(r'form="alone" name="store" value="([^"]*)"', html)
    assert large is not None
    answer = signed_in(alice).post(WHERE, {"term": "quellenberg", "store": large[1]}).content.decode()
    assert "too large" not in answer and "found in 1 memory store" in answer


def test_changed_ticks_and_a_wrong_confirmation_erase_nothing(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    changed = erase(client, html, term=["Quellenberg"])
    assert "you changed the ticks" in changed and 'value="QUELLENBERG" id="spelling-2">' in changed
    assert "This is not the text." in erase(client, changed, confirm="Quellen")
    assert "The note contains a text to be erased." in erase(client, changed, note="for QUELLENBERG")
    assert "no memory store was ticked" in erase(client, changed, store=[])
    assert not Receipt.objects.exists()
    letter = erase(client, changed)
    assert "kept on purpose" in letter and everywhere("QUELLENBERG") != []


def test_the_list_leads_to_every_place_of_a_store(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    places = client.post(f"/stores/{store.id}/erase", fields(html, "look") | {"step": ""}).content.decode()
    assert "<mark>Quellenberg</mark> came" in places


def test_only_admins_come_here_and_no_foreign_list_is_taken(
    store: MemoryStore, other: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    html = find(signed_in(alice), "quellenberg")
    written = fields(html, "look")["asked"]
    for person in (bob, charlie):
        client = signed_in(person)
        assert client.get(WHERE).status_code == client.post(WHERE, {"terms": "Quellenberg"}).status_code == 403
    set_role(store, bob, Role.ADMIN, **BY)
    for text in (written, signing.dumps([1]), "x"):
        html = signed_in(bob).post(WHERE, {"asked": text, "step": "erase", "confirm": "quellenberg"}).content.decode()
        assert "This list is out of date" in html
    erase(signed_in(alice), find(signed_in(alice), "quellenberg"))
    group = Receipt.objects.all()[0].content["group"]
    assert "Sales" not in page(signed_in(bob), reverse("erasure_letter", args=[group]))
    assert signed_in(charlie).get(reverse("erasure_letter", args=[group])).status_code == 404


def test_a_store_whose_role_was_lost_is_taken_out_of_the_list_and_keeps_everything(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    set_role(other, alice, Role.VIEWER, **BY)
    for answer in (client.post(WHERE, fields(html, "look")).content.decode(), erase(client, html)):
        assert "you no longer administer every memory store of the list" in answer and "Sales" not in answer
    assert not Receipt.objects.exists() and everywhere("QUELLENBERG") != []
    assert "Erased from 1 memory store" in erase(client, answer)
    assert Receipt.objects.get().store == store.id and "deal with Quellenberg" in text_of(
        Memory.objects.at("/deal.md").get()
    )


def test_a_list_of_stores_that_were_all_lost_begins_again(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    html = client.post(WHERE, {"terms": "quellenberg", "choose": "1", "store": other.id}).content.decode()
    set_role(other, alice, Role.VIEWER, **BY)
    answer = erase(client, html)
    assert "you no longer administer" in answer and 'name="terms"' in answer


def test_of_very_many_stores_none_is_ticked_and_all_are_searched(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "MOST_TICKED", 1)
    client = signed_in(alice)
    html = page(client, WHERE)
    assert "If you tick none, all of them are searched." in html and 'id="store-1">' in html
    assert "found in 2 memory stores" in client.post(WHERE, fields_of_the_form(html)).content.decode()


def fields_of_the_form(html: str) -> dict[str, str]:
    """What a browser sends of the first form, with a text."""
    return {"terms": "quellenberg"} | ({"choose": "1"} if 'name="choose"' in html else {})


def test_what_cannot_be_searched_is_refused_with_a_reason(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    for form in (
        {"terms": "ab"},
        {"terms": ""},
        {"terms": "redact"},
        {"terms": "Quellenberg", "choose": "1"},
        {"term": "  "},
        {"term": "a\0bc"},
        {"terms": "x" * 501},
        {"terms": "\n".join(f"name {n}" for n in range(21))},
        {},
    ):
        assert 'id="terms_error"' in client.post(WHERE, form).content.decode()


def test_search_and_palette_lead_here_without_the_text_in_an_address(
    store: MemoryStore, other: MemoryStore, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(alice)
    button = '<button class="{}" form="erase-text" name="terms" value="Quellenberg">'
    assert button.format("button button-danger-quiet") in page(client, "/search?q=Quellenberg")
    monkeypatch.setattr(search, "FIRST_SECONDS", 60)
    monkeypatch.setattr(search, "FIRST_HITS", 99)  # else the page goes on by a script
    handed = 'formaction="/erase#collect-title" name="terms" value="Quellenberg"'
    assert handed in page(client, "/search?q=Quellenberg")
    assert "Download what is stored about a person" not in page(client, "/search?q=nowhere")
    assert "Download what is stored about a person" not in page(signed_in(bob), "/search?q=Quellenberg")
    found = client.get("/palette", {"q": "Quellenberg"}, headers={"HX-Request": "true"}).content.decode()
    assert button.format("found-name row-link found-button") in found
    assert 'href="/erase"' in client.get("/palette", {"q": "erase"}, headers={"HX-Request": "true"}).content.decode()
    assert "Erase" not in page(signed_in(bob), "/search?q=quellenberg")
    assert "Erase" not in signed_in(bob).get("/palette", {"q": "q"}, headers={"HX-Request": "true"}).content.decode()


def test_the_places_of_ticked_spellings_are_counted_once_in_one_number(store: MemoryStore, alice: User) -> None:
    write(store, "/both.md", "Quellenberg, that is QUELLENBERG, says Quellenburg\n")
    write(store, "/one.md", "QUELLENBERG\n")
    client = signed_in(alice)
    html = find(client, "quellenberg")
    assert re.findall(r"in (\d+ places?) ", html) == ["1 place"]  # only of the near spelling, which is not ticked
    total = re.search(r"Erase (\d+) places permanently", html)
    assert total and re.findall(r">(\d+) places[ <]", html) == [total[1]]
    fewer = client.post("/erase", fields(html, "look") | {"term": ["Quellenberg"]}).content.decode()
    assert re.findall(r"in (\d+ places?)[ <]", fewer) == ["2 places", "1 place"]


def test_an_import_that_waits_and_has_a_text_is_cancelled_and_others_are_not(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    write(store, "/visit.md", "Quellenberg came\n")
    having = brought(client, store, archive(("new.md", b"Quellenberg waits")), name="templates.zip")
    other = brought(client, store, archive(("new.md", b"nothing")), name="plain.zip")
    html = find(client, "quellenberg")
    assert "templates.zip</a> has one of these texts and is not finished: the erasure cancels it." in html
    assert "plain.zip" not in html
    letter = erase(client, html)
    assert "1 unfinished import had one of these texts: it was cancelled" in letter
    having.refresh_from_db()
    other.refresh_from_db()
    assert (having.state, other.state) == (ImportState.CANCELLED, ImportState.PREVIEW)
    entry = AuditEntry.objects.of_chain(store.pk).of_command("erase").get()
    assert f"The erasure of entry {entry.seq} cancelled the import" in text_of_import(client, having)
    assert f"The erasure of entry {entry.seq} cancelled the import" in page(client, reverse("imports", args=[store.pk]))
    assert "cancelled the import templates.zip" in page(client, reverse("entry", args=[store.pk, entry.seq]))
    receipt = Receipt.objects.get(store=store.pk)
    assert receipt.content["imports"] == 1
    assert "Imports cancelled" in page(client, reverse("receipt", args=[store.pk, receipt.pk]))
    assert everywhere("Quellenberg") == [] and ImportItem.objects.get(job=other).content == "nothing"
    assert verify.verify(store.pk, None)[1] is None  # type: ignore[arg-type]


def test_the_audit_of_a_deleted_store_is_said_to_keep_what_calls_wrote(
    store: MemoryStore, key: str, superuser: User
) -> None:
    """Its entries have the text, and neither the search nor the erasure looks there."""
    Caller(store, key).create("/a.md", "Quellenberg is ill\n")
    delete_store(store.pk, act=act(superuser))
    assert AuditEntry.objects.of_chain(store.pk).filter(input__contains="Quellenberg").exists()
    client = signed_in(superuser)
    other = create_store(StoreSettings(name="Other"), **BY)
    assert "The hub did not search: the audits of memory stores that were deleted" in find(client, "Quellenberg")
    write(other, "/b.md", "Quellenberg called\n")
    found = find(client, "Quellenberg")
    assert "The audits of memory stores that were deleted" in found
    letter = erase(client, found, confirm="Quellenberg")
    assert "The audits of memory stores that were deleted before are not changed either." in letter
    assert "wherever it was" not in letter
