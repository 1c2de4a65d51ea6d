"""The page that exports everything under a legal hold, for the custodian who must keep it."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memoryhub.actions.transfer.exporting import held
from memoryhub.models import Hold, MemoryStore, Role
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import attachment
from memoryhub.web.retention.holds import row_of


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore, hold_id: str) -> HttpResponse:
    """Show what would be exported; on POST, audit the export and send it.

    With `together` in the form, everything under all legal holds with the same case number is exported.
    """
    hold = Hold.objects.of_store(store.pk).legal().filter(pk=hold_id).select_related("owner").first()
    if hold is None:
        raise Http404
    if request.method == "POST":
        try:
            made = held.begin(store.pk, hold.pk, lambda: act(request), whole_case="together" in request.POST)
        except held.NothingHeld:
            pass
        else:
            return attachment(made.body(), "on-legal-hold.zip", "application/zip")
    case = held.holds_with(store.pk, hold.pk, timezone.now(), whole_case=True)
    shown = {
        "row": row_of(request, store, hold),
        "hold": hold,
        "is_over": not case,
        "count": held.count(store.pk, [hold]),
        "together": len(case),
        "of_case": held.count(store.pk, case) if len(case) > 1 else 0,
    }
    return render(request, "retention/held_export.html", pages.context(request, store, **shown))
