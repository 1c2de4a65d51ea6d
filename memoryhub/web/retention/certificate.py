"""The certificate of retention: what is kept, for how long, and what is overdue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods

from memoryhub.actions.retention import certificate, policies
from memoryhub.models import MemoryStore, RetentionPolicy, Role
from memoryhub.pure.retention_rules import DEFAULT_GRACE_DAYS
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import attachment
from memoryhub.web.retention import sentences


@dataclass(frozen=True, slots=True)
class Row:
    """A policy in words, and how many memories it applies to.

    `unread_since`, `unchanged_since` and `begun` are each the earliest such moment of any of these memories, or None if
    the policy applies to no memory.
    """

    name: str
    pattern: str
    sentences: Sequence[str]
    paused: bool
    memories: int
    unread_since: datetime | None
    unchanged_since: datetime | None
    begun: datetime | None  # when the memory was created or restored
    overdue: int  # a number of items


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the certificate as it would be now; on POST, sign and send it."""
    if request.method == "POST":
        text = certificate.certify(store.pk, act(request))
        return attachment([text.encode()], "retention-certificate.json", "application/json")
    at = timezone.now()
    state = certificate.state(store.pk, at)
    saved = {policy.pk: policy for policy in RetentionPolicy.objects.concerning(store.pk)}
    shown: dict[str, Any] = {
        "at": at,
        "state": state,
        "is_paused": any(told["paused"] for told in state["policies"]),
        "rows": [_row(told, saved[told["id"]]) for told in state["policies"] if told["id"] in saved],
        "rest": {name: _moment(told) for name, told in state["rest"].items()},
        "people": [(one["name"], Role(one["role"]).label) for one in state["processing"]["people"]],
        "grace": DEFAULT_GRACE_DAYS,
        "host": request.get_host(),
    }
    return render(request, "retention/certificate.html", pages.context(request, store, **shown))


def _row(told: dict[str, Any], policy: RetentionPolicy) -> Row:
    oldest = told.get("oldest", {})
    names = ("unread_since", "unchanged_since", "begun")
    unread, unchanged, begun = (parse_datetime(oldest[name]) if name in oldest else None for name in names)
    words = sentences.sentences(policies.rules_of(policy))
    pattern = sentences.pattern_words(policy.pattern)
    overdue = sum(told["overdue"].values())
    return Row(policy.name, pattern, words, policy.paused, told.get("memories", 0), unread, unchanged, begun, overdue)


def _moment(told: dict[str, Any]) -> tuple[int, datetime | None]:
    return told["count"], parse_datetime(told["oldest"]) if told["oldest"] else None
