"""The trash of a store: what was deleted, by whom, and the way to each."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions import curation
from memoryhub.models import MemoryStore
from memoryhub.web import trash
from tests.fixtures import new_person, signed_in
from tests.web.memory_pages import HOSTILE, act, new_curator, page, write


@pytest.fixture
def client(store: MemoryStore) -> Client:
    return signed_in(new_curator(store))


def test_deleted_memories_stand_in_the_trash_with_who_deleted_them(client: Client, store: MemoryStore) -> None:
    kept, gone = write(store, "/kept.md"), write(store, "/notes/gone.md")
    curation.delete(store.id, "/notes", act(new_person("Dora")))
    html = page(client, reverse("trash", args=[store.id]))
    assert reverse("memory", args=[store.id, gone.id]) in html and "/notes/gone.md" in html and "Dora" in html
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
        seen += [memory.path for memory, _ in answer.context["rows"]]
        before = answer.context["older"] or ""
    assert sorted(seen) == [f"/a/{number}.md" for number in range(5)] and not before


def test_a_hostile_path_is_inert_in_the_trash(client: Client, store: MemoryStore) -> None:
    path = "/<img src=x onerror=alert(1)>"
    write(store, path, HOSTILE)
    curation.delete(store.id, path, act())
    assert "<img src=x" not in page(client, reverse("trash", args=[store.id]))
