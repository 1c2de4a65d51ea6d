"""Restoring a store, a directory or a memory to a moment, and previews with very many changes."""

import json
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core import plans
from memoryhub.models import AuditEntry, Memory, MemoryStore, Session, User
from memoryhub.web.undo import rows as undo_rows
from tests.support.fixtures import signed_in
from tests.support.long import some
from tests.web.browser_forms import form_with
from tests.web.history.past import History, tree_now
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key)
    for path in ("/d/a.md", "/d/b.md", "/c.md"):
        caller.create(path, f"{path}\n")
    return caller


@pytest.fixture
def moment(caller: Caller) -> int:
    """What follows this entry: everything in the store becomes another."""
    seq = caller.last.seq
    caller.replace("/d/a.md", "a.md", "changed")
    caller.delete("/c.md")
    caller.call("rename", old_path="/memories/d/b.md", new_path="/memories/e/b.md")
    caller.create("/d/new.md", "new\n")
    return seq


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def url_of(store: MemoryStore, seq: int, query: str = "") -> str:
    return reverse("restore_moment", args=[store.id, seq]) + query


def get(client: Client, url: str) -> Any:
    response = client.get(url)
    assert response.status_code == 200
    return response


def send(client: Client, url: str, **given: str) -> Any:
    return client.post(url, form_with(client.get(url).content.decode(), "digest") | given)


def paths(store: MemoryStore) -> list[str]:
    return sorted(tree_now(store))


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.id).newest()[0]


def test_the_store_becomes_what_it_was(moment: int, store: MemoryStore, curator: Client) -> None:
    page = get(curator, url_of(store, moment))
    assert [row.change.kind for row in page.context["preview"].whole] == ["created", "modified", "deleted", "moved"]
    assert "Restore the store to entry" in page.content.decode()
    assert "Restore 4 memories" in page.content.decode()
    response = send(curator, url_of(store, moment), note="back")
    assert response["Location"] == reverse("entry", args=[store.id, newest(store).seq])
    assert {path: text for path, (_, text) in tree_now(store).items()} == {
        path: f"{path}\n" for path in ("/c.md", "/d/a.md", "/d/b.md")
    }
    entry = newest(store)
    assert (entry.command, entry.note, json.loads(str(entry.input))["seq"]) == ("restore_moment", "back", moment)
    assert "Restored 4 memories." in curator.get(response["Location"]).content.decode()
    assert get(curator, url_of(store, moment)).context["plan"].is_empty


def test_a_directory_becomes_what_it_was_and_the_rest_stays(moment: int, store: MemoryStore, curator: Client) -> None:
    url = url_of(store, moment, "?path=/d")
    assert "Restore the directory /d to entry" in get(curator, url).content.decode()
    assert send(curator, url).status_code == 303
    assert paths(store) == ["/d/a.md", "/d/b.md"]


def test_a_memory_becomes_what_it_was(moment: int, store: MemoryStore, curator: Client) -> None:
    memory = Memory.objects.get(path="/c.md")
    url = url_of(store, moment, f"?memory={memory.pk}")
    assert "Restore the memory /c.md to entry" in get(curator, url).content.decode()
    response = send(curator, url)
    assert response["Location"] == reverse("memory", args=[store.id, memory.pk])
    assert paths(store) == ["/c.md", "/d/a.md", "/d/new.md", "/e/b.md"]


def test_what_was_written_since_is_told(moment: int, store: MemoryStore, curator: Client) -> None:
    rows = {row.change.path: row for row in get(curator, url_of(store, moment)).context["preview"].whole}
    ((version, entry),) = rows["/d/a.md"].later
    assert (version.number, entry.command) == (2, "str_replace")


def test_of_many_versions_since_the_others_are_counted_with_a_link_to_all(caller: Caller, curator: Client) -> None:
    seq, memory = caller.last.seq, Memory.objects.get(path="/c.md")
    for number in range(7):
        caller.edit("/c.md", f"{number}\n")
    new = caller.create("/f.md", "x\n")
    for number in range(5):
        caller.edit("/f.md", f"{number}\n")
    answer = get(curator, url_of(caller.store, seq))
    rows = {row.change.path: row for row in answer.context["preview"].whole}
    assert {path: (len(row.later), row.more_later) for path, row in rows.items() if row.more_later} == {
        "/c.md": (5, 2),
        "/f.md": (5, 1),
    }
    html = " ".join(answer.content.decode().split())
    for told, one in (("and 2 earlier versions", memory), ("and 1 earlier version", new)):
        assert f'{told} · <a href="{reverse("versions", args=[caller.store.id, one.pk])}">all versions</a>' in html


