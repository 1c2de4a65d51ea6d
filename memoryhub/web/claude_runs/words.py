"""The states and problems of Claude runs, and the edits of a context, in words."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from memoryhub.conversation.options import CLEAR_THINKING, CLEAR_TOOL_USES
from memoryhub.models import ClaudeRun, ClaudeRunState
from memoryhub.web.common.pictures import number

TONES: Mapping[str, str] = {
    ClaudeRunState.WAITING: "neutral", ClaudeRunState.RUNNING: "modified", ClaudeRunState.FINISHED: "ok",
    ClaudeRunState.STOPPED: "neutral", ClaudeRunState.INTERRUPTED: "warning", ClaudeRunState.FAILED: "error",
    ClaudeRunState.OVER_BUDGET: "warning",
}  # fmt: skip

PROBLEMS: Mapping[str, str | Promise] = {
    "no_key": gettext_lazy("The hub has no key for Claude’s API. Its administrator sets ANTHROPIC_API_KEY."),
    "not_allowed": gettext_lazy("The person who started it may no longer run Claude in this memory store."),
    "wrong_key": gettext_lazy(
        "Claude’s API does not accept the hub’s key. Its administrator checks ANTHROPIC_API_KEY."
    ),
    "forbidden": gettext_lazy("The hub’s key may not do this at Claude’s API."),
    "no_model": gettext_lazy("Claude’s API does not know this model, or the hub’s key may not use it."),
    "bad_request": gettext_lazy("Claude’s API refused the request."),
    "too_large": gettext_lazy("The conversation is too large for Claude’s API."),
    "rate_limited": gettext_lazy("Claude’s API answered several times that the hub’s key sends too much for now."),
    "overloaded": gettext_lazy("Claude’s API is overloaded: it said so several times."),
    "api_error": gettext_lazy("Claude’s API failed several times."),
    "unreachable": gettext_lazy("Claude’s API could not be reached. The hub’s administrator checks the network."),
    "timed_out": gettext_lazy("Claude’s API did not answer in time."),
    "broke_off": gettext_lazy("The connection to Claude’s API broke off in the middle of an answer."),
    "unreadable": gettext_lazy("Claude’s answer could not be read: a part of it is no JSON."),
    "over_run_budget": gettext_lazy("The next answer could have passed the tokens that a run may use."),
    "over_day_budget": gettext_lazy(
        "The next answer could have passed the tokens that all runs of this hub may use in a day (UTC)."
    ),
    "declined": gettext_lazy("Claude declined to go on."),
    "answer_full": gettext_lazy(
        "The answer reached the most tokens of one answer. Ask Claude to go on, with another message."
    ),
    "context_full": gettext_lazy("The conversation fills the context of the model. Clear or summarize more of it."),
    "key_revoked": gettext_lazy("The key of the run was revoked. A new run gets a new one."),
    "audit_full": gettext_lazy("The audit of this memory store has reached its limit, so no call can run."),
    "erased": gettext_lazy("A text was erased from this memory store, which the run might still have known."),
    "disk_full": gettext_lazy("The disk of the hub is full: neither a copy nor a proposal can be stored."),
    "hub_error": gettext_lazy("An error of the hub itself; its log has the details."),
}


def problem_words(code: str) -> str:
    return str(PROBLEMS.get(code, PROBLEMS["hub_error"])) if code else ""


def state_words(run: ClaudeRun) -> str:
    """Return the state of a run as a badge shows it."""
    return _("Stopping") if run.is_going_on and run.stop_asked else str(ClaudeRunState(run.state).label)


def interrupted_words(run: ClaudeRun) -> str:
    """Return what a page says below the state: why the run ended."""
    if run.state == ClaudeRunState.INTERRUPTED:
        return _("The hub was stopped while it ran. No call of the memory tool was lost: continue it where it was.")
    return problem_words(run.problem)


def edit_words(edit: Mapping[str, Any]) -> str:
    """Return what an edit removed from the context."""
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
