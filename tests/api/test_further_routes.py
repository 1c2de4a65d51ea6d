"""What the API has beyond the official one: search, compare, restore, unarchive and the audit, for keys."""

import difflib
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db.models import Q

from memoryhub.actions.erasure import redaction
from memoryhub.actions.search import search as searching
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Access, AuditEntry, Memory, MemoryStore, MemoryVersion
from tests.actions.core.trees import ACT
from tests.api.harness import (
    BY,
    Answer,
    Hub,
    assert_audit_is_right,
    contents,
    new_hub,
    new_secret,
    new_store,
    newest_entry,
    row_counts,
)
from tests.api.rules import CARD, set_rules

pytestmark = pytest.mark.django_db


@pytest.fixture
def managed(hub: Hub) -> Hub:
    """A store whose memory /a/b.md has three versions, with a key that may manage it."""
    hub.call(command="create", path="/memories/a/b.md", file_text="one\ntwo\nthree")
    hub.call(command="str_replace", path="/memories/a/b.md", old_str="two", new_str="TEA")
    hub.call(command="insert", path="/memories/a/b.md", insert_line=0, insert_text="zero\n")
    hub.call(command="create", path="/memories/c.md", file_text="tea and cake\n")
    return Hub(hub.store, new_secret(hub.store, Access.MANAGE))


def get(hub: Hub, path: str, store: str | None = None, /, **query: object) -> Answer:
    url = f"/v1/memory_stores/{store or hub.store.id}/{path}"
    return hub.send(b"", method="GET", url=f"{url}?{urlencode(query)}" if query else url)


def post(hub: Hub, path: str, body: object = b"", **headers: str) -> Answer:
    return hub.send(body, url=f"/v1/memory_stores/{hub.store.id}/{path}" if path else "", **headers)


def version(hub: Hub, number: int, path: str = "/a/b.md") -> MemoryVersion:
    memory = MemoryVersion.objects.filter(store=hub.store, path=path).values("memory_id")[:1]
    return MemoryVersion.objects.get(store=hub.store, memory_id__in=memory, number=number)


def refusal(answer: Answer) -> tuple[int, str]:
    assert answer.value["type"] == "error" and answer.headers["request-id"]
    return answer.status, answer.value["error"]["type"]


# ------------------------------------------------------------------------------------------------ search


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


# ------------------------------------------------------------------------------------------------ compare


def test_what_changed_is_told_in_hunks_and_as_diff_writes_it(managed: Hub) -> None:
    one, two, three = (version(managed, number) for number in (1, 2, 3))
    value = get(managed, f"memory_versions/{three.pk}/diff", against=one.pk).value
    assert {name: value[name] for name in ("type", "memory_version_id", "against", "old_path", "new_path")} == {
        "type": "memory_version_diff", "memory_version_id": three.pk, "against": one.pk, "old_path": "/a/b.md",
        "new_path": "/a/b.md",
    }  # fmt: skip
    assert (value["added_lines"], value["removed_lines"], value["identical"], value["bounded"]) == (3, 2, False, False)
    (hunk,) = value["hunks"]
    assert [(line["kind"], line["old_number"], line["new_number"], line["text"]) for line in hunk["lines"]] == [
        ("added", None, 1, "zero"), ("same", 1, 2, "one"), ("removed", 2, None, "two"), ("removed", 3, None, "three"),
        ("added", None, 3, "TEA"), ("added", None, 4, "three"),
    ]  # fmt: skip
    assert value["unified"] == (
        "--- /a/b.md\n+++ /a/b.md\n@@ -1,3 +1,4 @@\n+zero\n one\n-two\n-three\n\\ No newline at end of file\n"
        "+TEA\n+three\n"
    )
    reads = list(AuditEntry.objects.of_chain(managed.store.id).newest()[:2])
    assert [(entry.command, entry.version) for entry in reads] == [("view", three.pk), ("view", one.pk)]
    assert len({entry.group for entry in reads}) == 1 and reads[0].group is not None
    before = get(managed, f"memory_versions/{three.pk}/diff").value
    assert before["against"] == two.pk and (before["added_lines"], before["removed_lines"]) == (2, 1)
    first = get(managed, f"memory_versions/{one.pk}/diff").value
    assert first["against"] is None and first["unified"].startswith("--- /dev/null\n+++ /a/b.md\n@@ -0,0 +1,3 @@\n")
    assert get(managed, f"memory_versions/{one.pk}/diff", against=one.pk).value["identical"] is True
    assert_audit_is_right(managed.store)


