"""A rule that hides: for the agent, memories at such a path do not exist, whatever it asks and by whichever door."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.search import search
from memoryhub.api import app
from memoryhub.api.declared import operations_of
from memoryhub.models import Access, Door, Key, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.path_rules import Effect, PathRule, Verb
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import AT, Hub, assert_audit_is_right, new_hub, new_secret
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.mcp.messages import call as mcp_call, message, send, text_of
from tests.support.fixtures import signed_in
from tests.support.in_turn import in_turn
from tests.support.long import LONG

WORD = "zebra"
"""A word that only hidden texts have."""
SECRET, OTHER = "/secret/plan.md", "/notes/deep/key.md"
HIDING = (PathRule(Effect.HIDE, "/secret/"), PathRule(Effect.HIDE, "/**/key.md"))


@pytest.fixture
def agent(db: None) -> Hub:
    """An agent with every access to a store in which memories are hidden from it."""
    other = new_hub()
    for path in (SECRET, OTHER):
        other.call(command="create", path=f"/memories{path}", file_text=f"{WORD} one\n")
        other.call(command="str_replace", path=f"/memories{path}", old_str="one", new_str="two")
    other.call(command="create", path="/memories/notes/seen.md", file_text="seen\n")
    other.call(command="create", path="/memories/secret/gone.md", file_text=f"{WORD}\n")
    other.call(command="delete", path="/memories/secret/gone.md")
    own = Hub(other.store, new_secret(other.store, Access.MANAGE))
    who = agent_of(own)
    set_rules(other.store, *(PathRule(rule.effect, rule.pattern, who=who) for rule in HIDING))
    return own


def agent_of(hub: Hub) -> str:
    return str(Key.objects.get(digest=calls.digest_of_key(hub.secret)).agent_id)


def hidden(hub: Hub, path: str = SECRET) -> Memory:
    return Memory.objects.get(store=hub.store, path=path)


def is_unknown(hub: Hub, address: str, method: str = "GET", body: object = b"", **query: object) -> None:
    """An address with an id of something hidden answers as with an id that never was."""
    memory, version = hidden(hub).pk, hidden(hub).head_id
    nothing = {"memory": "mem_" + "0" * 26, "version": "memver_" + "0" * 26}
    own = Api(hub).send(method, address.format(memory=memory, version=version), body, **query)
    never = Api(hub).send(method, address.format(**nothing), body, **query)
    assert own.status == never.status == 404
    ours, theirs = own.value["error"], never.value["error"]
    assert (ours["type"], ours["message"]) == (theirs["type"], theirs["message"])


def has_nothing(hub: Hub, answer: object) -> None:
    text = json.dumps(answer)
    for word in (WORD, "secret", "key.md", hidden(hub).pk, hidden(hub).head_id, hidden(hub, OTHER).pk):
        assert word not in text, (word, text)


def lists(path: str, **query: object) -> Callable[[Hub], None]:
    def look(hub: Hub) -> None:
        for limit in (1, 2, 100):
            found = Api(hub).all(path.strip("/"), limit=limit, **query)
            has_nothing(hub, found)
            assert found, "something else is listed"

    return look


def forbids(path: str, method: str = "GET", body: object = b"") -> Callable[[Hub], None]:
    def look(hub: Hub) -> None:
        status, _, words = Api(hub).refused(method, path, body)
        assert (status, words) == (403, "This needs a key that may see every memory of the memory store.")

    return look


def unknown(address: str, method: str = "GET", body: object = b"", **query: object) -> Callable[[Hub], None]:
    return lambda hub: is_unknown(hub, address, method, body, **query)


def creates_nothing(hub: Hub) -> None:
    words = set()
    for path in (SECRET, "/secret/never.md", "/new/key.md"):
        status, _, said = Api(hub).refused("POST", "/memories", {"path": path, "content": "x"})
        words.add((status, said.replace(path, "PATH")))
    assert words == {(403, "A path rule does not let this agent create PATH.")}
    seen = Api(hub).all("memories")[0]["id"]
    assert Api(hub).refused("POST", f"/memories/{seen}", {"path": SECRET})[0] == 403


def searches(hub: Hub) -> None:
    assert Api(hub).all("search", query=WORD) == []
    assert Api(hub).all("search", query="secret") == []
    assert len(Api(hub).all("search", query="seen")) == 1


def calls_the_tool(hub: Hub) -> None:
    for command in (
        {"command": "view", "path": "PATH"},
        {"command": "str_replace", "path": "PATH", "old_str": WORD, "new_str": "x"},
        {"command": "insert", "path": "PATH", "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": "PATH"},
        {"command": "rename", "old_path": "PATH", "new_path": "/memories/free.md"},
        {"command": "create", "path": "PATH", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/notes/seen.md", "new_path": "PATH"},
    ):
        answers = {
            tuple(hub.call(**{k: v.replace("PATH", f"/memories{path}") if isinstance(v, str) else v
                              for k, v in command.items()}))
            for path in (SECRET,)
        }  # fmt: skip
        never = "/secret/nothing.md"
        replaced = {k: v.replace("PATH", f"/memories{never}") if isinstance(v, str) else v for k, v in command.items()}
        assert {(a, text.replace(SECRET, never)) for a, text in answers} == {tuple(hub.call(**replaced))}, command
    answer = hub.send(hub.block(command="view", path="/memories"))
    assert answer.value["content"].split("\n")[1:] == [
        "5B\t/memories",
        "5B\t/memories/notes/",
        "5B\t/memories/notes/seen.md",
    ]
    assert "memories" not in answer.headers["memoryhub-usage"] and "bytes" not in answer.headers["memoryhub-usage"]


def no_matter(hub: Hub) -> None:
    """The operation says nothing about the memories of a store."""


OPERATIONS: dict[str, Callable[[Hub], None]] = {
    "create_memory": creates_nothing,
    "list_memories": lambda hub: [lists("/memories", view=view, **more)(hub)
                                  for view in ("basic", "full")
                                  for more in ({}, {"depth": 1}, {"path_prefix": "/notes/"})],
    "retrieve_memory": lambda hub: [is_unknown(hub, "/memories/{memory}", view=view) for view in ("basic", "full")],
    "update_memory": unknown("/memories/{memory}", "POST", {"content": "x"}),
    "delete_memory": unknown("/memories/{memory}", "DELETE"),
    "list_memory_versions": lambda hub: [lists("/memory_versions", view=view)(hub) for view in ("basic", "full")],
    "retrieve_memory_version": lambda hub: [
        is_unknown(hub, "/memory_versions/{version}", view=view) for view in ("basic", "full")],
    "redact_memory_version": unknown("/memory_versions/{version}/redact", "POST"),
    "restore_memory_version": unknown("/memory_versions/{version}/restore", "POST"),
    "compare_memory_versions": unknown("/memory_versions/{version}/diff"),
    "blame_memory": unknown("/memories/{memory}/blame"),
    "search_memories": searches,
    "export_memory_store": forbids("/export", "POST", {"format": "jsonl"}),
    "list_audit_entries": forbids("/audit_entries"),
    "retrieve_audit_entry": forbids("/audit_entries/1"),
    "tool_calls": calls_the_tool,
    "list_proposals": no_matter, "retrieve_proposal": no_matter, "withdraw_proposal": no_matter,
    "openapi_document": no_matter,
    "create_memory_store": no_matter, "list_memory_stores": no_matter, "retrieve_memory_store": no_matter,
    "update_memory_store": no_matter, "archive_memory_store": no_matter, "unarchive_memory_store": no_matter,
    "delete_memory_store": no_matter, "list_sessions": no_matter, "retrieve_session": no_matter,
    "create_dream": no_matter, "list_dreams": no_matter, "retrieve_dream": no_matter, "cancel_dream": no_matter,
    "archive_dream": no_matter,
}  # fmt: skip
"""What each operation of the API shows of something hidden. The proposals of an agent are in a test of their own, and
no key dreams of a store that has something hidden from it."""


def test_every_operation_of_the_api_is_in_the_table() -> None:
    assert {operation.name for operation in operations_of(app.api)} == OPERATIONS.keys()


@in_turn("name", [name for name, look in OPERATIONS.items() if look is not no_matter])
def test_no_operation_of_the_api_shows_whatis_hidden_here(agent: Hub, name: str) -> None:
    before = texts(agent.store)
    OPERATIONS[name](agent)
    assert texts(agent.store) == before
    assert_audit_is_right(agent.store)


def test_no_tool_of_mcp_shows_whatis_hidden_here(agent: Hub) -> None:
    tools = send(agent, message("tools/list")).value["result"]["tools"]
    assert {tool["name"] for tool in tools} == {"memory", "search", "history", "proposals"}
    assert text_of(mcp_call(agent, "memory", command="view", path=f"/memories{SECRET}"))[0] == "err"
    assert mcp_call(agent, "search", query=WORD)["structuredContent"]["data"] == []
    for path in (SECRET, "/secret/gone.md"):
        never = text_of(mcp_call(agent, "history", path="/memories/secret/never.md"))
        told = text_of(mcp_call(agent, "history", path=f"/memories{path}"))
        assert told == [never[0], never[1].replace("/secret/never.md", path)]


@pytest.mark.both_databases
def test_versions_of_a_memory_that_was_hidden_once_are_hidden(agent: Hub) -> None:
    other = Hub(agent.store, new_secret(agent.store))
    other.call(command="rename", old_path=f"/memories{SECRET}", new_path="/memories/told.md")
    other.call(command="str_replace", path="/memories/told.md", old_str="two", new_str="three")
    versions = Api(agent).all("memory_versions", memory_id=hidden(agent, "/told.md").pk, view="full")
    assert [version["path"] for version in versions] == ["/told.md", "/told.md"]
    assert len(mcp_call(agent, "history", path="/memories/told.md")["structuredContent"]["data"]) == 2
    first = MemoryVersion.objects.get(store=agent.store, path=SECRET, number=1)
    assert Api(agent).send("GET", f"/memory_versions/{first.pk}").status == 404


def test_a_redaction_makes_nothing_appear(agent: Hub) -> None:
    """A redacted version has no path, and a memory in the trash without one neither."""
    act = Act(Actor.system("a person"), Door.WEB, AT)
    curation.create(agent.store.pk, "/secret/x.md", "one\n", act)
    curation.delete(agent.store.pk, "/secret/x.md", act)
    curation.create(agent.store.pk, "/secret/y.md", "one\n", act)
    curation.rename(agent.store.pk, "/secret/y.md", "/y.md", act)
    seen = [(one["memory_id"], one["path"]) for one in Api(agent).all("memory_versions")]
    gone = list(MemoryVersion.objects.filter(store=agent.store, path__in=("/secret/x.md", "/secret/y.md")))
    assert len(gone) == 3
    for version in gone:
        redaction.redact_version(agent.store.pk, version.pk, act)
        for tail in ("", "/diff", "?view=full"):
            assert Api(agent).send("GET", f"/memory_versions/{version.pk}{tail}").status == 404, tail
    assert [(one["memory_id"], one["path"]) for one in Api(agent).all("memory_versions")] == seen
    assert_audit_is_right(agent.store)


def test_proposals_name_no_path_that_has_been_hidden_since(agent: Hub) -> None:
    who = agent_of(agent)
    set_rules(agent.store, PathRule(Effect.PROPOSE, who=who))
    agent.call(command="create", path="/memories/secret/mine.md", file_text="x")
    agent.call(command="create", path="/memories/mine.md", file_text="x")
    set_rules(agent.store, PathRule(Effect.HIDE, "/secret/", who=who), PathRule(Effect.PROPOSE, who=who))
    (listed,) = Api(agent).all("proposals")
    assert [change["path"] for change in listed["changes"]] == ["/mine.md"]
    assert [change["path"] for change in Api(agent).good("GET", f"/proposals/{listed['number']}")["changes"]] == [
        "/mine.md"
    ]


def test_what_an_agent_may_change_in_every_way_it_sees(agent: Hub) -> None:
    who = agent_of(agent)
    allows = PathRule(Effect.ALLOW, SECRET, who=who)
    set_rules(agent.store, allows, PathRule(Effect.HIDE, "/secret/", who=who))
    assert agent.call(command="view", path=f"/memories{SECRET}")[0] == "ok"
    some = PathRule(Effect.ALLOW, SECRET, frozenset({Verb.EDIT}), who)
    set_rules(agent.store, some, PathRule(Effect.HIDE, "/secret/", who=who))
    assert agent.call(command="view", path=f"/memories{SECRET}")[0] == "err"


def test_a_directory_is_moved_and_deleted_without_whatis_hidden_here_in_it(agent: Hub) -> None:
    assert agent.call(command="rename", old_path="/memories/notes", new_path="/memories/moved")[0] == "ok"
    assert sorted(texts(agent.store)) == ["/moved/seen.md", OTHER, SECRET]
    assert agent.call(command="view", path="/memories/notes")[0] == "err"
    assert agent.call(command="delete", path="/memories/moved")[0] == "ok"
    assert sorted(texts(agent.store)) == [OTHER, SECRET]
    assert agent.call(command="view", path="/memories")[1].split("\n")[1:] == ["0B\t/memories"]
    assert agent.call(command="create", path="/memories/notes", file_text="x") == [
        "err", "Error: A path rule does not let this agent create /memories/notes",
    ]  # fmt: skip
    assert_audit_is_right(agent.store)


def test_people_see_everything(agent: Hub, superuser: User) -> None:
    page = signed_in(superuser).get(reverse("memory", args=[agent.store.pk, hidden(agent).pk]))
    assert WORD in page.content.decode()


PLACES = ("a.md", "d/b.md", "d/e/c.md", "f.md", "s/x.md", "d/key.md", "d/e/key.md", "s")


def _call(chance: random.Random, number: int) -> dict[str, object]:
    path, other = (f"/memories/{chance.choice((*PLACES, 'd', 'd/e'))}" for _ in range(2))
    return chance.choice((
        {"command": "view", "path": chance.choice((path, "/memories", "/memories/d"))},
        {"command": "create", "path": path, "file_text": f"word{number}\nend\n"},
        {"command": "insert", "path": path, "insert_line": chance.randint(0, 2), "insert_text": f"word{number}"},
        {"command": "str_replace", "path": path, "old_str": "end", "new_str": f"word{number} end"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": other},
    ))  # fmt: skip


def is_hidden_here(path: str) -> bool:
    return path.startswith("/s/") or path == "/s" or path.endswith("/key.md")


@pytest.mark.both_databases
@pytest.mark.parametrize("part", range(2))
def test_a_store_with_hidden_memories_looks_like_its_twin_without_them(
    db: None, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers, errors, listings, sizes, search, lists and versions; people change what is hidden between the calls."""
    monkeypatch.setattr(search, "SECONDS", 60)  # where a page of a search ends does not depend on the machine
    for seed in range(part, 500 if LONG else 3, 2):
        chance = random.Random(seed)
        full, twin = new_hub(), new_hub()
        for hub in (full, twin):
            set_rules(
                hub.store,
                PathRule(Effect.HIDE, "/s"),
                PathRule(Effect.HIDE, "/s/"),
                PathRule(Effect.HIDE, "/**/key.md"),
            )
        for number in range(14):
            if chance.random() < 0.4:
                change_something_hidden(chance, full.store)
            call = _call(chance, number)
            answer = full.call(**call)
            is_exception = answer[1].startswith("Error: A path rule does not let")
            if is_exception and not any(is_hidden_here(path) for path in _targets(call, twin)):
                continue  # something hidden is in the way of a path that is not hidden
            assert answer == twin.call(**call), (seed, number, call)
        ours, theirs = texts(full.store), texts(twin.store)
        assert {path: text for path, text in ours.items() if not is_hidden_here(path)} == theirs, seed
        assert _seen(full) == _seen(twin), seed
        assert_audit_is_right(full.store)


