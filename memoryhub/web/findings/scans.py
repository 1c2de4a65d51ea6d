"""Scans of a store's history for sensitive text: starting, watching and cancelling them."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.findings import scans as actions
from memoryhub.models import MemoryStore, Role, Scan, ScanState
from memoryhub.pure.sensitive import KINDS, Group
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import context, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.texts.kinds import GROUPS, KIND_WORDS

PAGE = 20


@dataclass(frozen=True, slots=True)
class Shown:
    """A scan on its page. `share` is its progress from 0 to 100, or None if its versions are not counted yet."""

    scan: Scan
    share: int | None
    total: int
    elapsed: str

    @classmethod
    def of(cls, scan: Scan) -> "Shown":
        total = max(scan.total, scan.checked)
        share = 100 if scan.state == ScanState.DONE else scan.checked * 100 // total if total else None
        return cls(scan, share, total, in_words((scan.ended_at or timezone.now()) - scan.started_at))

    @property
    def kinds(self) -> list[str]:
        return [str(KIND_WORDS[kind].label) for kind in self.scan.kinds if kind in KIND_WORDS]

    @property
    def is_running(self) -> bool:
        return self.scan.state == ScanState.RUNNING


def in_words(span: timedelta) -> str:
    """Return a duration in words, such as 8 s, 3 min 20 s, or 2 h 5 min."""
    seconds = max(0, int(span.total_seconds()))
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": seconds % 60}
    return _("%(seconds)s s") % {"seconds": seconds}


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def scans(request: Request, store: MemoryStore) -> HttpResponse:
    """List the scans, and the kinds that a new scan would detect. On POST, start a scan."""
    if request.method == "POST":
        return _started(request, store)
    found = list(actions.of_store(store.id).select_related("started_by").order_by("-id")[:PAGE])
    running = next((scan for scan in found if scan.state == ScanState.RUNNING), None)
    watched = actions.watched(store)
    return render(
        request,
        "findings/scans.html",
        context(
            request,
            store,
            shown=[Shown.of(scan) for scan in found],
            running=running,
            groups=_groups(watched),
            most=PAGE,
        ),
    )


def _groups(watched: list[str]) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Return (group, [(kind, label, whether the store's rules detect the kind)])."""
    return [
        (
            str(GROUPS[group][0]),
            [
                (name, str(KIND_WORDS[name].label), name in watched)
                for name, kind in KINDS.items()
                if kind.group == group and name in KIND_WORDS
            ],
        )
        for group in Group
    ]


def _started(request: Request, store: MemoryStore) -> HttpResponse:
    kinds = [kind for kind in request.POST.getlist("kind") if kind in KINDS]
    if not kinds:
        messages.error(request, _("Choose at least one kind to look for."))
        return see_other("scans", store.id)
    try:
        scan = actions.start(store.id, kinds, act(request), by=person(request))
    except actions.ScanRuns as running:
        messages.info(request, _("A scan of this memory store is already running. This page shows that scan."))
        scan = running.scan
    return see_other("scan", store.id, scan.pk)


@require_safe
@in_store(Role.ADMIN)
def scan(request: Request, store: MemoryStore, scan_id: str) -> HttpResponse:
    """Show one scan. While the scan runs, htmx polls the part of the page that changes."""
    shown = Shown.of(_scan_of(store, scan_id))
    is_part = bool(getattr(request, "htmx", False)) and not request.htmx.history_restore_request
    template = "findings/_scan.html" if is_part else "findings/scan.html"
    return render(request, template, context(request, store, shown=shown))


@require_POST
@in_store(Role.ADMIN)
def cancel_scan(request: Request, store: MemoryStore, scan_id: str) -> HttpResponse:
    """Cancel a scan; its findings stay."""
    found = _scan_of(store, scan_id)
    if not actions.cancel(found.pk, act(request)):
        messages.info(request, _("The scan had already ended."))
    return see_other("scan", store.id, found.pk)


def _scan_of(store: MemoryStore, scan_id: str) -> Scan:
    found = actions.of_store(store.id).filter(pk=scan_id).select_related("started_by").first()
    if found is None:
        raise Http404
    return found
