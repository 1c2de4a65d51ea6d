"""The events of Claude runs, and the states of the runs.

Writing these rows makes no audit entry. Each of Claude's calls of the memory tool makes one.

The content of an event, by its kind:

- message: `text` and `by`, the name of the person; `summarizes` if the conversation before it is to be summarized
  first;
- text, thinking, compaction: `block`, the block of Claude's answer; `is_masked` if the rules for sensitive text changed
  it;
- call: `id` and `name`; until the call has run, also `input`, and `is_masked` as above; if the call was not run,
  `answer` says why;
- turn: `usage`, `stop_reason`, `context` and `edits`, the edits of the context that the API applied;
- problem: `code`, and `detail`, what the API said;
- proposal: `number`, and how many `changes` it has (0: there is no proposal); `left_out`, the changes of the copy that
  are not in it, as [path, reason]; `error`, why there is no proposal.
"""

import json
from datetime import datetime
from typing import Any

from django.db.models import F

from memoryhub.actions.core.rules.ruling import Ruling, ruling
from memoryhub.models import ClaudeEvent, ClaudeEventKind, ClaudeRun, ClaudeRunState, HubSettings, MemoryStore

Json = dict[str, Any]


def rules_of(store_id: str) -> Ruling:
    """Return the rules for sensitive text that apply in a store."""
    own = MemoryStore.present.filter(pk=store_id).values_list("rules", flat=True).first()
    hubs = HubSettings.objects.filter(pk=1).values_list("rules", flat=True).first()
    return ruling(json.dumps(own or {}), None if hubs is None else json.dumps(hubs))


def kept(store_id: str, text: str) -> str:
    """Return a text as the hub stores it: masked by the store's rules for sensitive text, and without NUL."""
    return rules_of(store_id).masked(text.replace("\0", "\ufffd"))


def kept_in(store_id: str, value: Any) -> Any:
    """Return a JSON value as the hub stores it: each text in it as `kept` returns it."""
    return rules_of(store_id).masked_in(value)


def add(run: ClaudeRun, kind: ClaudeEventKind, content: Json, at: datetime, *, is_open: bool = False) -> ClaudeEvent:
    """Add an event to a run, whose row is locked."""
    run.events += 1
    ClaudeRun.objects.filter(pk=run.pk).update(events=run.events, revision=F("revision") + 1)
    return ClaudeEvent.objects.create(
        run=run,
        number=run.events,
        kind=kind,
        at=at,
        content=content,
        is_open=is_open,  # type: ignore[misc]
    )


def change(run: ClaudeRun, number: int, **columns: Any) -> None:
    """Change an event of a run, whose row is locked."""
    ClaudeEvent.objects.filter(run_id=run.pk, number=number).update(**columns)
    ClaudeRun.objects.filter(pk=run.pk).update(revision=F("revision") + 1)


def cut(run: ClaudeRun) -> None:
    """Mark as cut the events of an answer that broke off.

    These are the events after the last complete answer, message, problem or proposal.
    """
    complete = (
        ClaudeEventKind.TURN, ClaudeEventKind.MESSAGE, ClaudeEventKind.PROBLEM, ClaudeEventKind.PROPOSAL,
    )  # fmt: skip
    rows = ClaudeEvent.objects.of_run(run.pk)
    last = rows.filter(kind__in=complete).values_list("number", flat=True).last() or 0
    ClaudeEvent.objects.filter(run_id=run.pk, number__gt=last).update(is_cut=True, is_open=False)


def end(run: ClaudeRun, state: ClaudeRunState, at: datetime, *, problem: str = "") -> None:
    """End a run, whose row is locked. An unfinished answer is cut off, and the tokens that were held for it count as
    used.

    If a dream was interrupted and no person asked it to stop, it waits for a worker again.
    """
    cut(run)
    waits = run.is_dream and state == ClaudeRunState.INTERRUPTED
    if waits and run.stop_asked:
        state, waits = ClaudeRunState.STOPPED, False
    ClaudeRun.objects.filter(pk=run.pk).update(
        state=ClaudeRunState.WAITING if waits else state,
        problem=problem,
        ended_at=None if waits else at,
        worker="",
        stop_asked=False,
        tokens=F("tokens") + F("held"),
        held=0,
        revision=F("revision") + 1,
    )
