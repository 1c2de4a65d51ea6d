"""Editing a memory: to the byte, over somebody's newer version, and what people are told when it is refused."""

import pytest
from django.test import Client

from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import tool_errors
from memoryhub.web.common.texts import lines
from tests.support.fixtures import BY, signed_in
from tests.support.long import some
from tests.web.browser_forms import form_with, sent
from tests.web.memories.pages import TEXTS, act, new_curator, newest, page, text_of, url_of, write


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    return new_curator(store)


@pytest.fixture
def client(curator: User) -> Client:
    return signed_in(curator)


# ------------------------------------------------------------------------------------------------ editing


@pytest.mark.parametrize("text", some(TEXTS, 2))
def test_a_text_that_nobody_touches_is_saved_byte_for_byte(client: Client, store: MemoryStore, text: str) -> None:
    memory = write(store, "/a.md", text)
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    answer = client.post(url_of(memory, "edit"), sent(fields))
    assert answer.status_code == 303
    assert text_of(memory) == text
    assert MemoryVersion.objects.of_memory(memory).count() == 1


@pytest.mark.parametrize("text", some(TEXTS, 3))
def test_what_is_typed_leaves_the_rest_byte_for_byte(client: Client, store: MemoryStore, text: str) -> None:
    memory = write(store, "/a.md", text)
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    client.post(url_of(memory, "edit"), sent(fields, text=fields["text"] + "more"))
    assert text_of(memory) == text + "more"


def test_new_lines_of_a_text_with_cr_lf_get_cr_lf(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "a\r\nb\r\n")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    client.post(url_of(memory, "edit"), sent(fields, text="a\nnew\nb\n"))
    assert text_of(memory) == "a\r\nnew\r\nb\r\n"


def test_a_lone_cr_is_shown_by_a_sign_and_explained(client: Client, store: MemoryStore) -> None:
    html = page(client, url_of(write(store, "/a.md", "a\rb\n"), "edit"))
    assert form_with(html, "sha256")["text"] == "a␍b\n"
    assert "<code>␍</code>" in html


def test_an_edit_is_a_version_with_a_note(client: Client, curator: User, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "old\n")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    answer = client.post(url_of(memory, "edit"), sent(fields, text="new\n", note="why"))
    assert (answer.status_code, answer.headers["Location"]) == (303, url_of(memory))
    html = page(client, url_of(memory))
    assert "was saved as a new version" in html and f'{url_of(memory, "compare")}?to=2">See the change</a>' in html
    entry = newest(store)
    assert (entry.command, entry.path, entry.note, entry.actor_id) == ("edit", "/a.md", "why", curator.id)
    assert MemoryVersion.objects.of_memory(memory).newest()[0].seq == entry.seq


def test_saving_the_same_text_says_that_nothing_changed(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    client.post(url_of(memory, "edit"), sent(form_with(page(client, url_of(memory, "edit")), "sha256")))
    assert "Nothing was changed" in page(client, url_of(memory))


@pytest.mark.parametrize("fields", [
    {}, {"text": "x"}, {"text": "x", "sha256": "a" * 64, "version": "v", "newlines": "other"},
    {"text": "x", "sha256": "a" * 64, "version": "v"}, {"text": "x\0", "sha256": "a", "version": "v", "newlines": "lf"},
    {"text": "x", "sha256": "", "version": "", "newlines": "lf"},
])  # fmt: skip
def test_a_malformed_edit_changes_nothing(client: Client, store: MemoryStore, fields: dict[str, str]) -> None:
    memory = write(store, "/a.md")
    before = AuditEntry.objects.count()
    answer = client.post(url_of(memory, "edit"), fields)
    assert answer.status_code == 200
    assert text_of(memory) == "text\n"
    assert AuditEntry.objects.count() == before


# ------------------------------------------------------------------------------------------------ conflicts


def test_the_same_text_as_somebody_else_wrote_is_no_conflict(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "base")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    curation.edit(store.id, memory.id, "both", memory.sha256, act())
    assert client.post(url_of(memory, "edit"), sent(fields, text="both")).status_code == 303
    assert MemoryVersion.objects.of_memory(memory).count() == 2


def test_an_edit_of_a_memory_that_was_deleted_is_kept_to_create_it_again(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "base\r\n")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    curation.delete(store.id, "/a.md", act())
    answer = client.post(url_of(memory, "edit"), sent(fields, text="mine\n"))
    assert answer.status_code == 200
    assert "was deleted" in answer.content.decode()
    kept = form_with(answer.content.decode(), "text")
    assert (kept["text"], kept["path"]) == ("mine\n", "/a.md")
    write(store, "/a.md", "somebody was faster again")
    taken = client.post(f"/stores/{store.id}/new", sent(kept))
    again = form_with(taken.content.decode(), "text")
    assert "is already at" in taken.content.decode()
    assert again["text"] == "mine\n"
    done = client.post(f"/stores/{store.id}/new", sent(again, path="/b.md"))
    assert done.status_code == 303
    assert text_of(Memory.objects.get(path="/b.md")) == "mine\r\n"


def test_an_edit_of_a_memory_that_was_renamed_is_saved_at_its_new_path(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "base")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    curation.rename(store.id, "/a.md", "/new/b.md", act())
    answer = client.post(url_of(memory, "edit"), sent(fields, text="mine"))
    assert answer.status_code == 303
    assert text_of(memory) == "mine"
    assert "was renamed" in page(client, answer.headers["Location"])


def test_an_edit_that_comes_after_the_store_was_archived_keeps_the_text(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md", "base")
    fields = form_with(page(client, url_of(memory, "edit")), "sha256")
    stores.set_archived(store, True, **BY)
    html = client.post(url_of(memory, "edit"), sent(fields, text="mine")).content.decode()
    assert "archived and cannot be changed" in html
    assert form_with(html, "sha256")["text"] == "mine"
    assert text_of(memory) == "base"


# ------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize("text", TEXTS)
def test_a_textarea_gives_back_what_it_was_given(text: str) -> None:
    editable = lines.to_textarea(text)
    browser = editable.text.replace("\n", "\r\n")
    assert "\r" not in editable.text
    assert lines.from_textarea(browser, editable.newlines) == text


@pytest.mark.parametrize("newlines", ["", "cr", "⟨CR⟩x", "\n", "a", "LF", "⟨CR⟩" * 2])
def test_a_sign_that_is_not_ours_is_refused(newlines: str) -> None:
    with pytest.raises(ValueError):
        lines.from_textarea("text", newlines)


@pytest.mark.parametrize(("message", "said"), [
    (results.already_exists("/memories/x.md"), "A memory or a directory is already at /memories/x.md."),
    (results.memory_too_large("/a", 20, 10), "/a would have 20 bytes, but the limit of this memory store is 10."),
    (results.path_escapes("/memories/../x"), "The path /../x would lead out of the memory store."),
    (results.path_not_allowed("/memories/\u202e", "why"), "The path /\\u202e is not allowed: why."),
    (results.inside_itself("/a", "/a/b"), "/a cannot be moved inside itself, to /a/b."),
    (results.store_archived(), "This memory store is archived and cannot be changed."),
    ("Error: something of /memories/a and %s", "Something of /a and %s"),
])  # fmt: skip
def test_refusals_are_said_to_people_without_the_root_of_the_tool(message: str, said: str) -> None:
    assert tool_errors.for_people(ToolError(message)).startswith(said)
