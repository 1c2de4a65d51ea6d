"""Dreams: Claude reads past sessions of agents, and reorganises a copy of their memory store.

Agents start, cancel and archive dreams through the API. Each of these acts makes one audit entry, without the texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memoryhub.actions.claude_runs import events, runs
from memoryhub.actions.claude_runs.runs import NoSuchRun, NotNow, TooManyCopies
from memoryhub.actions.core import audit, proposing, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories.api import requests as asking
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.models import ClaudeModel, ClaudeRun, ClaudeRunState, Session
from memoryhub.pure import ids
from memoryhub.pure.conversation import guidance
from memoryhub.pure.conversation.options import Options

MOST_SESSIONS = 100
ANSWER_TOKENS = 16_000
"""The most tokens of an answer, unless the model allows only fewer."""


class Updating(Exception):
    """Another dream that updates the memory store has not ended."""


class NoSuchSessions(Exception):
    """Some sessions have done nothing in the memory store; `sessions` are their ids."""

    def __init__(self, sessions: Sequence[str]) -> None:
        super().__init__(", ".join(sessions))
        self.sessions = sessions


@dataclass(frozen=True, slots=True)
class Wanted:
    """An agent's request for a dream.

    With `updates`, the result is a proposal for the store itself; otherwise the result is a new store.
    """

    model: str
    sessions: Sequence[str]
    instructions: str
    updates: bool


def start(store_id: str, wanted: Wanted, asked: Asked) -> ClaudeRun:
    """Start a dream: it waits for a worker.

    Raises ToolError if the store is archived. Also raises NoSuchSessions, Updating, TooManyCopies, calls.NotRun and
    tree.NoSuchStore.
    """
    known = Session.objects.known_in([store_id]).filter(pk__in=wanted.sessions).values_list("pk", flat=True)
    if unknown := sorted(set(wanted.sessions) - set(known)):
        raise NoSuchSessions(unknown)
    record = Record("start_claude_run", input=audit.to_json({"model": wanted.model}))
    return asking.on_store(store_id, asked, record, lambda store: _start(store, wanted, asked))


def _start(store: Tree, wanted: Wanted, asked: Asked) -> tuple[ClaudeRun | Exception, Record | None]:
    tree.require_active(store)
    going_on = list(ClaudeRun.objects.of_store(store.store).dreams().going_on())
    if wanted.updates and any(updates(run) for run in going_on):
        return Updating(), None
    try:
        copy = runs.new_copy(store, proposes=True)
    except TooManyCopies as error:
        return error, None
    most = ClaudeModel.objects.filter(pk=wanted.model).values_list("max_tokens", flat=True).first()
    run = ClaudeRun.objects.create(
        id=ids.new_id(ids.DREAM, store.at),
        store_id=store.store,
        agent=asked.caller.agent,
        key=asked.caller.key,
        model=wanted.model,
        system=guidance.PROPOSES.format(most=proposing.MOST_CHANGES) if wanted.updates else "",
        task=events.kept(store.store, wanted.instructions),
        options=Options(max_tokens=min(ANSWER_TOKENS, most or ANSWER_TOKENS)).as_json(),
        budget=settings.MEMORYHUB_CLAUDE_RUN_TOKENS,
        created_at=store.at,
        base=store.head.last_seq,
        copy=copy,
        proposes=wanted.updates,
        dream={"sessions": sorted(wanted.sessions), "updates": wanted.updates},  # type: ignore[misc]
    )
    details = {"run": run.pk, "model": run.model, "agent": run.agent, "budget": run.budget, "copy": copy}
    details |= {"of_entry": run.base, "sessions": len(wanted.sessions), "updates": wanted.updates}
    return run, Record("start_claude_run", input=audit.to_json(details))


def updates(run: ClaudeRun) -> bool:
    """Return whether the result of a dream is a proposal for its memory store, and not a new store."""
    dream: Any = run.dream
    return bool(dream["updates"])


def is_canceled(run: ClaudeRun) -> bool:
    """Return whether someone stopped a dream. A stopped dream that still runs ends soon, without a result."""
    return (run.is_going_on and run.stop_asked) or (run.state == ClaudeRunState.STOPPED and not run.problem)


def cancel(run: ClaudeRun, asked: Asked) -> ClaudeRun:
    """Stop a dream and return it. Do nothing if it was stopped before.

    Raises NotNow if it has ended in another way. Also raises NoSuchRun, calls.NotRun and tree.NoSuchStore.
    """

    def do(store: Tree) -> tuple[ClaudeRun | Exception, Record | None]:
        own = _locked(store, run)
        if isinstance(own, Exception) or is_canceled(own):
            return own, None
        if not own.is_going_on:
            return NotNow(), None
        record = runs.stopping(store, own)
        return ClaudeRun.objects.get(pk=own.pk), record

    return asking.on_store(run.store_id, asked, Record("stop_claude_run"), do)


def archive(run: ClaudeRun, asked: Asked) -> ClaudeRun:
    """Hide an ended or canceled dream from the list, and return it. Do nothing if it is hidden already.

    Raises NotNow if the dream has neither ended nor been canceled. Also raises NoSuchRun, calls.NotRun and
    tree.NoSuchStore."""

    def do(store: Tree) -> tuple[ClaudeRun | Exception, Record | None]:
        own = _locked(store, run)
        if isinstance(own, Exception) or own.archived_at is not None:
            return own, None
        if own.is_going_on and not own.stop_asked:
            return NotNow(), None
        own.archived_at = store.at
        ClaudeRun.objects.filter(pk=own.pk).update(archived_at=store.at)
        return own, Record("archive_dream", input=audit.to_json({"run": own.pk}))

    return asking.on_store(run.store_id, asked, Record("archive_dream"), do)


def _locked(store: Tree, run: ClaudeRun) -> ClaudeRun | Exception:
    try:
        return runs.locked_run(store, run.pk)
    except NoSuchRun as error:
        return error
