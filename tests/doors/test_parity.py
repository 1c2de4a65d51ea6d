"""The tool and the API are two doors to one store: the same acts leave the same, and each sees what the other did."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.stores import stores
from memoryhub.models import (
    AuditEntry,
    Directory,
    Door,
    Finding,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    Role,
)
from memoryhub.web.history.blame import lines_with_origins
from tests.api.harness import AT, BY, Answer, Hub, assert_audit_is_right, new_hub, newest_entry
from tests.api.rules import CARD, OTHER_CARD, set_rules, where_stored
from tests.support.fixtures import new_person, signed_in

pytestmark = pytest.mark.django_db

Way = Callable[[Hub, str, str, str, str], str]
"""Does one of create, edit, rename and delete at a path; gives the refusal, or nothing."""


def by_tool(hub: Hub, verb: str, path: str, old: str, new: str) -> str:
    place = f"/memories{path}"
    inputs = {
        "create": {"command": "create", "path": place, "file_text": new},
        "edit": {"command": "str_replace", "path": place, "old_str": old, "new_str": new},
        "rename": {"command": "rename", "old_path": place, "new_path": f"/memories{new}"},
        "delete": {"command": "delete", "path": place},
    }
    outcome, text = hub.call(**inputs[verb])
    return text if outcome == "err" else ""


def by_api(hub: Hub, verb: str, path: str, old: str, new: str) -> str:
    found = Memory.objects.filter(store=hub.store, path=path, deleted_at=None).first()
    one = found.pk if found else ""
    if verb == "create":
        answer = api(hub, "POST", "", {"path": path, "content": new})
    elif verb == "edit":
        answer = api(hub, "POST", f"/{one}", {"content": (found.head.content if found else "").replace(old, new, 1)})
    elif verb == "rename":
        answer = api(hub, "POST", f"/{one}", {"path": new})
    else:
        answer = api(hub, "DELETE", f"/{one}")
    return "" if answer.status == 200 else str(answer.value["error"]["message"])


def api(hub: Hub, method: str, path: str, body: object = None) -> Answer:
    """A request to the store's memories."""
    data = b"" if body is None else body
    return hub.send(data, method=method, url=f"/v1/memory_stores/{hub.store.id}/memories{path}")


@dataclass(frozen=True, slots=True)
class Story:
    """What a store is, and what is done in it; `refused` are the positions of the acts that it refuses."""

    acts: tuple[tuple[str, str, str, str], ...]
    refused: tuple[int, ...] = ()
    own: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    held: str = ""
    archived_before: int | None = None


