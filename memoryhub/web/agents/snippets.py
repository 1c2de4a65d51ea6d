"""Examples for an agent's author to copy: complete calls, one with curl and two with Python."""

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
import urllib.request

URL = {url}
KEY = {secret}


def call(message):
    """Runs the memory tool calls of a tool_use block or an assistant message; gives what to send back to Claude."""
    headers = {{"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}}
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

MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True, slots=True)
class Snippets:
    """Three examples of using a key."""

    curl: str
    python: str
    loop: str


def snippets(hub: str, store_id: str, secret: str) -> Snippets:
    """Return the examples for one memory store; `hub` is the hub's own URL."""
    url = f"{hub.rstrip('/')}/v1/memory_stores/{store_id}/tool_calls"
    call = _CALL.format(url=json.dumps(url), secret=json.dumps(secret))
    return Snippets(
        _curl(url, secret), call + _LOOK.format(block=json.dumps(FIRST_LOOK)), call + _LOOP.format(model=repr(MODEL))
    )


def _curl(url: str, secret: str) -> str:
    parts = (
        f"curl --silent --show-error {shlex.quote(url)}",
        f"--header {shlex.quote('Authorization: Bearer ' + secret)}",
        "--header 'Content-Type: application/json'",
        f"--data {shlex.quote(json.dumps(FIRST_LOOK))}",
    )
    return " \\\n  ".join(parts)
