"""The workbench for erasing: what it finds and shows, what keeps it from going on, and that it keeps no text itself."""

import json
import logging
import re
from html import unescape

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.holds import place, release
from memoryhub.actions.erasure import erasure
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, Receipt, User
from tests.api.harness import Hub
from tests.fixtures import signed_in
from tests.web.browser_forms import forms
from tests.web.erasure.erasing import SUBJECT, everywhere, of_two_versions, text_of, version, write
from tests.web.memories.pages import act, new_curator, newest, page

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
    answer = client.post(address(store), {"terms": "\r\n".join(terms)})
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    return answer.content.decode()


def last_form(html: str) -> dict[str, str]:
    """The form that erases, with its button."""
    (fields,) = [fields for _, fields in forms(html) if "digest" in fields]
    return fields | {"step": "erase"}


def test_everything_that_would_change_is_listed_with_what_stands_there(filled: Memory, alice: User) -> None:
    html = find(signed_in(alice), filled.store, SUBJECT)
    for group in ("head", "text", "path", "entry"):
        assert f'id="group-{group}"' in html
    assert f"2 <mark>{SUBJECT}</mark> came" in html and f"asked by <mark>{SUBJECT}</mark>" in html
    assert reverse("version", args=[filled.store_id, version(filled).pk]) in html
    assert "Type the name of the memory store" in html


def test_looking_changes_nothing_and_leaves_the_texts_nowhere(
    store: MemoryStore, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, "/a.md", "nothing")
    client, text = signed_in(alice), "Yolanda Unheard-Of"
    before = AuditEntry.objects.count()
    with caplog.at_level(logging.DEBUG):
        html = find(client, store, text, "Yolanda 2")
        for step in ("", "erase"):
            client.post(
                address(store), {"term": [text], "step": step, "digest": "x", "name": "no", "note": f"of {text}"}
            )
        client.post(address(store), {"terms": f"{text}\nab"})
    assert text in html and "These texts were not found" in html
    assert AuditEntry.objects.count() == before
    assert everywhere("Yolanda") == [] and "Yolanda" not in caplog.text
    assert "Yolanda" not in str(client.cookies)
    decoded = [session.get_decoded() for session in BrowserSession.objects.all()]
    assert "Yolanda" not in json.dumps(decoded)


