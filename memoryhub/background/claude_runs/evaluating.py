"""Runs the suite of `conversation.evaluations` with a model, each case on a throw-away copy of a memory store."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.utils import timezone

from memoryhub import tool
from memoryhub.actions.claude_runs import evaluations
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.erasure import whole
from memoryhub.actions.memories.calls import Caller
from memoryhub.actions.stores import delete
from memoryhub.background.claude_runs.answers import Answer, Api, total_of
from memoryhub.conversation.evaluations import SUITE, Case, Outcome, Session
from memoryhub.conversation.messages import block_of, result_of
from memoryhub.conversation.options import Options
from memoryhub.models import ClaudeEvaluation, Memory
from memoryhub.protocol import paths

MOST_TURNS = 20
"""The most answers of a session."""
MAX_TOKENS = 2_048
TICK = 0.25

Json = dict[str, Any]
Ask = Callable[[Sequence[Json]], Sequence[Json]]
"""Takes the messages of a conversation and returns the blocks of the next answer."""
Model = Callable[[Session], Ask]


class ByApi:
    """Asks a model of Claude's API, within the budget of the day. `tokens` are those that were used."""

    def __init__(self, api: Api, model: str) -> None:
        self.api, self.tokens = api, 0
        self.parameters = Options().parameters(model, "") | {"max_tokens": MAX_TOKENS}

    def __call__(self, session: Session) -> Ask:
        return self._ask

    def _ask(self, messages: Sequence[Json]) -> Sequence[Json]:
        parameters = self.parameters | {"messages": list(messages)}
        counting = {name: value for name, value in parameters.items() if name != "max_tokens"}
        held = next(item for item in self.api.count(counting) if isinstance(item, int)) + MAX_TOKENS
        evaluations.use(held, timezone.now())
        answer = next(item for item in self.api.answer(parameters) if isinstance(item, Answer))
        used = total_of(answer.usage)
        evaluations.use(used - held, timezone.now())
        self.tokens += used
        return [block for block in map(block_of, answer.blocks) if block is not None]


def scripted(session: Session) -> Ask:
    """Return what asks the scripted model: it makes the calls of the session, and then says what they answered, unless
    the session has its words."""

    def ask(messages: Sequence[Json]) -> Sequence[Json]:
        if len(messages) == 1 and session.calls:
            name = f"toolu_{time.monotonic_ns()}"
            return [
                {"type": "tool_use", "id": f"{name}_{at}", "name": "memory", "input": call}
                for at, call in enumerate(session.calls)
            ]
        answers = [block["content"] for block in messages[-1]["content"] if block["type"] == "tool_result"]
        return [{"type": "text", "text": session.says or "\n".join(answers)}]

    return ask


def evaluate(store_id: str, name: str, model: Model, act: Act) -> ClaudeEvaluation:
    """Run the suite on a store, and store the results; `name` is that of the model, "" for the scripted one.

    Raises Failed, OverBudget, ToolError, TooManyCopies and NoSuchStore: then nothing is stored.
    """
    caller = evaluations.caller(store_id, act)
    results = {case.name: _is_passed(store_id, case, model, caller, act) for case in SUITE}
    return evaluations.keep(store_id, name, results, getattr(model, "tokens", 0), act)


def _is_passed(store_id: str, case: Case, model: Model, caller: Caller, act: Act) -> bool:
    copy = evaluations.copied(store_id, act)
    try:
        _plant(copy, case, act)
        before = _memories(copy)
        answers = []
        for number, session in enumerate(case.sessions, 1):
            if case.erases and number == len(case.sessions):
                _erase(copy, case.erases, act)
            answers.append(_talk(copy, session, model(session), caller, f"{case.name}-{number}"))
        made = {path: text for path, text in _memories(copy).items() if before.get(path) != text}
        return case.passes(Outcome(answers, made))
    finally:
        delete.delete_copy(copy, act)


def _talk(copy: str, session: Session, ask: Ask, caller: Caller, name: str) -> str:
    """Have one conversation, and return what the model said last."""
    messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": session.asks}]}]
    blocks: Sequence[Json] = ()
    for _ in range(MOST_TURNS):
        blocks = ask(messages)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if not calls:
            break
        results = [_result(copy, call, caller, name) for call in calls]
        messages += [{"role": "assistant", "content": list(blocks)}, {"role": "user", "content": results}]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _result(copy: str, call: Json, caller: Caller, name: str) -> Json:
    began = time.monotonic()
    done = tool.execute(
        copy, tool.ToolUse.of(call["id"], call["input"]), caller=caller, at=timezone.now(), session=name,
        elapsed=lambda: int((time.monotonic() - began) * 1_000_000),
    )  # fmt: skip
    return result_of(call["id"], done.content, is_error=done.is_error)


def _plant(copy: str, case: Case, act: Act) -> None:
    for path, text in (case.planted or {}).items():
        with tree.locked(copy, act) as store:
            tree.add_memory(store, paths.from_api(path), text)
            tree.commit(store, Record("create", path=path, versions=tuple(store.made)))


def _erase(copy: str, text: str, act: Act) -> None:
    """Remove the memories permanently that have a text."""
    there = Memory.objects.filter(store_id=copy, text__content__contains=text)
    whole.remove_memories(copy, list(there.values_list("pk", flat=True)), act)


def _memories(copy: str) -> dict[str, str]:
    rows: Iterator[Any] = Memory.objects.live().filter(store_id=copy).values_list("path", "text__content").iterator()
    return {path: text or "" for path, text in rows}