@pytest.mark.both_databases
def test_hunks_stand_where_the_standard_library_puts_them(managed: Hub) -> None:
    texts = ["".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(40) if n not in (7, 8, 20)) + "40\n"]
    managed.call(command="create", path="/memories/n.md", file_text=texts[0])
    managed.call(command="str_replace", path="/memories/n.md", old_str=texts[0], new_str=texts[1])
    for context in (0, 3, 100):
        value = get(managed, f"memory_versions/{version(managed, 2, '/n.md').pk}/diff", context=context).value
        old, new = (text.splitlines(keepends=True) for text in texts)
        assert value["unified"] == "".join(difflib.unified_diff(old, new, "/n.md", "/n.md", n=context)), context


def test_a_comparison_of_very_many_lines_is_answered_in_pieces_that_follow_each_other(managed: Hub) -> None:
    texts = ["".join(f"{sign}{n}\n" for n in range(8_000)) for sign in "ab"]
    managed.call(command="create", path="/memories/n.md", file_text=texts[0])
    managed.call(command="str_replace", path="/memories/n.md", old_str=texts[0], new_str=texts[1])
    path = f"memory_versions/{version(managed, 2, '/n.md').pk}/diff"
    seen, after, pieces = [], 0, 0
    while after is not None:
        value = get(managed, path, after=after).value
        (hunk,) = value["hunks"]
        assert len(hunk["lines"]) <= 10_000 and value["truncated"] is (value["next_after"] is not None)
        assert (value["added_lines"], value["removed_lines"]) == (8_000, 8_000)
        seen, after, pieces = [*seen, *hunk["lines"]], value["next_after"], pieces + 1
    assert pieces == 2 and (hunk["old_start"], hunk["old_lines"]) == (8_000, 0)
    assert [line["text"] for line in seen] == [*texts[0].splitlines(), *texts[1].splitlines()]
    assert refusal(get(managed, path, after=-1))[0] == 400


def test_versions_without_a_text_are_empty_or_not_compared(managed: Hub) -> None:
    managed.call(command="delete", path="/memories/a/b.md")
    gone = get(managed, f"memory_versions/{version(managed, 4).pk}/diff").value
    assert (gone["added_lines"], gone["removed_lines"]) == (0, 4) and "+++ /dev/null" in gone["unified"]
    assert AuditEntry.objects.of_chain(managed.store.id).newest()[0].version == version(managed, 3).pk
    one = version(managed, 1)
    redaction.redact_version(managed.store.id, one.pk, ACT)
    assert refusal(get(managed, f"memory_versions/{one.pk}/diff")) == (400, "invalid_request_error")
    two = MemoryVersion.objects.get(store=managed.store, memory_id=one.memory_id, number=2)
    assert refusal(get(managed, f"memory_versions/{two.pk}/diff"))[0] == 400
    other = new_hub()
    other.call(command="create", path="/memories/x", file_text="x")
    theirs, before = MemoryVersion.objects.get(store=other.store), row_counts()
    for path, query in (
        (f"memory_versions/{theirs.pk}/diff", {}), (f"memory_versions/{two.pk}/diff", {"against": theirs.pk}),
        ("memory_versions/memver_no/diff", {}), (f"memory_versions/{two.pk}/diff", {"against": "memver_no"}),
    ):  # fmt: skip
        assert refusal(get(managed, path, **query)) == (404, "not_found_error")
    assert refusal(get(managed, f"memory_versions/{two.pk}/diff", context=101))[0] == 400
    assert row_counts() == before


def test_each_line_is_told_with_the_version_that_brought_it(managed: Hub) -> None:
    one, two, three = (version(managed, number) for number in (1, 2, 3))
    value = get(managed, f"memories/{one.memory_id}/blame").value
    assert (value["memory_version_id"], value["content"]) == (three.pk, "zero\none\nTEA\nthree\n")
    lines = [(part["first_line"], part["last_line"], part["memory_version_id"]) for part in value["lines"]]
    assert lines == [(1, 1, three.pk), (2, 2, one.pk), (3, 3, two.pk), (4, 4, one.pk)]
    assert {part["created_by"]["type"] for part in value["lines"]} == {"api_actor"}
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, entry.version) == ("view", "api", three.pk)
    earlier = get(managed, f"memories/{one.memory_id}/blame", memory_version_id=two.pk).value
    assert [part["number"] for part in earlier["lines"]] == [1, 2, 1]
    other, before = version(managed, 1, "/c.md"), row_counts()
    for memory, query in (("mem_no", {}), (one.memory_id, {"memory_version_id": other.pk})):
        assert refusal(get(managed, f"memories/{memory}/blame", **query)) == (404, "not_found_error")
    assert row_counts() == before
    redaction.redact_version(managed.store.id, one.pk, ACT)
    assert refusal(get(managed, f"memories/{one.memory_id}/blame", memory_version_id=one.pk))[0] == 400
    after = get(managed, f"memories/{one.memory_id}/blame").value["lines"]
    assert [part["number"] for part in after] == [3, 2]
    assert_audit_is_right(managed.store)


