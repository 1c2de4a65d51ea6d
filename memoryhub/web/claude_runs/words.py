"""The states and problems of Claude runs, and the edits of a context, in words."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.models import ClaudeEvaluation, ClaudeRun, ClaudeRunState
from memoryhub.pure.conversation.options import CLEAR_THINKING, CLEAR_TOOL_USES
from memoryhub.web.common.pictures import number

TONES: Mapping[str, str] = {
    ClaudeRunState.WAITING: "neutral", ClaudeRunState.RUNNING: "modified", ClaudeRunState.FINISHED: "ok",
    ClaudeRunState.STOPPED: "neutral", ClaudeRunState.INTERRUPTED: "warning", ClaudeRunState.FAILED: "error",
    ClaudeRunState.OVER_BUDGET: "warning",
}  # fmt: skip


def state_words(run: ClaudeRun | ClaudeEvaluation) -> str:
    """Return the state of a run or an evaluation as a badge shows it."""
    return _("Stopping") if run.is_going_on and run.stop_asked else str(ClaudeRunState(run.state).label)


def interrupted_words(run: ClaudeRun) -> str:
    """Return a sentence on why a run ended, for the line below its state."""
    if run.state == ClaudeRunState.INTERRUPTED:
        return _(
            "The hub was stopped during this run. No call of the memory tool was lost, so you can continue the "
            "run where it stopped."
        )
    return problem_words(run.problem)


def edit_words(edit: Mapping[str, Any]) -> str:
    """Return a sentence on what an edit removed from the context."""
    tokens = {"tokens": number(edit.get("cleared_input_tokens") or 0)}
    if edit.get("type") == CLEAR_TOOL_USES:
        count = edit.get("cleared_tool_uses") or 0
        words = ngettext(
            "The API cleared the result of %(count)s old call: %(tokens)s tokens.",
            "The API cleared the results of %(count)s old calls: %(tokens)s tokens.",
            count,
        )
        return words % {"count": count, **tokens}
    if edit.get("type") == CLEAR_THINKING:
        count = edit.get("cleared_thinking_turns") or 0
        words = ngettext(
            "The API cleared the thinking of %(count)s old answer: %(tokens)s tokens.",
            "The API cleared the thinking of %(count)s old answers: %(tokens)s tokens.",
            count,
        )
        return words % {"count": count, **tokens}
    return _("The API cleared %(tokens)s tokens.") % tokens
