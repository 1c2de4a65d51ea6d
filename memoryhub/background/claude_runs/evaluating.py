"""Runs the evaluation suite with a model. Each case runs on a throw-away copy of a memory store."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memoryhub import tool
from memoryhub.actions.claude_runs import evaluations
from memoryhub.actions.claude_runs.evaluations import Stopped
from memoryhub.actions.claude_runs.runs import TooManyCopies
from memoryhub.actions.claude_runs.work import LostRun, OverBudget
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.erasure import whole
from memoryhub.actions.memories.calls import Caller, NotRun
from memoryhub.actions.stores import delete
from memoryhub.background.claude_runs.answers import Answer, Api, Failed, total_of
from memoryhub.models import ClaudeEvaluation, ClaudeRunState, Door, Memory
from memoryhub.pure.conversation.evaluations import SUITE, Case, Outcome, Session
from memoryhub.pure.conversation.messages import block_of, result_of
from memoryhub.pure.conversation.options import Options
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError

logger = logging.getLogger(__name__)

MOST_TURNS = 20
"""The most answers of a session."""
MAX_TOKENS = 2_048
TICK = 0.25
SEEN_EVERY = 1.0
"""Seconds between two times at which a worker records that it still works, and learns whether it should stop."""

Json = dict[str, Any]
Ask = Callable[[Sequence[Json]], Sequence[Json]]
"""Takes the messages of a conversation and returns the blocks of the next answer."""
Model = Callable[[Session], Ask]


class _Interrupted(Exception):
    """The hub is stopping."""


class _NotAllowed(Exception):
    """The person who started the evaluation may no longer run Claude in this memory store."""


class Worker:
    """A worker on one evaluation. `stop` is set when its process ends."""

    def __init__(self, one: ClaudeEvaluation, name: str, stop: threading.Event) -> None:
        self.one, self.name, self.stop = one, name, stop
        self.actor = Actor.person(one.started_by) if one.started_by else Actor.system("evaluate_memory")
        self.door = Door.WEB if one.started_by else Door.COMMAND
        self.is_persons = one.started_by is not None
        self.tokens, self.seen = 0, time.monotonic()

    @property
    def act(self) -> Act:
        return Act(self.actor, self.door, timezone.now())

    @property
    def on_copy(self) -> Act:
        """Return an act of the hub itself, for changes of throw-away copies."""
        return Act(Actor.system("evaluate_memory"), self.door, timezone.now())

    def beat(self) -> None:
        """Record from time to time that the work goes on.

        Raises _Interrupted if the hub is stopping; Stopped if a person stopped the evaluation; LostRun if the
        evaluation is no longer this worker's.
        """
        if self.stop.is_set():
            raise _Interrupted
        if time.monotonic() - self.seen >= SEEN_EVERY:
            self.seen = time.monotonic()
            evaluations.seen(self.one.pk, self.name, timezone.now())

    def require_may(self) -> None:
        """Raise _NotAllowed if the person who started the evaluation may no longer run Claude in the memory store."""
        if self.is_persons and not evaluations.may_go_on(self.one):
            raise _NotAllowed


class ByApi:
    """Asks a model of Claude's API for the next answer, within the budgets for tokens."""

    def __init__(self, api: Api, worker: Worker) -> None:
        self.api, self.worker = api, worker
        self.parameters = Options().parameters(worker.one.model, "") | {"max_tokens": MAX_TOKENS}

    def __call__(self, session: Session) -> Ask:
        return self._ask

    def _ask(self, messages: Sequence[Json]) -> Sequence[Json]:
        parameters = self.parameters | {"messages": list(messages)}
        counting = {name: value for name, value in parameters.items() if name != "max_tokens"}
        held = self._last(self.api.count(counting), int) + MAX_TOKENS
        evaluations.use(held, timezone.now(), self.worker.tokens)
        answer = self._last(self.api.answer(parameters), Answer)
        used = total_of(answer.usage)
        evaluations.use(used - held, timezone.now())
        self.worker.tokens += used
        return [block for block in map(block_of, answer.blocks) if block is not None]

    def _last(self, items: Iterator[Any], kind: type) -> Any:
        """Return the first of `items` that is an instance of the class `kind`. Raises Failed if there is none.

        For each item before it, record that the work goes on.
        """
        for item in items:
            if isinstance(item, kind):
                return item
            self.worker.beat()
        raise Failed("broke_off")