# ------------------------------------------------------------------------------------------------ restore


def test_an_earlier_version_becomes_the_newest_again(managed: Hub) -> None:
    one = version(managed, 1)
    value = post(managed, f"memory_versions/{one.pk}/restore").value
    assert (value["type"], value["id"], value["path"], value["content"]) == ("memory", one.memory_id, "/a/b.md", None)
    assert contents(managed.store)["/memories/a/b.md"] == "one\ntwo\nthree"
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, entry.version) == ("restore", "api", value["memory_version_id"])
    again = post(managed, f"memory_versions/{one.pk}/restore", {"path": "/a/b.md"}).value
    assert again["memory_version_id"] == value["memory_version_id"]  # it is so already
    assert newest_entry(managed.store.id).seq == entry.seq + 1
    elsewhere = post(managed, f"memory_versions/{one.pk}/restore", {"path": "/x.md"})
    assert refusal(elsewhere) == (400, "invalid_request_error") and newest_entry(managed.store.id).ok is False
    assert_audit_is_right(managed.store)


def test_a_deleted_memory_comes_back_under_its_id(managed: Hub) -> None:
    two = version(managed, 2)
    managed.call(command="delete", path="/memories/a")
    managed.call(command="create", path="/memories/a/b.md", file_text="another")
    taken = post(managed, f"memory_versions/{two.pk}/restore")
    assert refusal(taken) == (409, "memory_path_conflict_error") and taken.headers["x-should-retry"] == "false"
    assert taken.value["error"]["conflicting_path"] == "/a/b.md"
    assert taken.value["error"]["conflicting_memory_id"] == Memory.objects.get(store=managed.store, path="/a/b.md",
                                                                               deleted_at=None).pk  # fmt: skip
    beneath = post(managed, f"memory_versions/{two.pk}/restore", {"path": "/a/b.md/c"})
    assert refusal(beneath)[0] == 409 and beneath.value["error"]["conflicting_path"] == "/a/b.md"
    value = post(managed, f"memory_versions/{two.pk}/restore", {"path": "/back.md"}).value
    assert (value["id"], value["path"]) == (two.memory_id, "/back.md")
    assert contents(managed.store)["/memories/back.md"] == "one\nTEA\nthree"
    told = AuditEntry.objects.of_chain(managed.store.id).newest()[:3]
    assert [(entry.command, entry.ok) for entry in told] == [("restore", True), ("restore", False), ("restore", False)]
    assert_audit_is_right(managed.store)


def test_what_cannot_be_restored_is_refused(managed: Hub) -> None:
    one = version(managed, 1)
    for body in (b"{", b"[]", {"path": 7}, {"path": "x"}, {"path": "/a//b"}, {"path": "/"}, {"path": "/a/"}):
        assert refusal(post(managed, f"memory_versions/{one.pk}/restore", body))[0] == 400, body
    assert refusal(post(managed, "memory_versions/memver_no/restore")) == (404, "not_found_error")
    reader = Hub(managed.store, new_secret(managed.store, Access.READ))
    assert refusal(post(reader, f"memory_versions/{one.pk}/restore")) == (403, "permission_error")
    assert newest_entry(HUB).command == "refused"
    managed.call(command="delete", path="/memories/c.md")
    assert refusal(post(managed, f"memory_versions/{version(managed, 2, '/c.md').pk}/restore"))[0] == 400  # no text
    stores.set_archived(managed.store, True, **BY)
    assert refusal(post(managed, f"memory_versions/{one.pk}/restore")) == (400, "invalid_request_error")
    assert newest_entry(managed.store.id).ok is False


def test_a_store_comes_out_of_the_archive(managed: Hub) -> None:
    stores.set_archived(managed.store, True, **BY)
    writer = Hub(managed.store, new_secret(managed.store))
    assert refusal(post(writer, "unarchive")) == (403, "permission_error")
    before = MemoryStore.objects.get(pk=managed.store.pk)
    value = post(managed, "unarchive", {}).value
    assert (value["type"], value["id"], value["archived_at"]) == ("memory_store", managed.store.id, None)
    assert value["updated_at"] > before.updated_at.isoformat() and newest_entry(managed.store.id).door == "api"
    seq = newest_entry(managed.store.id).seq
    assert post(managed, "unarchive").value == value and newest_entry(managed.store.id).seq == seq
    assert managed.call(command="create", path="/memories/new.md", file_text="x")[0] == "ok"


# ------------------------------------------------------------------------------------------------ the audit


