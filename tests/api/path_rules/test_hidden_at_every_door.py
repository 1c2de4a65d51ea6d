"""A store with hidden memories answers as its twin without them, to random requests by every door."""

import json
import random
import re
from dataclasses import dataclass
from typing import Any

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.sql import Row, lists
from memoryhub.actions.erasure import redaction
from memoryhub.actions.search import search
from memoryhub.models import Access, Door, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import AT, Answer, Hub, assert_audit_is_right, new_hub, new_secret
from tests.api.memory_calls import Api
from tests.api.path_rules.test_hidden_paths import change_something_hidden, is_hidden_here
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.mcp.messages import message, send
from tests.support.long import LONG, tried

pytestmark = pytest.mark.both_databases

PLACES = ("a.md", "d/b.md", "d/e/c.md", "f.md", "d", "d/e", "s/x.md", "d/key.md", "g/h.md", "s")
REFUSED = "A path rule does not let this agent create"
NAMES = re.compile(r"\b(mem|memver|memstore|apikey|req|agent|page)_[0-9A-Za-z_-]{20,}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")


@dataclass(frozen=True)
class Step:
    """A random request; `first` and `second` choose, from 0 to 1, among what the key sees at that moment."""

    kind: str
    path: str
    other: str
    number: int
    first: float
    second: float


KINDS = (
    "create", "update", "move", "delete", "restore", "diff", "blame", "version", "redact", "search", "list", "versions",
    "tool", "tool", "tool", "tool again", "id again", "view by mcp", "history by mcp", "search by mcp",
)  # fmt: skip


def random_step(chance: random.Random, number: int) -> Step:
    path, other = (f"/{chance.choice(PLACES)}" for _ in range(2))
    return Step(chance.choice(KINDS), path, other, number, chance.random(), chance.random())


def made(hub: Hub, step: Step) -> Answer:
    """The answer of a store to a step. Memories and versions are chosen by their order, so that twins choose alike."""
    api = Api(hub)
    memories = [one["id"] for one in api.all("memories")]
    versions = [one["id"] for memory in memories for one in api.all("memory_versions", memory_id=memory)]
    memory = _chosen(memories, step.first, "mem_" + "0" * 26)
    version, against = (_chosen(versions, number, "memver_" + "0" * 26) for number in (step.first, step.second))
    often, limit, text = step.second < 0.5, 1 + int(step.first * 4), f"word{step.number}\nend\n"
    requests: dict[str, tuple[Any, ...]] = {
        "create": ("POST", "/memories", {"path": step.path, "content": text}),
        "update": ("POST", f"/memories/{memory}", {"content": text} | ({"path": step.other} if often else {})),
        "move": ("POST", f"/memories/{memory}", {"path": step.other}),
        "delete": ("DELETE", f"/memories/{memory}"),
        "restore": ("POST", f"/memory_versions/{version}/restore", {"path": step.other} if often else {}),
        "diff": ("GET", f"/memory_versions/{version}/diff" + (f"?against={against}" if often else "")),
        "blame": ("GET", f"/memories/{memory}/blame"),
        "version": ("GET", f"/memory_versions/{version}?view=full"),
        "redact": ("POST", f"/memory_versions/{version}/redact"),
        "search": ("GET", f"/search?query=word&limit={limit}" + ("&path_prefix=/d/" if often else "")),
        "list": ("GET", f"/memories?limit={limit}" + ("&depth=1" if often else "&view=full")),
        "versions": ("GET", f"/memory_versions?limit={limit}" + ("&operation=created" if often else "")),
    }
    if step.kind in requests:
        return api.send(*requests[step.kind])
    if step.kind in ("tool", "tool again", "id again"):
        number = int(step.second * step.number) if step.kind == "id again" else step.number
        block = hub.block(f"toolu_{number}", **_command(step))
        answer = hub.send(block)
        return answer if step.kind == "tool" else hub.send(block)
    tool, _, _ = step.kind.partition(" by ")
    path = f"/memories{step.path}"
    arguments = {
        "view": {"command": "view", "path": path if often else "/memories"},
        "history": {"path": path} | ({"version": 1} if often else {}),
        "search": {"query": "word", "limit": limit},
    }[tool]
    name = "memory" if tool == "view" else tool
    return send(hub, message("tools/call", {"name": name, "arguments": arguments}, id=1))


def _chosen(ids: list[str], number: float, otherwise: str) -> str:
    return ids[int(number * len(ids))] if ids else otherwise


