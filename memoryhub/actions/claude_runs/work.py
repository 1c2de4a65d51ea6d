"""The writes of the worker of a Claude run. Each function is one short transaction.

A function raises LostRun, and writes nothing, if the run is no longer the worker's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from memoryhub.actions.claude_runs import configuration, events
from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules.ruling import Ruling
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.stores import delete
from memoryhub.models import ClaudeDay, ClaudeEvent, ClaudeEventKind, ClaudeRun, ClaudeRunState, Door

SILENT = timedelta(seconds=15)
"""A worker that was not seen for this long has ended."""
Seen = tuple[str, datetime | None]
"""(id of a run or an evaluation, the moment at which its worker was last seen)."""


class LostRun(Exception):
    """The run is no longer this worker's: it ended, it was interrupted, or its store was deleted."""


class OverBudget(Exception):
    """The next answer could pass a budget. `problem` is the code that names the budget."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(slots=True)
class Part:
    """A part of an answer that is being made. `number` is the number of the part's event (None: no event yet)."""

    kind: ClaudeEventKind
    block: dict[str, Any]
    is_open: bool = True
    number: int | None = None


@contextmanager
def own(run_id: str, worker: str) -> Iterator[ClaudeRun]:
    with writing():
        rows = ClaudeRun.objects.select_for_update(of=("self",)).filter(store__deleted_at=None)
        run = rows.filter(pk=run_id, state=ClaudeRunState.RUNNING, worker=worker).first()
        if run is None:
            raise LostRun(run_id)
        yield run


def claim(worker: str, at: datetime, most: int) -> str | None:
    """Assign the oldest waiting run to a worker, and return the run's id.

    None if no run waits, if `most` are running, or if another worker was faster.
    """
    running = ClaudeRun.objects.filter(state=ClaudeRunState.RUNNING).count()
    waiting = ClaudeRun.objects.filter(state=ClaudeRunState.WAITING, store__deleted_at=None)
    waiting = waiting.order_by("created_at", "pk")
    first = waiting.values_list("pk", flat=True).first() if running < most else None
    if first is None:
        return None
    with writing():
        own = ClaudeRun.objects.filter(pk=first, state=ClaudeRunState.WAITING)
        taken = own.update(
            state=ClaudeRunState.RUNNING, worker=worker, seen_at=at, stop_asked=False, revision=F("revision") + 1
        )
    return first if taken else None


def running() -> list[Seen]:
    """Return the ids of the running runs, and when the worker of each was last seen."""
    return list(ClaudeRun.objects.filter(state=ClaudeRunState.RUNNING).values_list("pk", "seen_at"))


def interrupt(run_id: str, seen_at: datetime | None, at: datetime) -> None:
    """End a running run as interrupted, or as stopped if a person asked it to stop.

    Do nothing if its worker was seen after the moment `seen_at`.
    """
    with writing():
        there = ClaudeRun.objects.select_for_update().filter(pk=run_id, state=ClaudeRunState.RUNNING, seen_at=seen_at)
        if (run := there.first()) is not None:
            events.end(run, ClaudeRunState.STOPPED if run.stop_asked else ClaudeRunState.INTERRUPTED, at)


def seen(run_id: str, worker: str, at: datetime) -> bool:
    """Note that the worker still works on the run. Return whether a person asked it to stop."""
    with own(run_id, worker) as run:
        ClaudeRun.objects.filter(pk=run_id).update(seen_at=at)
        return run.stop_asked


def is_stopped(run_id: str, worker: str) -> bool:
    """Return whether a person asked the run to stop. Raises LostRun if it is no longer the worker's."""
    own = ClaudeRun.objects.filter(pk=run_id, worker=worker).values_list("stop_asked", flat=True).first()
    if own is None:
        raise LostRun(run_id)
    return own


def may_go_on(run: ClaudeRun) -> bool:
    """Return whether the person who started the run may still run Claude on the run's store.

    For a dream, return whether its key may still dream there.
    """
    dream: Any = run.dream
    if dream is not None:
        return configuration.may_dream(run.key, run.store_id, timezone.now(), updates=dream["updates"])
    return run.started_by is not None and configuration.may_run(run.started_by, run.store)


def hold(run_id: str, worker: str, input_tokens: int, wanted: int) -> int:
    """Reserve tokens of the budgets for the next answer: `input_tokens`, and at most `wanted` for the answer itself.

    Return how many tokens the answer may have. Raises OverBudget if it may have none.
    """
    with own(run_id, worker) as run:
        today, _ = ClaudeDay.objects.select_for_update().get_or_create(day=timezone.now().date())
        day = settings.MEMORYHUB_CLAUDE_DAY_TOKENS
        room = wanted if run.budget is None else min(wanted, run.budget - run.tokens - input_tokens)
        if room < 1:
            raise OverBudget("over_run_budget")
        room = room if day is None else min(room, day - today.tokens - input_tokens)
        if room < 1:
            raise OverBudget("over_day_budget")
        held = input_tokens + room
        ClaudeRun.objects.filter(pk=run_id).update(held=held)
        ClaudeDay.objects.filter(pk=today.pk).update(tokens=F("tokens") + held)
        return room


def _settle(run: ClaudeRun, used: int) -> None:
    """Count the tokens that an answer used, and release the tokens that were held for it."""
    ClaudeRun.objects.filter(pk=run.pk).update(tokens=F("tokens") + used, held=0)
    more = used - run.held
    day, _ = ClaudeDay.objects.get_or_create(day=timezone.now().date())
    ClaudeDay.objects.filter(pk=day.pk).update(tokens=F("tokens") + max(more, -day.tokens))


