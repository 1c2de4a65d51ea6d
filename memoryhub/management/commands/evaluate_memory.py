"""Evaluates how a model keeps memories, on copies of a memory store."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.claude_runs import configuration
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.actions.claude_runs.runs import TooManyCopies
from memoryhub.actions.claude_runs.work import OverBudget
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.memories.calls import NotRun
from memoryhub.background.claude_runs import evaluating
from memoryhub.background.claude_runs.answers import Api, Failed
from memoryhub.models import Door, Memory, MemoryStore
from memoryhub.protocol.errors import ToolError
from memoryhub.starting import HubCommand

GONE = (
    "The copy on which the model worked was deleted, because something was erased or removed in the memory store, or "
    "its key was revoked. Start the evaluation again."
)
TAKEN = "The memory store has memories under /evaluation, where an evaluation writes its own."


class Command(HubCommand):
    help = (
        "Runs a small suite of sessions on throw-away copies of a memory store, and stores which cases a model passed."
        " The page of the memory store's Claude runs compares the evaluations."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="the memory store's id")
        parser.add_argument("--model", help="a model of Claude's API (default: the scripted model, which needs no key)")

    def handle(self, *, store: str, model: str | None, **_: Any) -> None:
        if not MemoryStore.objects.filter(pk=store).exists():
            raise CommandError(f"There is no memory store {store}.")
        there = Memory.objects.live().filter(store_id=store)
        if there.filter(path="/evaluation").exists() or there.under("/evaluation").exists():
            raise CommandError(TAKEN)
        if model is not None and not configuration.is_configured():
            raise CommandError(problem_words("no_key"))
        asked = evaluating.scripted if model is None else _by_api(model)
        act = Act(Actor.system("evaluate_memory"), Door.COMMAND, timezone.now())
        try:
            made = evaluating.evaluate(store, model or "", asked, act)
        except Failed as failed:
            raise CommandError(problem_words(failed.code)) from None
        except OverBudget as over:
            raise CommandError(problem_words(over.problem)) from None
        except (ToolError, TooManyCopies) as error:
            raise CommandError(str(error) or "Too many runs work on copies of this memory store.") from None
        except (NoSuchStore, NotRun):
            raise CommandError(GONE) from None
        results: Any = made.results
        for name, is_passed in results.items():
            self.stdout.write(f"{'passed' if is_passed else 'FAILED'} {name}")
        self.stdout.write(f"{sum(results.values())} of {len(results)} cases passed, {made.tokens:,} tokens used.")


def _by_api(model: str) -> evaluating.Model:
    return evaluating.ByApi(Api(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, evaluating.TICK), model)
