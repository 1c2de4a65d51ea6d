"""The trash of a store: what was deleted, by whom, and the way back, one by one or several at once."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, Memory, MemoryStore, User
from memoryhub.web.memories import trash
from tests.support.fixtures import AT, BY, new_person, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.findings.flagged import CARD
from tests.web.history.versions import Caller
from tests.web.memories.pages import HOSTILE, act, new_curator, newest, page, write


@pytest.fixture
def client(store: MemoryStore) -> Client:
    return signed_in(new_curator(store))


def paths_in(html: str) -> list[str]:
    return [unescape(path) for path in re.findall(r'<a class="row-link mono"[^>]*>(.*?)</a>', html)]


def shown(client: Client, store: MemoryStore, **query: str) -> list[str]:
    answer = client.get(reverse("trash", args=[store.id]), query)
    assert answer.status_code == 200
    return paths_in(answer.content.decode())


def live(store: MemoryStore) -> set[str]:
    return set(Memory.objects.live().filter(store=store).values_list("path", flat=True))


def selection(client: Client, store: MemoryStore, **fields: object) -> str:
    answer = client.post(reverse("selection", args=[store.id]), fields, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_deleted_memories_stand_in_the_trash_with_who_deleted_them(client: Client, store: MemoryStore) -> None:
    kept, gone = write(store, "/kept.md"), write(store, "/notes/gone.md")
    curation.delete(store.id, "/notes", act(new_person("Dora")))
    html = page(client, reverse("trash", args=[store.id]))
    assert reverse("memory", args=[store.id, gone.id]) in html and "/notes/gone.md" in html and "Dora" in html
    assert "Kept until" in html and "someone removes it" in html
    assert "To restore one, open it; to restore several, tick them." in html
    assert kept.id not in html


def test_an_empty_trash_says_so(client: Client, store: MemoryStore) -> None:
    assert "The trash is empty" in page(client, reverse("trash", args=[store.id]))


def test_the_trash_goes_on_on_further_pages(
    client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trash, "SIZE", 2)
    for number in range(5):
        write(store, f"/a/{number}.md")
    curation.delete(store.id, "/a", act())
    seen: list[str] = []
    url, before = reverse("trash", args=[store.id]), ""
    for _ in range(3):
        answer = client.get(url, {"before": before})
        seen += [row.memory.path for row in answer.context["rows"]]
        before = answer.context["older"] or ""
    assert sorted(seen) == [f"/a/{number}.md" for number in range(5)] and not before


def test_a_hostile_path_is_inert_in_the_trash(client: Client, store: MemoryStore) -> None:
    path = "/<img src=x onerror=alert(1)>"
    write(store, path, HOSTILE)
    curation.delete(store.id, path, act())
    assert "<img src=x" not in page(client, reverse("trash", args=[store.id]))
    write(store, path)
    (memory,) = Memory.objects.in_trash().filter(store=store)
    assert "<img src=x" not in selection(client, store, act="restore", id=memory.id)


class TestFilter:
    @pytest.fixture(autouse=True)
    def _deleted(self, store: MemoryStore, alice: User, key: str) -> None:
        for path in ("/a/1.md", "/a/2.md", "/ab.md", "/A/x.md"):
            write(store, path)
        curation.delete(store.id, "/a", act(alice))
        caller = Caller(store, key, session="run-1")
        caller.call("delete", path="/memories/ab.md")
        curation.delete(store.id, "/A/x.md", act())

    @pytest.mark.both_databases
    @in_turn(
        ("query", "found"),
        [
            ("path:/a/", {"/a/1.md", "/a/2.md"}),
            ("path:/a", {"/a/1.md", "/a/2.md"}),
            ("/A/", {"/A/x.md"}),
            ("path:/a/1.md", {"/a/1.md"}),
            ("person:alice@example.com", {"/a/1.md", "/a/2.md"}),
            ('agent:"support BOT"', {"/ab.md"}),
            ("agent:nobody", set()),
            ("path:/a/ from:2020-01-01 to:2024-01-01", set()),
            ("from:2020-01-01 path:/a/1.md", {"/a/1.md"}),
            ("-path:/a", {"/ab.md", "/A/x.md"}),
            ("deleted by support bot", {"/ab.md"}),
            ("not by alice@example.com", {"/ab.md", "/A/x.md"}),
            ("1.md", {"/a/1.md"}),
        ],
    )
    def test_by_path_person_agent_and_time(
        self, client: Client, store: MemoryStore, query: str, found: set[str]
    ) -> None:
        assert set(shown(client, store, q=query)) == found

    def test_nothing_found_says_so_and_leads_back(self, client: Client, store: MemoryStore) -> None:
        html = client.get(reverse("trash", args=[store.id]), {"q": "path:/nowhere/"}).content.decode()
        assert "Nothing in the trash matches" in html and "Show all of the trash" in html

    @in_turn("query", ["written by support bot", "door:web", "x:y", "path:a", "from:never", "agent:a\0", "<b>:x"])
    def test_what_cannot_be_read_is_said(self, client: Client, store: MemoryStore, query: str) -> None:
        html = page(client, reverse("trash", args=[store.id]) + f"?q={query}")
        assert 'role="alert"' in html and "<b>" not in html.partition("banner-danger")[2].partition("</p>")[0]

    def test_the_filter_stays_on_the_next_page(
        self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trash, "SIZE", 1)
        html = client.get(reverse("trash", args=[store.id]), {"q": "path:/a/"}).content.decode()
        url = unescape(next(iter(re.findall(r'rel="next" href="([^"]*)"', html))))
        assert len(paths_in(html)) == 1 and "q=path" in url
        following = client.get(reverse("trash", args=[store.id]) + url).content.decode()
        assert set(paths_in(html) + paths_in(following)) == {"/a/1.md", "/a/2.md"}

    @pytest.mark.both_databases
    def test_one_request_looks_through_only_so_many(
        self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trash, "SIZE", 2)
        monkeypatch.setattr(trash, "MOST_READ", 3)
        found: list[str] = []
        url = reverse("trash", args=[store.id]) + "?q=path:/a/1.md"
        for _ in range(3):
            answer = client.get(url)
            found += paths_in(answer.content.decode())
            if not answer.context["older_url"]:
                break
            assert "There are older ones." in answer.content.decode()
            url = reverse("trash", args=[store.id]) + answer.context["older_url"]
        assert found == ["/a/1.md"]

    @pytest.mark.parametrize("before", ["mem_nothing", "'"])
    def test_a_malformed_place_begins_with_the_newest(self, client: Client, store: MemoryStore, before: str) -> None:
        assert len(shown(client, store, before=before)) == 4


def test_a_page_asks_the_database_no_more_for_more_rows(client: Client, store: MemoryStore) -> None:
    counts = []
    for number in (1, 30):
        for name in range(number):
            write(store, f"/{number}/{name}.md")
        curation.delete(store.id, f"/{number}", act())
        with CaptureQueriesContext(connection) as asked:
            page(client, reverse("trash", args=[store.id]))
        counts.append(len(asked))
    assert counts[1] <= counts[0]


class TestRestore:
    def test_several_come_back_at_once_with_a_way_to_undo(self, client: Client, store: MemoryStore) -> None:
        made = [write(store, f"/a/{number}.md") for number in range(3)]
        curation.delete(store.id, "/a", act())
        html = page(client, reverse("trash", args=[store.id]))
        assert all(f'value="{memory.id}" data-select' in html for memory in made)
        html = selection(client, store, act="restore", id=[made[0].id, made[1].id])
        assert "2 memories were restored." in html
        assert reverse("undo_entry", args=[store.id, newest(store).seq]) in html
        assert live(store) == {"/a/0.md", "/a/1.md"}
        assert paths_in(html) == ["/a/2.md"]

    def test_what_went_together_has_a_button_for_all_of_it(self, client: Client, store: MemoryStore) -> None:
        for path in ("/a/1.md", "/a/b/2.md", "/alone.md"):
            write(store, path)
        done = curation.delete(store.id, "/a", act())
        curation.delete(store.id, "/alone.md", act()._replace(at=AT + timedelta(minutes=1)))
        html = page(client, reverse("trash", args=[store.id]))
        assert html.count('form="restore-together"') == 1 and f'name="entry" value="{done.seq}"' in html
        assert "2 memories were restored." in selection(client, store, entry=str(done.seq))
        assert live(store) == {"/a/1.md", "/a/b/2.md"}

    @pytest.mark.both_databases
    def test_a_row_has_the_first_line_and_the_note_and_one_that_came_back_is_named(
        self, client: Client, store: MemoryStore
    ) -> None:
        memory = write(store, "/a.md", f"\n# Ada <b>\nPays by {CARD}.\n")
        write(store, "/b.md", f"Pays by {CARD}.\n")
        curation.delete(store.id, "/a.md", act()._replace(note="wrong customer"))
        curation.delete(store.id, "/b.md", act())
        html = page(client, reverse("trash", args=[store.id]))
        assert "# Ada &lt;b&gt;</span>" in html and "wrong customer</span>" in html and CARD not in html
        html = selection(client, store, act="restore", id=[memory.id])
        assert f'{reverse("memory", args=[store.id, memory.id])}">/a.md</a> was restored.' in html

    def test_a_taken_path_is_said_with_another_one_to_change(self, client: Client, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md", "old"), write(store, "/a/2.md")
        curation.delete(store.id, "/a", act())
        write(store, "/a/1.md", "new")
        html = selection(client, store, act="restore", id=[one.id, two.id])
        assert "Another memory or directory is at /a/1.md now" in html and 'value="/a/1-restored.md"' in html
        assert "1 memory goes back to its old path" in html
        assert live(store) == {"/a/1.md"}
        fields = form_with(html, "digest")
        again = selection(client, store, **(fields | {f"path-{one.id}": "/a/1.md"}))
        assert again.count("Another memory or directory is at /a/1.md now") == 2 and 'aria-invalid="true"' in again
        wrong = selection(client, store, **(fields | {f"path-{one.id}": "/../x"}))
        assert "would lead out of the memory store" in wrong
        assert live(store) == {"/a/1.md"}
        selection(client, store, **(fields | {f"path-{one.id}": "/b/3.md", "note": "back"}))
        assert live(store) == {"/a/1.md", "/a/2.md", "/b/3.md"}
        assert newest(store).note == "back"

    def test_two_people_who_restore_the_same_do_it_once(self, client: Client, alice: User, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md"), write(store, "/a/2.md")
        curation.delete(store.id, "/a", act())
        selection(signed_in(alice), store, act="restore", id=one.id)
        html = selection(client, store, act="restore", id=[one.id, two.id])
        assert "1 of the selected items no longer exists here" in html
        assert live(store) == {"/a/1.md"}
        selection(client, store, **form_with(html, "digest"))
        assert live(store) == {"/a/1.md", "/a/2.md"}
        assert "The selected items no longer exist" in selection(client, store, act="restore", id=[one.id, two.id])

    def test_a_redacted_memory_is_said_and_left(self, client: Client, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md"), write(store, "/a/2.md")
        curation.delete(store.id, "/a", act())
        with tampering():
            Memory.objects.filter(pk=one.pk).update(text=None)
        listed = page(client, reverse("trash", args=[store.id]))
        assert listed.count('data-size="0"') == listed.count("0 B</td>") == 1
        html = selection(client, store, act="restore", id=[one.id, two.id])
        assert "its text was redacted" in html
        selection(client, store, **form_with(html, "digest"))
        assert live(store) == {"/a/2.md"}

    def test_a_limit_is_said_and_nothing_comes_back(self, client: Client, store: MemoryStore) -> None:
        made = [write(store, f"/a/{number}.md") for number in range(3)]
        curation.delete(store.id, "/a", act())
        with tampering():
            MemoryStore.objects.filter(pk=store.pk).update(limit_memories=2)
        html = selection(client, store, act="restore", id=[memory.id for memory in made])
        assert "has 2 memories, which is its limit" in html
        assert live(store) == set()

    def test_viewers_look_and_restore_nothing(self, bob: User, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        curation.delete(store.id, "/a", act())
        html = page(signed_in(bob), reverse("trash", args=[store.id]))
        assert "/a/1.md" in html and 'name="id"' not in html and "restore-together" not in html
        url = reverse("selection", args=[store.id])
        assert signed_in(bob).post(url, {"act": "restore", "id": one.id}).status_code == 403

    def test_an_archived_store_keeps_its_trash(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        curation.delete(store.id, "/a", act())
        stores.set_archived(store, True, **BY)
        assert "archived" in selection(client, store, act="restore", id=one.id)
        assert live(store) == set()

    @pytest.mark.parametrize("entry", ["0", "999999", "x", "9" * 30, "-1"])
    def test_an_entry_that_deleted_nothing_restores_nothing(
        self, client: Client, store: MemoryStore, entry: str
    ) -> None:
        html = selection(client, store, act="restore", entry=entry)
        assert "Nothing is selected" in html


def test_an_agents_name_is_shown_as_it_was(client: Client, store: MemoryStore, agent: Agent, key: str) -> None:
    write(store, "/a.md")
    Caller(store, key, session="run-1").call("delete", path="/memories/a.md")
    keys_and_roles.edit_agent(agent, name="Other", description="", **BY)
    assert "Support bot" in page(client, reverse("trash", args=[store.id]))