def write(run_id: str, worker: str, parts: list[Part], at: datetime) -> None:
    """Write the parts of an answer that are new or have grown."""
    with own(run_id, worker) as run:
        rules = events.rules_of(run.store_id)
        for part in parts:
            content = _content(part, rules)
            if part.number is None:
                part.number = events.add(run, part.kind, content, at, is_open=part.is_open).number
            else:
                events.change(run, part.number, content=content, is_open=part.is_open)
        ClaudeRun.objects.filter(pk=run_id).update(seen_at=at)


def _content(part: Part, rules: Ruling) -> dict[str, Any]:
    masked = rules.masked_in(part.block)
    changed = {"is_masked": True} if masked != part.block else {}
    if part.kind == ClaudeEventKind.CALL:
        return {"id": part.block["id"], "name": masked["name"], "input": masked["input"], **changed}
    return {"block": masked, **changed}


def end_answer(run_id: str, worker: str, parts: list[Part], turn: dict[str, Any], used: int, at: datetime) -> None:
    """Write the end of an answer: its last parts, the tokens that it used, and `turn` (see `events`)."""
    usage = turn["usage"]
    with own(run_id, worker) as run:
        write(run_id, worker, parts, at)
        run.refresh_from_db()
        events.add(run, ClaudeEventKind.TURN, turn, at)
        _settle(run, used)
        ClaudeRun.objects.filter(pk=run_id).update(
            turns=F("turns") + 1,
            input_tokens=F("input_tokens") + turn["context"],
            output_tokens=F("output_tokens") + usage["output_tokens"],
            cache_written=F("cache_written") + (usage.get("cache_creation_input_tokens") or 0),
            cache_read=F("cache_read") + (usage.get("cache_read_input_tokens") or 0),
            context=turn["context"],
        )


def break_off(run_id: str, worker: str, parts: list[Part], used: int, at: datetime, problem: dict[str, Any]) -> None:
    """Record that an answer broke off, with the parts that arrived and the tokens that it used.

    `problem` is the reason; {} if a person stopped the answer.
    """
    with own(run_id, worker) as run:
        if parts:
            write(run_id, worker, parts, at)
            run.refresh_from_db()
        _settle(run, used)
        events.cut(run)
        if problem:
            rules = events.rules_of(run.store_id)
            events.add(run, ClaudeEventKind.PROBLEM, rules.masked_in(problem), at)


def calls_to_run(run_id: str) -> list[ClaudeEvent]:
    """Return the calls that still have to run, in order. Calls of incomplete answers are left out."""
    calls = ClaudeEvent.objects.of_run(run_id).filter(kind=ClaudeEventKind.CALL, seq=None, is_cut=False)
    return [call for call in calls if "answer" not in call.content]


def seq_of(run: ClaudeRun, call_id: str) -> int | None:
    """Return the number of the audit entry of a call that has run, or None."""
    sql.connect()
    row = sql.one(sql.IDEMPOTENT_CALL, run.place, run.key, call_id)
    return None if row is None else int(row[1])


def summary_asked(run_id: str) -> int | None:
    """Return the number of the newest message if the conversation before it is still to be summarized, else None."""
    kinds = (ClaudeEventKind.MESSAGE, ClaudeEventKind.TURN)
    last = ClaudeEvent.objects.of_run(run_id).filter(kind__in=kinds).last()
    return last.number if last is not None and last.content.get("summarizes") else None


def is_answered(run_id: str) -> bool:
    """Return whether the newest answer ended the conversation, with no message after it."""
    kinds = (ClaudeEventKind.MESSAGE, ClaudeEventKind.TURN)
    last = ClaudeEvent.objects.of_run(run_id).filter(kind__in=kinds).last()
    return last is not None and last.content.get("stop_reason") in ("end_turn", "stop_sequence")


def called(run_id: str, worker: str, number: int, seq: int) -> None:
    """Record that a call ran. `seq` is the number of its audit entry."""
    with own(run_id, worker) as run:
        event = ClaudeEvent.objects.get(run_id=run_id, number=number)
        content = {name: event.content[name] for name in ("id", "name")}
        events.change(run, number, content=content, seq=seq)


def not_called(run_id: str, worker: str, number: int, why: str) -> None:
    """Record that a call was not run. Claude gets the text `why` instead of an answer."""
    with own(run_id, worker) as run:
        event = ClaudeEvent.objects.get(run_id=run_id, number=number)
        events.change(run, number, content=event.content | {"answer": why})


def end(run_id: str, worker: str, state: ClaudeRunState, at: datetime, problem: str = "") -> None:
    with own(run_id, worker) as run:
        events.end(run, state, at, problem=problem)


def copied(run_id: str, worker: str, seq: int) -> None:
    """Record that the run's copy of the store is complete. `seq` is the seq of the newest entry in the copy's chain."""
    with own(run_id, worker) as run:
        ClaudeRun.objects.filter(pk=run.pk).update(copied=seq)


def forget(clock: datetime, most: int = 20) -> int:
    """Delete at most `most` runs that ended more than MEMORYHUB_CLAUDE_DAYS before `clock`. Return how many were
    deleted.

    Their events and copies are deleted too. The audit entries of their calls on the store itself stay.
    """
    before = clock - timedelta(days=settings.MEMORYHUB_CLAUDE_DAYS)
    ended = list(ClaudeRun.objects.filter(ended_at__lt=before).order_by("ended_at").values_list("pk", "copy")[:most])
    for copy in [copy for _, copy in ended if copy]:
        delete.delete_copy(copy, Act(Actor.system("claude_runs"), Door.COMMAND, clock))
    with writing():
        old = list(
            ClaudeRun.objects.filter(pk__in=[pk for pk, _ in ended], ended_at__lt=before).values_list("pk", flat=True)
        )
        ClaudeEvent.objects.filter(run__in=old).delete()
        ClaudeRun.objects.filter(pk__in=old).delete()
    return len(old)
