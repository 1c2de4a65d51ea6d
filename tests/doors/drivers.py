"""Each door's real client at work on one store: in a directory of its own, and on a memory that all of them edit.

A driver gives the acts that it did, in their order. Of the shared memory it has one line, `name n`, which it counts up.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import anthropic
import httpx2
from anthropic import Anthropic, AsyncAnthropic
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Page, expect

from tests.api.server import Agent
from tests.doors.conftest import Served
from tests.doors.model import Act, Exchange
from tests.doors.syncing import Clock, Synced, synced

SHARED = "/shared/board.md"
ROUNDS = 4
DRIVERS = ("tool", "python", "typescript", "mcp", "sync", "browser")
BOARD = "".join(f"{name} 0\n" for name in DRIVERS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the drivers meet."""

    hub: Served
    shared: str

    def headers(self, name: str) -> dict[str, str]:
        return {"Memoryhub-Session": f"{name}-run"}


def counted(name: str, number: int) -> Callable[[str], str]:
    """A text with the line of a driver counted up to a number."""
    return lambda text: text.replace(f"{name} {number - 1}\n", f"{name} {number}\n")


# ------------------------------------------------------------------------------------------------ tool and MCP

Run = Callable[[dict[str, Any]], bool]
"""Runs a command of the memory tool; whether it was done."""


def commands(name: str) -> list[tuple[dict[str, Any], Act]]:
    """A morning's commands in the directory of a driver, and the acts that they are."""
    own, tool = f"/{name}", f"/memories/{name}"

    def act(command: str, path: str, **more: Any) -> Act:
        return Act(name, command, own + path, **more)

    return [
        ({"command": "create", "path": f"{tool}/d/plan.md", "file_text": "one\ntwo\n"},
         act("create", "/d/plan.md", change=lambda _: "one\ntwo\n")),
        ({"command": "create", "path": f"{tool}/d/more.md", "file_text": "more\n"},
         act("create", "/d/more.md", change=lambda _: "more\n")),
        ({"command": "create", "path": f"{tool}/d/plan.md", "file_text": "again"},
         act("create", "/d/plan.md", ok=False)),
        ({"command": "str_replace", "path": f"{tool}/d/plan.md", "old_str": "two", "new_str": "three"},
         act("str_replace", "/d/plan.md", change=lambda text: text.replace("two", "three"))),
        ({"command": "insert", "path": f"{tool}/d/plan.md", "insert_line": 0, "insert_text": "zero"},
         act("insert", "/d/plan.md", change=lambda text: "zero\n" + text)),
        ({"command": "view", "path": tool}, act("view", "")),
        ({"command": "view", "path": f"{tool}/d/plan.md"}, act("view", "/d/plan.md")),
        ({"command": "str_replace", "path": f"{tool}/d/plan.md", "old_str": "nowhere", "new_str": ""},
         act("str_replace", "/d/plan.md", ok=False)),
        ({"command": "rename", "old_path": f"{tool}/d", "new_path": f"{tool}/e"},
         act("rename", "/d", new_path=f"{own}/e")),
        ({"command": "delete", "path": f"{tool}/e/more.md"}, act("delete", "/e/more.md")),
    ]  # fmt: skip


def rounds(name: str) -> list[tuple[dict[str, Any], Act]]:
    """Counting up with str_replace, which needs no precondition: the hub does it in one step."""
    return [
        ({"command": "str_replace", "path": f"/memories{SHARED}", "old_str": f"{name} {number - 1}\n",
          "new_str": f"{name} {number}\n"},
         Act(name, "str_replace", SHARED, change=counted(name, number)))
        for number in range(1, ROUNDS + 1)
    ]  # fmt: skip


def play(name: str, run: Run) -> list[Act]:
    """All commands one after the other; each must end as its act says."""
    done = []
    for input, act in [*commands(name), *rounds(name)]:
        assert run(input) == act.ok, input
        done.append(act)
    return done


def drive_tool(place: Place) -> list[Act]:
    """Tool calls as an agent posts them."""
    agent = Agent(place.hub.server, place.hub.store, place.hub.keys["tool"])
    agent.headers |= place.headers("tool")
    numbers = iter(range(1000))
    try:
        return play("tool", lambda input: agent.call(f"toolu_{next(numbers)}", **input)[0] == "ok")
    finally:
        agent.close()


def drive_mcp(place: Place) -> list[Act]:
    """The tool `memory` as the official MCP client calls it."""

    async def use() -> list[Act]:
        headers = {"Authorization": f"Bearer {place.hub.keys['mcp']}"} | place.headers("mcp")
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{place.hub.url}/mcp/{place.hub.store}", http_client=http)
            async with Client(transport) as client:
                done = []
                for input, act in [*commands("mcp"), *rounds("mcp")]:
                    result = await client.call_tool("memory", input)
                    assert result.is_error != act.ok, result
                    done.append(act)
                return done

    return asyncio.run(use())


