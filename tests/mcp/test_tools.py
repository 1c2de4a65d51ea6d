"""The tools of the MCP door: the same rows, versions and audit as through the tool's own endpoint."""

import json
from typing import Any

import pytest
from django.db.models import Q

from memoryhub.actions.erasure import redaction
from memoryhub.actions.search import search as searching
from memoryhub.actions.stores import stores
from memoryhub.models import Access, AuditEntry, Memory, MemoryVersion, User
from tests.actions.core.trees import ACT
from tests.api.harness import BY, Hub, assert_audit_is_right, contents, new_hub, new_secret, newest_entry, row_counts
from tests.api.rules import CARD, set_rules
from tests.mcp.messages import AGREED, STATELESS, call, called, message, send, text_of
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db

COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/a/b.md", "file_text": "one\ntwo\n"},
    {"command": "create", "path": "/memories/a/b.md", "file_text": "again"},
    {"command": "str_replace", "path": "/memories/a/b.md", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/a/b.md", "old_str": "nothing", "new_str": ""},
    {"command": "insert", "path": "/memories/a/b.md", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/a/b.md", "insert_line": 9, "insert_text": "zero\n"},
    {"command": "view", "path": "/memories/a/b.md", "view_range": [2, -1]},
    {"command": "create", "path": "/memories/c", "file_text": "\ud800"},
    {"command": "create", "path": "/memories/c", "file_text": "a\0b"},
    {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z"},
    {"command": "delete", "path": "/memories/z"},
    {"command": "delete", "path": "/memories/../etc"},
    {"command": "redact", "path": "/memories/z"},
    {"path": "/memories"},
    {},
]


@pytest.mark.both_databases
def test_every_command_is_answered_as_at_the_tools_endpoint(hub: Hub) -> None:
    for version in (AGREED, STATELESS):
        here, there = new_hub(), new_hub()
        for arguments in COMMANDS:
            assert text_of(call(here, "memory", version, **arguments)) == there.call(**arguments), arguments
        assert contents(here.store) == contents(there.store)
        told = [AuditEntry.objects.of_chain(each.store.id).oldest().filter(seq__gt=1) for each in (here, there)]
        same = ("command", "path", "new_path", "ok", "message", "input", "first_line", "last_line", "cut")
        assert list(told[0].values(*same)) == list(told[1].values(*same))
        assert set(told[0].values_list("door", flat=True)) == {"mcp"}
        assert_audit_is_right(here.store)


def test_a_call_that_is_sent_again_runs_once(hub: Hub) -> None:
    create = {"command": "create", "path": "/memories/a.md", "file_text": "x"}
    by_header: dict[str, Any] = {"idempotency_key": "k1"}
    by_block: dict[str, Any] = {"meta": {"claudecode/toolUseId": "toolu_9"}}
    for path, options in (("/memories/a.md", by_header), ("/memories/b.md", by_block)):
        arguments = create | {"path": path}
        first, again = (text_of(called(hub, "memory", arguments, **options)) for _ in range(2))
        assert first == again and first[0] == "ok"
        assert newest_entry(hub.store.id).replay_of is not None
        answer = send(hub, message("tools/call", {"name": "memory", "arguments": create | {"path": "/memories/c"}}
                                   | ({"_meta": by_block["meta"]} if options is by_block else {})),
                      **({} if options is by_block else by_header))  # fmt: skip
        assert answer.value["error"]["code"] == -32602 and "was used before" in answer.value["error"]["message"]
    assert text_of(called(hub, "memory", create))[0] == "err"  # without a token it is another call
    assert set(contents(hub.store)) == {"/memories/a.md", "/memories/b.md"}
    # the same token at the tool's own endpoint is the same call
    block = hub.block("toolu_9", **(create | {"path": "/memories/b.md"}))
    assert hub.send(block).headers["idempotent-replay"] == "true"
    assert send(hub, message("ping"), idempotency_key="ä").status == 400


@pytest.mark.both_databases
def test_a_session_is_named_by_its_header(hub: Hub) -> None:
    called(hub, "memory", COMMANDS[1], memoryhub_session="run-7")
    called(hub, "search", {"query": "one"}, memoryhub_session="run-7")
    sessions = set(AuditEntry.objects.of_chain(hub.store.id).filter(seq__gt=1).values_list("session", flat=True))
    assert len(sessions) == 1 and None not in sessions
    assert send(hub, message("ping"), memoryhub_session="a b").status == 400


def test_search_finds_words_in_paths_and_texts_page_by_page(hub: Hub) -> None:
    for number in range(5):
        hub.call(command="create", path=f"/memories/n{number}/tea.md", file_text=f"line\nＴＥＡ for {number}\n")
    hub.call(command="create", path="/memories/other.md", file_text="coffee")
    seen: list[str] = []
    page = None
    for _ in range(4):
        found = call(hub, "search", query="tea FOR", limit=2, page=page)["structuredContent"]
        seen += [match["path"] for match in found["data"]]
        page = found["next_page"]
        if page is None:
            break
    assert seen == [f"/memories/n{number}/tea.md" for number in range(5)] and page is None
    beneath = call(hub, "search", query="tea", path_prefix="/memories/n3/")["structuredContent"]["data"]
    assert [match["path"] for match in beneath] == ["/memories/n3/tea.md"]
    assert beneath[0]["lines"] == [
        {"number": 2, "text": "ＴＥＡ for 3", "text_start": 0, "matches": [{"start": 0, "end": 3}]}
    ]
    assert call(hub, "search", query='"for tea"')["structuredContent"] == {"data": [], "next_page": None}
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.ok, json.loads(entry.input or "{}")["query"]) == ("search", True, '"for tea"')
    assert Memory.objects.get(store=hub.store, path="/n3/tea.md").read_count == 0
    assert_audit_is_right(hub.store)


def test_a_search_stops_when_its_time_is_over_and_goes_on_from_there(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="tea")
    monkeypatch.setattr(searching, "SECONDS", 0)
    seen, page, requests = [], None, 0
    while requests < 10:
        found = call(hub, "search", query="tea", page=page)["structuredContent"]
        seen += [match["path"] for match in found["data"]]
        page, requests = found["next_page"], requests + 1
        if page is None:
            break
    assert seen == ["/memories/0.md", "/memories/1.md", "/memories/2.md"] and requests == 3


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "`query` is required."),
    ("search", {"query": 7}, "`query` must be a string."),
    ("search", {"query": '""'}, "`query` must have a word to look for."),
    ("search", {"query": "a b c d e f g h i"}, "`query` must have at most 8 words."),
    ("search", {"query": "x" * 501}, "`query` must have at most 500 characters."),
    ("search", {"query": "x", "limit": 0}, "`limit` must be a whole number from 1 to 100."),
    ("search", {"query": "x", "limit": True}, "`limit` must be a whole number from 1 to 100."),
    ("search", {"query": "x", "page": "page_x"}, "`page` is not a cursor of this list."),
    ("search", {"query": "x", "path_prefix": "/etc"}, "Path must start with /memories, got: /etc"),
    ("history", {}, "`path` is required."),
    ("history", {"path": "/memories"}, "There is no memory at /memories, and there was none."),
    ("history", {"path": "/memories/\ud800"}, ""),
    ("history", {"path": "/memories/none.md"}, "There is no memory at /memories/none.md, and there was none."),
    ("history", {"path": "/memories/a.md", "version": 9}, "The memory has no version 9."),
    ("history", {"path": "/memories/a.md", "version": "1"}, "`version` must be a whole number from 1 to 2147483647."),
]  # fmt: skip


