"""Programs that people can copy, in which Claude works with a memory store."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from memoryhub.pure.conversation.options import Json, Options

MODEL = "claude-sonnet-5-5"
ASKED = "Look at your memory. What do you know?"
_WIDTH = 100

CALL = '''\
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

_PYTHON = """

import anthropic  # pip install anthropic; the key of the Claude API is in ANTHROPIC_API_KEY

client = anthropic.Anthropic()
ask = {ask}
messages = [{{"role": "user", "content": {asked}}}]
while True:
    with client.beta.messages.stream(**ask, messages=messages) as stream:
        answer = stream.get_final_message()
    messages.append(answer.model_dump(mode="json", include={{"role", "content"}}, exclude_none=True))
    if answer.stop_reason != "tool_use":
        break
    messages.append(call(messages[-1]))
print("".join(block.text for block in answer.content if block.type == "text"))
"""

_TYPESCRIPT = """\
// npm install @anthropic-ai/sdk; the key of the Claude API is in ANTHROPIC_API_KEY
import Anthropic from "@anthropic-ai/sdk";

const claude = new Anthropic();
const hub = new Anthropic({{
  baseURL: {hub},
  apiKey: {secret},
  // One name for each run: people see what it did, and can undo it.
  defaultHeaders: {{ "Memoryhub-Session": "run-" + new Date().toISOString() }},
}});

const messages: Anthropic.Beta.BetaMessageParam[] = [{{ role: "user", content: {asked} }}];
while (true) {{
  const stream = claude.beta.messages.stream({ask});
  const {{ role, content, stop_reason }} = await stream.finalMessage();
  messages.push({{ role, content }});
  if (stop_reason !== "tool_use") {{
    for (const block of content) if (block.type === "text") console.log(block.text);
    break;
  }}
  messages.push(await hub.post({path}, {{ body: messages[messages.length - 1] }}));
}}
"""

_CURL = """\
# One turn: Claude's answer, and what the hub makes of its calls. Append both to the messages, and ask again.
curl --silent --show-error --fail "${{ANTHROPIC_BASE_URL:-https://api.anthropic.com}}/v1/messages?beta=true" \\
  --header "x-api-key: $ANTHROPIC_API_KEY" \\
  --header 'anthropic-version: 2023-06-01' \\
  --header {betas} \\
  --header 'Content-Type: application/json' \\
  --data {ask} | tee answer.json
curl --silent --show-error {url} \\
  --header {bearer} \\
  --header 'Content-Type: application/json' \\
  --header 'Memoryhub-Session: first-run' \\
  --data @answer.json
"""


@dataclass(frozen=True, slots=True)
class SetUp:
    """One program in three languages. The shell program has only one turn of the conversation."""

    python: str
    typescript: str
    curl: str


def set_up(
    hub: str, store_id: str, secret: str, *, model: str = MODEL, system: str = "", options: Options | None = None
) -> SetUp:
    """Return the programs for one memory store; `hub` is the hub's own URL."""
    hub, path = hub.rstrip("/"), f"/v1/memory_stores/{store_id}/tool_calls"
    ask = (options or Options()).request(model, system)
    given = {"url": json.dumps(hub + path), "hub": json.dumps(hub), "path": json.dumps(path)}
    given |= {"secret": json.dumps(secret), "asked": json.dumps(ASKED)}
    typed = _literal(ask, ("true", "false", "null"), 2, step=2).replace("{", "{\n    messages,", 1)
    return SetUp(
        python=CALL.format(**given) + _PYTHON.format(**given, ask=_literal(ask, ("True", "False", "None"))),
        typescript=_TYPESCRIPT.format(**given, ask=typed),
        curl=_curl(hub + path, secret, ask),
    )


def _curl(url: str, secret: str, ask: Json) -> str:
    body = {name: value for name, value in ask.items() if name != "betas"}
    body["messages"] = [{"role": "user", "content": ASKED}]
    return _CURL.format(
        betas=shlex.quote("anthropic-beta: " + ",".join(ask["betas"])),
        ask=shlex.quote(_literal(body, ("true", "false", "null"), step=2, comma="")),
        url=shlex.quote(url),
        bearer=shlex.quote("Authorization: Bearer " + secret),
    )


def _literal(value: Any, words: tuple[str, str, str], indent: int = 0, *, step: int = 4, comma: str = ",") -> str:
    """Return a JSON value as a literal of a language. `words` are true, false and null in this language."""
    if not isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
        return dict(zip(("true", "false", "null"), words, strict=True)).get(text, text)
    inner = (
        [(f"{json.dumps(name)}: ", one) for name, one in value.items()]
        if isinstance(value, dict)
        else [("", one) for one in value]
    )
    left, right = "{}" if isinstance(value, dict) else "[]"
    whole = left + ", ".join(name + _literal(one, words, indent, step=step, comma=comma) for name, one in inner) + right
    if indent and "\n" not in whole and len(whole) + indent <= _WIDTH:
        return whole
    deeper = indent + step
    lines = [" " * deeper + name + _literal(one, words, deeper, step=step, comma=comma) for name, one in inner]
    return f"{left}\n" + ",\n".join(lines) + f"{comma}\n" + " " * indent + right
