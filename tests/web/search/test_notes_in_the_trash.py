"""A search with the trash looks at two notes: those of the last change and of the deletion."""

import json

import pytest
from django.urls import reverse

from memoryhub.actions.memories import curation
from memoryhub.models import MemoryStore, User
from memoryhub.web.search import search
from tests.support.fixtures import signed_in
from tests.web.memories.pages import act
from tests.web.search.test_search import asked, text_of


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)


def test_in_the_trash_the_note_of_the_deletion_is_found_too(store: MemoryStore, alice: User) -> None:
    note = act(alice)
    curation.create(store.id, "/apple.md", "pear", note._replace(note="a plum"))
    curation.delete(store.id, "/apple.md", note._replace(note="rotten"))
    for words in ("rotten", "pear plum rotten", "rotten in:notes"):
        assert "1 memory found." in text_of(asked(alice, words, trash="yes"))
    assert "1 memory found." not in text_of(asked(alice, "rotten in:paths", trash="yes"))
    html = asked(alice, "rotten plum", trash="yes")
    assert "a <mark>plum</mark>" in html and "<mark>rotten</mark>" in html and html.count(">deleted:<") == 1
    rows = signed_in(alice).post(reverse("export_search"), {"format": "json", "q": "rotten", "trash": "yes"})
    assert [row["note"] for row in json.loads(rows.getvalue())] == ["a plum\nrotten"]
