"""Searching in the API, for keys."""

import json

import pytest
from django.db.models import Q

from memoryhub.actions.search import search as searching
from memoryhub.models import AuditEntry, Memory
from tests.api.further.managed import get, refusal
from tests.api.harness import Hub, assert_audit_is_right, newest_entry, row_counts
from tests.api.rules import CARD, set_rules

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_a_search_gives_memories_with_their_lines_by_path(managed: Hub) -> None:
    value = get(managed, "search", query="Tea").value
    assert value["next_page"] is None
    first, second = value["data"]
    memory = Memory.objects.get(store=managed.store, path="/a/b.md")
    assert {name: first["memory"][name] for name in ("type", "id", "memory_version_id", "path", "content")} == {
        "type": "memory", "id": memory.pk, "memory_version_id": memory.head_id, "path": "/a/b.md", "content": None
    }  # fmt: skip
    assert first["lines"] == [
        {"number": 3, "text": "TEA", "text_start": 0, "matches": [{"start": 0, "end": 3}]}
    ] and first["more_lines"] == 0  # fmt: skip
    assert (second["memory"]["path"], second["lines"][0]["number"]) == ("/c.md", 1)
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, json.loads(entry.input or "")["query"]) == ("search", "api", "Tea")
    assert Memory.objects.filter(store=managed.store, read_count__gt=0).count() == 0
    assert_audit_is_right(managed.store)


def test_long_lines_are_cut_around_what_was_found_by_code_points(managed: Hub) -> None:
    text = "𝔘" * 500 + " needle " + "x" * 500
    managed.call(command="create", path="/memories/long.md", file_text=text + "\n" + "needle\n" * 9)
    (match,) = get(managed, "search", query="NEEDLE").value["data"]
    for line in match["lines"]:
        (place,) = line["matches"]
        assert line["text"][place["start"] : place["end"]] == "needle"
        start = line["text_start"]
        assert (text if line["number"] == 1 else "needle")[start : start + len(line["text"])] == line["text"]
    assert [line["number"] for line in match["lines"]] == [1, 2, 3, 4, 5] and match["more_lines"] == 5
    assert len(match["lines"][0]["text"]) == 320


@pytest.mark.both_databases
def test_pages_of_a_search_are_of_one_search_and_end(managed: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = get(managed, "search", query="tea", limit=1).value
    assert [match["memory"]["path"] for match in first["data"]] == ["/a/b.md"]
    rest = get(managed, "search", query="tea", limit=1, page=first["next_page"]).value
    assert [match["memory"]["path"] for match in rest["data"]] == ["/c.md"] and rest["next_page"] is None
    for other in ({"query": "cake"}, {"query": "tea", "path_prefix": "/a/"}):
        assert refusal(get(managed, "search", page=first["next_page"], **other)) == (400, "invalid_request_error")
    monkeypatch.setattr(searching, "SECONDS", 0)
    bounded = get(managed, "search", query="cake").value
    assert bounded["data"] == [] and bounded["next_page"]
    assert len(get(managed, "search", query="cake", page=bounded["next_page"]).value["data"]) == 1


def test_a_search_beneath_a_directory_keeps_to_whole_names(managed: Hub) -> None:
    managed.call(command="create", path="/memories/a-b/x.md", file_text="tea")
    for prefix, found in (("/a/", ["/a/b.md"]), ("/", ["/a-b/x.md", "/a/b.md", "/c.md"]), ("/c/", []), ("/A/", [])):
        value = get(managed, "search", query="tea", path_prefix=prefix).value
        assert [match["memory"]["path"] for match in value["data"]] == found, prefix
    before = row_counts()
    for wrong in ({}, {"query": ""}, {"query": "x" * 501}, {"query": "a b c d e f g h i"}, {"query": '""'},
                  {"query": "x", "path_prefix": "/a"}, {"query": "x", "path_prefix": "a/"}, {"query": "x", "limit": 0},
                  {"query": "x", "path_prefix": "//"}, {"query": "x", "path_prefix": "/../"}, {"query": "a\0"},
                  {"query": "x", "page": "page_AAAA"}):  # fmt: skip
        assert refusal(get(managed, "search", **wrong)) == (400, "invalid_request_error"), wrong
    assert row_counts() == before


@pytest.mark.both_databases
def test_what_the_store_keeps_out_is_not_kept_with_a_search(managed: Hub) -> None:
    set_rules(managed.store, card="mask")
    assert get(managed, "search", query=CARD).status == 200
    entries = AuditEntry.objects.of_chain(managed.store.id)
    assert newest_entry(managed.store.id).command == "search"
    assert not entries.filter(Q(input__contains=CARD) | Q(message__contains=CARD)).exists()
