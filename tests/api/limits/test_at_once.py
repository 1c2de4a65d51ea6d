"""Every limit from eight clients at once, agents and browsers, on a real server: met exactly, never passed."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest

from memoryhub.pure.protocol import rendering
from tests.api.server import Agent, Server
from tests.api.test_concurrency import lines_of, together
from tests.support.fixtures import PASSWORD
from tests.web.browser_forms import form_with

CLIENTS = 8
LIMIT = 1000
FEW = 10

Stores = dict[str, dict[str, Any]]
"""By name: `limits`, and `memories` with the texts of their versions."""

MAKE = """
import json, sys
from memoryhub.actions.accounts import keys_and_roles as access
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.core.audit import Act
from memoryhub.models import Access, Role, User
from tests.api.harness import BY, new_store
from tests.support.fixtures import new_person
person = User.objects.filter(email="anna@example.com").first() or new_person("Anna")
made, act = {}, Act(**BY)
for name, wanted in json.loads(%r).items():
    store = new_store()
    for path, texts in wanted["memories"].items():
        curation.create(store.id, path, texts[0], act)
        for text in texts[1:]:
            memory = store.memories.get(path=path)
            curation.edit(store.id, memory.id, text, memory.sha256, act)
    stores.edit_store(store, stores.StoreSettings(store.name, limits=wanted["limits"]), **BY)
    access.set_role(store, person, Role.ADMIN, **BY)
    ids = dict(store.memories.values_list("path", "id"))
    agent = access.create_agent(store.id, **BY)
    secret = access.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1]
    made[name] = {"store": store.id, "secret": secret, "ids": ids}
print(json.dumps(made))
"""

FACTS = """
import json
from memoryhub.models import AuditEntry, IdempotentCall, Memory, MemoryStore
def facts(id):
    store, entries = MemoryStore.objects.get(pk=id), AuditEntry.objects.filter(chain=id)
    memories = list(Memory.objects.filter(store=store, deleted_at=None).values("size", "version_count"))
    return {
        "memories": store.memory_count, "bytes": store.total_bytes, "calls": entries.filter(door="tool").count(),
        "refused": entries.filter(ok=False).count(), "tokens": IdempotentCall.objects.filter(store=store).count(),
        "rows": [len(memories), sum(memory["size"] for memory in memories)],
        "largest": max([memory["size"] for memory in memories], default=0),
        "versions": max([memory["version_count"] for memory in memories], default=0),
    }
print(json.dumps({name: facts(id) for name, id in json.loads(%r).items()}))
"""


def asked(server: Server, code: str) -> Any:
    """What a piece of Python prints as JSON in a process of the server's own."""
    ran = server.run("shell", "-c", code, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.strip().rpartition("\n")[2])


class Scene:
    """Stores on a server, and a browser in which Anna, an admin of all of them, has signed in."""

    def __init__(self, server: Server, wanted: Stores) -> None:
        self.server = server
        self.made = asked(server, MAKE % json.dumps(wanted))
        self.browser = Browser(server)
        self.browser.sign_in()

    def agent(self, name: str) -> Agent:
        made = self.made[name]
        return Agent(self.server, made["store"], made["secret"])

    def facts(self) -> dict[str, dict[str, Any]]:
        ids = {name: made["store"] for name, made in self.made.items()}
        facts: dict[str, dict[str, Any]] = asked(self.server, FACTS % json.dumps(ids))
        assert all(told["rows"] == [told["memories"], told["bytes"]] for told in facts.values())
        return facts

    def creates(self, name: str, number: int, size: int) -> bool:
        """Whether a new memory of that size could be made: even clients are agents, odd ones browsers."""
        path, text = f"/{size}-{number}", "x" * size
        if number % 2:
            fields = {"path": path, "text": text, "newlines": "lf"}
            return self.browser.again().post(f"/stores/{self.made[name]['store']}/new", fields)
        call = {"command": "create", "path": f"/memories{path}", "file_text": text}
        return self.agent(name).call(f"{name}-{path}", **call)[0] == "ok"

    def inserts(self, name: str, number: int, path: str, size: int) -> bool:
        """Whether an agent could make a memory larger by so many bytes."""
        call = {"command": "insert", "path": f"/memories{path}", "insert_line": 0, "insert_text": "x" * (size - 1)}
        return self.agent(name).call(f"{name}-{number}-{path}", **call)[0] == "ok"

    def edits(self, name: str, path: str, more: int) -> Callable[[], bool]:
        """Opens the edit form of a memory; what is given then saves it, made longer."""
        made, browser = self.made[name], self.browser.again()
        url = f"/stores/{made['store']}/memories/{made['ids'][path]}/edit"
        fields = form_with(browser.get(url), "text")
        return lambda: browser.post(url, fields | {"text": fields["text"] + "y" * more})


