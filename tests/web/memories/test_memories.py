"""The pages of one memory, as people use them: read, create, rename, delete, download."""

from html import unescape
from math import inf
from typing import Any

import pytest
from django.test import Client

from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure import sensitive
from tests.support.durations import is_within
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.long import some
from tests.web.browser_forms import form_with, forms, sent
from tests.web.memories.pages import HOSTILE, TEXTS, act, new_curator, newest, page, text_of, url_of, write


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    return new_curator(store)


@pytest.fixture
def client(curator: User) -> Client:
    return signed_in(curator)


# ------------------------------------------------------------------------------------------------ its page


def test_a_memory_is_shown_with_numbered_lines(client: Client, store: MemoryStore) -> None:
    html = page(client, url_of(write(store, "/notes/a.md", "one\n\nthree")))
    assert '<li id="L1"><a href="#L1">1</a><code>one</code></li>' in html
    assert '<li id="L2"><a href="#L2">2</a><code></code></li>' in html
    assert '<li id="L3"><a href="#L3">3</a><code>three</code></li>' in html
    assert 'id="L4"' not in html
    assert "no newline at the end" in html


def test_a_memory_shows_where_it_lies_and_its_facts(client: Client, curator: User, store: MemoryStore) -> None:
    memory = write(store, "/notes/deep/a.md")
    done = curation.edit(store.id, memory.id, "other\n", memory.sha256, act(curator))
    memory.refresh_from_db()
    html = page(client, url_of(memory))
    for part in (memory.id, memory.sha256, "6 B", "Carol", "Never", 'data-copy-text="/notes/deep/a.md"'):
        assert part in html
    for url in (f"/stores/{store.id}/", f"/stores/{store.id}/tree/notes", f"/stores/{store.id}/tree/notes/deep",
                f"/audit/{store.id}/{done.seq}", url_of(memory, "versions"), url_of(memory, "compare"),
                f"/stores/{store.id}/audit?path=%2Fnotes%2Fdeep%2Fa.md"):  # fmt: skip
        assert f'href="{url}"' in html