def scripted(session: Session) -> Ask:
    """Return a function that answers in place of a model. Its answers are written in `session`.

    If `session.calls` is not empty, the first answer consists of these tool calls. The next answer is the text
    `session.says` or, if that is empty, the results of the calls. Without calls, the first answer is `session.says`.
    """

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


def work(one: ClaudeEvaluation, name: str, stop: threading.Event) -> None:
    """Work on an evaluation that belongs to the worker `name`, until the evaluation ends; never raise an error."""
    try:
        state, problem = _outcome(Worker(one, name, stop))
        if state != ClaudeRunState.FINISHED:
            evaluations.end(one.pk, name, state, problem)
    except LostRun:
        pass
    except Exception:
        logger.exception("The evaluation %s could not be ended", one.pk)


def work_in_thread(one: ClaudeEvaluation, name: str, stop: threading.Event) -> None:
    """Work on an evaluation in a thread of its own."""
    work(one, name, stop)
    connection.close()


def _outcome(worker: Worker) -> tuple[ClaudeRunState, str]:
    """Run the suite, and write the results. Return how the evaluation ended, and why in one word."""
    one = worker.one
    try:
        model: Model = scripted
        if one.model:
            if not settings.ANTHROPIC_API_KEY:
                raise Failed("no_key")
            model = ByApi(Api(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, TICK), worker)
        caller, results = evaluations.caller(worker.act), dict[str, bool]()
        for case in SUITE:
            results[case.name] = _is_passed(worker, case, model, caller)
            evaluations.write(one.pk, worker.name, results, worker.tokens)
        evaluations.finish(one, worker.name, worker.act)
    except Stopped:
        return ClaudeRunState.STOPPED, ""
    except _Interrupted:
        return ClaudeRunState.INTERRUPTED, ""
    except OverBudget as over:
        return ClaudeRunState.OVER_BUDGET, over.problem
    except LostRun:
        raise
    except Exception as error:
        problem = _problem(error)
        if problem == "hub_error":
            logger.exception("The evaluation %s failed", one.pk)
        return ClaudeRunState.FAILED, problem
    return ClaudeRunState.FINISHED, ""


def _problem(error: Exception) -> str:
    if isinstance(error, Failed):
        return error.code
    kinds = {
        _NotAllowed: "not_allowed", TooManyCopies: "no_copy", ToolError: "no_room", DiskFull: "disk_full",
        NoSuchStore: "erased", NotRun: "erased",
    }  # fmt: skip
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), "hub_error")


def _is_passed(worker: Worker, case: Case, model: Model, caller: Caller) -> bool:
    copy = evaluations.copied(worker.one, worker.name, worker.on_copy)
    try:
        _plant(copy, case, worker.on_copy)
        before = _memories(copy)
        answers = []
        for number, session in enumerate(case.sessions, 1):
            worker.require_may()
            worker.beat()
            if case.erases and number == len(case.sessions):
                _erase(copy, case.erases, worker.on_copy)
            answers.append(_talk(copy, session, model(session), caller, f"{case.name}-{number}"))
        made = {path: text for path, text in _memories(copy).items() if before.get(path) != text}
        return case.passes(Outcome(answers, made))
    finally:
        delete.delete_copy(copy, worker.on_copy)


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
    """Permanently remove the memories of a copy that contain `text`."""
    there = Memory.objects.filter(store_id=copy, text__content__contains=text)
    whole.remove_memories(copy, list(there.values_list("pk", flat=True)), act)


def _memories(copy: str) -> dict[str, str]:
    rows: Iterator[Any] = Memory.objects.live().filter(store_id=copy).values_list("path", "text__content").iterator()
    return {path: text or "" for path, text in rows}
