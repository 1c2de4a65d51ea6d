"""Helpers for tests of Claude runs: a hub with a key for the stand-in, a run, and its events in short."""

import threading
from typing import Any

from django.utils import timezone

from memoryhub.actions.claude_runs import runs, work
from memoryhub.actions.claude_runs.runs import Asked
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.background.claude_runs.turns import Turns
from memoryhub.models import ClaudeEvent, ClaudeRun, Door, MemoryStore, User
from tests.claude_runs.claude_api import KEY, ClaudeApi

MODEL = "claude-sonnet-5-5"
WORKER = "tests"


def by(person: User) -> Act:
    return Act(Actor.person(person), Door.WEB, timezone.now())


def started(store: MemoryStore, person: User, task: str = "Help me.", **asked: Any) -> ClaudeRun:
    return runs.start(store.id, Asked(MODEL, task, **asked), person, by(person))


def worked(api: ClaudeApi, run: ClaudeRun, stop: threading.Event | None = None) -> ClaudeRun:
    """Works on the run that waits, in this thread, until it ends."""
    assert work.claim(WORKER, timezone.now(), 9) == run.pk
    Turns(run.pk, WORKER, stop or threading.Event(), KEY, api.url).work()
    return ClaudeRun.objects.get(pk=run.pk)


def interrupt() -> None:
    """Ends the runs that go on, as the hub does where their workers have ended."""
    for run_id, seen_at in work.running():
        work.interrupt(run_id, seen_at, timezone.now())


def story(run: ClaudeRun) -> list[str]:
    """The events in short: kind, and text or what else tells them apart; a cut one ends with a dash."""
    return [f"{event.kind} {_words(event)}{' —' if event.is_cut else ''}" for event in events(run)]


def events(run: ClaudeRun) -> list[ClaudeEvent]:
    return list(ClaudeEvent.objects.of_run(run.pk))


def _words(event: ClaudeEvent) -> str:
    content: Any = event.content
    if event.kind == "turn":
        return f"{content['context']}+{content['usage']['output_tokens']}"
    block = content.get("block", content)
    return str(block.get("text") or block.get("thinking") or block.get("content") or block.get("code") or event.seq)