def test_a_memory_tells_which_agent_read_it_last(client: Client, store: MemoryStore, agent: Any, key: str) -> None:
    memory = write(store, "/a.md")
    headers = {"HTTP_AUTHORIZATION": f"Bearer {key}"}
    look = {"command": "view", "path": "/memories/a.md"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": look}
    url = f"/v1/memory_stores/{store.id}/tool_calls"
    assert Client().post(url, call, content_type="application/json", **headers).status_code == 200
    html = page(client, url_of(memory))
    assert "Support bot" in html
    assert "Never" not in html
    assert page(client, url_of(memory)).count("Support bot") == html.count("Support bot")
    memory.refresh_from_db()
    assert memory.read_count == 1


def test_hostile_text_is_inert_and_hidden_characters_are_shown(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", HOSTILE)
    for url in (url_of(memory), url_of(memory, "edit"), url_of(memory) + "?view=rendered"):
        html = page(client, url)
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "</textarea><b" not in html
        assert "{{ 7|add:7 }}" in unescape(html)
    html = page(client, url_of(memory))
    assert "\u202e" not in html
    assert "hidden-character" in html
    assert "invisible characters" in html


def test_markdown_is_rendered_in_its_own_tab(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.txt", "# Head\n\n**bold** <script>x</script> ![pic](https://example.com/x.png)\n")
    html = page(client, url_of(memory) + "?view=rendered")
    assert "<strong>bold</strong>" in html
    assert "example.com/x.png" not in html or "<img" not in html
    assert "<script>x" not in html
    assert "<strong>" not in page(client, url_of(memory))


@pytest.mark.push
@pytest.mark.parametrize(
    "text", ["same line\n" * 10_000, "\n" * 100_000, "x" * 102_400, "\u202e" * 34_000, "a\u200b\n" * 20_000]
)
def test_a_large_text_is_shown_quickly(
    client: Client, store: MemoryStore, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitive, "STEPS", inf)  # such a text may have been saved in parts
    memory = write(store, "/big.md", text)
    assert is_within(3, lambda: [page(client, url_of(memory)), page(client, url_of(memory, "edit"))])


def test_lines_after_the_first_many_are_on_further_pages(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/big.md", "x\n" * 25_000)
    html = page(client, url_of(memory))
    assert 'id="L20000"' in html
    assert 'id="L20001"' not in html
    assert url_of(memory) + "?from=20001" in html
    rest = page(client, url_of(memory) + "?from=20001")
    assert rest.count('<li id="L') == 5_000
    assert 'start="20001"' in rest


@in_turn("query", ["from=0", "from=-1", "from=x", "from=²", "from=999999999", "from=" + "9" * 99, "view=x"])
def test_a_malformed_query_is_no_error(client: Client, store: MemoryStore, query: str) -> None:
    assert 'id="L1"' in page(client, url_of(write(store, "/a.md")) + "?" + query)


def test_an_empty_memory_says_so(client: Client, store: MemoryStore) -> None:
    assert "This memory is empty" in page(client, url_of(write(store, "/a.md", "")))


def test_a_deleted_memory_shows_its_last_text_and_the_way_back(client: Client, bob: User, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "precious\n")
    curation.delete(store.id, "/a.md", act())
    html = page(client, url_of(memory))
    version = MemoryVersion.objects.of_memory(memory).get(number=1)
    assert "precious" in html
    assert f"/stores/{store.id}/versions/{version.id}/restore" in [action for action, _ in forms(html)]
    assert url_of(memory, "edit") not in html
    assert "/restore" not in page(signed_in(bob), url_of(memory))
    for act_page in ("edit", "rename", "delete"):
        assert client.get(url_of(memory, act_page)).status_code == 404


# ------------------------------------------------------------------------------------------------ a new one


def test_a_memory_is_created_with_a_note(client: Client, curator: User, store: MemoryStore) -> None:
    url = f"/stores/{store.id}/new"
    fields = form_with(page(client, url + "?path=/notes/"), "path")
    assert fields["path"] == "/notes/"
    answer = client.post(url, sent(fields, path="notes//ü.md", text="a\nb\n", note=" because "))
    memory = Memory.objects.get(store=store)
    assert (answer.status_code, answer.headers["Location"]) == (303, url_of(memory))
    assert (memory.path, text_of(memory)) == ("/notes/ü.md", "a\nb\n")
    entry = newest(store)
    assert (entry.command, entry.note, entry.actor_id, entry.door) == ("create", "because", curator.id, Door.WEB)


@in_turn(("path", "said"), [
    ("", "required"), ("/", "is already at"), ("/a.md", "is already at"), ("/dir", "is already at"),
    ("/a.md/x", "/a.md is a memory"), ("/new/", "must not end with /"), ("/../x", "lead out"), ("/x\0", "Null"),
    ("/%2e%2e/x", "lead out"), ("/a\u200bb", "invisible"),
])  # fmt: skip
def test_a_memory_is_not_created_in_a_bad_place_and_its_text_stays(
    client: Client, store: MemoryStore, path: str, said: str
) -> None:
    write(store, "/a.md")
    write(store, "/dir/b.md")
    before = AuditEntry.objects.count()
    answer = client.post(f"/stores/{store.id}/new", {"path": path, "text": "my text", "newlines": "lf"})
    assert answer.status_code == 200
    html = unescape(answer.content.decode())
    assert said in html
    assert form_with(html, "path")["text"] == "my text"
    assert AuditEntry.objects.count() == before


@pytest.mark.both_databases
def test_a_limit_of_the_store_is_told_and_the_text_stays(client: Client, store: MemoryStore) -> None:
    stores.edit_store(store, stores.StoreSettings(name="Support", limits={"limit_memory_bytes": 10}), **BY)
    memory = write(store, "/a.md", "short")
    answer = client.post(f"/stores/{store.id}/new", {"path": "/b.md", "text": "x" * 11, "newlines": "lf"})
    assert "the limit of this memory store is 10" in answer.content.decode()
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    answer = client.post(url_of(memory, "edit"), sent(fields, text="y" * 11))
    assert "the limit of this memory store is 10" in answer.content.decode()
    assert form_with(answer.content.decode(), "sha256")["text"] == "y" * 11
    assert text_of(memory) == "short"


# ------------------------------------------------------------------------------------------------ the other acts


def test_a_memory_is_renamed_and_keeps_its_id(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    fields = form_with(page(client, url_of(memory, "rename")), "new_path")
    answer = client.post(url_of(memory, "rename"), fields | {"new_path": "/x/#1?.md", "note": "n"})
    assert (answer.status_code, answer.headers["Location"]) == (303, url_of(memory))
    memory.refresh_from_db()
    assert memory.path == "/x/#1?.md"
    entry = newest(store)
    assert (entry.command, entry.path, entry.new_path, entry.note) == ("rename", "/a.md", "/x/#1?.md", "n")


@pytest.mark.parametrize("new_path", ["", "/b.md", "/a.md", "/a.md/x", "/..", "/"])
def test_a_memory_goes_to_no_bad_place(client: Client, store: MemoryStore, new_path: str) -> None:
    memory = write(store, "/a.md")
    write(store, "/b.md")
    answer = client.post(url_of(memory, "rename"), {"new_path": new_path})
    assert (answer.status_code, bool(answer.context["form"].errors)) == (200, True)
    assert MemoryVersion.objects.of_memory(memory).count() == 1


def test_a_memory_is_deleted_with_a_way_to_undo_it(client: Client, curator: User, store: MemoryStore) -> None:
    memory = write(store, "/dir/a.md", "precious")
    assert "goes to the trash" in page(client, url_of(memory, "delete"))
    answer = client.post(url_of(memory, "delete"), {"note": "gone"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/stores/{store.id}/?deleted={memory.id}")
    entry = newest(store)
    assert (entry.command, entry.note, entry.actor_id) == ("delete", "gone", curator.id)
    html = page(client, answer.headers["Location"])
    assert "Undo" in html
    (undo,) = [(action, fields) for action, fields in forms(html) if action.endswith("/restore")]
    assert client.post(*undo).status_code == 303
    memory.refresh_from_db()
    assert (memory.is_live, memory.path, text_of(memory)) == (True, "/dir/a.md", "precious")
    assert not any(action.endswith("/restore") for action, _ in forms(page(client, answer.headers["Location"])))


@pytest.mark.parametrize("deleted", ["mem_none", "<script>"])
def test_a_malformed_undo_is_no_error(client: Client, store: MemoryStore, deleted: str) -> None:
    assert "Undo" not in page(client, f"/stores/{store.id}/?deleted={deleted}")


def test_acts_on_a_memory_never_hit_another_one_at_its_path(store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    curation.rename(store.id, "/a.md", "/b.md", act())
    write(store, "/a.md")
    with pytest.raises(curation.Conflict):
        curation.delete(store.id, "/a.md", act(), memory_id=memory.id)
    with pytest.raises(curation.Conflict):
        curation.rename(store.id, "/a.md", "/c.md", act(), memory_id=memory.id)
    assert Memory.objects.live().count() == 2


@pytest.mark.parametrize("text", some(TEXTS, 3))
def test_a_download_is_the_text_and_is_audited(bob: User, store: MemoryStore, text: str) -> None:
    memory = write(store, '/dir/ü "x";.md', text)
    answer = signed_in(bob).post(url_of(memory, "download"))
    assert answer.content == text.encode()
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "\n" not in answer.headers["Content-Disposition"]
    entry = newest(store)
    assert (entry.command, entry.memory, entry.version) == ("download", memory.id, memory.head_id)
    assert entry.actor_id == bob.id


# ------------------------------------------------------------------------------------------------ who may


def test_viewers_read_and_change_nothing(bob: User, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    client = signed_in(bob)
    html = page(client, url_of(memory))
    assert [action for action, _ in forms(html) if store.id in action] == [url_of(memory, "download")]
    for url in (url_of(memory, "edit"), url_of(memory, "rename"), url_of(memory, "delete"), f"/stores/{store.id}/new"):
        assert url not in html
        assert client.get(url).status_code == 403
        assert client.post(url, {"path": "/x", "new_path": "/x", "text": "x", "newlines": "lf"}).status_code == 403
    assert Memory.objects.live().get().path == "/a.md"


def test_without_a_role_nothing_is_found(charlie: User, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    client = signed_in(charlie)
    for url in (*(url_of(memory, name) for name in ("", "edit", "rename", "delete")), f"/stores/{store.id}/new"):
        assert client.get(url).status_code == 404
        assert Client().get(url).status_code == 302
    assert client.post(url_of(memory, "download")).status_code == 404


def test_a_memory_is_not_found_through_another_store(client: Client, curator: User, store: MemoryStore) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    memory = write(other, "/a.md")
    for name in ("", "/edit", "/rename", "/delete"):
        assert client.get(f"/stores/{store.id}/memories/{memory.id}{name}").status_code == 404
    assert client.post(f"/stores/{store.id}/memories/{memory.id}/download").status_code == 404
    assert client.get(f"/stores/{store.id}/memories/mem_none").status_code == 404


def test_what_changes_something_is_never_done_by_get(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    before = AuditEntry.objects.count()
    assert client.get(url_of(memory, "download")).status_code == 405
    assert client.post(url_of(memory)).status_code == 405
    for name in ("edit", "rename", "delete"):
        client.get(url_of(memory, name))
        assert client.put(url_of(memory, name)).status_code == 405
    client.get(f"/stores/{store.id}/new")
    assert AuditEntry.objects.count() == before


def test_in_an_archived_store_memories_are_read_and_deleted_only(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    stores.set_archived(store, True, **BY)
    html = page(client, url_of(memory))
    assert "is archived" in html
    assert url_of(memory, "edit") not in html
    assert url_of(memory, "rename") not in html
    assert "archived" in client.post(url_of(memory, "rename"), {"new_path": "/b"}).content.decode()
    assert "archived" in client.post(f"/stores/{store.id}/new", {"path": "/b", "newlines": "lf"}).content.decode()
    answer = client.post(url_of(memory, "delete"), {})
    assert answer.status_code == 303
    assert "Undo" not in page(client, answer.headers["Location"])
