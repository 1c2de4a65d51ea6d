"""Acts on an import: choosing what happens to its memories, starting the import, and cancelling it."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import folders
from memoryhub.actions.transfer.importing.preview import BESIDE, SKIP, TAKE
from memoryhub.models import Import, MemoryStore, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.transfer.imports import AT_ONCE, of_store
from memoryhub.web.transfer.imports.rows import SIZE

ALL = "all"
_PREFIX = "choice-"


@require_POST
@in_store(Role.CURATOR)
def choose(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    """Save the choices for the memories on a page, or one choice for all memories whose text differs from the
    store's."""
    job = of_store(store, import_id)
    try:
        for_all = request.POST.get(ALL, "")
        if for_all in (TAKE, SKIP, BESIDE):
            count = importing.choose(job.pk, for_all)
            said = ngettext("Choice set for %(count)s memory.", "Choice set for %(count)s memories.", count)
            messages.success(request, said % {"count": count})
        else:
            _keep(request, job)
            if not request.htmx:
                messages.success(request, _("The choices are saved."))
    except importing.NotOpen:
        return _over(request, job)
    if request.htmx:
        return HttpResponse(status=204)
    return HttpResponseRedirect(_back(request, job), status=303)


@require_POST
@in_store(Role.CURATOR)
def leave_folder_out(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    """Remove the common folder of all files (form field `folder`) from their paths, and make the preview again."""
    job = of_store(store, import_id)
    folder = request.POST.get("folder", "")
    try:
        folders.leave_out(job.pk, folder)
    except importing.NotOpen:
        return _over(request, job)
    importing.go_on(job.pk, AT_ONCE)
    messages.success(request, _("The folder “%(name)s” is left out of the paths.") % {"name": isolated(folder)})
    return see_other("import_", store.pk, job.pk)


@require_POST
@in_store(Role.CURATOR)
def start(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    """Save the choices on the page, and start the import in the background."""
    job = of_store(store, import_id)
    try:
        _keep(request, job)
        importing.start(job.pk, act(request))
    except importing.NotOpen:
        return _over(request, job)
    except ToolError as error:
        messages.error(request, for_people(error))
    return see_other("import_", store.pk, job.pk)


@require_POST
@in_store(Role.CURATOR)
def cancel(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    """Cancel the import. Memories that were already imported stay."""
    job = of_store(store, import_id)
    try:
        importing.cancel(job.pk, act(request))
    except importing.NotOpen:
        return _over(request, job)
    messages.success(request, _("The import was cancelled."))
    return see_other("import_", store.pk, job.pk)


def _keep(request: Request, job: Import) -> None:
    """Save the choices of the radio buttons, at most one page of them."""
    chosen: dict[str, list[int]] = {}
    for name, value in [(name, str(value)) for name, value in request.POST.items()][: SIZE + 10]:
        number = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and number.isascii() and number.isdigit() and len(number) < 9:
            chosen.setdefault(value, []).append(int(number))
    for choice in (TAKE, SKIP, BESIDE):
        if choice in chosen:
            importing.choose(job.pk, choice, chosen[choice], governs=request.role.includes(Role.ADMIN))


def _over(request: Request, job: Import) -> HttpResponse:
    messages.info(request, _("Nothing was saved, because this import is no longer a preview."))
    return see_other("import_", job.store_id, job.pk)


def _back(request: Request, job: Import) -> str:
    """Return the URL of the page of the preview from which the form was sent."""
    given = request.POST.get("next", "")
    here = reverse("import_", args=[job.store_id, job.pk])
    is_ours = url_has_allowed_host_and_scheme(given, {request.get_host()}, request.is_secure())
    return given if is_ours and given.partition("?")[0] == here else here