def test_arguments_that_cannot_be_taken_are_told_to_the_model_and_noted(hub: Hub) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="x")
    for name, arguments, told in WRONG:
        before = AuditEntry.objects.of_chain(hub.store.id).count()
        result = called(hub, name, arguments)
        assert result["isError"] and "structuredContent" not in result, arguments
        text = result["content"][0]["text"]
        assert text.startswith("Error: ") and (not told or text == f"Error: {told}")
        entry = newest_entry(hub.store.id)
        assert (entry.command, entry.ok, json.loads(entry.message or "")) == (name, False, text)
        assert json.loads(entry.input or "") == arguments
        assert AuditEntry.objects.of_chain(hub.store.id).count() == before + 1
    assert_audit_is_right(hub.store)


def test_history_lists_versions_and_gives_the_text_of_one(hub: Hub) -> None:
    for command in COMMANDS[1:6:2]:
        hub.call(**command)
    listed = call(hub, "history", path="/memories/a/b.md", limit=2)["structuredContent"]
    rest = call(hub, "history", path="/memories/a/b.md", limit=2, page=listed["next_page"])["structuredContent"]
    assert [version["number"] for version in listed["data"] + rest["data"]] == [3, 2, 1] and rest["next_page"] is None
    assert listed["data"][0]["created_by"] == {"type": "api_actor", "api_key_id": newest_entry(hub.store.id).actor_id}
    assert "content" not in listed["data"][0]
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.path, entry.memory) == ("history", "/a/b.md", listed["memory_id"])
    first = call(hub, "history", path="/memories/a/b.md", version=1)["structuredContent"]["data"][0]
    assert first["content"] == "one\ntwo\n"
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.version, entry.first_line, entry.last_line) == (
        "view", first["memory_version_id"], 1, 3
    )  # fmt: skip
    assert Memory.objects.get(pk=listed["memory_id"]).read_count == 1
    hub.call(command="delete", path="/memories/a/b.md")
    gone = call(hub, "history", path="/memories/a/b.md")["structuredContent"]
    assert gone["deleted"] and gone["data"][0]["operation"] == "deleted" and gone["memory_id"] == listed["memory_id"]
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_a_redacted_version_tells_nothing_that_it_held(hub: Hub) -> None:
    for command in COMMANDS[1:4:2]:
        hub.call(**command)
    first = MemoryVersion.objects.get(store=hub.store, number=1)
    redaction.redact_version(hub.store.id, first.pk, ACT)
    told = call(hub, "history", path="/memories/a/b.md", version=1)["structuredContent"]["data"][0]
    assert (told["redacted"], told["content"], told["path"], told["content_size_bytes"]) == (True, None, None, None)
    assert newest_entry(hub.store.id).command == "redact"  # what is not given is not noted as read


