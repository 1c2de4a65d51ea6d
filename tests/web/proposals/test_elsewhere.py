"""Beside a proposal: which of its new lines other memories have already."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from memoryhub.web.proposals import elsewhere
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import begun, listed, proposes, send, url_of

pytestmark = pytest.mark.django_db

RULE = "Refunds are paid within 14 days after the goods came back."


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = begun(store, key, "/policies/a.md")
    caller.create("/notes/refunds.md", f"# Refunds\n{RULE}\n")
    caller.create("/notes/other.md", "Nothing of it.\n- refunds are paid within 30 days after the goods came back\n")
    return caller


def address(store: MemoryStore, number: int = 1) -> str:
    return reverse("proposal_elsewhere", args=[store.pk, number])


def shown(client: Client, store: MemoryStore, query: str = "", **headers: str) -> Any:
    return client.get(address(store) + query, headers=headers)


def found(page: Any) -> list[tuple[Any, ...]]:
    return [(*one.new, one.path, one.line, one.is_same) for one in page.context["found"]]


def test_equal_and_nearly_equal_lines_of_other_memories_are_named_with_links(
    caller: Caller, store: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    proposes(caller, "insert", "/policies/a.md", insert_line=2, insert_text=f"{RULE}\n")
    assert address(store) in client.get(url_of(store)).content.decode()
    page = shown(client, store, HX_Request="true")
    assert found(page) == [
        ("/policies/a.md", 3, "/notes/other.md", 2, False),
        ("/policies/a.md", 3, "/notes/refunds.md", 2, True),
    ]
    html = page.content.decode()
    assert "nearly the same text is in" in html and "#L2" in html and "<html" not in html
    assert "<h1" in shown(client, store).content.decode(), "without script, a page"


def test_lines_of_the_memories_that_it_changes_do_not_count(caller: Caller, store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    proposes(caller, "create", "/policies/new.md", file_text=f"{RULE}\n")
    assert len(found(shown(client, store))) == 2
    proposes(caller, "create", "/policies/x.md", file_text="Something that no other memory says.\n")
    send(client, store)
    caller.session = "another"
    proposes(caller, "str_replace", "/policies/new.md", old_str="14", new_str="15")
    page = client.get(address(store, 2))
    assert {one.path for one in page.context["found"]} == {"/notes/other.md", "/notes/refunds.md"}
    assert client.get(address(store)).status_code == 404, "it is decided"


def test_what_no_time_was_left_for_is_looked_at_with_a_press(
    caller: Caller, store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "SECONDS", -1)
    monkeypatch.setattr(elsewhere, "SECONDS_OF_A_PRESS", -1)
    client, query, lines = signed_in(alice), "", []
    proposes(caller, "insert", "/policies/a.md", insert_line=2, insert_text=f"{RULE}\n")
    for seen in range(1, 3):
        page = shown(client, store, query, HX_Request="true")
        lines += found(page)
        assert page.context["seen"] == seen
        assert ("with 1 of 2 other memories" in page.content.decode()) == (seen == 1)
        query = f"?after={page.context['last']}&seen={seen}"
    assert len(lines) == 2 and "compared with all other memories" in page.content.decode()


def test_it_is_for_who_decides(caller: Caller, store: MemoryStore, bob: User, charlie: User) -> None:
    proposes(caller, "insert", "/policies/a.md", insert_line=2, insert_text=f"{RULE}\n")
    assert address(store) not in signed_in(bob).get(url_of(store)).content.decode()
    assert shown(signed_in(bob), store).status_code == 403
    assert shown(signed_in(charlie), store).status_code == 404
    assert listed(store)


def test_lines_that_were_not_looked_for_are_not_called_nowhere(
    caller: Caller, store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "MOST_LINES", 2)
    proposes(caller, "create", "/policies/b.md", file_text=f"An opening line.\nAnother line of it.\n{RULE}\n")
    page = shown(signed_in(alice), store, HX_Request="true")
    assert not found(page)
    assert (
        "No other memory has any of the first 2 new lines. The remaining lines were not searched for."
        in page.content.decode()
    )
