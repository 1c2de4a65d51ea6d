"""Works on one Claude run: asks for an answer, runs its calls of the memory tool, and asks again until Claude is done.

Every step is stored before the next one begins. If a call had already run before a crash and is run again, it gets
the same answer as before and changes nothing.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from memoryhub import tool
from memoryhub.actions.claude_runs import dreamed, history, made, work
from memoryhub.actions.claude_runs.runs import CopyGone
from memoryhub.actions.claude_runs.work import LostRun, OverBudget, Part
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.memories.calls import AuditFull, Caller, KeyRevoked, NotRun, TokenReused
from memoryhub.actions.stores import copies
from memoryhub.background.claude_runs.answers import Answer, Api, Begun, Block, Failed, Tick, context_of, total_of
from memoryhub.models import Access, Agent, ClaudeEvent, ClaudeEventKind, ClaudeRun, ClaudeRunState
from memoryhub.pure.conversation.messages import about_tokens, block_of
from memoryhub.pure.conversation.options import TOOL, Options, betas

logger = logging.getLogger(__name__)

TICK = 0.25
"""Seconds between two checks whether the run should stop, and between two writes of the parts that have arrived."""
SEEN_EVERY = 3.0
ASK_AGAIN = 2
"""How often an answer that broke off is asked for again."""
FINAL = {"end_turn", "stop_sequence", "refusal", "max_tokens", "model_context_window_exceeded"}
PROBLEMS = {
    "refusal": "declined", "max_tokens": "answer_full", "model_context_window_exceeded": "context_full",
}  # fmt: skip
"""The code of the problem with an answer, by the API's reason why the answer ended."""

KINDS = {
    "text": ClaudeEventKind.TEXT, "thinking": ClaudeEventKind.THINKING, "redacted_thinking": ClaudeEventKind.THINKING,
    "compaction": ClaudeEventKind.COMPACTION, "tool_use": ClaudeEventKind.CALL,
}  # fmt: skip


class _Stop(Exception):
    """A person stopped the run."""


class _Interrupt(Exception):
    """The hub is stopping."""


