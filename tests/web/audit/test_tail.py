"""What is new: what a page that stays open is told of the audit and of the memory that is edited in it."""

import re

import pytest
from django.test import Client

from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, User
from memoryhub.web.audit import tail
from tests.support.fixtures import signed_in
from tests.web.memories.pages import act, page, url_of, write


@pytest.fixture
def client(bob: User) -> Client:
    """A viewer."""
    return signed_in(bob)


def ask(client: Client, store: MemoryStore, query: str) -> tuple[int, str, str, str]:
    """Status, from where to ask next, the count, and the answer."""
    answer = client.get(f"/stores/{store.id}/audit/new?{query}")
    headers = answer.headers
    return answer.status_code, headers.get(tail.AFTER, ""), headers.get(tail.COUNT, ""), answer.content.decode()


def last(store: MemoryStore) -> int:
    return int(AuditEntry.objects.of_chain(store.id).newest()[0].seq)


# ------------------------------------------------------------------------------------------------ the audit


def test_nothing_new_is_no_content_and_says_from_where_to_ask(client: Client, store: MemoryStore) -> None:
    here = last(store)
    assert ask(client, store, f"after={here}") == (204, str(here), "", "")
    assert ask(client, store, "")[:2] == (204, str(here))


def test_new_entries_come_as_rows_newest_first(client: Client, store: MemoryStore) -> None:
    here = last(store)
    write(store, "/a.md")
    write(store, "/b.md")
    status, after, count, html = ask(client, store, f"after={here}")
    assert (status, after, count) == (200, str(here + 2), "2")
    assert re.findall(r'class="mono break-anywhere" href="[^"]*">([^<]*)<', html) == ["/b.md", "/a.md"]
    assert "Show 2 new" in html
    assert f'href="/stores/{store.id}/audit"' in html


def test_the_filter_of_the_page_is_respected(client: Client, store: MemoryStore, bob: User) -> None:
    here = last(store)
    write(store, "/a.md")
    curation.create(store.id, "/b.md", "b", act(bob))
    status, _after, count, html = ask(client, store, f"after={here}&person={bob.id}")
    assert (status, count) == (200, "1")
    assert "/b.md" in html
    assert "/a.md" not in html
    assert f"/audit?person={bob.id}" in html
    assert ask(client, store, f"after={here}&command=delete")[:2] == (204, str(here + 2))
    assert ask(client, store, f"after={here}&person=a&agent=b")[0] == 204


def test_the_calls_of_one_session_are_counted_without_rows(client: Client, store: MemoryStore) -> None:
    here = last(store)
    curation.create(store.id, "/a.md", "a", act()._replace(session="sesn_a"))
    write(store, "/b.md")
    answer = client.get(f"/stores/{store.id}/audit/new?after={here}&session=sesn_a&brief=1")
    assert (answer.headers[tail.COUNT], answer.headers[tail.FIRST]) == ("1", str(here + 1))
    assert b"<tr" not in answer.content


def test_no_more_than_so_many_are_sent(client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "MOST", 10)
    here = last(store)
    for number in range(11):
        write(store, f"/{number}.md", "")
    _status, after, count, html = ask(client, store, f"after={here}")
    assert (count, after, html.count("<tr")) == ("10+", str(here + 11), 10)
    assert "Show 10+ new" in html


def test_only_so_many_entries_are_looked_through(
    client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = last(store)
    for number in range(6):
        write(store, f"/{number}.md", "")
    monkeypatch.setattr(tail, "LOOKED_AT", 3)
    assert ask(client, store, f"after={here}")[2] == "3"


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "1e3"])
def test_a_place_that_is_none_is_answered_with_one(client: Client, store: MemoryStore, after: str) -> None:
    assert ask(client, store, f"after={after}")[:2] == (204, str(last(store)))


def test_asking_writes_nothing(client: Client, store: MemoryStore) -> None:
    write(store, "/a.md")
    before = AuditEntry.objects.count()
    ask(client, store, "after=1")
    client.get("/audit/new?after=0")
    assert AuditEntry.objects.count() == before


def test_somebody_without_a_role_learns_nothing(store: MemoryStore, charlie: User) -> None:
    client = signed_in(charlie)
    assert ask(client, store, "after=0")[0] == 404
    assert client.get("/audit/new?after=0").status_code == 204
    assert Client().get(f"/stores/{store.id}/audit/new?after=0").status_code == 302
    assert client.post("/audit/new").status_code == 405


def test_the_audit_of_everything_counts_what_the_person_may_see(client: Client, store: MemoryStore) -> None:
    here = client.get("/audit/new").headers[tail.AFTER]
    write(store, "/a.md")
    answer = client.get(f"/audit/new?after={here}")
    assert (answer.status_code, answer.headers[tail.COUNT]) == (200, "1")
    assert client.get(f"/audit/new?after={answer.headers[tail.AFTER]}").status_code == 204


def test_the_first_page_of_the_audit_has_a_tail_and_older_ones_have_none(client: Client, store: MemoryStore) -> None:
    for number in range(51):
        write(store, f"/{number}.md", "")
    first = page(client, f"/stores/{store.id}/audit?command=create")
    found = re.search(r'data-tail="([^"]*)" data-after="(\d*)"', first)
    assert found is not None
    assert found.groups() == (f"/stores/{store.id}/audit/new?command=create", str(last(store)))
    older = re.search(r'rel="next" href="([^"]*)"', first)
    assert older is not None
    assert "data-tail=" not in page(client, older[1].replace("&amp;", "&"))
    assert "data-tail=" in page(client, "/audit")
    assert "data-tail=" not in page(client, "/audit?command=create")


# ------------------------------------------------------------------------------------------------ the memory


def test_an_editor_is_told_who_has_saved_a_newer_version(client: Client, store: MemoryStore, alice: User) -> None:
    memory = write(store, "/a.md", "one\n")
    opened = memory.head_id
    assert client.get(url_of(memory, "news") + f"?version={opened}").status_code == 204
    curation.edit(store.id, memory.id, "two\n", memory.sha256, act(alice))
    html = page(client, url_of(memory, "news") + f"?version={opened}")
    assert "Alice has saved version 2" in html
    assert "compare?from=1&amp;to=2" in html


def test_an_editor_is_told_of_a_move_and_of_a_deletion(client: Client, store: MemoryStore, alice: User) -> None:
    memory = write(store, "/a.md", "one\n")
    opened = memory.head_id
    curation.rename(store.id, "/a.md", "/b.md", act(alice))
    assert "Alice has moved this memory to /b.md" in page(client, url_of(memory, "news") + f"?version={opened}")
    curation.delete(store.id, "/b.md", act(alice))
    assert "Alice has deleted this memory" in page(client, url_of(memory, "news") + f"?version={opened}")


@pytest.mark.parametrize("version", ["", "memver_none", "x" * 3000])
def test_an_unknown_version_is_answered_with_the_newest(client: Client, store: MemoryStore, version: str) -> None:
    memory = write(store, "/a.md")
    newest = MemoryVersion.objects.of_memory(memory).newest()[0]
    assert f"/versions/{newest.id}" in page(client, url_of(memory, "news") + f"?version={version}")
    assert client.get(f"/stores/{store.id}/memories/mem_none/news").status_code == 404


def test_the_edit_page_asks_with_the_version_that_was_opened(store: MemoryStore, alice: User) -> None:
    memory = write(store, "/a.md")
    html = page(signed_in(alice), url_of(memory, "edit"))
    assert f'data-news="{url_of(memory, "news")}?version={memory.head_id}"' in html
