"""The last verification of all entries, and the button that starts another verification."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memoryhub.actions.verification import runs
from memoryhub.models import User
from memoryhub.web.audit.sentences import told_of
from memoryhub.web.common.guards.access import act, person, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import see_other
from memoryhub.web.common.server_command import line_of


@dataclass(frozen=True, slots=True)
class VerificationRun:
    """A recorded verification of all chains, and how many entries were right."""

    at: datetime
    is_right: bool
    has_all_checkpoints: bool
    url: str  # of the run's entry; empty if the person may not see the hub's chain
    entries: int

    @classmethod
    def last(cls, user: User) -> "VerificationRun | None":
        """Return the last recorded run, or None."""
        entry = runs.last()
        if entry is None:
            return None
        details = told_of(entry.input)
        is_complete, entries = bool(details.get("checkpoints_complete")), details.get("entries")
        url = reverse("entry", args=[entry.chain, entry.seq]) if user.is_superuser else ""
        return cls(entry.at, entry.ok, is_complete, url, entries if isinstance(entries, int) else 0)


def context_for(user: User) -> dict[str, Any]:
    """Return, as template context, the last verification and the requested verification that has not ended yet."""
    return {
        "run": VerificationRun.last(user),
        "asked": runs.asked(timezone.now()),
        "verify_command": line_of("verify_audit") if user.is_superuser else "",
    }


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def verify_now(request: Request) -> HttpResponse:
    """Request a verification of all entries in the background. htmx polls this address for the result."""
    if request.method == "POST":
        runs.ask(act(request))
        if not request.htmx:
            return see_other(request, "audit")
    return render(request, "audit/_verified.html", context_for(person(request)))
