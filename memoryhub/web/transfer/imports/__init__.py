"""The imports of a memory store: the list, a new one, and one with its preview, progress and result."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import folders
from memoryhub.models import Import, ImportItem, ImportState, Memory, MemoryStore, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import context, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.texts import masking
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.uploads import was_too_large
from memoryhub.web.transfer.imports import rows as import_rows, rules as import_rules
from memoryhub.web.transfer.imports.forms import STORE, UPLOAD, StoreSourceForm, UploadForm

SIZE = 50
AT_ONCE = 1.0
"""Seconds that a preview may take while the browser waits. The background work does the rest."""


@require_safe
@in_store(Role.CURATOR)
def listing(request: Request, store: MemoryStore) -> HttpResponse:
    """List the newest imports. If the URL has the id of an import in `before`, list only older ones."""
    before = request.GET.get("before", "").replace("\0", "")
    found = Import.objects.filter(store=store).select_related("created_by").order_by("-pk")
    found = import_rows.with_memories(found)
    shown = list((found.filter(pk__lt=before) if before else found)[: SIZE + 1])
    return render(
        request,
        "transfer/imports/list.html",
        context(
            request,
            store,
            imports=[
                (job, import_rows.SOURCES.get(job.source, job.source), import_rows.TONES.get(job.state, ""))
                for job in shown[:SIZE]
            ],
            before=before,
            older=shown[SIZE - 1].pk if len(shown) > SIZE else "",
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def new(request: Request, store: MemoryStore) -> HttpResponse:
    """Ask for a source and read it immediately. It is either rejected as a whole, or stored for a preview."""
    may_fetch = person(request).is_superuser
    posted = request.POST.get("source", UPLOAD) if request.method == "POST" else ""
    sent = (request.POST, request.FILES) if posted == UPLOAD else ()
    upload = UploadForm(store, *sent, too_large=was_too_large(request))
    other = StoreSourceForm(store, request.POST if posted == STORE else None, prefix="other") if may_fetch else None
    form = other if posted == STORE and other is not None else upload if posted == UPLOAD else None
    if form is not None and form.is_valid():
        try:
            job = importing.prepare(store.pk, form.read(), form.cleaned_data["place"], act(request))
        except Refused as refused:
            form.add_error("brought" if form is upload else None, _("Nothing was imported. %s") % refused)
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            importing.go_on(job.pk, AT_ONCE)
            return see_other("import_", store.pk, job.pk)
    shown = STORE if posted == STORE or request.GET.get("from") == STORE else UPLOAD
    return render(
        request,
        "transfer/imports/new.html",
        context(
            request,
            store,
            upload=upload,
            other=other,
            form=other if shown == STORE and other else upload,
            shown=shown if other else UPLOAD,
            bounds=importing.bounds(),
            most=f"{importing.bounds().entries:,}",
            has_others=Import.objects.filter(store=store).exists(),
        ),
    )


@require_safe
@in_store(Role.CURATOR)
def page(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    """Show an import; htmx polls its state as a fragment while the hub works on it."""
    job = of_store(store, import_id)
    summary = import_rows.summary(job)
    shown: dict[str, Any] = {"job": job, "summary": summary}
    if request.htmx and request.GET.get("part") == "state":
        answer = render(request, "transfer/imports/_state.html", context(request, store, **shown))
        if not summary.is_at_work:
            answer.headers["HX-Refresh"] = "true"
        return answer
    after, only = request.GET.get("after", ""), request.GET.get("show", "")
    only = only if only in {group.name for group in summary.groups} else ""
    if summary.is_preview and summary.conflicts and "show" not in request.GET:
        only = "conflict"
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 9 else -1
    is_read = job.state not in (ImportState.ARRIVING, ImportState.READING)
    rows = import_rows.page(job, only, start) if is_read else None
    rules = import_rules.rules_of(job, store, person(request)) if summary.is_preview else None
    shown["folder"] = folders.folder_of(job)
    shown |= {"rows": rows, "chosen": only, "after": start, "undone": import_rows.undone(job), "rules": rules}
    return render(request, "transfer/imports/page.html", context(request, store, **shown))


@require_safe
@in_store(Role.CURATOR)
def item(request: Request, store: MemoryStore, import_id: str, number: int) -> HttpResponse:
    """Show the difference between the text in the store and the imported text. htmx gets only the comparison."""
    job = of_store(store, import_id)
    found = ImportItem.objects.filter(job=job, number=number).first()
    if found is None or found.content is None:
        raise Http404
    shown = {"job": job, "item": found, "diff": _difference(store, found)}
    if shown["diff"] is not None:
        memories = Memory.objects.filter(store=store).at(found.path)
        shows(request, store, memories.values_list("pk", "head_id"))
    name = "transfer/imports/_difference.html" if request.htmx else "transfer/imports/item.html"
    return render(request, name, context(request, store, **shown))


def _difference(store: MemoryStore, found: ImportItem) -> Any:
    """Return the diff from the current text at the item's path to the imported text, or None if there is no current
    text."""
    memory = Memory.objects.filter(store=store).at(found.path).select_related("text").first()
    if memory is None or memory.text is None:
        return None
    cover = masking.cover_of(store.pk, memory.pk)
    before, after = (masking.masked(text, cover) for text in (memory.text.content, found.content or ""))
    return masking.compared(before, after, cover)


def of_store(store: MemoryStore, import_id: str) -> Import:
    job = Import.objects.filter(store=store, pk=import_id).select_related("created_by").first()
    if job is None:
        raise Http404
    return job
