"""The calls that an agent's author copies from the page of a new key, run as they stand."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as hub_settings
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.models import Agent, AuditEntry, ClaudePreset, ClaudeRun, MemoryStore, User
from memoryhub.web.agents.set_up import MODEL
from memoryhub.web.agents.snippets import snippets
from tests.api.messages_api import playing
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import worked
from tests.support import starts
from tests.support.fixtures import BY, signed_in
from tests.support.node import typescript_sdk

pytestmark = pytest.mark.django_db

PRESET = {
    "model": MODEL, "system": "You are “Ada's \"helper\"”.\r\nBe kind 😀.", "tidy": "on", "topic": "refunds",
    "max_tokens": "30000", "thinks": "on", "clears_thinking": "on", "keep_thinking": "1", "clears_tool_uses": "on",
    "trigger": "tool_uses", "trigger_value": "8", "keep": "1", "clear_at_least": "500", "excludes_memory": "on",
    "clear_tool_inputs": "on", "compacts": "on", "compact_at": "150000", "instructions": "Keep 'names'.",
}  # fmt: skip


def snippet_in(html: str, name: str) -> str:
    found = re.search(rf'<code id="snippet-{name}">(.*?)</code>', html, re.DOTALL)
    assert found is not None
    return unescape(found[1])


VIEW = call("toolu_9", command="view", path="/memories")
TURNS = (Turn([VIEW]), Turn([say("I saw it.")]))


def run(command: list[str], place: Path, **more: str) -> str:
    """What a program prints. Where it imports Anthropic's SDK, Python begins with it: to load it takes a second."""
    environment = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-none", **more}
    options: dict[str, Any] = {"cwd": place, "capture_output": True, "text": True, "timeout": 60, "env": environment}
    is_loaded = "import anthropic" in command[-1]
    done = starts.run(command, **options) if is_loaded else subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.push
@pytest.mark.django_db(transaction=True)
def test_the_snippets_work_as_they_are_shown(
    live_server: LiveServer, agent: Agent, store: MemoryStore, superuser: User, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORYHUB_URL = live_server.url
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7"}
    html = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given).content.decode()
    for name, command in (("curl", ["sh", "-c"]), ("python", [sys.executable, "-c"])):
        printed = run([*command, snippet_in(html, name)], tmp_path)
        assert "0B\t/memories" in printed.replace("\\t", "\t"), (name, printed)
    curation.create(store.id, "/a.md", "What the agent knows", Act(**BY))
    with claude_api(*TURNS) as api:
        code = snippet_in(html, "claude-python")
        assert run([sys.executable, "-c", code], tmp_path, ANTHROPIC_BASE_URL=api.url) == "I saw it.\n"
    assert "/memories/a.md" in api.requests[1]["messages"][-1]["content"][0]["content"]
    assert "/a.md What the agent knows" in run([sys.executable, "-c", snippet_in(html, "stores")], tmp_path)
    calls = AuditEntry.objects.of_chain(store.id).filter(actor_kind="key")
    assert calls.filter(command="view", ok=True).count() == 4 and calls.filter(session=None).count() == 0


@pytest.mark.push
@pytest.mark.django_db(transaction=True)
def test_a_preset_is_copied_as_programs_that_ask_what_a_run_asks(
    live_server: LiveServer, agent: Agent, key: str, store: MemoryStore, alice: User, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORYHUB_URL, settings.ANTHROPIC_API_KEY = live_server.url, KEY
    client, new = signed_in(alice), f"/stores/{store.id}/claude/new"
    client.post(new, PRESET | {"save": "1", "preset": "Support"})
    preset = ClaudePreset.objects.get()
    address = f"/stores/{store.id}/claude/presets/{preset.pk}"
    html = client.get(address).content.decode()
    assert f'href="{address}#set-up-title">Support' in client.get(f"/agents/{agent.id}").content.decode()
    assert client.post(new, PRESET | {"task": "Help."}).status_code == 303
    with claude_api(*TURNS) as api:
        worked(api, ClaudeRun.objects.get())
    asked_of_run = settings_of(api.requests[0])
    assert [edit["type"] for edit in asked_of_run["context_management"]["edits"]] == [
        "clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112",
    ]  # fmt: skip
    assert asked_of_run["context_management"]["edits"][1]["exclude_tools"] == ["memory"]

    def program(name: str) -> str:
        return snippet_in(html, f"claude-{name}").replace("YOUR-KEY", key)

    betas = api.betas[0]
    with claude_api(*TURNS) as api:
        assert run([sys.executable, "-c", program("python")], tmp_path, ANTHROPIC_BASE_URL=api.url) == "I saw it.\n"
    assert settings_of(api.requests[0]) == asked_of_run and api.betas[0] == betas
    with playing([[VIEW]]) as whole:
        url = f"http://127.0.0.1:{whole.port}"
        printed = run(["sh", "-c", program("curl")], tmp_path, ANTHROPIC_BASE_URL=url)
    assert settings_of(whole.requests[0]) == {name: value for name, value in asked_of_run.items() if name != "stream"}
    assert '"tool_use_id": "toolu_9"' in printed.replace('":"', '": "') and betas in program("curl")
    (tmp_path / "node_modules").symlink_to(typescript_sdk() / "node_modules")
    (tmp_path / "program.mjs").write_text(program("typescript").replace(": Anthropic.Beta.BetaMessageParam[]", ""))
    with claude_api(*TURNS) as api:
        assert run(["node", "program.mjs"], tmp_path, ANTHROPIC_BASE_URL=api.url) == "I saw it.\n"
    assert settings_of(api.requests[0]) == asked_of_run and api.betas[0] == betas


def settings_of(request: dict[str, Any]) -> dict[str, Any]:
    """A request without its conversation."""
    return {name: value for name, value in request.items() if name != "messages"}


def test_snippets_quote_what_they_are_given() -> None:
    made = snippets("http://hub.example/'$(id)", "memstore_x", "mh_'\"\\")
    compile(made.python, "python", "exec")
    compile(made.claude.python, "claude", "exec")
    assert "$(id)" in made.curl and "'\"'\"'" in made.curl


def test_a_key_without_any_store_has_no_snippet(agent: Agent, superuser: User) -> None:
    given = {"access": "read", "scope": "all", "expires_in": "7"}
    html = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given).content.decode()
    assert "no memory store yet" in html and "snippet-curl" not in html
    assert hub_settings.MEMORYHUB_URL not in html


@pytest.mark.django_db(transaction=True)
def test_the_second_line_of_the_first_examples_writes_a_memory(
    live_server: LiveServer, agent: Agent, store: MemoryStore, superuser: User, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORYHUB_URL = live_server.url
    given = {"access": "write", "scope": "some", "stores": [store.id], "expires_in": "7"}
    client, address = signed_in(superuser), f"/agents/{agent.id}/keys/new"
    html = client.post(address, given).content.decode()
    assert "File created" in run(["sh", "-c", snippet_in(html, "curl-writes")], tmp_path)
    python = f"{snippet_in(html, 'python')}\n{snippet_in(html, 'python-writes')}"
    assert "/memories/first-note.md" in run([sys.executable, "-c", python], tmp_path)
    assert "snippet-curl-writes" not in client.post(address, given | {"access": "read"}).content.decode()
