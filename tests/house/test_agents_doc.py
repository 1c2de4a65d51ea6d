"""Every example in docs/agents.md runs as it stands, against a hub and with a stand-in for Claude."""

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import mcp
import pytest
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from tests.api.messages_api import playing
from tests.api.server import ROOT, Server, served
from tests.support import asynchronous
from tests.support.node import typescript_sdk

TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
MOST_LINES = 10
MEMORY = "Ada prefers short answers."
LOOK = {"command": "view", "path": "/memories/ada.md"}
TURNS = [
    [{"type": "tool_use", "id": "toolu_view", "name": "memory", "input": LOOK}],
    [{"type": "text", "text": "Ada likes it short."}],
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """An example: the heading that it stands beneath, its language and its text."""

    heading: str
    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


def blocks(document: str) -> list[Block]:
    found = []
    for section in re.split(r"^###? ", document, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        found += [
            Block(heading, *parts) for parts in re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        ]
    return found


BLOCKS = blocks(TEXT)


def block(heading: str, language: str) -> Block:
    """The only example in that language beneath a heading."""
    (found,) = (block for block in BLOCKS if (block.heading, block.language) == (heading, language))
    return found


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody who has done what stands under "Before you start" and "One call"."""

    server: Server
    environment: dict[str, str]
    place: Path

    def shell(self, text: str) -> str:
        """What a script prints that is run in the directory of the hub."""
        command = ["sh", "-euc", text.replace(".venv/bin/python", sys.executable)]
        return run(command, ROOT, self.server.environment | self.environment)

    def python(self, *examples: str, **more: str) -> list[str]:
        """What each of the examples prints, one after another in one process: to load what they need takes long."""
        text = f"for text in {examples!r}:\n    exec(text, {{'__name__': '__main__'}})\n    print('\\0', end='')"
        return run([sys.executable, "-c", text], self.place, os.environ | self.environment | more).split("\0")[:-1]

    def call(self, **input: object) -> str:
        """What a call of the tool answers."""
        body = json.dumps({"type": "tool_use", "id": os.urandom(8).hex(), "name": "memory", "input": input})
        connection = self.server.connect()
        headers = {"Authorization": f"Bearer {self.environment['MEMORYHUB_KEY']}", "Content-Type": "application/json"}
        connection.request("POST", f"/v1/memory_stores/{self.store}/tool_calls", body, headers)
        return str(json.loads(connection.getresponse().read())["content"])

    @property
    def store(self) -> str:
        return self.environment["MEMORYHUB_STORE"]


def run(command: list[str], place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def client_package(directory: Path) -> Path:
    """The client as it is installed elsewhere; Python imports from a wheel as it is."""
    spec = importlib.util.spec_from_file_location("backend", ROOT / "clients/python/backend/client_backend.py")
    assert spec and spec.loader
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return directory / backend.build_wheel(str(directory))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    place = tmp_path_factory.mktemp("agents")
    data = tmp_path_factory.mktemp("agents-hub")
    with served(data) as server:
        start = block("Before you start", "sh").text
        names = "MEMORYHUB_URL MEMORYHUB_STORE MEMORYHUB_KEY"
        told = Desk(server, {}, place).shell(
            f'{start}\nprintf "%s\\n" {" ".join("$" + name for name in names.split())}'
        )
        found = dict(zip(names.split(), told.splitlines()[-3:], strict=True))
        there = Desk(server, {**found, "PYTHONPATH": str(client_package(place)), "ANTHROPIC_API_KEY": "none"}, place)
        answer = json.loads(there.shell(block("One call", "sh").text))
        assert answer["is_error"] is False, answer
        yield there


def test_every_example_has_ten_lines_and_is_run_here() -> None:
    assert [f"{found.heading}: {len(found.lines)} lines" for found in BLOCKS if len(found.lines) > MOST_LINES] == []
    assert max(len(line) for found in BLOCKS for line in found.lines) <= 120
    ran = {*EXAMPLES, *((heading, language) for heading, (language, _) in FRAMEWORKS.items())}
    assert {(found.heading, found.language) for found in BLOCKS} == ran
    assert len(BLOCKS) == len(ran)


EXAMPLES = [
    ("Before you start", "sh"), ("One call", "sh"), ("Your own loop", "python"), ("The tool runner", "python"),
    ("The tool runner, async", "python"), ("The memory_stores API", "python"),
    ("The memory_stores API in TypeScript", "typescript"), ("A directory in step", "python"),
    ("Claude Code", "json"), ("Claude Code", "sh"), ("MCP", "json"), ("MCP", "python"), ("In and out", "sh"),
    ("Webhooks", "python"),
]  # fmt: skip
"""Each has its test below, or is what the fixture did."""
FRAMEWORKS = {
    "Claude Agent SDK": ("python", "claude-agent-sdk"),
    "LangGraph": ("python", "langchain langchain-anthropic langchain-mcp-adapters"),
    "Pydantic AI": ("python", "pydantic-ai-slim[anthropic,mcp]"),
    "OpenAI Agents SDK": ("python", "openai-agents"),
    "CrewAI": ("python", f"crewai {ROOT / 'clients' / 'python'}"),
    "Vercel AI SDK": ("typescript", "ai @ai-sdk/anthropic @ai-sdk/mcp"),
}
"""The language and the packages of each; `test_agents_doc_frameworks` runs them."""


LOOPS = ["Your own loop", "The tool runner", "The tool runner, async"]
WITHOUT_CLAUDE = ["The memory_stores API", "A directory in step", "MCP"]


@dataclass(frozen=True, slots=True)
class Ran:
    """What each Python example has printed, and the requests that those with Claude have sent to it."""

    printed: dict[str, str]
    requests: list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(desk: Desk) -> Ran:
    headings = [*LOOPS, *WITHOUT_CLAUDE]
    with playing(TURNS * len(LOOPS)) as api:
        texts = [block(heading, "python").text for heading in headings]
        printed = desk.python(*texts, ANTHROPIC_BASE_URL=f"http://127.0.0.1:{api.port}")
    return Ran(dict(zip(headings, printed, strict=True)), api.requests)


@pytest.mark.push
@pytest.mark.parametrize("number", range(len(LOOPS)), ids=LOOPS)
def test_claude_looks_into_the_memory_store(ran: Ran, number: int) -> None:
    assert ran.printed[LOOPS[number]] == "Ada likes it short.\n"
    (result,) = ran.requests[len(TURNS) * number + 1]["messages"][-1]["content"]
    assert MEMORY in result["content"]


def test_the_memory_stores_api(desk: Desk, ran: Ran) -> None:
    printed = ran.printed["The memory_stores API"]
    assert f"/ada.md {MEMORY}" in printed
    assert "/plans/week.md Call Ada on Monday." in printed
    assert printed.endswith("['modified', 'created']\n")
    assert "Call Ada on Monday." in desk.call(command="view", path="/memories/plans/week.md")


def test_the_memory_stores_api_in_typescript(desk: Desk) -> None:
    (desk.place / "node_modules").symlink_to(typescript_sdk() / "node_modules")
    script = desk.place / "example.mjs"
    script.write_text(block("The memory_stores API in TypeScript", "typescript").text)
    printed = run(["node", str(script)], desk.place, os.environ | desk.environment)
    assert "/plans/month.md Visit Ada." in printed
    assert "Visit Ada." in desk.call(command="view", path="/memories/plans/month.md")


def test_a_directory_in_step(desk: Desk, ran: Ran) -> None:
    assert "Written as a file." in desk.call(command="view", path="/memories/from-a-directory.md")


@pytest.mark.push
def test_the_directory_of_claude_code(desk: Desk) -> None:
    (setting,) = json.loads(block("Claude Code", "json").text)
    assert setting == "autoMemoryDirectory"
    programs = desk.place / "programs"
    programs.mkdir()
    (programs / "hub-memory-sync").write_text(f'#!/bin/sh\nexec {sys.executable} -m hub_memory_tool.sync "$@"\n')
    (programs / "hub-memory-sync").chmod(0o755)
    own = {"HOME": str(desk.place), "PATH": f"{programs}:{os.environ['PATH']}"}
    command, environment = block("Claude Code", "sh").text, os.environ | desk.environment | own
    directory = desk.place / json.loads(block("Claude Code", "json").text)[setting].removeprefix("~/")
    assert "brought   ada.md" in run(["sh", "-euc", command], desk.place, environment)
    assert MEMORY in (directory / "ada.md").read_text()
    (directory / "MEMORY.md").write_text("- [Ada](ada.md)\n")
    following = command.strip().replace("--once", "--every 1")
    watcher = subprocess.Popen(["sh", "-euc", f"exec {following}"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert watcher.stdout is not None and watcher.stdout.readline() == "sent      MEMORY.md\n"
        desk.call(command="create", path="/memories/topic.md", file_text="x")
        assert watcher.stdout.readline() == "brought   topic.md\n"
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(20) == 0
    finally:
        watcher.kill()
        watcher.communicate()
    assert "[Ada](ada.md)" in desk.call(command="view", path="/memories/MEMORY.md")


def test_an_mcp_client(desk: Desk, ran: Ran) -> None:
    assert "/memories/ada.md" in ran.printed["MCP"]
    script = "from memoryhub.models import Session; print(list(Session.objects.values_list('name', flat=True)))"
    assert "'run-4713'" in desk.server.command("shell", "-c", script)


def test_the_configuration_of_an_mcp_client(desk: Desk) -> None:
    (server,) = json.loads(Template(block("MCP", "json").text).substitute(desk.environment))["mcpServers"].values()
    assert server["type"] == "http"

    async def tools() -> set[str]:
        http = create_mcp_http_client(headers=server["headers"])
        async with http, mcp.Client(streamable_http_client(server["url"], http_client=http)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asynchronous.run(tools()) == {"memory", "search", "history", "proposals"}


@pytest.mark.push
def test_export_and_import(desk: Desk) -> None:
    printed = desk.shell(block("In and out", "sh").text)
    assert "helper, " in printed
    assert re.search(r"^new +27 +1 versions +/ada\.md$", printed, flags=re.MULTILINE)
    assert re.search(r"^Import \w+: \d+ \w+\.$", printed, flags=re.MULTILINE), printed


WEBHOOK = """
from django.utils import timezone
from memoryhub.actions.webhooks import manage as webhooks
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Door
act = Act(Actor.system("tests"), Door.COMMAND, timezone.now())
wanted = webhooks.WebhookSettings("Example", URL, ["memory.created"], may_be_private=True)
print(webhooks.reveal(webhooks.create_webhook(STORE, wanted, act).pk, act))
"""


@pytest.mark.push
def test_a_receiver_of_webhooks(desk: Desk) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    script = WEBHOOK.replace("URL", repr(f"http://127.0.0.1:{port}/")).replace("STORE", repr(desk.store))
    key = desk.server.command("shell", "-c", script)
    code = block("Webhooks", "python").text.replace("8080", port)
    environment = os.environ | {"MEMORYHUB_WEBHOOK_KEY": key}
    receiver = subprocess.Popen(
        [sys.executable, "-u", "-c", code], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert receiver.stdout is not None
        wait_for(int(port))
        with socket.create_connection(("127.0.0.1", int(port))) as forged:
            forged.sendall(b"POST / HTTP/1.0\r\nContent-Length: 2\r\nwebhook-id: evt_1\r\n\r\n{}")
            assert forged.recv(100) == b""
        desk.call(command="create", path="/memories/told.md", file_text="x")
        assert re.fullmatch(r"2\S+ \S+ memory\.created \S+\n", receiver.stdout.readline())
    finally:
        receiver.kill()
        receiver.communicate()


def wait_for(port: int) -> None:
    """Until something answers on a port of this machine."""
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the receiver does not answer")
