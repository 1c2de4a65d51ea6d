"""Copying a memory store within the hub: an export, and an import into a new store, in one act."""

import tempfile
from contextlib import suppress
from dataclasses import replace

from django import forms
from django.contrib import messages
from django.db import Error
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.actions.transfer import exporting, importing
from memoryhub.actions.transfer.exporting import NotDone, Wanted
from memoryhub.actions.transfer.importing import Brought, sources
from memoryhub.models import Import, ImportState, MemoryStore, Role
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.web.common.guards.access import act, by, in_store, person, superuser_only
from memoryhub.web.common.pages import context, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import fresh_form, spend_form

AT_ONCE = 8.0
"""Seconds that the preview may take while the browser waits. If it takes longer, the person starts the import later."""


class CopyForm(forms.Form):
    """The name of the copy, and whether the history is copied too."""

    name = forms.CharField(label=gettext_lazy("Name of the copy"), max_length=255)
    history = forms.BooleanField(
        label=gettext_lazy("With history"), required=False, initial=True,
        help_text=gettext_lazy("Every version with its time and author, and the memories in the trash."),
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
@superuser_only
def copy_store(request: Request, store: MemoryStore) -> HttpResponse:
    """Ask for a name. On POST, copy the memories of a store into a new store."""
    initial = {"name": _("Copy of %(name)s") % {"name": store.name[:200]}}
    form = CopyForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        if not spend_form(request):
            return see_other("stores")
        try:
            brought = _read(request, store, history=form.cleaned_data["history"])
            return _copied(request, store, brought, form.cleaned_data["name"])
        except (NotDone, Refused) as refused:
            form.add_error(
                None, _("This memory store cannot be copied. %s") % (refused if isinstance(refused, Refused) else "")
            )
    return render(request, "transfer/copy.html", context(request, store, form=form, form_once=fresh_form()))


def _read(request: Request, store: MemoryStore, *, history: bool) -> Brought:
    """Export the memories into a temporary file and read that file. The export has its own audit entry."""
    export = exporting.begin(store.pk, Wanted("jsonl", history=history), act(request))
    with tempfile.TemporaryFile() as file:
        file.writelines(export.body())
        file.flush()
        brought = sources.of_file(file, "copy.jsonl")._replace(name=store.name, copied_from=store.pk)
    if not brought.read.bundle.memories:
        raise Refused(_("There is no memory in it."))
    return brought


def _copied(request: Request, store: MemoryStore, brought: Brought, name: str) -> HttpResponse:
    """Create the copy, and start the import of the exported memories."""
    made = stores.create_store(replace(StoreSettings.of(store), name=name), admin=person(request), **by(request))
    try:
        job = importing.prepare(made.pk, brought, "", act(request))
    except Exception:
        with suppress(Error, DiskFull, NoSuchStore):  # with a database that does not answer, the store stays
            delete.delete_store(made.pk, act=act(request, _("The memory store could not be copied.")))
        raise
    importing.go_on(job.pk, AT_ONCE)
    if Import.objects.get(pk=job.pk).state == ImportState.PREVIEW:
        importing.start(job.pk, act(request))
        messages.success(request, _("The memory store is being copied. Members, keys and rules are not copied."))
    else:
        messages.info(request, _("The memories are being read. Start the import when the preview is there."))
    return see_other("import_", made.pk, job.pk)
