"""A person's text that the rules flag: the form comes back with what was found and asks for a reason."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.models import AuditEntry, Finding, FindingState, Memory, MemoryStore, User
from tests.api.rules import CARD, set_rules
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with, sent
from tests.web.memories.pages import new_curator, newest, page, text_of, url_of, write

FLAGGED = "Nothing was saved: the rules of this store flag this text."
NO_REASON = "Give a reason why this text may be stored, or remove the text."
TEXT = f"first\nhis card is {CARD}\n"


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    return new_curator(store)


@pytest.fixture
def client(curator: User) -> Client:
    return signed_in(curator)


def new_url(store: MemoryStore) -> str:
    return f"/stores/{store.id}/new"


def test_a_new_memory_that_is_flagged_is_shown_again_and_saved_with_a_reason(
    client: Client, store: MemoryStore
) -> None:
    set_rules(store, card="flag")
    fields = form_with(page(client, new_url(store)), "text")
    given = sent(fields, path="/a.md", text=TEXT, note="why not")
    html = client.post(new_url(store), given).content.decode()
    assert FLAGGED in html
    assert NO_REASON not in html
    assert "line 2" in html
    assert html.count(CARD) == 1  # in the text itself, and not in the list
    assert not Memory.objects.filter(store=store).exists()
    again = form_with(html, "text")
    assert (again["note"], again["path"]) == ("why not", "/a.md")
    assert NO_REASON in client.post(new_url(store), sent(again)).content.decode()
    answer = client.post(new_url(store), sent(again, override="a test number"))
    assert answer.status_code == 303
    memory = Memory.objects.get(store=store)
    assert text_of(memory) == TEXT
    finding = Finding.objects.get(store=store)
    assert (finding.state, finding.note) == (FindingState.DISMISSED, "a test number")


def test_an_edit_that_is_flagged_keeps_the_text_and_its_line_ends(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "a\r\nb\r\n")
    set_rules(store, card="flag")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    html = client.post(url_of(memory, "edit"), sent(fields, text=f"a\n{CARD}\nb\n")).content.decode()
    assert FLAGGED in html
    assert "line 2" in html
    answer = client.post(url_of(memory, "edit"), sent(form_with(html, "sha256"), override="a test number"))
    assert answer.status_code == 303
    assert text_of(memory) == f"a\r\n{CARD}\r\nb\r\n"
    assert '"override":"a test number"' in str(newest(store).input)


def test_a_merged_text_that_is_flagged_stays_merged(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "one\ntwo\nthree\n")
    set_rules(store, card="flag")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    other = form_with(page(client, url_of(memory, "edit")), "sha256")
    client.post(url_of(memory, "edit"), sent(other, text="one\ntwo\nthree\nfour\n"))
    room = client.post(url_of(memory, "edit"), sent(fields, text=f"{CARD}\ntwo\nthree\n")).content.decode()
    html = client.post(url_of(memory, "edit"), sent(form_with(room, "sha256"))).content.decode()
    assert FLAGGED in html
    client.post(url_of(memory, "edit"), sent(form_with(html, "sha256"), override="a test number"))
    assert text_of(memory) == f"{CARD}\ntwo\nthree\nfour\n"
    assert '"merged":true' in str(newest(store).input)


def test_markers_that_somebody_saves_are_asked_about_once(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "one\n")
    set_rules(store, card="flag")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    other = form_with(page(client, url_of(memory, "edit")), "sha256")
    client.post(url_of(memory, "edit"), sent(other, text="uno\n"))
    room = client.post(url_of(memory, "edit"), sent(fields, text=f"{CARD}\n")).content.decode()
    html = client.post(url_of(memory, "edit"), sent(form_with(room, "sha256"), do="save-marked")).content.decode()
    assert FLAGGED in html
    client.post(url_of(memory, "edit"), sent(form_with(html, "sha256"), override="a test number"))
    assert CARD in text_of(memory)


def test_what_is_blocked_is_said_and_what_is_masked_is_told_after_saving(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "a\n")
    set_rules(store, card="block", password="mask")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    html = client.post(url_of(memory, "edit"), sent(fields, text=f"a\n{CARD}\n")).content.decode()
    assert "Line 2 of /a.md contains a payment card number, which this memory store does not keep." in html
    answer = client.post(url_of(memory, "edit"), sent(fields, text="the password is hunter2!Xy\n"), follow=True)
    assert (
        "1 passage was masked before it was stored, because this memory store does not keep such text: Password."
        in answer.content.decode()
    )
    assert text_of(memory).startswith("the password is [redacted:password]")


def test_what_is_wrong_with_a_new_memory_is_said_under_its_path_or_its_text(client: Client, store: MemoryStore) -> None:
    write(store, "/taken.md", "a\n")
    set_rules(store, card="block")
    url = reverse("new_memory", args=[store.id])

    def errors(path: str, text: str) -> dict[str, list[str]]:
        answer = client.post(url, sent(form_with(page(client, url), "path"), path=path, text=text))
        return {name: list(said) for name, said in answer.context["form"].errors.items()}

    assert list(errors("/a.md", f"a\n{CARD}\n")) == ["text"]
    assert list(errors("/a.md", "x" * 200_000)) == ["text"]
    assert list(errors("/taken.md", "a\n")) == list(errors(f"/{CARD}/x.md", "a\n")) == ["path"]


def test_a_path_that_is_flagged_needs_a_reason_and_one_that_is_kept_out_is_refused(
    client: Client, store: MemoryStore
) -> None:
    memory = write(store, "/d/a.md")
    for url in (url_of(memory, "rename"), f"/stores/{store.id}/tree-rename/d"):
        set_rules(store, card="flag")
        given = sent(form_with(page(client, url), "new_path"), new_path=f"/{CARD}/x")
        html = client.post(url, given).content.decode()
        assert FLAGGED in html
        assert "in the path" in html
        set_rules(store, card="mask")
        refused = client.post(url, given).content.decode()
        assert "This path contains a payment card number, which this memory store does not keep." in refused
    set_rules(store, card="flag")
    assert client.post(url, sent(form_with(html, "new_path"), override="a test number")).status_code == 303
    assert Finding.objects.get(store=store).in_path
    assert AuditEntry.objects.of_chain(store.id).of_command("rename").count() == 1
