"""What a search found as a table: its rows, who may, its bounds, and the entry of each memory store that it shows."""

import csv
import json

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Finding, MemoryStore, User
from memoryhub.web.search import export, search
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import write

pytestmark = pytest.mark.django_db

ADDRESS = "/search/export"


def rows(person: User, **given: str) -> list[dict[str, str]]:
    response = signed_in(person).post(ADDRESS, given)
    assert response.status_code == 200 and "attachment" in response.headers["Content-Disposition"]
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(text.splitlines()))


def exports(store: MemoryStore) -> list[dict[str, str]]:
    found = AuditEntry.objects.of_chain(store.pk).of_command("export_table").oldest()
    return [json.loads(str(entry.input)) for entry in found]


def test_each_line_that_was_found_is_a_row_and_the_store_has_an_entry(
    store: MemoryStore, key: str, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)  # it ends in the first answer
    monkeypatch.setattr(search, "FIRST_HITS", 90)
    caller = Caller(store, key)
    memory = caller.create("/customers/acme.md", "Acme\nSize 42\nacme pays late\n")
    caller.replace("/customers/acme.md", "Size 42", "=Size 43")
    caller.create("/other.md", "nothing\n")
    html = signed_in(bob).get("/search", {"q": "acme"}).content.decode()
    assert f'action="{ADDRESS}"' in html and "Export CSV" in html
    found = rows(bob, q="acme")
    assert [(row["path"], row["is"], row["line"], row["text"]) for row in found] == [
        ("/customers/acme.md", "current", "1", "Acme"), ("/customers/acme.md", "current", "3", "acme pays late"),
    ]  # fmt: skip
    assert found[0]["url"].endswith(f"{reverse('memory', args=[store.pk, memory.pk])}#L1")
    assert (found[0]["store"], found[0]["number"], found[0]["changed_by"]) == (store.name, "2", "Support bot")
    assert {row["is"] for row in rows(bob, q="acme", versions="all")} == {"current", "old"}
    assert [row["text"] for row in rows(bob, q="43")] == ["'=Size 43"]
    assert [told["filter"] for told in exports(store)] == ["acme", "acme versions:all", "43"]
    page = signed_in(bob).get(reverse("store_audit", args=[store.pk])).content.decode()
    assert "exported the results of a search as csv" in page


@pytest.mark.both_databases
def test_values_that_pages_mask_are_masked(store: MemoryStore, key: str, alice: User) -> None:
    Caller(store, key).create("/card.md", "Card 4111 1111 1111 1111 of Jo\n")
    assert Finding.objects.filter(store=store).exists()
    (row,) = rows(alice, q="jo")
    assert "4111" not in row["text"] and row["text"].endswith("of Jo")


def test_a_person_gets_what_they_may_see_and_nothing_found_leaves_no_entry(
    store: MemoryStore, bob: User, charlie: User
) -> None:
    write(store, "/a.md", "acme\n")
    other = stores.create_store(stores.StoreSettings(name="Salaries"), **BY)
    write(other, "/b.md", "acme\n")
    assert [row["path"] for row in rows(bob, q="acme")] == ["/a.md"] and not exports(other)
    assert rows(charlie, q="acme") == [] and rows(bob, q="unheard") == [] and len(exports(store)) == 1
    client = signed_in(bob)
    assert client.get(ADDRESS).status_code == 405 and Client().post(ADDRESS).status_code == 302
    for given in ({}, {"q": "acme", "format": "xml"}, {"q": "store:Salaries acme"}, {"q": "x" * 501}):
        assert client.post(ADDRESS, given).status_code == 400, given


def test_more_than_the_most_rows_is_said_in_the_last_one(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_ROWS", 3)
    for number in range(5):
        write(store, f"/{number}.md", "acme\n")
    found = rows(bob, q="acme")
    assert len(found) == 4 and "Narrow the search" in found[-1]["text"] and found[-1]["path"] == ""


def test_a_memory_with_more_lines_than_it_may_have_says_so(store: MemoryStore, bob: User) -> None:
    write(store, "/many.md", "".join(f"acme {number}\n" for number in range(export.MOST_LINES + 1)))
    write(store, "/long.md", "acme " + "x" * export.LONGEST_LINE)
    long, *found = rows(bob, q="acme")
    assert long["text"].endswith("x…") and found[-1]["text"] == "This memory has more such lines."
    assert len(found) == export.MOST_LINES + 1 and found[-1]["path"] == "/many.md"
