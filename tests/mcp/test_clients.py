"""The official client, in both versions of the protocol, against a hub in processes of its own."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.api.server import Agent, Server
from tests.support import asynchronous

TEXT = "Ada likes tea\nand bread\n"
SNIPPET = (
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    "     1\tAda likes coffee\n     2\tand bread\n     3\t"
)
SHOWN = "Here's the content of /memories/people/ada.md with line numbers:\n     1\t# Ada\n     2\tAda likes coffee"
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


@dataclass(frozen=True, slots=True)
class Desk:
    """A store of the server, and keys that may write to it and manage it."""

    server: Server
    store: str
    secret: str
    manager: str

    def entries(self, **filters: object) -> list[dict[str, Any]]:
        """Audit entries of the store, the newest first."""
        agent = Agent(self.server, self.store, self.manager)
        url = f"/v1/memory_stores/{self.store}/audit_entries?{urlencode(filters)}"
        agent.connection.request("GET", url, headers=agent.headers)
        entries: list[dict[str, Any]] = json.loads(agent.connection.getresponse().read())["data"]
        agent.close()
        return entries


@pytest.fixture(scope="module")
def desk(server: Server) -> Desk:
    store, secret = server.new_store()
    return Desk(server, store, secret, server.command("issue_key", "Manager", "--store", store, "--access", "manage"))


def run(server: Server, secret: str, mode: str, work: Any, path: str = "/mcp") -> Any:
    """Connects, does the work with the client and goes."""

    async def connected() -> Any:
        headers = {"Authorization": f"Bearer {secret}", "Memoryhub-Session": f"run-{mode}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{server.port}{path}", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await work(client)

    return asynchronous.run(connected())


async def a_day(client: Client) -> dict[str, Any]:
    """Everything that there is to do, once."""
    listed = await client.list_tools()

    async def memory(**arguments: Any) -> list[Any]:
        result = await client.call_tool("memory", arguments)
        return [result.is_error, result.content[0].text]  # type: ignore[union-attr]

    answers = [
        await memory(command="create", path="/memories/people/ada.md", file_text=TEXT),
        await memory(command="str_replace", path="/memories/people/ada.md", old_str="tea", new_str="coffee"),
        await memory(command="insert", path="/memories/people/ada.md", insert_line=0, insert_text="# Ada\n"),
        await memory(command="view", path="/memories/people/ada.md", view_range=[1, 2]),
        await memory(command="view", path="/nowhere"),
    ]
    found = await client.call_tool("search", {"query": "COFFEE ada.md", "path_prefix": "/memories/people/"})
    past = await client.call_tool("history", {"path": "/memories/people/ada.md"})
    first = await client.call_tool("history", {"path": "/memories/people/ada.md", "version": 1})
    answers += [
        await memory(command="rename", old_path="/memories/people/ada.md", new_path="/memories/ada.md"),
        await memory(command="delete", path="/memories/ada.md"),
    ]
    return {
        "version": client.protocol_version,
        "instructions": client.instructions,
        "tools": {tool.name: tool for tool in listed.tools},
        "answers": answers,
        "found": found.structured_content,
        "texts": [json.loads(found.content[0].text), json.loads(past.content[0].text)],  # type: ignore[union-attr]
        "past": past.structured_content,
        "first": first.structured_content,
    }


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_finds_the_tools_and_uses_each(desk: Desk, mode: str) -> None:
    before = desk.entries(limit=1)[0]["seq"]
    day = run(desk.server, desk.secret, mode, a_day, f"/mcp/{desk.store}" if mode == "auto" else "/mcp")
    assert day["version"] == MODES[mode]
    assert mode == "2026-07-28" or "/memories" in day["instructions"]  # who adopts a version asks for nothing
    hints = {name: (tool.annotations.read_only_hint, bool(tool.output_schema)) for name, tool in day["tools"].items()}
    assert hints == {
        "memory": (False, False),
        "search": (True, True),
        "history": (True, True),
        "proposals": (False, True),
    }
    assert day["answers"] == [
        [False, "File created successfully at: /memories/people/ada.md"],
        [False, SNIPPET],
        [False, "The file /memories/people/ada.md has been edited."],
        [False, SHOWN],
        [True, "Error: Path must start with /memories, got: /nowhere"],
        [False, "Successfully renamed /memories/people/ada.md to /memories/ada.md"],
        [False, "Successfully deleted /memories/ada.md"],
    ]
    assert day["texts"] == [day["found"], day["past"]]
    (match,) = day["found"]["data"]
    assert match["path"] == "/memories/people/ada.md" and match["path_matches"] == [{"start": 17, "end": 23}]
    assert match["lines"] == [
        {"number": 2, "text": "Ada likes coffee", "text_start": 0, "matches": [{"start": 10, "end": 16}]}
    ]
    assert [(v["number"], v["operation"]) for v in day["past"]["data"]] == [
        (3, "modified"), (2, "modified"), (1, "created")
    ]  # fmt: skip
    assert {v["created_by"]["type"] for v in day["past"]["data"]} == {"session_actor"}
    assert day["first"]["data"][0]["content"] == TEXT and day["past"]["deleted"] is False
    told = [entry for entry in desk.entries(limit=100) if entry["seq"] > before][::-1]
    assert [entry["command"] for entry in told] == [
        "create", "str_replace", "insert", "view", "view", "search", "history", "view", "rename", "delete",
    ]  # fmt: skip
    assert {entry["door"] for entry in told} == {"mcp"} and len({entry["session"] for entry in told}) == 1
    assert told[0]["session"].startswith("sesn_") and [entry["ok"] for entry in told].count(False) == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_is_told_what_is_wrong(desk: Desk, mode: str) -> None:

    async def wrong(client: Client) -> list[tuple[int, str]]:
        errors = []
        for name, arguments in (("nothing", {}), ("memory", None)):
            try:
                result = await client.call_tool(name, arguments)
                errors.append((0, result.content[0].text))  # type: ignore[union-attr]
            except MCPError as error:
                errors.append((error.code, error.error.message))
        return errors

    told = run(desk.server, desk.secret, mode, wrong)
    assert told[0] == (-32602, "There is no tool nothing; there are memory, search, history, proposals.")
    assert told[1][0] == 0 and told[1][1].startswith("Error: Unrecognized command None.")
    with pytest.raises(BaseExceptionGroup) as raised:
        run(desk.server, "mh_wrong", mode, wrong)
    assert "A valid key is needed" in repr(raised.value)