@pytest.mark.both_databases
def test_entries_are_listed_newest_first_by_their_filters(managed: Hub) -> None:
    managed.call(command="create", path="/memories/c.md", file_text="again")
    managed.send(managed.block(command="view", path="/memories/a/b.md"), memoryhub_session="run-1")
    memory = Memory.objects.get(store=managed.store, path="/a/b.md")
    session = AuditEntry.objects.of_chain(managed.store.id).exclude(session=None)[0].session
    entries = AuditEntry.objects.of_chain(managed.store.id)
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, entries),
        ({"command": "create"}, entries.filter(command="create")),
        ({"outcome": "error"}, entries.filter(ok=False)),
        ({"outcome": "ok", "command": "create"}, entries.filter(command="create", ok=True)),
        ({"door": "tool"}, entries.filter(door="tool")),
        ({"session_id": session}, entries.filter(session=session)),
        ({"memory_id": memory.pk}, entries.filter(memory=memory.pk)),
        ({"memory_id": memory.pk, "command": "view"}, entries.filter(memory=memory.pk, command="view")),
        ({"path": "/a/b.md"}, entries.filter(path="/a/b.md")),
        ({"path": "/a/"}, entries.filter(path="/a/b.md")),
        ({"actor_id": entries.newest()[0].author_id}, entries.filter(author_id=entries.newest()[0].author_id)),
        ({"created_at[lte]": "2025-11-03T09:00:00Z"}, entries.filter(seq=1)),
        ({"created_at[gte]": "2026-01-01T00:00:00+01:00"}, entries.exclude(seq=1)),
        ({"created_at[lte]": "9999-12-31T23:59:59.999999Z"}, entries),
        ({"session_id": "sesn_no"}, entries.none()),
    ]  # fmt: skip
    for query, expected in cases:
        seqs, page = [], None
        for _ in range(20):
            value = get(managed, "audit_entries", limit=2, **query, **({"page": page} if page else {})).value
            seqs += [entry["seq"] for entry in value["data"]]
            page = value["next_page"]
            if page is None:
                break
        assert seqs == list(expected.order_by("-seq").values_list("seq", flat=True)), query
    assert AuditEntry.objects.of_chain(managed.store.id).newest()[0].command == "view"  # looking is no act


@pytest.mark.both_databases
def test_one_entry_has_all_that_the_chain_holds(managed: Hub) -> None:
    listed = get(managed, "audit_entries", limit=1).value["data"][0]
    assert listed["input"] is None and listed["message"] is None
    value = get(managed, f"audit_entries/{listed['seq']}").value
    entry = newest_entry(managed.store.id)
    assert {name: value[name] for name in ("hash", "previous_hash", "digest", "command", "path", "version")} == {
        name: getattr(entry, name) for name in ("hash", "previous_hash", "digest", "command", "path", "version")
    }
    assert value["input"]["file_text"] == "tea and cake\n" and value["message"].startswith("File created")
    assert listed == value | {"input": None, "message": None}
    full = get(managed, "audit_entries", view="full").value["data"]
    assert full[0] == value and full[1]["previous_hash"] == full[2]["hash"]
    for seq in ("0", "999", "x", "-1", "1e3", "٣", "9" * 30):
        assert refusal(get(managed, f"audit_entries/{seq}")) == (404, "not_found_error"), seq


def test_the_audit_needs_manage_and_right_filters(managed: Hub) -> None:
    writer = Hub(managed.store, new_secret(managed.store))
    for path in ("audit_entries", "audit_entries/1"):
        assert refusal(get(writer, path)) == (403, "permission_error")
        assert refusal(get(managed, path, new_store().id)) == (404, "not_found_error")
        assert refusal(managed.send(b"", url=f"/v1/memory_stores/{managed.store.id}/{path}"))[0] == 405
    for wrong in ({"outcome": "good"}, {"door": "window"}, {"command": "DROP"}, {"path": "a"}, {"limit": 101},
                  {"view": "all"}, {"created_at[gte]": "yesterday"}, {"page": "page_AAAA"}):  # fmt: skip
        assert refusal(get(managed, "audit_entries", **wrong)) == (400, "invalid_request_error"), wrong


def test_the_archive_and_a_limit_of_calls(managed: Hub) -> None:
    few = new_hub(limit_calls=1)
    few.call(command="create", path="/memories/a.md", file_text="x")
    manager = Hub(few.store, new_secret(few.store, Access.MANAGE))
    made = MemoryVersion.objects.get(store=few.store).pk
    assert get(manager, "search", query="x").status == 200
    for path in (f"memory_versions/{made}/diff", "search?query=x", "audit_entries"):
        assert refusal(get(manager, path)) == (429, "rate_limit_error"), path
    assert refusal(post(manager, f"memory_versions/{made}/restore"))[0] == 429
    stores.set_archived(managed.store, True, **BY)
    assert get(managed, "search", query="tea").status == 200
