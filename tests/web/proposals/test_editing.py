"""Texts of a proposal that a person edits before they merge it."""

import re
from typing import Any

import pytest
from django.test import Client

from memoryhub.models import Memory, MemoryStore, MemoryVersion, User
from tests.api.harness import assert_audit_is_right
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import HOSTILE, Caller
from tests.web.proposals.proposing import (
    LINES,
    begun,
    edit,
    newest,
    press,
    proposes,
    replaces,
    state,
    texts,
    url_of,
)

pytestmark = pytest.mark.django_db

A, B = "/policies/a.md", "/policies/b.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return begun(store, key, A, B)


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def id_of(path: str) -> str:
    return str(Memory.objects.at(path).get().pk)


def opened(client: Client, store: MemoryStore, memory: str, **given: Any) -> Any:
    """The page of proposal 1 with the editor of a memory."""
    return press(client, store, client.get(url_of(store)), edit=memory, **given)


def written(page: Any, memory: str) -> str:
    """What is in the editor of a memory."""
    found = re.search(rf'<textarea id="text-{memory}"[^>]*>\n(.*?)</textarea>', page.content.decode(), re.DOTALL)
    assert found
    return found[1]


def test_the_text_of_a_person_is_merged_in_place_of_the_proposed_one(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    replaces(caller, B, "two", "2")
    page = opened(curator, store, id_of(A))
    assert written(page, id_of(A)) == LINES.replace("two", "2") and state(store) == ("open", "")
    own = LINES.replace("two", "2 (two)")
    page = press(curator, store, page, decision="merge", **{f"text-{id_of(A)}": own})
    assert texts(store) == {A: own, B: LINES.replace("two", "2")}
    assert state(store) == ("partly_merged", ""), "a proposed line was replaced"
    html = page.content.decode()
    assert ">edited and merged</span>" in html and html.count(">merged</span>") == 1


def test_the_entry_and_the_version_say_who_edited_what_whom_proposed(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    page = opened(curator, store, id_of(A))
    press(curator, store, page, decision="merge", **{f"text-{id_of(A)}": LINES + "more\n"})
    entry = newest(store)
    assert (entry.command, entry.label) == ("edit_and_merge_proposal", "Alice")
    assert f'"edited":["{id_of(A)}"]' in (entry.input or "").replace(" ", "")
    audit = curator.get(f"/stores/{store.pk}/audit").content.decode()
    assert "edited what Support bot proposed in #1, and merged it" in audit
    versions = curator.get(f"/stores/{store.pk}/memories/{id_of(A)}/versions").content.decode()
    assert "edited and merged a proposal" in versions
    version = MemoryVersion.objects.filter(store=store, memory_id=id_of(A)).latest("number")
    assert version.seq == entry.seq
    assert_audit_is_right(store)


def test_a_text_that_only_adds_to_the_proposed_one_leaves_nothing_out(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    page = opened(curator, store, id_of(A))
    press(curator, store, page, decision="merge", **{f"text-{id_of(A)}": LINES.replace("two", "2") + "eight\n"})
    assert state(store) == ("merged", "")


def test_an_editor_begins_with_the_ticked_hunks_and_a_text_that_is_not_changed_is_no_edit(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    replaces(caller, A, "six", "6")
    page = opened(curator, store, id_of(A), take=[f"{id_of(A)}:2"])
    assert written(page, id_of(A)) == LINES.replace("six", "6")
    page = press(curator, store, page, discard=id_of(A))
    assert '<textarea id="text-' not in page.content.decode()
    page = opened(curator, store, id_of(A))
    press(curator, store, page, decision="merge")
    assert texts(store)[A] == LINES.replace("two", "2").replace("six", "6")
    assert (state(store)[0], newest(store).command) == ("merged", "merge_proposal")


def test_a_new_memory_can_be_edited_too(caller: Caller, store: MemoryStore, curator: Client) -> None:
    proposes(caller, "create", "/policies/new.md", file_text="one\n")
    html = curator.get(url_of(store)).content.decode()
    (name,) = re.findall('name="edit" value="([^"]+)"', html)
    page = opened(curator, store, name)
    press(curator, store, page, decision="merge", **{f"text-{name}": "one\r\ntwo\r\n"})
    assert texts(store)["/policies/new.md"] == "one\ntwo\n" and state(store) == ("merged", "")


def test_a_conflict_is_edited_as_text_without_markers(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    edit(store, A, "two", "II", alice)
    page = opened(curator, store, id_of(A))
    assert written(page, id_of(A)) == LINES.replace("two", "2")
    own = LINES.replace("two", "II, 2")
    press(curator, store, page, decision="merge", **{f"choice-{id_of(A)}": "before", f"text-{id_of(A)}": own})
    assert texts(store)[A] == own


def test_a_text_is_kept_and_shown_again_when_the_memory_has_changed_meanwhile(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    page = opened(curator, store, id_of(A))
    edit(store, A, "six", "VI", alice)
    own = LINES.replace("two", "2, or two")
    page = press(curator, store, page, decision="merge", **{f"text-{id_of(A)}": own})
    assert "has changed since you opened this page" in page.content.decode() and written(page, id_of(A)) == own
    assert texts(store)[A] == LINES.replace("six", "VI") and "VI" in page.content.decode()


def test_texts_with_sensitive_values_open_no_editor(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, A, "two", "5105 1051 0510 5100")
    html = curator.get(url_of(store)).content.decode()
    assert 'name="edit"' not in html
    page = opened(curator, store, id_of(A)).content.decode()
    assert "5105 1051" not in page and '<textarea id="text-' not in page


def test_deletions_have_nothing_to_edit_and_a_foreign_memory_changes_nothing(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    proposes(caller, "delete", A)
    for memory in (id_of(A), id_of(B), "mem_nothing"):
        assert '<textarea id="text-' not in opened(curator, store, memory).content.decode()
    press(curator, store, curator.get(url_of(store)), decision="merge", **{f"text-{id_of(B)}": "foreign"})
    assert texts(store) == {B: LINES}


def test_hostile_texts_are_only_text_and_forbidden_ones_are_refused(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    replaces(caller, A, "two", "2")
    page = opened(curator, store, id_of(A))
    shown = press(curator, store, page, edit=id_of(A), **{f"text-{id_of(A)}": f"</textarea>{HOSTILE}"}).content.decode()
    assert "<script>alert" not in shown and "&lt;/textarea&gt;" in shown
    for bad in ({f"text-{id_of(A)}": "a\0b"}, {f"newlines-{id_of(A)}": "bad"}):
        answer = press(curator, store, page, decision="merge", **bad)
        assert "a character that is not allowed" in answer.content.decode() and state(store) == ("open", "")


def test_viewers_edit_nothing(caller: Caller, store: MemoryStore, bob: User) -> None:
    replaces(caller, A, "two", "2")
    viewer = signed_in(bob)
    page = viewer.get(url_of(store))
    assert 'name="edit"' not in page.content.decode()
    fields = form_with(page.content.decode(), "digest") | {"edit": id_of(A)}
    assert viewer.post(url_of(store), fields).status_code == 403
