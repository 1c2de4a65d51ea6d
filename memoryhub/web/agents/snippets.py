"""Examples for an agent's author to copy: complete calls, one with curl and three with Python. Each names a session."""

import json
import shlex
from dataclasses import dataclass

FIRST_LOOK = {
    "type": "tool_use",
    "id": "toolu_first_look",
    "name": "memory",
    "input": {"command": "view", "path": "/memories"},
}

_CALL = '''\
import json
import time
import urllib.request

URL = {url}
KEY = {secret}
SESSION = time.strftime("run-%Y%m%d-%H%M%S")  # one name for each run: people see what it did, and can undo it


def call(message):
    """Runs the memory tool calls of a tool_use block or an assistant message; gives what to send back to Claude."""
    headers = {{"Authorization": "Bearer " + KEY, "Content-Type": "application/json", "Memoryhub-Session": SESSION}}
    request = urllib.request.Request(URL, data=json.dumps(message).encode(), headers=headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)
'''

_LOOK = """

block = {block}
print(call(block)["content"])
"""

_LOOP = """

import anthropic  # pip install anthropic; the key of the Claude API is in ANTHROPIC_API_KEY

client = anthropic.Anthropic()
messages = [{{"role": "user", "content": "Look at your memory. What do you know?"}}]
while True:
    answer = client.beta.messages.create(
        model={model},
        max_tokens=2048,
        messages=messages,
        tools=[{{"type": "memory_20250818", "name": "memory"}}],
        betas=["context-management-2025-06-27"],
    )
    messages.append(answer.model_dump(mode="json", include={{"role", "content"}}, exclude_none=True))
    if answer.stop_reason != "tool_use":
        break
    messages.append(call(messages[-1]))
print("".join(block.text for block in answer.content if block.type == "text"))
"""

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

MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True, slots=True)
class Snippets:
    """Four examples of using a key; `stores` uses the memory_stores API."""

    curl: str
    python: str
    loop: str
    stores: str


def snippets(hub: str, store_id: str, secret: str) -> Snippets:
    """Return the examples for one memory store; `hub` is the hub's own URL."""
    url = f"{hub.rstrip('/')}/v1/memory_stores/{store_id}/tool_calls"
    call = _CALL.format(url=json.dumps(url), secret=json.dumps(secret))
    return Snippets(
        _curl(url, secret),
        call + _LOOK.format(block=json.dumps(FIRST_LOOK)),
        call + _LOOP.format(model=repr(MODEL)),
        _STORES.format(hub=json.dumps(hub.rstrip("/")), secret=json.dumps(secret), store=json.dumps(store_id)),
    )


def _curl(url: str, secret: str) -> str:
    parts = (
        f"curl --silent --show-error {shlex.quote(url)}",
        f"--header {shlex.quote('Authorization: Bearer ' + secret)}",
        "--header 'Content-Type: application/json'",
        "--header 'Memoryhub-Session: first-look'",
        f"--data {shlex.quote(json.dumps(FIRST_LOOK))}",
    )
    return " \\\n  ".join(parts)
