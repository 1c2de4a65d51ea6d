"""Erasing from one memory store: what is found, listed and erased, and that no text is kept."""

import json
import logging
import re
from html import unescape

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.rules.holds import place, release
from memoryhub.actions.memories import curation
from memoryhub.actions.stores.stores import StoreSettings, create_store
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, Receipt, User
from memoryhub.web.erasure import everywhere as view
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in
from tests.web.erasure.erasing import SUBJECT, WHERE, everywhere, fields, of_two_versions, text_of, version, write
from tests.web.memories.pages import act, new_curator, newest, page
from tests.web.proposals.proposing import begun, replaces

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(store: MemoryStore, key: str) -> Memory:
    """The subject stands in a head, an old version, a path, calls, answers, a note and the name of a session."""
    hub = Hub(store, key)
    create = hub.block(command="create", path=f"/memories/{SUBJECT}.md", file_text=f"1\n2 {SUBJECT} came\n3\n")
    hub.send(create, memoryhub_session="run-of-a-day")
    hub.call(command="str_replace", path="/memories/nowhere.md", old_str=SUBJECT, new_str="")
    of_two_versions(store)
    curation.create(store.id, "/other.md", "of nobody\n", act()._replace(note=f"asked by {SUBJECT}"))
    return Memory.objects.get(store=store, name=f"{SUBJECT}.md")


def address(store: MemoryStore) -> str:
    return reverse("erase", args=[store.id])


def find(client: Client, store: MemoryStore, *terms: str) -> str:
    """The page on which texts are erased, for this store alone."""
    return sent(client, WHERE, terms="\r\n".join(terms), store=store.id)


def listed(client: Client, store: MemoryStore, *terms: str) -> str:
    """The list of every place."""
    return sent(client, address(store), terms="\r\n".join(terms))


def sent(client: Client, where: str, **fields: object) -> str:
    answer = client.post(where, fields)
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    return answer.content.decode()


def erase(client: Client, html: str, confirm: str = SUBJECT, **more: object) -> str:
    return sent(client, WHERE, **fields(html, "erase") | {"confirm": confirm} | more)


def test_everything_that_would_change_is_listed_with_what_stands_there(filled: Memory, alice: User) -> None:
    html = listed(signed_in(alice), filled.store, SUBJECT)
    for group in ("head", "text", "path", "entry"):
        assert f'id="group-{group}"' in html
    assert f"2 <mark>{SUBJECT}</mark> came" in html and f"asked by <mark>{SUBJECT}</mark>" in html
    assert reverse("version", args=[filled.store_id, version(filled).pk]) in html
    assert 'value="erase"' not in html, "it only shows"


@pytest.mark.both_databases
def test_what_was_proposed_is_listed_and_a_hold_on_the_memory_protects_it(
    store: MemoryStore, key: str, alice: User
) -> None:
    agent = begun(store, key, "/policies/a.md")
    replaces(agent, "/policies/a.md", "one", SUBJECT)
    held = place(store.id, act(alice), kind=HoldKind.HOLD, reason="court", path="/policies")
    html = listed(signed_in(alice), store, SUBJECT)
    assert 'id="group-change"' in html and "Changes that agents proposed" in html
    proposed = html[html.index('id="group-change"') : html.index("</ul>", html.index('id="group-change"'))]
    assert f"<mark>{SUBJECT}</mark>" in proposed and "/policies/a.md" in proposed and "held" in proposed
    assert "Nothing can be erased while these holds are in force" in html
    release(store.id, held.pk, act(alice))
    assert "Erased from 1 memory store" in erase(signed_in(alice), find(signed_in(alice), store, SUBJECT))
    assert everywhere(SUBJECT) == []


def test_looking_changes_nothing_and_leaves_the_texts_nowhere(
    store: MemoryStore, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, "/a.md", "nothing")
    client, text = signed_in(alice), "Yolanda Unheard-Of"
    before = AuditEntry.objects.count()
    with caplog.at_level(logging.DEBUG):
        html = find(client, store, text, "Yolanda 2")
        assert "No place contains these texts" in listed(client, store, text)
        client.post(WHERE, {"terms": f"{text}\nab"})
        client.post(address(store), {"terms": f"{text}\nab"})
    assert text in html and "These texts were not found" in html
    assert AuditEntry.objects.count() == before
    assert everywhere("Yolanda") == [] and "Yolanda" not in caplog.text
    assert "Yolanda" not in str(client.cookies)
    decoded = [session.get_decoded() for session in BrowserSession.objects.all()]
    assert "Yolanda" not in json.dumps(decoded)


