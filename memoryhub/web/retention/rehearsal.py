"""The rehearsal of a store's policies: what a run would remove now or in some weeks, and its download."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actions.retention import policies, rehearsal
from memoryhub.actions.retention.rehearsal import Item
from memoryhub.actions.transfer.exporting.entries import export_table
from memoryhub.models import Memory, MemoryStore, RetentionPolicy, Role
from memoryhub.pure.chain import moment
from memoryhub.pure.retention_rules import Policy
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import FORMATS, download
from memoryhub.web.retention import rows
from memoryhub.web.retention.forms import PolicyForm, drafted
from memoryhub.web.retention.outlook import AT_ONCE, MOST, outlook, pictures, soon

AHEAD = (0, 7, 30, 90)
"""The choices for the date of a rehearsal, in days from now."""

_COLUMNS = (
    "what", "path", "memory", "why", "policy", "rule", "days", "since", "due_at", "versions", "bytes", "last_read_at",
    "last_read_by",
)  # fmt: skip
_PART = 500


@require_safe
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show what a run would remove now, or in as many days as `days` in the URL says."""
    days = _days(request.GET.get("days", ""))
    now = timezone.now()
    at, weeks = now + timedelta(days=days), not days and store.memory_count <= AT_ONCE
    found = outlook(store.pk, at, None, against_saved=False, weeks=weeks, since=now if days else None)
    expired = Memory.objects.in_trash().filter(store=store, expired_by__isnull=False)
    words = (_("Now"), _("In a week"), _("In 30 days"), _("In 90 days"))
    return render(
        request,
        "retention/rehearsal.html",
        pages.context(
            request,
            store,
            outlook=found,
            days=days,
            most=MOST,
            weeks_url="" if days else weeks_url(store),
            choices=[(label, ahead, ahead == days) for label, ahead in zip(words, AHEAD, strict=True)],
            may_remove=RetentionPolicy.objects.concerning(store.pk).exists() or expired.exists(),
        ),
    )


@require_safe
@in_store(Role.ADMIN)
def weeks(request: Request, store: MemoryStore) -> HttpResponse:
    """Show only the charts, for the saved policies or for a draft in the query. htmx gets a fragment."""
    draft = drafted(request.GET.dict())
    form = PolicyForm(store, draft)
    tried = tried_with(store, form, request.GET.get("policy", "")) if draft and form.is_valid() else None
    now = timezone.now()
    shown = pictures(store.pk, now, tried, against_saved=tried is not None)
    first = soon(store.pk, now, tried, tried[-1].id if tried else None)
    name = "retention/weeks/_weeks.html" if request.htmx else "retention/weeks/page.html"
    return render(request, name, pages.context(request, store, pictures=shown, soon=first))


def weeks_url(store: MemoryStore, draft: str = "") -> str:
    """Return the URL from which the page loads the charts later, or "" if the page itself contains the charts."""
    url = reverse("rehearsal_weeks", args=[store.pk])
    return f"{url}?{draft}" if store.memory_count > AT_ONCE else ""


@require_POST
@in_store(Role.ADMIN)
def export(request: Request, store: MemoryStore) -> HttpResponse:
    """Download all items of a rehearsal. The download is audited first.

    If the form has a draft of a policy, the rehearsal uses the draft in place of a saved policy. The form field
    `policy` is the id of this saved policy; without an id, the draft is added to the saved policies.
    """
    form = request.POST.get("format") if request.POST.get("format") in FORMATS else "csv"
    days, draft = _days(request.POST.get("days", "")), drafted(request.POST.dict())
    tried: Sequence[Policy] | None = None
    details: dict[str, Any] = {"days": days} if days else {}
    if draft:
        given = PolicyForm(store, draft)
        if not given.is_valid():
            return HttpResponseBadRequest(
                _("The policy has mistakes. Correct them first."), content_type="text/plain; charset=utf-8"
            )
        tried = tried_with(store, given, request.POST.get("policy", ""))
        details["draft"] = given.cleaned_data
    now = timezone.now()
    export_table(store.pk, "rehearsal", str(form), act(request), **details)
    found = _records(store.pk, now + timedelta(days=days), tried, now if days else None)
    return download("rehearsal", str(form), _COLUMNS, found)


def tried_with(store: MemoryStore, form: PolicyForm, policy_id: str) -> list[Policy]:
    """Return the policies as they would be after saving a valid form. The form's policy replaces the policy with the id
    `policy_id`; without an id, it is added."""
    draft = form.settings().as_policy(store.pk, policy_id)
    return policies.instead_of(policies.concerning(store.pk), draft)


def _records(
    store_id: str, at: datetime, tried: Sequence[Policy] | None, since: datetime | None
) -> Iterator[dict[str, Any]]:
    found: Iterable[Item] = rehearsal.rehearse(store_id, at, policies=tried)
    if since is not None:
        found = rehearsal.by_then(found, rehearsal.Rules.of(store_id, at, tried), since)
    for part in rows.parts(found, _PART):
        items = rehearsal.with_readers(store_id, part)
        names = rows.names_of({item.policy for item in items})
        for item in items:
            yield {
                "what": str(item.removal),
                "path": item.path,
                "memory": item.memory,
                "why": rows.why(item, at),
                "policy": names.get(item.policy, ""),
                "rule": item.rule,
                "days": item.days,
                "since": _moment(item.since),
                "due_at": _moment(item.due_at),
                "versions": item.count,
                "bytes": item.bytes,
                "last_read_at": _moment(item.last_read_at),
                "last_read_by": item.last_read_by,
            }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else moment(value)


def _days(value: str) -> int:
    return int(value) if value in map(str, AHEAD) else 0
