"""The messages of a conversation, made from the events in it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memoryhub.pure.conversation.options import SUMMARIZE

Json = dict[str, Any]

UNDONE = "This call was not run."
"""The answer to a call about which nothing else is known."""


@dataclass(frozen=True, slots=True)
class Said:
    """One event of a run. `kind` is a value of `ClaudeEventKind`.

    `block` is what Claude wrote: text, thinking, a call, or a compaction. For the kind `message`, `block` has the
    `text` that the person wrote. For the kind `turn`, the end of an answer, `block` has the `stop_reason`. Only a call
    has an `answer`.
    """

    kind: str
    block: Mapping[str, Any]
    answer: str | None = None
    is_error: bool = False


def messages(task: str, said: Iterable[Said]) -> list[Json]:
    """Return the messages to send, as turns of the person and of Claude: first the task, then the events `said`."""
    talk = _Talk()
    talk.person({"type": "text", "text": task})
    for one in said:
        if one.kind == "message":
            talk.person({"type": "text", "text": one.block["text"]})
        elif one.kind == "turn":
            talk.end_of_answer(is_summary=one.block.get("stop_reason") == SUMMARIZE)
        elif one.kind == "call":
            talk.call(dict(one.block), one.answer or UNDONE, is_error=one.is_error or one.answer is None)
        elif one.kind in ("text", "thinking", "compaction"):
            talk.claude(dict(one.block))
    return talk.messages


class _Talk:
    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.newest: Json = {}
        self.blocks: list[Json] = []
        self.results: list[Json] = []

    def person(self, block: Json) -> None:
        self.newest = block
        self._add("user", [block])

    def claude(self, block: Json) -> None:
        self.blocks.append(block)

    def call(self, block: Json, answer: str, *, is_error: bool) -> None:
        self.blocks.append(block)
        self.results.append(result_of(block["id"], answer, is_error=is_error))

    def end_of_answer(self, *, is_summary: bool = False) -> None:
        """End an answer. With `is_summary`, the answer replaces everything but the newest message of the person."""
        summary = [block for block in self.blocks if block.get("content")] if is_summary else []
        if is_summary:
            self.blocks = []
        if summary:
            newest = self.newest
            self.messages = []
            self._add("assistant", summary)
            self.person(newest)
        if self.blocks:
            self._add("assistant", self.blocks)
        if self.results:
            self._add("user", self.results)
        self.blocks, self.results = [], []

    def _add(self, role: str, blocks: list[Json]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        else:
            self.messages.append({"role": role, "content": list(blocks)})


def result_of(id: str, answer: str, *, is_error: bool) -> Json:
    """Return the `tool_result` block for a call."""
    return {"type": "tool_result", "tool_use_id": id, "content": answer, **({"is_error": True} if is_error else {})}


def block_of(block: Mapping[str, Any]) -> Json | None:
    """Return a block of Claude's answer in the form in which it is sent back to the API; None if it is not sent, such
    as an empty text."""
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block["text"]} if block.get("text") else None
    if kind == "tool_use":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block.get("input") or {}}
    if kind == "thinking":
        return {"type": "thinking", "thinking": block.get("thinking", ""), "signature": block.get("signature", "")}
    if kind in ("redacted_thinking", "compaction"):
        return dict(block)
    return None


def about_tokens(value: object) -> int:
    """Return an estimate of the tokens of a JSON value. It is rather too high than too low."""
    return len(json.dumps(value)) // 3 + 1