class Browser:
    """The requests of a browser without a screen; `again` is another tab of it."""

    def __init__(self, server: Server, cookies: dict[str, str] | None = None) -> None:
        self.server, self.cookies, self.connection = server, dict(cookies or {}), server.connect()

    def again(self) -> "Browser":
        return Browser(self.server, self.cookies)

    def sign_in(self) -> None:
        page = self.get("/sign-in")
        form = form_with(page, "password")
        assert self.post("/sign-in", form | {"email": "anna@example.com", "password": PASSWORD}), page

    def get(self, url: str) -> str:
        return self._send("GET", url, b"")[1]

    def post(self, url: str, fields: dict[str, str]) -> bool:
        """Whether the form was accepted; a refused one is shown again."""
        given = fields | {"csrfmiddlewaretoken": fields.get("csrfmiddlewaretoken") or self._token()}
        status, page = self._send("POST", url, urlencode(given).encode())
        assert status in (200, 302, 303), (status, page)
        return status != 200

    def _token(self) -> str:
        return next(value for name, value in self.cookies.items() if name.startswith("csrftoken"))

    def _send(self, method: str, url: str, body: bytes) -> tuple[int, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request(method, url, body, headers)
        response = self.connection.getresponse()
        for line in response.headers.get_all("Set-Cookie") or ():
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return response.status, response.read().decode()


def at_once(work: Callable[[int], bool]) -> int:
    """How many of eight clients at once were let."""
    return together(work, clients=CLIENTS).count(True)


def view_of(length: int) -> str:
    """A text whose lines, numbered as a view shows them, are that long."""
    lines = [f"line {number} é" for number in range(30)]
    shown = rendering.numbered("\n".join(lines), 1, len(lines))
    return "\n".join([*lines[:-1], lines[-1] + "z" * (length - len(shown))])


def one(name: str, memories: dict[str, list[str]], **limits: int) -> Stores:
    return {name: {"limits": limits, "memories": memories}}


STARTS = (699, 700, 701)
TOTALS = (*STARTS, LIMIT - 1, LIMIT, LIMIT + 1)
COUNTS = (7, FEW - 1, FEW, FEW + 1)
VERSIONS = (2, 4, 5, 6)
CALLS = (11, 12, 13, 24)
VIEWS = {f"/{more}": view_of(LIMIT + more) for more in (-1, 0, 1)} | {"/long": view_of(5 * LIMIT)}


def stores() -> Iterator[Stores]:
    """Those of all tests, made in one go: a process of the hub takes a second to start."""
    for more in (-1, 0, 1):
        yield one(f"one of {more}", {}, limit_memory_bytes=LIMIT)
    for start in STARTS:
        yield one(f"from {start}", {"/a": ["x" * (start - 1) + "\n"]}, limit_memory_bytes=LIMIT)
    for start in TOTALS:
        yield one(f"total {start}", {"/a": ["x" * start]}, limit_total_bytes=LIMIT)
    for count in COUNTS:
        yield one(f"many {count}", {f"/{number}": ["x"] for number in range(count)}, limit_memories=FEW)
    yield one("edited", {f"/{number}": ["x" * 84] for number in range(CLIENTS)}, limit_total_bytes=LIMIT)
    for count in VERSIONS:
        yield one(f"versions {count}", {"/a": ["x" * (number + 1) for number in range(count)]}, limit_versions=5)
    yield one("views", {path: [text] for path, text in VIEWS.items()}, limit_view_characters=LIMIT)
    for blocks in (1, 3):
        for calls in CALLS:
            yield one(f"calls {calls} {blocks}", {}, limit_calls=12)
    yield one("bodies", {}, limit_body_bytes=2000)


@pytest.fixture(scope="module")
def scene(server: Server) -> Scene:
    return Scene(server, {name: store for some in stores() for name, store in some.items()})


def test_bytes_and_memories_are_never_too_many(scene: Scene) -> None:
    """Each client writes once; so many may as fit, to the byte."""
    for more, let in ((-1, 8), (0, 8), (1, 0)):
        assert at_once(partial(scene.creates, f"one of {more}", size=LIMIT + more)) == let
    for start, let in zip(STARTS, (3, 3, 2), strict=True):
        assert at_once(lambda number, name=f"from {start}": scene.inserts(name, number, "/a", 100)) == let
        assert at_once(partial(scene.creates, f"total {start}", size=100)) == let
    for start, let in zip(COUNTS, (3, 1, 0, 0), strict=True):
        assert at_once(partial(scene.creates, f"many {start}", size=1)) == let
    for start, let in ((999, 1), (1000, 0), (1001, 0)):
        assert at_once(partial(scene.creates, f"total {start}", size=1)) == let
    saves = [scene.edits("edited", f"/{number}", 100) for number in range(CLIENTS)]
    assert at_once(lambda number: saves[number]()) == (LIMIT - 8 * 84) // 100

    facts = scene.facts()
    assert [facts[f"one of {more}"]["largest"] for more in (-1, 0, 1)] == [LIMIT - 1, LIMIT, 0]
    assert [facts[f"from {start}"]["largest"] for start in STARTS] == [999, 1000, 901]
    assert [facts[f"many {start}"]["memories"] for start in COUNTS] == [10, 10, 10, 11]
    assert [facts[f"total {start}"]["bytes"] for start in TOTALS] == [999, 1000, 901, 1000, 1000, 1001]
    assert facts["edited"]["bytes"] == 972
    for start, let in zip(STARTS, (3, 3, 2), strict=True):  # what agents were refused is in the audit, once
        told = facts[f"from {start}"]
        assert (told["calls"], told["refused"]) == (CLIENTS, CLIENTS - let)


def test_versions_are_never_too_many(scene: Scene) -> None:
    """Four agents insert and four people save at once; whoever comes too late for a text is told so as well."""
    for start in VERSIONS:
        name = f"versions {start}"
        saves = [scene.edits(name, "/a", 1 + n) for n in range(4)]  # texts of their own

        def write(number: int, name: str = name, saves: list[Callable[[], bool]] = saves) -> bool:
            return saves[number // 2]() if number % 2 else scene.inserts(name, number, "/a", 1)

        assert at_once(write) == max(0, 5 - start)
    told = scene.facts()
    facts = [told[f"versions {start}"] for start in VERSIONS]
    assert [one["versions"] for one in facts] == [5, 5, 5, 6]
    assert [one["calls"] for one in facts] == [4] * 4
    assert [one["refused"] for one in facts[1:]] in ([3, 4, 4], [4, 4, 4])


def test_views_are_never_too_long_and_every_line_can_be_reached(scene: Scene) -> None:
    def read(number: int) -> bool:
        agent = scene.agent("views")
        for path, text in VIEWS.items():
            answer = agent.call(f"{number}{path}", command="view", path=f"/memories{path}")[1]
            is_cut = "\n[Lines 1 to " in answer
            shown = answer.split("\n", 1)[1].partition("\n[Lines ")[0]
            assert is_cut == (len(rendering.numbered(text, 1, 30)) > LIMIT), path
            assert len(shown.removesuffix("\n")) <= LIMIT
            assert lines_of(agent, f"/memories{path}") == text.split("\n"), path
        return True

    assert at_once(read) == CLIENTS


@pytest.mark.parametrize("blocks", [1, 3])
def test_calls_are_never_too_many_in_a_minute(scene: Scene, blocks: int) -> None:
    """All of this is done in far less than a minute. A message is as many calls as it has blocks."""
    limit = 12

    def call(calls: int, number: int) -> list[int]:
        """The answers of one client to its share of so many calls."""
        agent, answers = scene.agent(f"calls {calls} {blocks}"), []
        for part in range(number, calls // blocks, CLIENTS):
            input = {"command": "view", "path": "/memories"}
            content = [
                {"type": "tool_use", "id": f"{part}-{n}", "name": "memory", "input": input} for n in range(blocks)
            ]
            status, headers, value = agent.send({"role": "assistant", "content": content})
            answers.append(status)
            if status == 429:
                assert value["error"]["type"] == "rate_limit_error"
                assert 1 <= int(headers["retry-after"]) <= 60
        return answers

    for calls in CALLS:
        answers = [status for part in together(partial(call, calls), clients=CLIENTS) for status in part]
        let = min(calls, limit) // blocks
        assert (answers.count(200), answers.count(429)) == (let, calls // blocks - let)
    facts = scene.facts()
    for calls in CALLS:
        told, let = facts[f"calls {calls} {blocks}"], min(calls, limit) // blocks * blocks
        assert (told["calls"], told["tokens"]) == (let, let)


def test_bodies_are_never_too_large(scene: Scene) -> None:
    def send(size: int, number: int) -> int:
        input = {"command": "create", "path": f"/memories/{size}-{number}", "file_text": ""}
        block = {"type": "tool_use", "id": f"{size}-{number}", "name": "memory", "input": input}
        block["input"] = {**input, "file_text": "x" * (size - len(json.dumps(block)))}
        return scene.agent("bodies").send(block)[0]

    for size, status in ((1999, 200), (2000, 200), (2001, 413)):
        assert together(partial(send, size), clients=CLIENTS) == [status] * CLIENTS
    assert scene.facts()["bodies"]["memories"] == 2 * CLIENTS
