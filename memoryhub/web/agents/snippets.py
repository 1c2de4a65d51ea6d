"""Examples that an agent's author can copy: complete calls and programs. Each example names a session."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from memoryhub.web.agents.set_up import CALL, SetUp, set_up

FIRST_NOTE = {
    "type": "tool_use",
    "id": "toolu_first_note",
    "name": "memory",
    "input": {"command": "create", "path": "/memories/first-note.md", "file_text": "The hub works.\n"},
}
FIRST_LOOK = {
    "type": "tool_use",
    "id": "toolu_first_look",
    "name": "memory",
    "input": {"command": "view", "path": "/memories"},
}

_LOOK = """

block = {block}
print(call(block)["content"])
"""
_NOTE = 'print(call({block})["content"])'

_STORES = """\
import time

import anthropic  # pip install anthropic

SESSION = time.strftime("run-%Y%m%d-%H%M%S")  # one name for each run: people see what it did, and can undo it
hub = anthropic.Anthropic(
    base_url={hub},
    api_key={secret},
    default_headers={{"Memoryhub-Session": SESSION}},
)
memories = hub.beta.memory_stores.memories
for memory in memories.list({store}, path_prefix="/", view="full"):
    print(memory.path, memory.content)
"""


@dataclass(frozen=True, slots=True)
class Snippets:
    """Examples of using a key, with curl and Python: single calls, programs with Claude, and calls of the memory_stores
    API."""

    curl: str
    curl_writes: str
    python: str
    python_writes: str
    claude: SetUp
    stores: str


def snippets(hub: str, store_id: str, secret: str) -> Snippets:
    """Return the examples for one memory store; `hub` is the hub's own URL."""
    url = f"{hub.rstrip('/')}/v1/memory_stores/{store_id}/tool_calls"
    code = CALL.format(url=json.dumps(url), secret=json.dumps(secret))
    return Snippets(
        _curl(url, secret, FIRST_LOOK),
        _curl(url, secret, FIRST_NOTE),
        code + _LOOK.format(block=json.dumps(FIRST_LOOK)),
        _NOTE.format(block=json.dumps(FIRST_NOTE)),
        set_up(hub, store_id, secret),
        _STORES.format(hub=json.dumps(hub.rstrip("/")), secret=json.dumps(secret), store=json.dumps(store_id)),
    )


def _curl(url: str, secret: str, block: Mapping[str, object]) -> str:
    parts = (
        f"curl --silent --show-error {shlex.quote(url)}",
        f"--header {shlex.quote('Authorization: Bearer ' + secret)}",
        "--header 'Content-Type: application/json'",
        "--header 'Memoryhub-Session: first-look'",
        f"--data {shlex.quote(json.dumps(block))}",
    )
    return " \\\n  ".join(parts)