def test_after_a_confirmation_it_is_gone_from_everywhere(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    assert "Erased from 1 memory store" in erase(client, find(client, store, SUBJECT), note="request 8")
    assert everywhere(SUBJECT) == []
    assert text_of(filled) == "1\n2 [redacted] came\n3\n"
    entry = newest(store)
    assert (entry.command, entry.note, entry.author_id) == ("erase", "request 8", alice.id)
    assert verify.verify(store.id, None)[1] is None  # type: ignore[arg-type]
    receipt = Receipt.objects.get(store=store.id)
    assert "this hub signed the receipt" in page(client, reverse("receipt", args=[store.id, receipt.pk]))
    assert "These texts were not found" in find(client, store, SUBJECT)
    old = Memory.objects.get(store=store, path="/people/zq.md")
    html = page(client, f"/stores/{store.id}/versions/{version(old).pk}")
    assert "passages redacted" in html and "by Alice" in html and "[redacted] called" in html
    html = page(client, f"/stores/{store.id}/memories/{old.pk}/compare?from=1&to=2")
    assert "Passages of one of the versions were redacted later" in html
    assert "erased 1 text from" in page(client, f"/audit/{store.id}/{entry.seq}")


@pytest.mark.both_databases
def test_a_legal_hold_comes_first_and_keeps_everything(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    before = find(client, store, SUBJECT)
    hold = place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 77", memory=filled.pk)
    html = listed(client, store, SUBJECT)
    assert html.index("case 77") < html.index('id="group-head"')
    assert "In 1 memory store nothing was erased:" in erase(client, before)
    assert SUBJECT in text_of(filled) and not Receipt.objects.exists()
    release(store.id, hold.pk, act(alice))
    assert "case 77" not in listed(client, store, SUBJECT)


SPELT = ("Northwind", "NORTHWIND", "northwind", "ＮＯＲＴＨＷＩＮＤ", "Nörthwind", "No\u0308rthwind", "north\u200bwind")


def spelt(store: MemoryStore) -> None:
    for number, spelling in enumerate(SPELT):
        write(store, f"/{number}.md", f"for {spelling} and\nagain {spelling}\n")


def ticked(html: str) -> dict[str, bool]:
    """The spellings that can be ticked, and whether they are."""
    boxes = re.findall(r'<input type="checkbox" name="term" value="([^"]*)" id="[^"]*"( checked)?>', html)
    return {unescape(text): bool(checked) for text, checked in boxes}


def test_every_spelling_is_a_row_and_is_ticked(store: MemoryStore, alice: User) -> None:
    spelt(store)
    html = find(signed_in(alice), store, "northwind")
    assert ticked(html) == dict.fromkeys(SPELT, True)
    assert f"Erase {len(SPELT)} places permanently" in html and "in 1 place" not in html


@pytest.mark.both_databases
def test_every_ticked_spelling_is_erased_and_the_receipt_says_what_it_covers(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    erase(client, find(client, store, "NORTHWIND"), "NORTHWIND")
    receipt = Receipt.objects.get(store=store.id)
    assert [everywhere(spelling) for spelling in SPELT] == [[]] * len(SPELT)
    covered = receipt.content["spellings"]
    assert len(covered["erased"]) == len(SPELT) and covered["left"] == []
    assert "case" in covered["compared"] and "orth" not in json.dumps(receipt.content).lower()
    html = page(client, reverse("receipt", args=[store.id, receipt.pk]))
    assert f"<dt>Spellings erased</dt><dd>{len(SPELT)}</dd>" in html
    assert "<dt>Spellings not erased</dt><dd>0</dd>" in html


def test_a_spelling_that_is_not_ticked_stays_and_is_counted_as_left(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    look = fields(find(client, store, "northwind"), "look") | {"term": ["northwind", "Northwind"]}
    html = sent(client, WHERE, **look)
    assert [spelling for spelling, checked in ticked(html).items() if checked] == ["Northwind", "northwind"]
    erase(client, html, "northwind")
    assert everywhere("northwind") == everywhere("Northwind") == [] and everywhere("NORTHWIND") != []
    assert len(Receipt.objects.get(store=store.id).content["spellings"]["left"]) == len(SPELT) - 2


def test_other_spaces_are_offered_and_not_ticked(store: MemoryStore, alice: User) -> None:
    write(store, "/1.md", "Ada Lovelace wrote\nADA  LOVELACE too\n")
    write(store, "/2.md", "ada.lovelace@example.com and ＡＤＡ lovelace and adalovelace\n")
    client = signed_in(alice)
    html = find(client, store, "Ada Lovelace")
    close = dict.fromkeys(("ADA  LOVELACE", "ada.lovelace", "adalovelace"), False)
    assert ticked(html) == {"Ada Lovelace": True, "ＡＤＡ lovelace": True} | close
    look = {"subject": "Ada Lovelace", "term": ["Ada Lovelace", "ada.lovelace"]}
    assert "<mark>ada.lovelace</mark>" in sent(client, address(store), **look)
    again = sent(client, WHERE, **fields(html, "look") | {"term": look["term"]})
    assert ticked(again)["ada.lovelace"]


def test_other_spellings_alone_are_said_to_be_found_and_not_ticked(store: MemoryStore, alice: User) -> None:
    write(store, "/1.md", "ada.lovelace@example.com\n")
    client = signed_in(alice)
    html = find(client, store, "Ada Lovelace")
    assert "Only spellings that are not ticked were found" in html and "These texts were not found" not in html
    assert ticked(html) == {"ada.lovelace": False} and "Erase the ticked spellings" not in html
    html = sent(client, WHERE, **fields(html, "look") | {"term": ["ada.lovelace"]})
    erase(client, html, "Ada Lovelace")
    assert everywhere("lovelace") == []


@pytest.mark.both_databases
def test_a_spelling_that_came_meanwhile_stops_the_erasure(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    html = find(client, store, "northwind")
    write(store, "/later.md", "nOrThWiNd")
    letter = erase(client, html, "northwind")
    assert "In 1 memory store nothing was erased:" in letter and not Receipt.objects.exists()
    assert "<title>Nothing was erased" in letter
    assert "nOrThWiNd" in ticked(sent(client, WHERE, **fields(letter, "look")))


def test_long_lists_show_a_few_and_then_all(store: MemoryStore, alice: User) -> None:
    for number in range(23):
        write(store, f"/{number}.md", f"the word quokka {number}")
    client = signed_in(alice)
    html = listed(client, store, "quokka")
    assert html.count("<mark>quokka</mark>") == 20 and "and 3 more" in html
    html = client.post(address(store), {"term": "quokka", "all": "1"}).content.decode()
    assert html.count("<mark>quokka</mark>") == 23 and "more</span>" not in html


def test_who_may_not_and_how_not(filled: Memory, alice: User, bob: User, charlie: User) -> None:
    store = filled.store
    for user, status in ((bob, 403), (new_curator(store), 403), (charlie, 404)):
        client = signed_in(user)
        for name, method in (("erase", "GET"), ("erase", "POST"), ("receipts", "GET"), ("receipts", "POST")):
            assert client.generic(method, reverse(name, args=[store.id])).status_code == status
    assert Client().post(address(store), {"terms": SUBJECT}).status_code == 302
    client = signed_in(alice)
    assert [client.generic(method, address(store)).status_code for method in ("PUT", "DELETE")] == [405, 405]
    assert SUBJECT not in page(client, f"{WHERE}?terms={SUBJECT}")


def test_the_old_address_of_a_store_leads_to_it_alone(filled: Memory, alice: User, superuser: User) -> None:
    create_store(StoreSettings(name="Sales"), **BY)
    answer = signed_in(superuser).get(address(filled.store), follow=True)
    assert answer.redirect_chain == [(f"{WHERE}?store={filled.store.id}", 302)]
    html = answer.content.decode()
    assert re.findall(r'name="store" value="([^"]*)" id="[^"]*" checked', html) == [filled.store.id]
    assert reverse("receipts", args=[filled.store.id]) in html


def test_one_store_alone_is_searched_to_its_end(filled: Memory, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "SECONDS", -1.0)
    assert "Erase the ticked spellings" in find(signed_in(alice), filled.store, SUBJECT)


def test_a_list_without_ticks_or_of_texts_that_are_too_short_says_so(filled: Memory, alice: User) -> None:
    client = signed_in(alice)
    assert "Tick at least one spelling." in sent(client, address(filled.store), subject=SUBJECT)
    assert "is too short" in sent(client, address(filled.store), terms="ab")
    html = listed(client, filled.store, "<script>alert(1)</script>")
    assert "<script>alert(1)" not in html and "&lt;script&gt;" in html