# ------------------------------------------------------------------------------------------------ the API


def exchange_of(response: httpx2.Response) -> Exchange:
    """What a client sent and was given, its answer read already."""
    request = response.request
    query = dict(parse_qsl(request.url.query.decode()))
    body = json.loads(request.content) if request.content else None
    return Exchange(request.method, request.url.path, query, body, response.status_code, response.json())


def drive_python(place: Place) -> list[Exchange]:
    """The Python SDK, with preconditions."""
    exchanges: list[Exchange] = []

    def hear(response: httpx2.Response) -> None:
        response.read()
        exchanges.append(exchange_of(response))

    own = anthropic.DefaultHttpxClient(event_hooks={"response": [hear]})
    store, hub = place.hub.store, place.hub
    with Anthropic(
        base_url=hub.url, api_key=hub.keys["python"], http_client=own, default_headers=place.headers("python")
    ) as client:
        memories = client.beta.memory_stores.memories
        plan = memories.create(store, path="/python/plan.md", content="plan\n")
        memories.update(plan.id, memory_store_id=store, path="/python/done.md", content="done\n")
        memories.update(plan.id, memory_store_id=store, content="done\n")
        list(memories.list(store, path_prefix="/python/", view="full"))
        for number in range(1, ROUNDS + 1):
            while not _count_up(client, place, number):
                pass
        memories.delete(plan.id, memory_store_id=store)
    return exchanges


def _count_up(client: Anthropic, place: Place, number: int) -> bool:
    """Whether nobody was quicker."""
    memories, store = client.beta.memory_stores.memories, place.hub.store
    board = memories.retrieve(place.shared, memory_store_id=store)
    content = counted("python", number)(board.content or "")
    precondition: Any = {"type": "content_sha256", "content_sha256": board.content_sha256}
    try:
        memories.update(place.shared, memory_store_id=store, content=content, precondition=precondition)
    except anthropic.ConflictError:
        return False
    return True


def drive_sync(place: Place, folder: Path, clock: Clock) -> list[Exchange]:
    """The directory sync: whoever works in the folder knows nothing of the hub."""
    exchanges: list[Exchange] = []

    async def hear(response: httpx2.Response) -> None:
        await response.aread()
        exchanges.append(exchange_of(response))

    async def use() -> None:
        own = anthropic.DefaultAsyncHttpxClient(event_hooks={"response": [hear]})
        hub, headers = place.hub, place.headers("sync")
        async with (
            AsyncAnthropic(
                base_url=hub.url, api_key=hub.keys["sync"], http_client=own, default_headers=headers
            ) as client,
            synced(client, hub.store, folder, clock) as files,
        ):
            await _work(files)

    asyncio.run(use())
    return exchanges


async def _work(files: Synced) -> None:
    files.write("sync/plan.md", "plan\n")
    files.write("sync/last.md", "last\n")
    await files.sync()
    files.write("sync/plan.md", "plan\nmore\n")
    files.remove("sync/last.md")
    await files.sync()
    files.clock.pass_window()
    board = SHARED.removeprefix("/")
    for number in range(1, ROUNDS + 1):
        while f"sync {number}\n" not in files.on_disk()[board]:
            files.write(board, counted("sync", number)(files.on_disk()[board]))
            await files.sync()  # where somebody was quicker, the edit is lost with this one or the next
            await files.sync()


# ------------------------------------------------------------------------------------------------ a person


def open_editor(place: Place, page: Page) -> None:
    """The person has the shared memory open before anybody else begins."""
    page.context.add_cookies([place.hub.cookie])  # type: ignore[list-item]
    page.goto(f"{place.hub.url}/stores/{place.hub.store}/memories/{place.shared}/edit")
    expect(page.locator(".cm-content")).to_be_visible()


def drive_browser(place: Place, page: Page) -> list[Act]:
    """A person who edits the shared memory until nobody is quicker, and writes another one."""
    here, done = f"{place.hub.url}/stores/{place.hub.store}", []
    for number in (1, 2):
        while not _saved(page, number):
            open_editor(place, page)
        done.append(Act("web", "edit", SHARED, change=counted("browser", number)))
        open_editor(place, page)
    page.goto(f"{here}/new")
    page.get_by_label("Path", exact=True).fill("/browser/note.md")
    page.locator(".cm-content").click()
    page.keyboard.insert_text("note\n")
    page.get_by_role("button", name="Create memory").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("note.md")
    return [*done, Act("web", "create", "/browser/note.md", change=lambda _: "note\n")]


def _saved(page: Page, number: int) -> bool:
    """Whether the line could be saved; False where somebody was quicker."""
    page.locator(".cm-line", has_text=f"browser {number - 1}").click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(str(number))
    page.get_by_role("button", name="Save", exact=True).first.click()
    saved, late = page.locator(".lines"), page.get_by_text("Since then, version")
    expect(saved.or_(late).first).to_be_visible()
    return not page.url.endswith("/edit")