@pytest.mark.both_databases
def test_what_the_store_keeps_out_is_in_no_entry(hub: Hub) -> None:
    set_rules(hub.store, card="block")
    call(hub, "search", query=CARD)
    call(hub, "search", query=CARD, limit=0)
    call(hub, "history", path=f"/memories/{CARD}")
    entries = AuditEntry.objects.of_chain(hub.store.id)
    assert [entry.command for entry in entries.newest()[:3]] == ["history", "search", "search"]
    assert not entries.filter(Q(input__contains=CARD) | Q(message__contains=CARD) | Q(path__contains=CARD)).exists()


def test_a_page_shows_what_was_looked_for_but_no_value_that_is_sensitive(hub: Hub, superuser: User) -> None:
    set_rules(hub.store, card="flag")
    for query in ("tea", CARD):
        call(hub, "search", query=query, path_prefix="/memories/a")
    seq = newest_entry(hub.store.id).seq
    browser = signed_in(superuser)
    html = browser.get(f"/audit/{hub.store.id}/{seq - 1}").content.decode()
    assert "searched for “tea” under /a/" in html
    html = browser.get(f"/audit/{hub.store.id}/{seq}").content.decode()
    assert "searched for" in html and CARD not in html


@pytest.mark.parametrize(("version", "status"), [(STATELESS, 429), (AGREED, 200)])
def test_a_limit_of_calls_is_one_for_all_tools(version: str, status: int, db: None) -> None:
    few = new_hub(limit_calls=2)
    call(few, "search", query="x")
    call(few, "memory", command="view", path="/memories")
    before = row_counts()
    for name in ("memory", "search", "history", "proposals"):
        asked = message("tools/call", {"name": name, "arguments": {"query": "x", "path": "/memories/x"}})
        answer = send(few, asked, version)
        wait = int(answer.headers["retry-after"])
        assert answer.status == status, "a client of an older version ends its connection at 429, and tells no reason"
        assert 0 < wait <= 60 and answer.value["id"] == asked["id"]
        error = answer.value["error"]
        assert error["code"] == -32029, "of the range of server errors: a client repeats no invalid request (-32600)"
        assert error["data"] == {"type": "rate_limit_error", "retry_after": wait}
    assert row_counts() == before


@pytest.mark.both_databases
def test_nothing_here_redacts_and_a_reader_reads(hub: Hub) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="tea")
    reader = Hub(hub.store, new_secret(hub.store, Access.READ))
    assert call(reader, "search", query="tea")["structuredContent"]["data"][0]["path"] == "/memories/a.md"
    assert call(reader, "history", path="/memories/a.md")["structuredContent"]["data"][0]["number"] == 1
    manager = Hub(hub.store, new_secret(hub.store, Access.MANAGE))
    assert text_of(call(manager, "memory", command="redact", path="/memories/a.md"))[0] == "err"
    assert not MemoryVersion.objects.filter(store=hub.store, redacted_at__isnull=False).exists()
    stores.set_archived(hub.store, True, **BY)
    assert not call(reader, "search", query="tea")["isError"]