class _Failure(Exception):
    """The run cannot go on; `code` says why in one word."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Turns:
    """One run in this process. `stop` is set when the hub stops.

    `inputs` are the inputs of calls exactly as Claude sent them. The tool needs these, because it masks or refuses
    sensitive text itself; in the stored events, such text is already masked.
    """

    def __init__(self, run_id: str, worker: str, stop: threading.Event, key: str, address: str) -> None:
        self.run_id, self.worker, self.stop, self.key = run_id, worker, stop, key
        self.api = Api(key, address, TICK)
        self.inputs: dict[str, dict[str, Any]] = {}
        self.exact: dict[str, tuple[dict[str, Any], str, bool]] = {}
        self.finish: Callable[[str, str, datetime], None] | None = None
        self.seen = time.monotonic()
        self.looked = 0.0

    def work(self) -> None:
        """Work on the run until it ends; never raise an error."""
        try:
            self._end(*self._outcome())
        except (LostRun, NoSuchStore, CopyGone):
            pass
        except Exception:
            logger.exception("The Claude run %s could not be ended", self.run_id)

    def _end(self, state: ClaudeRunState, problem: str) -> None:
        if state != ClaudeRunState.FINISHED or problem or self.finish is None:
            work.end(self.run_id, self.worker, state, timezone.now(), problem)
            return
        try:
            self.finish(self.run_id, self.worker, timezone.now())
        except (LostRun, NoSuchStore, CopyGone):
            raise
        except DiskFull:
            work.end(self.run_id, self.worker, ClaudeRunState.FAILED, timezone.now(), "disk_full")
        except Exception:
            logger.exception("Nothing could be made of the Claude run %s", self.run_id)
            work.end(self.run_id, self.worker, ClaudeRunState.FAILED, timezone.now(), "hub_error")

    def work_in_thread(self) -> None:
        """Work on the run in a thread of its own."""
        self.work()
        connection.close()

    def _outcome(self) -> tuple[ClaudeRunState, str]:
        try:
            if not self.key:
                raise _Failure("no_key")
            while not self._turn():
                pass
        except _Stop:
            return ClaudeRunState.STOPPED, ""
        except _Interrupt:
            return ClaudeRunState.INTERRUPTED, ""
        except OverBudget as over:
            return ClaudeRunState.OVER_BUDGET, over.problem
        except _Failure as failure:
            state = ClaudeRunState.FINISHED if failure.code in PROBLEMS.values() else ClaudeRunState.FAILED
            return state, failure.code
        except (LostRun, NoSuchStore) as lost:
            raise LostRun(self.run_id) from lost
        except Exception:
            logger.exception("The Claude run %s failed", self.run_id)
            return ClaudeRunState.FAILED, "hub_error"
        return ClaudeRunState.FINISHED, ""

    # ------------------------------------------------------------------------------------------------ one turn

    def _turn(self) -> bool:
        """Run the calls that wait, and ask for an answer. Return whether Claude is done."""
        if self.stop.is_set():
            raise _Interrupt
        run = ClaudeRun.objects.select_related("store", "started_by").filter(pk=self.run_id).first()
        if run is None:
            raise LostRun(self.run_id)
        if not work.may_go_on(run):
            raise _Failure("not_allowed")
        self.finish = dreamed.finish if run.is_dream else made.finish if run.proposes else None
        self._copy(run)
        self._run_calls(run)
        if work.is_answered(self.run_id):
            return True
        options = Options.of(run.options)
        if (message := work.summary_asked(self.run_id)) is not None:
            self._ask(run, options.summary(run.model, run.system), before=message)
        answer = self._ask(run, options.parameters(run.model, run.system))
        if answer.stop_reason in PROBLEMS:
            self._refuse_calls("This call was not run, because the answer broke off before it was complete.")
            raise _Failure(PROBLEMS[answer.stop_reason])
        return answer.stop_reason in FINAL

    def _copy(self, run: ClaudeRun) -> None:
        """Fill the run's copy with the memories of its store, if the run works on a copy that is not filled yet."""
        if not run.copy or run.copied is not None:
            return
        copied = None
        while copied is None:
            self._look()
            try:
                copied = copies.fill(run.copy, run.store_id, run.base or 0, timezone.now())
            except DiskFull:
                raise _Failure("disk_full") from None
        work.copied(self.run_id, self.worker, copied)

    def _ask(self, run: ClaudeRun, common: dict[str, Any], before: int | None = None) -> Answer:
        """Ask for the next answer and store it; ask again, up to ASK_AGAIN times, if the answer breaks off.

        `common` are the parameters of the request without its messages. Only events with numbers below `before` are
        sent (None: all events).
        """
        most = Options.of(run.options).max_tokens
        for attempt in range(ASK_AGAIN + 1):
            messages = history.messages_of(run, self.exact, before)
            parameters = common | {"messages": messages, "betas": betas(common["betas"], messages)}
            counted = self._count(parameters)
            room = work.hold(self.run_id, self.worker, counted, most)
            parameters["max_tokens"] = room
            try:
                return self._answer(parameters, counted)
            except Failed as failed:
                if attempt == ASK_AGAIN or not (failed.code in ("broke_off", "unreadable") or failed.status == 200):
                    raise _Failure(failed.code) from failed
        raise AssertionError("the last attempt returns or raises")

    def _count(self, parameters: dict[str, Any]) -> int:
        try:
            for item in self.api.count(parameters):
                if isinstance(item, int):
                    return item
                self._look()
        except Failed as failed:
            work.break_off(self.run_id, self.worker, [], 0, timezone.now(), failed.as_problem(self.key))
            raise _Failure(failed.code) from failed
        return about_tokens(parameters["messages"])

    def _answer(self, parameters: dict[str, Any], counted: int) -> Answer:
        """Read one answer, and store its parts as they arrive. Raises Failed.

        `counted` is the approximate number of tokens in the request.
        """
        coming = _Coming(counted)
        answers = self.api.answer(parameters)
        try:
            for item in answers:
                self._look()
                if isinstance(item, Answer):
                    self._complete(coming, item)
                    return item
                coming.take(item)
                if coming.is_due():
                    work.write(self.run_id, self.worker, coming.changed(), timezone.now())
            raise Failed("broke_off")
        except (Failed, _Stop, _Interrupt) as error:
            problem = error.as_problem(self.key) if isinstance(error, Failed) else {}
            used = 0 if isinstance(error, Failed) and error.is_refusal else coming.used()
            work.break_off(self.run_id, self.worker, coming.changed(), used, timezone.now(), problem)
            raise
        finally:
            answers.close()  # type: ignore[attr-defined]

    def _complete(self, coming: "_Coming", answer: Answer) -> None:
        self.inputs = {}
        for index, block in enumerate(answer.blocks):
            coming.take(Block(index, block, is_open=False))
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                self.inputs.setdefault(block["id"], block["input"])  # a later call with this id does not run
        turn = {
            "usage": {"output_tokens": 0} | answer.usage,
            "stop_reason": answer.stop_reason,
            "context": context_of(answer.usage),
            "edits": answer.edits,
        }
        parts, used = coming.changed(), total_of(answer.usage)
        work.end_answer(self.run_id, self.worker, parts, turn, used, timezone.now())

    # ------------------------------------------------------------------------------------------------ calls

    def _run_calls(self, run: ClaudeRun) -> None:
        """Run the calls that have no answer yet, in order. If a person stops the Claude run, store that the remaining
        calls were not run."""
        waiting = work.calls_to_run(self.run_id)
        agent = Agent.objects.filter(pk=run.agent).first() if waiting else None
        for call in waiting:
            try:
                self._look(now=True)
            except _Stop:
                self._refuse_calls("This call was not run, because the run was stopped.")
                raise
            if call.content["name"] != TOOL or not isinstance(call.content.get("input"), dict):
                work.not_called(self.run_id, self.worker, call.number, "There is no such tool.")
            elif agent is None:
                raise _Failure("key_revoked")
            else:
                self._call(run, agent, call)

    def _call(self, run: ClaudeRun, agent: Agent, call: ClaudeEvent) -> None:
        id, input = call.content["id"], self.inputs.pop(call.content["id"], None)
        if input is None and call.content.get("is_masked"):
            self._not_known(run, call)
            return
        caller = Caller(run.key, agent.pk, agent.name, Access.WRITE, stale=True, reaches=True)
        block = tool.ToolUse.of(id, input or call.content["input"])
        began = time.monotonic()
        try:
            result = tool.execute(
                run.place,
                block,
                caller=caller,
                at=timezone.now(),
                session=run.session_name,
                elapsed=lambda: int((time.monotonic() - began) * 1_000_000),
            )
        except KeyRevoked:
            raise _Failure("key_revoked") from None
        except AuditFull:
            raise _Failure("audit_full") from None
        except (NotRun, TokenReused) as error:
            work.not_called(self.run_id, self.worker, call.number, f"This call was not run: {error}.")
            return
        self.exact[block.id] = (block.input, result.content, result.is_error)
        work.called(self.run_id, self.worker, call.number, result.seq)

    def _not_known(self, run: ClaudeRun, call: ClaudeEvent) -> None:
        """Store the outcome of a call whose exact input was lost when another process ended.

        If the audit has an entry of the call, store that the call has run; otherwise, store that it was not run.
        """
        seq = work.seq_of(run, call.content["id"])
        if seq is not None:
            work.called(self.run_id, self.worker, call.number, seq)
        else:
            why = "This call was not run: the hub was stopped before, and keeps no values that its rules keep out."
            work.not_called(self.run_id, self.worker, call.number, why)

    def _refuse_calls(self, why: str) -> None:
        for call in work.calls_to_run(self.run_id):
            work.not_called(self.run_id, self.worker, call.number, why)

    # ------------------------------------------------------------------------------------------------ stopping

    def _look(self, *, now: bool = False) -> None:
        """Check whether the run has to stop.

        Raises _Interrupt if the hub is stopping; _Stop if a person stopped the run; LostRun if the run is no longer
        this worker's. Unless `now` is true, _Stop and LostRun are checked at most once in TICK seconds.
        """
        if self.stop.is_set():
            raise _Interrupt
        at = time.monotonic()
        if not now and at - self.looked < TICK:
            return
        self.looked = at
        if now or at - self.seen >= SEEN_EVERY:
            self.seen = at
            stops = work.seen(self.run_id, self.worker, timezone.now())
        else:
            stops = work.is_stopped(self.run_id, self.worker)
        if connection.vendor != "sqlite" and not connection.in_atomic_block:
            connection.close()  # it is not needed while Claude answers
        if stops:
            raise _Stop


