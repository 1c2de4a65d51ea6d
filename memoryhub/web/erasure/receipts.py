"""Receipts of erasures: the list, each receipt and its download, and verifying a pasted receipt."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.core.audit import documents
from memoryhub.actions.core.audit.documents import Verdict
from memoryhub.actions.transfer.exporting.entries import export_table
from memoryhub.models import MemoryStore, Receipt, Role
from memoryhub.web.common.guards.access import act, in_store, person, signed_in
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import attachment
from memoryhub.web.erasure import recorded
from memoryhub.web.erasure.preview import TITLES, Words

PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def receipts(request: Request, store: MemoryStore) -> HttpResponse:
    """List the store's receipts, newest first; on POST, verify the document in the form field `receipt`."""
    before = request.GET.get("before", "")
    found = Receipt.objects.filter(store=store.id).order_by("-pk")
    rows = list((found.filter(pk__lt=before) if before else found)[: PAGE + 1])
    return render(
        request,
        "erasure/receipts.html",
        context(
            request,
            store,
            listed=recorded.listed(rows[:PAGE], {store.id: store}),
            older=rows[PAGE - 1].pk if len(rows) > PAGE else None,
            before=before,
            **_checked(request),
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def every_receipt(request: Request) -> HttpResponse:
    """List the receipts of the stores that the person administers, newest first. On POST, verify a pasted document."""
    stores = MemoryStore.objects.administered_by(person(request))
    if not stores.exists():
        raise PermissionDenied
    before = request.GET.get("before", "")
    found = Receipt.objects.filter(store__in=stores.values("pk")).order_by("-pk")
    rows = list((found.filter(pk__lt=before) if before else found)[: PAGE + 1])
    named = stores.in_bulk({one.store for one in rows})
    older = rows[PAGE - 1].pk if len(rows) > PAGE else None
    shown = {"listed": recorded.listed(rows[:PAGE], named), "older": older, "before": before}
    return render(request, "erasure/every_receipt.html", shown | _checked(request))


def _checked(request: Request) -> dict[str, object]:
    """Return the verdict on a posted document, and the text to show again in the field."""
    typed = request.POST.get("receipt", "")
    return {"checked": _check(typed) if request.method == "POST" else None, "typed": typed}


def _check(text: str) -> tuple[str, str]:
    """Verify a pasted document. Return “right”, “wrong” or “malformed”, and a sentence for the person."""
    try:
        verdict = documents.check(text.strip())
    except documents.Malformed:
        return "malformed", _(
            "This is no receipt and no certificate. Paste the whole document, from the first { to the last }."
        )
    if verdict in (Verdict.UNCONFIRMED, Verdict.LOST):
        return "wrong", _(
            "The document is signed with an older audit key, and the hub has nothing that confirms it. Anyone who "
            "has that key could have written the document."
        )
    if verdict is Verdict.RIGHT:
        return "right", _("The document is valid: this hub wrote it, and no one has changed it.")
    return "wrong", _("The document is not valid: this hub did not write it, or someone changed it.")


@require_safe
@in_store(Role.ADMIN)
def receipt(request: Request, store: MemoryStore, receipt_id: str) -> HttpResponse:
    found = _receipt_of(store, receipt_id)
    places = found.content.get("places", {}) if isinstance(found.content, dict) else {}
    return render(
        request,
        "erasure/receipt.html",
        context(
            request,
            store,
            receipt=found,
            listed=recorded.listed([found], {store.id: store})[0],
            document=_document(found),
            places=_places(places),
            is_right=documents.is_signed(found.content, found.signature),
        ),
    )


def _places(counts: object) -> list[tuple[Words, int]]:
    """Return (title, number of places) for each kind in the receipt, in the order of TITLES."""
    if not isinstance(counts, dict):
        return []
    names = {kind: title for kind, (title, _becomes) in TITLES.items()} | {"text": _("Texts of memories and versions")}
    return [(title, counts[kind]) for kind, title in names.items() if kind in counts]


@require_POST
@in_store(Role.ADMIN)
def download_receipt(request: Request, store: MemoryStore, receipt_id: str) -> HttpResponse:
    found = _receipt_of(store, receipt_id)
    export_table(store.id, "receipt", "json", act(request), receipt=found.pk)
    return attachment([_document(found).encode()], "erasure-receipt.json", "application/json")


def _document(receipt: Receipt) -> str:
    return documents.document(documents.RECEIPT, receipt.content, receipt.signature)


def _receipt_of(store: MemoryStore, receipt_id: str) -> Receipt:
    found = Receipt.objects.filter(store=store.id, pk=receipt_id).first()
    if found is None:
        raise Http404
    return found
