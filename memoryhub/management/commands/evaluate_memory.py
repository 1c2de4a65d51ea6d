"""Evaluates how a model keeps memories, on copies of a memory store."""

import os
import secrets
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.claude_runs import configuration, evaluations
from memoryhub.actions.claude_runs.evaluations import Taken
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.actions.claude_runs.runs import NotNow
from memoryhub.actions.claude_runs.work import SILENT
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.background.claude_runs import evaluating
from memoryhub.models import ClaudeEvaluation, ClaudeRunState, Door
from memoryhub.operating.starting import HubCommand
from memoryhub.pure.protocol.errors import ToolError

ENDS = {
    "erased": "The copy on which the model worked was deleted, because something was erased or removed in the memory "
    "store, or its key was revoked. Start the evaluation again.",
}
TAKEN = f"The memory store has memories under {evaluations.PLACE}, where an evaluation writes its own."


class Command(HubCommand):
    help = (
        "Runs a small suite of sessions on throw-away copies of a memory store, and stores which cases a model passed."
        " The page of the memory store's Claude runs compares the evaluations, and starts them, too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="the memory store's id")
        parser.add_argument("--model", help="a model of Claude's API (default: the scripted model, which needs no key)")

    def handle(self, *, store: str, model: str | None, **_: Any) -> None:
        if model is not None and not configuration.is_configured():
            raise CommandError(problem_words("no_key"))
        worker, stop = f"{os.getpid()}-{secrets.token_hex(8)}", threading.Event()
        act = Act(Actor.system("evaluate_memory"), Door.COMMAND, timezone.now())
        for evaluation_id, seen_at in evaluations.running():
            if seen_at is None or seen_at < act.at - SILENT:
                evaluations.interrupt(evaluation_id, seen_at, act.at)
        try:
            one = evaluations.start(store, model or "", None, act, worker)
        except NoSuchStore:
            raise CommandError(f"There is no memory store {store}.") from None
        except Taken:
            raise CommandError(TAKEN) from None
        except NotNow:
            raise CommandError("Another evaluation of this memory store goes on.") from None
        except ToolError as error:
            raise CommandError(str(error)) from None
        evaluating.work(one, worker, stop)
        self._say(ClaudeEvaluation.objects.filter(pk=one.pk).first())

    def _say(self, one: ClaudeEvaluation | None) -> None:
        if one is None:
            raise CommandError(ENDS["erased"])
        if one.state != ClaudeRunState.FINISHED:
            words = ENDS.get(one.problem) or problem_words(one.problem) or ClaudeRunState(one.state).label
            raise CommandError(str(words))
        results: Any = one.results
        for name, is_passed in results.items():
            self.stdout.write(f"{'passed' if is_passed else 'FAILED'} {name}")
        self.stdout.write(f"{sum(results.values())} of {len(results)} cases passed, {one.tokens:,} tokens used.")