def test_with_the_stores_name_it_is_gone_from_everywhere(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    fields = last_form(find(client, store, SUBJECT))
    answer = client.post(address(store), fields | {"name": store.name, "note": "request 8"})
    receipt = Receipt.objects.get(store=store.id)
    assert answer.status_code == 303
    assert answer.headers["Location"] == reverse("receipt", args=[store.id, receipt.pk])
    assert everywhere(SUBJECT) == []
    assert text_of(filled) == "1\n2 [redacted] came\n3\n"
    entry = newest(store)
    assert (entry.command, entry.note, entry.author_id) == ("erase", "request 8", alice.id)
    assert verify.verify(store.id, None)[1] is None  # type: ignore[arg-type]
    assert "The texts are erased, and this hub signed the receipt." in page(client, answer.headers["Location"])
    assert "These texts were not found" in find(client, store, SUBJECT)
    old = Memory.objects.get(store=store, path="/people/zq.md")
    html = page(client, f"/stores/{store.id}/versions/{version(old).pk}")
    assert "passages redacted" in html and "by Alice" in html and "[redacted] called" in html
    html = page(client, f"/stores/{store.id}/memories/{old.pk}/compare?from=1&to=2")
    assert "Passages of one of the versions were redacted later" in html
    assert "erased 1 text from" in page(client, f"/audit/{store.id}/{entry.seq}")


def test_without_the_name_or_with_a_note_that_repeats_it_nothing_is_done(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    fields = last_form(find(client, store, SUBJECT))
    before = AuditEntry.objects.count()
    for given in ({"name": "support"}, {"name": ""}, {"name": store.name, "note": f"for {SUBJECT.upper()}"}):
        html = client.post(address(store), fields | given).content.decode()
        assert "errorlist" in html and last_form(html)["digest"] == fields["digest"]
    assert AuditEntry.objects.count() == before and not Receipt.objects.exists()


def test_what_was_written_meanwhile_stops_it_and_the_new_list_is_shown(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    fields = last_form(find(client, store, SUBJECT)) | {"name": store.name}
    write(store, "/later.md", f"again {SUBJECT}\n")
    html = client.post(address(store), fields).content.decode()
    assert "Nothing was erased" in html and f"again <mark>{SUBJECT}</mark>" in html
    assert last_form(html)["digest"] != fields["digest"] and not Receipt.objects.exists()
    assert client.post(address(store), last_form(html) | {"name": store.name}).status_code == 303
    assert everywhere(SUBJECT) == []


def test_a_legal_hold_comes_first_and_keeps_everything(filled: Memory, alice: User) -> None:
    client, store = signed_in(alice), filled.store
    fields = last_form(find(client, store, SUBJECT)) | {"name": store.name}
    hold = place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 77", memory=filled.pk)
    html = find(client, store, SUBJECT)
    assert html.index("case 77") < html.index('id="terms-title"') and "digest" not in html
    fields["digest"] = erasure.search(store.id, [SUBJECT], act().at).digest
    assert "case 77" in client.post(address(store), fields).content.decode()
    assert SUBJECT in text_of(filled) and not Receipt.objects.exists()
    release(store.id, hold.pk, act(alice))
    assert "case 77" not in find(client, store, SUBJECT)


SPELT = ("Northwind", "NORTHWIND", "northwind", "ＮＯＲＴＨＷＩＮＤ", "Nörthwind", "No\u0308rthwind", "north\u200bwind")


def spelt(store: MemoryStore) -> None:
    for number, spelling in enumerate(SPELT):
        write(store, f"/{number}.md", f"for {spelling} and\nagain {spelling}\n")


def ticked(html: str) -> dict[str, bool]:
    """The spellings that can be ticked, and whether they are."""
    boxes = re.findall(r'<input type="checkbox" name="term" value="([^"]*)" id="[^"]*"( checked)?>', html)
    return {unescape(text): bool(checked) for text, checked in boxes}


def test_every_spelling_is_a_row_with_its_count_and_is_ticked(store: MemoryStore, alice: User) -> None:
    spelt(store)
    html = find(signed_in(alice), store, "northwind")
    assert ticked(html) == dict.fromkeys(SPELT, True)
    assert html.count('<span class="small muted">in 1 place</span>') == len(SPELT)


def test_every_ticked_spelling_is_erased_and_the_receipt_says_what_it_covers(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    client.post(address(store), last_form_of(find(client, store, "NORTHWIND")) | {"name": store.name})
    receipt = Receipt.objects.get(store=store.id)
    assert [everywhere(spelling) for spelling in SPELT] == [[]] * len(SPELT)
    covered = receipt.content["spellings"]
    assert len(covered["erased"]) == len(SPELT) and covered["left"] == []
    assert "case" in covered["compared"] and "orth" not in json.dumps(receipt.content).lower()
    html = page(client, reverse("receipt", args=[store.id, receipt.pk]))
    assert f"<dt>Spellings erased</dt><dd>{len(SPELT)}</dd>" in html and "<dt>Spellings left</dt><dd>0</dd>" in html


def test_a_spelling_that_is_not_ticked_stays_and_is_counted_as_left(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    html = client.post(address(store), {"subject": "northwind", "term": ["northwind", "Northwind"]}).content.decode()
    assert [spelling for spelling, checked in ticked(html).items() if checked] == ["Northwind", "northwind"]
    client.post(address(store), last_form_of(html) | {"name": store.name})
    assert everywhere("northwind") == everywhere("Northwind") == [] and everywhere("NORTHWIND") != []
    assert len(Receipt.objects.get(store=store.id).content["spellings"]["left"]) == len(SPELT) - 2


def test_a_spelling_that_was_unticked_is_never_erased_without_looking_again(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    fields = last_form_of(find(client, store, "northwind")) | {"name": store.name, "note": "request 9"}
    kept = [spelling for spelling in SPELT if spelling != "NORTHWIND"]
    html = client.post(address(store), fields | {"term": kept}).content.decode()
    assert "Nothing was erased, because you changed the ticks." in html and not Receipt.objects.exists()
    assert ticked(html) == dict.fromkeys(SPELT, True) | {"NORTHWIND": False}
    assert "<mark>NORTHWIND</mark>" not in html and "request 9" in html
    assert client.post(address(store), last_form_of(html) | {"name": store.name}).status_code == 303
    assert everywhere("NORTHWIND") != [] and [everywhere(spelling) for spelling in kept] == [[]] * len(kept)


def test_other_ticks_than_those_of_the_list_erase_nothing_however_they_are_sent(
    store: MemoryStore, alice: User
) -> None:
    spelt(store)
    client = signed_in(alice)
    fields = last_form_of(find(client, store, "northwind")) | {"name": store.name}
    for term in (["Northwind"], [*SPELT, "again"], []):
        for shown in (fields["shown"], term):
            html = client.post(address(store), fields | {"term": term, "shown": shown}).content.decode()
            assert "Nothing was erased" in html and not Receipt.objects.exists()


def test_other_spaces_are_offered_and_not_ticked(store: MemoryStore, alice: User) -> None:
    write(store, "/1.md", "Ada Lovelace wrote\nADA  LOVELACE too\n")
    write(store, "/2.md", "ada.lovelace@example.com and ＡＤＡ lovelace and adalovelace\n")
    client = signed_in(alice)
    html = find(client, store, "Ada Lovelace")
    close = dict.fromkeys(("ADA  LOVELACE", "ada.lovelace", "adalovelace"), False)
    assert ticked(html) == {"Ada Lovelace": True, "ＡＤＡ lovelace": True} | close
    fields = {"subject": "Ada Lovelace", "term": ["Ada Lovelace", "ada.lovelace"]}
    again = client.post(address(store), fields).content.decode()
    assert "<mark>ada.lovelace</mark>" in again and ticked(again)["ada.lovelace"]


def test_a_spelling_that_came_meanwhile_stops_the_erasure(store: MemoryStore, alice: User) -> None:
    spelt(store)
    client = signed_in(alice)
    fields = last_form_of(find(client, store, "northwind")) | {"name": store.name}
    write(store, "/later.md", "nOrThWiNd")
    html = client.post(address(store), fields).content.decode()
    assert "Nothing was erased" in html and "nOrThWiNd" in ticked(html) and not Receipt.objects.exists()


def last_form_of(html: str) -> dict[str, object]:
    """The form that erases, with every text that it sends."""
    at = html.index('name="digest"')
    part = html[html.rindex("<form", 0, at) : html.index("</form>", at)]
    fields: dict[str, list[str]] = {"step": ["erase"]}
    for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', part):
        fields.setdefault(name, []).append(unescape(value))
    fields.setdefault("term", []).extend(text for text, checked in ticked(part).items() if checked)
    return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}


def test_texts_that_cannot_be_erased_are_refused_with_a_reason(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md", "text")
    client = signed_in(alice)
    for terms in (["", "  "], ["ab"], ["long enough", "x"], ["x" * 501], ["redact"], [f"name {n}" for n in range(21)]):
        html = find(client, store, *terms)
        assert 'id="terms_error"' in html and "digest" not in html, terms
    for raw in ({"term": ["a\0bc"]}, {"term": ["  "]}, {}, {"step": "erase"}, {"step": "erase", "term": "ab"}):
        assert 'id="terms_error"' in client.post(address(store), raw).content.decode(), raw
    html = find(client, store, "<script>alert(1)</script>")
    assert "<script>alert(1)" not in html and "&lt;script&gt;" in html


def test_long_lists_show_a_few_and_then_all(store: MemoryStore, alice: User) -> None:
    for number in range(23):
        write(store, f"/{number}.md", f"the word quokka {number}")
    client = signed_in(alice)
    html = find(client, store, "quokka")
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
    assert [signed_in(alice).generic(method, address(store)).status_code for method in ("PUT", "DELETE")] == [405, 405]
    assert SUBJECT not in page(signed_in(alice), address(store) + f"?terms={SUBJECT}")