class _Coming:
    """An answer while it arrives: its blocks, their parts, and the parts that have not been stored yet."""

    def __init__(self, input_tokens: int) -> None:
        self.blocks: dict[int, dict[str, Any]] = {}
        self.parts: dict[int, Part] = {}
        self.unwritten: set[int] = set()
        self.written = time.monotonic()
        self.input_tokens = input_tokens

    def take(self, item: Tick | Begun | Block | Answer) -> None:
        if isinstance(item, Begun):
            self.input_tokens = item.input_tokens
        elif isinstance(item, Block):
            self.blocks[item.index] = item.block
            self._take_block(item)

    def _take_block(self, item: Block) -> None:
        kind, block = KINDS.get(item.block.get("type", "")), block_of(item.block)
        if kind is None or block is None or (kind == ClaudeEventKind.CALL and item.is_open):
            return  # the input of a call is whole only at its end
        part = self.parts.setdefault(item.index, Part(kind, block))
        if part.number is None or part.block != block or part.is_open != item.is_open:
            part.block, part.is_open = block, item.is_open
            self.unwritten.add(item.index)

    def is_due(self) -> bool:
        """Return whether parts are to be written now: some have changed, and the last write was at least TICK seconds
        ago."""
        return bool(self.unwritten) and time.monotonic() - self.written >= TICK

    def changed(self) -> list[Part]:
        """Return the parts to write, and count them as written."""
        parts = [self.parts[index] for index in sorted(self.unwritten)]
        self.unwritten, self.written = set(), time.monotonic()
        return parts

    def used(self) -> int:
        """Return an estimate of the tokens used by an answer that broke off."""
        return self.input_tokens + (about_tokens(list(self.blocks.values())) if self.blocks else 0)