def _targets(call: dict[str, object], twin: Hub) -> list[str]:
    """The paths at which a call would put memories."""
    if call["command"] == "rename":
        old, new = (str(call[name]).removeprefix("/memories") for name in ("old_path", "new_path"))
        return [
            new + path[len(old) :] for path in [old, *texts(twin.store)] if path == old or path.startswith(old + "/")
        ]
    return [str(call["path"]).removeprefix("/memories")]


def change_something_hidden(chance: random.Random, store: MemoryStore) -> None:
    act = Act(Actor.system("a person"), Door.WEB, AT)
    path = "/" + chance.choice(("s/x.md", "s/y/z.md", "d/key.md", "d/e/key.md", "g/key.md", "s"))
    there = Memory.objects.live().filter(store=store, path=path).first()
    with suppress(ToolError):  # a memory may be where a directory would be
        if there is None:
            curation.create(store.pk, path, f"hidden word{chance.randint(0, 9)}\n", act)
        elif chance.random() < 0.5:
            curation.edit(store.pk, there.pk, f"hidden again word{chance.randint(0, 9)}\n", there.sha256, act)
        else:
            curation.delete(store.pk, path, act)


def _seen(hub: Hub) -> list[Any]:
    """What the agent sees, without ids, times and the numbers of entries."""
    api = Api(hub)
    listings = [
        hub.call(command="view", path=path) for path in ("/memories", "/memories/d", "/memories/d/e", "/memories/s")
    ]
    lists = [
        [[(one.get("path"), one.get("content"), one.get("content_sha256"), one.get("content_size_bytes"), one["type"])
          for one in page] for page in api.pages("memories", limit, view=view, **more)]
        for limit in (1, 3, 20) for view in ("basic", "full") for more in ({}, {"depth": 1}, {"path_prefix": "/d/"})
    ]  # fmt: skip
    versions = []
    for limit in (1, 4, 20):
        for view in ("basic", "full"):
            pages = api.pages("memory_versions", limit, view=view)
            rows = sorted((one["path"], one["operation"], one.get("content") or "") for page in pages for one in page)
            versions.append(([len(page) for page in pages], rows))  # versions of one act have no order
    found = [
        [[(one["memory"]["path"], one["lines"]) for one in page] for page in api.pages("search", limit, query="word")]
        for limit in (1, 20)
    ]
    return [listings, lists, versions, found]