LINES = "one\ntwo\nthree\n"
STORIES = {
    "a day": Story((
        ("create", "/a.md", "", LINES), ("edit", "/a.md", "two", "TWO"), ("edit", "/a.md", "three\n", "3\nfour\n"),
        ("rename", "/a.md", "", "/d/b.md"), ("create", "/d/c.md", "", ""), ("delete", "/d/b.md", "", ""))),
    "an edit that changes nothing": Story((("create", "/a.md", "", LINES), ("edit", "/a.md", "two", "two"))),
    "a path that is taken": Story((
        ("create", "/a.md", "", LINES), ("create", "/a.md", "", "new"), ("create", "/a.md/b.md", "", "new"),
        ("create", "/c.md", "", ""), ("rename", "/c.md", "", "/a.md"), ("rename", "/c.md", "", "/a.md/b.md")),
        refused=(1, 2, 4, 5)),
    "text that is flagged": Story((
        ("create", "/a.md", "", f"one\n{CARD}\n"), ("edit", "/a.md", "one", OTHER_CARD)), rules={"card": "flag"}),
    "text that is masked": Story((
        ("create", "/a.md", "", f"one\n{CARD}\n"), ("edit", "/a.md", "one", f"{OTHER_CARD} too")),
        rules={"card": "mask"}),
    "text that is blocked": Story((
        ("create", "/a.md", "", f"one\n{CARD}\n"), ("create", "/a.md", "", LINES), ("edit", "/a.md", "two", CARD),
        ("edit", "/a.md", "two", "2")), refused=(0, 2), rules={"card": "block"}),
    "a path that is blocked": Story((
        ("create", f"/{CARD}.md", "", LINES), ("create", "/a.md", "", LINES), ("rename", "/a.md", "", f"/{CARD}.md")),
        refused=(0, 2), rules={"card": "block"}),
    "a memory on legal hold": Story((
        ("create", "/held/a.md", "", LINES), ("delete", "/held/a.md", "", ""), ("rename", "/held/a.md", "", "/b.md"),
        ("edit", "/held/a.md", "one", "1"), ("rename", "/held/a.md", "", "/held/b.md")), refused=(1, 2), held="/held"),
    "an archived store": Story((
        ("create", "/a.md", "", LINES), ("create", "/b.md", "", ""), ("edit", "/a.md", "one", "1"),
        ("rename", "/a.md", "", "/b.md"), ("delete", "/a.md", "", "")), refused=(1, 2, 3), archived_before=1),
    "a memory that would be too large": Story((
        ("create", "/a.md", "", "abcdefghijk"), ("create", "/a.md", "", "abcdefghij"), ("edit", "/a.md", "a", "aa")),
        refused=(0, 2), own={"limit_memory_bytes": 10}),
    "a store that is full": Story((
        ("create", "/a.md", "", "x"), ("create", "/b.md", "", "x"), ("edit", "/a.md", "x", "yy"),
        ("delete", "/a.md", "", ""), ("create", "/b.md", "", "x")), refused=(1,), own={"limit_memories": 1}),
    "a store that holds its bytes": Story((
        ("create", "/a.md", "", "abcdefgh"), ("create", "/b.md", "", "xxx"), ("edit", "/a.md", "abc", "abcabc"),
        ("edit", "/a.md", "abc", "a")), refused=(1, 2), own={"limit_total_bytes": 10}),
    "a memory with all its versions": Story((
        ("create", "/a.md", "", LINES), ("edit", "/a.md", "one", "1"), ("edit", "/a.md", "two", "2")),
        refused=(2,), own={"limit_versions": 2}),
}  # fmt: skip


def told(story: Story, way: Way) -> Hub:
    """The store after the story, of which each act was refused or not as the story says."""
    hub = new_hub(**story.own)
    set_rules(hub.store, **story.rules)
    if story.held:
        act = Act(Actor.system("tests"), Door.WEB, AT)
        holds.place(hub.store.id, act, kind=HoldKind.HOLD, reason="Case 17", path=story.held)
    for position, (verb, path, old, new) in enumerate(story.acts):
        if position == story.archived_before:
            stores.set_archived(hub.store, True, **BY)
        refusal = way(hub, verb, path, old, new)
        assert bool(refusal) == (position in story.refused), (position, refusal)
        assert CARD not in refusal
    return hub


def facts(store: MemoryStore) -> dict[str, Any]:
    """All that people and agents see of what was done, but for ids, times and the door."""
    memories = {memory.pk: number for number, memory in enumerate(Memory.objects.filter(store=store).order_by("id"))}
    versions = MemoryVersion.objects.filter(store=store).select_related("text").order_by("seq", "id")
    rows = [
        (memories[v.memory_id], v.number, v.operation, v.path, v.content, v.size, v.sha256, v.review_state)
        for v in versions
    ]
    findings = Finding.objects.filter(store=store).order_by("id")
    store.refresh_from_db()
    return {
        "versions": rows,
        "origins": [origins(memory) for memory in Memory.objects.filter(store=store).order_by("id")],
        "findings": [(f.kind, f.in_path, f.line, f.start, f.end, f.state, memories[f.memory_id]) for f in findings],
        "directories": sorted(Directory.objects.filter(store=store).values_list("path", "memory_count", "total_bytes")),
        "counters": (store.memory_count, store.total_bytes),
        "acts": list(acts(AuditEntry.objects.of_chain(store.pk).oldest())),
    }