def _command(step: Step) -> dict[str, object]:
    path, other = f"/memories{step.path}", f"/memories{step.other}"
    commands: tuple[dict[str, object], ...] = (
        {"command": "view", "path": path},
        {"command": "view", "path": "/memories"},
        {"command": "rename", "old_path": path, "new_path": other},
        {"command": "delete", "path": path},
        {"command": "create", "path": path, "file_text": f"word{step.number}\nend\n"},
        {"command": "str_replace", "path": path, "old_str": "end", "new_str": f"word{step.number} end"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "word"},
    )
    return commands[int(step.first * len(commands))]


def told(step: Step, answer: Answer) -> tuple[int, str]:
    """What an answer says, without ids and times. Versions that one act made have no order among themselves."""
    text = TIMES.sub("TIME", NAMES.sub("ID", answer.body.decode()))
    if step.kind == "versions":
        value = json.loads(text)
        text = json.dumps([len(value["data"]), value["next_page"]])
    return answer.status, text


def _redact_something_hidden(chance: random.Random, store: MemoryStore) -> None:
    """A person redacts the versions of a hidden memory in the trash, which then has no path any more."""
    gone = Memory.objects.filter(store=store).exclude(deleted_at=None).order_by("pk")
    for memory in gone[:3] if chance.random() < 0.3 else ():
        for version in MemoryVersion.objects.of_memory(memory).filter(redacted_at=None):
            if version.path and is_hidden_here(version.path):
                redaction.redact_version(store.pk, version.pk, Act(Actor.system("a person"), Door.WEB, AT))


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("part", range(2))
def test_every_door_answers_as_if_there_were_nothing_hidden(
    db: None, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SECONDS", 60)  # where a page of a search ends does not depend on the machine
    for seed in range(part, tried(240, 3), 2):
        chance, hubs = random.Random(seed), []
        for _ in range(2):
            store = new_hub().store
            set_rules(store, *(PathRule(Effect.HIDE, pattern) for pattern in ("/s", "/s/", "/**/key.md")))
            hubs.append(Hub(store, new_secret(store, Access.MANAGE)))
        full, twin = hubs
        for number in range(25 if LONG else 15):
            if chance.random() < 0.4:
                change_something_hidden(chance, full.store)
                _redact_something_hidden(chance, full.store)
            step = random_step(chance, number)
            ours = told(step, made(full, step))
            theirs = told(step, made(twin, step))
            if ours != theirs and REFUSED in ours[1]:
                break  # something hidden is in the way of a path that is not hidden
            assert ours == theirs, (seed, step)
            left = {path: text for path, text in texts(full.store).items() if not is_hidden_here(path)}
            assert left == texts(twin.store), (seed, step)
        assert_audit_is_right(full.store)


@pytest.mark.django_db
def test_where_memories_are_hidden_a_long_history_is_read_as_far_as_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A memory can have ten thousand versions, and calls of others wait while a page of them is read."""
    hub = new_hub()
    set_rules(hub.store, PathRule(Effect.HIDE, "/secret/"))
    hub.call(command="create", path="/memories/a.md", file_text="0\n")
    for number in range(9):
        hub.call(command="str_replace", path="/memories/a.md", old_str=f"{number}\n", new_str=f"{number + 1}\n")
    newest, read, from_db = Memory.objects.get(store=hub.store).head_id, list[str](), MemoryVersion.from_db.__func__

    def noted(model: type[MemoryVersion], *arguments: Any) -> MemoryVersion:
        row: MemoryVersion = from_db(model, *arguments)
        read.append(row.pk)
        return row

    monkeypatch.setattr(MemoryVersion, "from_db", classmethod(noted))
    arguments = {"path": "/memories/a.md", "limit": 2}
    page = send(hub, message("tools/call", {"name": "history", "arguments": arguments})).value["result"]
    assert [one["number"] for one in page["structuredContent"]["data"]] == [10, 9]
    assert len(set(read)) == 3, "the next one, too: so there is a next page"
    read.clear()
    assert Api(hub).good("GET", f"/memory_versions/{newest}/diff")["added_lines"] == 1
    assert len(set(read)) == 2


@pytest.mark.django_db
def test_where_versions_are_hidden_only_the_texts_of_a_page_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many hidden versions may be newer than those of the page: their texts would be read while the store is locked."""
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="seen\n")
    for number in range(5):
        hub.call(command="create", path=f"/memories/secret/{number}.md", file_text="hidden\n")
    set_rules(hub.store, PathRule(Effect.HIDE, "/secret/"))
    whole, select = list[bool](), lists.select_versions

    def noted(*arguments: Any, full: bool) -> list[Row]:
        whole.append(full)
        return select(*arguments, full=full)

    monkeypatch.setattr(lists, "select_versions", noted)
    asked = {"view": "full", "limit": 2}
    assert [one["content"] for one in Api(hub).all("memory_versions", **asked)] == ["seen\n"]
    assert whole.count(True) == 1, "the one of the page"
