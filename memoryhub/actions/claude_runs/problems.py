"""The sentences that explain to people and programs why a Claude run ended."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

PROBLEMS: Mapping[str, str | Promise] = {
    "no_key": gettext_lazy(
        "The hub has no key for Claude’s API. An administrator of the hub has to set ANTHROPIC_API_KEY."
    ),
    "not_allowed": gettext_lazy("The person who started the run may no longer run Claude in this memory store."),
    "wrong_key": gettext_lazy(
        "Claude’s API does not accept the hub’s key. An administrator of the hub has to check ANTHROPIC_API_KEY."
    ),
    "forbidden": gettext_lazy("The hub’s key may not do this at Claude’s API."),
    "no_model": gettext_lazy("Claude’s API does not know this model, or the hub’s key may not use it."),
    "bad_request": gettext_lazy("Claude’s API refused the request."),
    "too_large": gettext_lazy("The conversation is too large for Claude’s API."),
    "rate_limited": gettext_lazy(
        "Claude’s API answered several times that the hub’s key sends too much at the moment."
    ),
    "overloaded": gettext_lazy("Claude’s API is overloaded: it said so several times."),
    "api_error": gettext_lazy("Claude’s API failed several times."),
    "unreachable": gettext_lazy(
        "Claude’s API could not be reached. An administrator of the hub has to check the network."
    ),
    "timed_out": gettext_lazy("Claude’s API did not answer in time."),
    "broke_off": gettext_lazy("The connection to Claude’s API broke off in the middle of an answer."),
    "unreadable": gettext_lazy("Claude’s answer could not be read: a part of it is not JSON."),
    "over_run_budget": gettext_lazy("With the next answer, the run could have used more tokens than it may use."),
    "over_day_budget": gettext_lazy(
        "With the next answer, the runs of this hub could have used more tokens than they may use together in a "
        "day (UTC)."
    ),
    "declined": gettext_lazy("Claude declined to go on."),
    "answer_full": gettext_lazy(
        "The answer reached the limit of tokens for one answer. Ask Claude to go on, with another message."
    ),
    "context_full": gettext_lazy("The conversation fills the context of the model. Clear or summarize more of it."),
    "key_revoked": gettext_lazy("The key of the run was revoked. A new run gets a new key."),
    "audit_full": gettext_lazy("The audit of this memory store has reached its limit, so no call can run."),
    "erased": gettext_lazy("A text was erased from this memory store, and the run might still have known the text."),
    "not_proposed": gettext_lazy(
        "The changes that the run made in the copy could not become a proposal. The page of the run says why."
    ),
    "disk_full": gettext_lazy("The disk of the hub is full, so no copy and no proposal can be stored."),
    "no_copy": gettext_lazy("Too many runs work on copies of this memory store."),
    "archived": gettext_lazy(
        "The memory store was archived while Claude worked, so Claude’s changes were not proposed."
    ),
    "no_room": gettext_lazy(
        "The memory store is archived or has reached a limit, so nothing could be written in a copy of it."
    ),
    "hub_error": gettext_lazy("An error of the hub itself. The log of the hub has the details."),
}


def problem_words(code: str) -> str:
    """Return the sentence that explains a problem; "" for no problem."""
    return str(PROBLEMS.get(code, PROBLEMS["hub_error"])) if code else ""