def acts(entries: Iterable[AuditEntry]) -> Iterable[tuple[Any, ...]]:
    """What the audit tells; an edit of the tool and one of the API have different names and refusals one sentence."""
    for entry in entries:
        if entry.door in (Door.TOOL, Door.API):
            command = "edit" if entry.command == "str_replace" else entry.command
            yield command, entry.path, entry.new_path, entry.ok, None if entry.ok else entry.message


def origins(memory: Memory) -> list[int]:
    """Which version brought each line of the newest text, as the page of origins tells it."""
    newest = MemoryVersion.objects.of_memory(memory).exclude(text=None).latest("number")
    return [origin.number for origin in lines_with_origins(memory, newest.number).origins]


@pytest.mark.parametrize("name", STORIES)
def test_both_doors_leave_the_same(name: str) -> None:
    story = STORIES[name]
    tools, apis = told(story, by_tool), told(story, by_api)
    assert facts(tools.store) == facts(apis.store)
    for hub in (tools, apis):
        assert_audit_is_right(hub.store)


def test_what_is_masked_or_blocked_is_stored_nowhere_through_the_api() -> None:
    for action in ("mask", "block"):
        hub = new_hub()
        set_rules(hub.store, card=action)
        by_api(hub, "create", "/a.md", "", f"one\n{OTHER_CARD}\n")
        by_api(hub, "create", f"/{OTHER_CARD}.md", "", "one")
        assert where_stored(OTHER_CARD) == set()


def test_each_door_reads_what_the_other_wrote() -> None:
    hub = new_hub()
    by_tool(hub, "create", "/tool.md", "", "by the tool\r\n\u00e9")
    by_api(hub, "create", "/api.md", "", "by the API\n")
    listed = api(hub, "GET", "?view=full").value["data"]
    assert {item["path"]: item["content"] for item in listed} == {
        "/api.md": "by the API\n", "/tool.md": "by the tool\r\n\u00e9"}  # fmt: skip
    assert hub.call(command="view", path="/memories/api.md") == [
        "ok", "Here's the content of /memories/api.md with line numbers:\n     1\tby the API\n     2\t"]  # fmt: skip
    assert "12B\t/memories/api.md" not in hub.call(command="view", path="/memories")[1]
    assert "11B\t/memories/api.md" in hub.call(command="view", path="/memories")[1]


def test_a_read_through_the_api_is_told_as_a_view_of_all_lines() -> None:
    hub = new_hub()
    by_tool(hub, "create", "/a.md", "", LINES)
    memory = Memory.objects.get(store=hub.store)
    assert memory.read_count == 0
    views = []
    for read in (lambda: hub.call(command="view", path="/memories/a.md"), lambda: api(hub, "GET", f"/{memory.pk}")):
        read()
        entry = newest_entry(hub.store.pk)
        views.append(
            (entry.command, entry.path, entry.version, entry.first_line, entry.last_line, entry.cut, entry.message)
        )
    assert views[0] == views[1]
    memory.refresh_from_db()
    assert memory.read_count == 2
    api(hub, "GET", f"/{memory.pk}?view=basic")
    api(hub, "GET", "")
    memory.refresh_from_db()
    assert memory.read_count == 2
    api(hub, "GET", "?view=full")
    memory.refresh_from_db()
    assert memory.read_count == 3
    assert newest_entry(hub.store.pk).command == "view"


def test_what_comes_through_the_api_waits_for_review_and_shows_its_author() -> None:
    hub = new_hub()
    set_rules(hub.store, card="flag")
    by_api(hub, "create", "/reviewed.md", "", f"one\n{CARD}\n")
    alice = new_person("Alice")
    keys_and_roles.set_role(hub.store, alice, Role.ADMIN, **BY)
    client = signed_in(alice)
    memory = Memory.objects.get(store=hub.store)
    label = AuditEntry.objects.of_chain(hub.store.pk).of_command("create")[0].label or "?"
    inbox = client.get(reverse("review")).content.decode()
    assert "/reviewed.md" in inbox and label in inbox
    assert "/reviewed.md" in client.get(reverse("store_findings", args=[hub.store.pk])).content.decode()
    origin = client.get(reverse("blame", args=[hub.store.pk, memory.pk]))
    assert origin.status_code == 200 and label in origin.content.decode()