def test_where_the_old_path_comes_back_too_a_link_restores_only_the_text(
    caller: Caller, curator: Client, bob: User
) -> None:
    seq, memory = caller.last.seq, Memory.objects.get(path="/d/a.md")
    link = f'href="{reverse("restore_version", args=[caller.store.id, memory.head_id])}"'
    url = url_of(caller.store, seq, f"?memory={memory.pk}")
    caller.replace("/d/a.md", "a.md", "changed")
    assert link not in get(curator, url).content.decode()
    caller.call("rename", old_path="/memories/d/a.md", new_path="/memories/e/a.md")
    html = get(curator, url).content.decode()
    assert link in html and "The memory also goes back to" in html
    assert link not in get(signed_in(bob), url).content.decode()


@pytest.mark.parametrize("seed", some(range(3), 3))
def test_any_moment_can_be_restored_through_the_page(seed: int, store: MemoryStore, key: str, curator: Client) -> None:
    history = History(Caller(store, key), Random(seed)).run(30)
    seq = Random(seed).choice(sorted(history.trees)[:-5])
    answer = send(curator, url_of(store, seq))
    if answer.status_code == 200:
        assert get(curator, url_of(store, seq)).context["plan"].is_empty
    assert tree_now(store) == history.trees[seq]


def test_viewers_look_and_charlie_finds_nothing(moment: int, store: MemoryStore, bob: User, charlie: User) -> None:
    page = get(signed_in(bob), url_of(store, moment))
    assert signed_in(bob).post(url_of(store, moment), {"digest": page.context["plan"].digest}).status_code == 403
    assert signed_in(charlie).get(url_of(store, moment)).status_code == 404
    assert signed_in(charlie).post(url_of(store, moment)).status_code == 404


@pytest.mark.parametrize("seq", [0, 10**9, 10**30])
def test_a_moment_that_is_not_there_is_404(seq: int, moment: int, store: MemoryStore, curator: Client) -> None:
    assert curator.get(url_of(store, seq)).status_code == 404


def test_a_restore_can_be_undone(moment: int, store: MemoryStore, curator: Client) -> None:
    before = tree_now(store)
    send(curator, url_of(store, moment))
    url = reverse("undo_entry", args=[store.id, newest(store).seq])
    assert send(curator, url).status_code == 303
    assert tree_now(store) == before


def test_too_much_for_one_step_leads_to_the_directories(
    moment: int, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MOST", 2)
    page = get(curator, url_of(store, moment)).content.decode()
    assert "Too much for one step" in page
    assert url_of(store, moment, "?path=%2Fd") in page
    assert url_of(store, moment, "?path=%2Fe") in page
    assert "Too much for one step" in curator.post(url_of(store, moment)).content.decode()


def test_of_many_changes_the_first_are_whole_and_the_others_can_be_left_out(
    moment: int, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_rows, "MOST_DIFFS", 1)
    page = get(curator, url_of(store, moment))
    assert [len(page.context["preview"].whole), len(page.context["preview"].briefly)] == [1, 3]
    new = Memory.objects.get(path="/d/new.md").pk
    assert page.content.decode().count('name="leave_out"') == 4
    send(curator, url_of(store, moment), leave_out=new)
    assert paths(store) == ["/c.md", "/d/a.md", "/d/b.md", "/d/new.md"]


@pytest.mark.parametrize(("rest", "text"), [("keep", "3"), ("before", "1"), ("nonsense", "3")])
def test_problems_beyond_those_that_are_asked_have_one_choice_together(
    rest: str, text: str, caller: Caller, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_rows, "MOST_ASKED", 1)
    monkeypatch.setattr(undo_rows, "MOST_DIFFS", 1)
    for number in range(3):
        caller.create(f"/{number}.md", "1")
    for session, old, new in (("bad", "1", "2"), ("later", "2", "3")):
        caller.session = session
        for number in range(3):
            caller.replace(f"/{number}.md", old, new)
    url = reverse("undo_session", args=[store.id, Session.objects.get(name="bad").pk])
    page = get(curator, url)
    assert [change.path for change in page.context["preview"].unasked] == ["/1.md", "/2.md"]
    assert 'name="rest"' in page.content.decode()
    first = Memory.objects.get(path="/0.md").pk
    send(curator, url, rest=rest, **{f"choice-{first}": "before"})
    told = {path: text for path, (_, text) in tree_now(store).items() if path[1].isdigit()}
    assert told == {"/0.md": "1", "/1.md": text, "/2.md": text}


def test_thousands_of_boxes_are_sent_in_one_field(
    moment: int, store: MemoryStore, curator: Client, caller: Caller
) -> None:
    """As the page's script does it; a server takes a thousand fields."""
    for number in range(20):
        caller.create(f"/many/{number}.md", "x")
    ids = " ".join(Memory.objects.under("/many").values_list("pk", flat=True))
    assert send(curator, url_of(store, moment), leave_out=f"{ids} " + "mem_x " * 3000).status_code == 303
    assert len([path for path in paths(store) if path.startswith("/many/")]) == 20
