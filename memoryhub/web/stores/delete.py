"""Deleting a memory store for good: what goes and what stays, the name typed, done."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.stores import delete as deleting
from memoryhub.models import Hold, KeyStore, Member, Memory, MemoryStore, MemoryVersion, Role
from memoryhub.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.access import act, in_store, person
from memoryhub.web.common.forms import NameTypedForm, NoteForm
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people

MOST_COUNTED = 10_000
MOST_HOLDS = 10


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are, as far as they are counted."""

    number: int
    is_more: bool = False

    @classmethod
    def of(cls, rows: "QuerySet[Any]") -> "Count":
        """Rows of a large table are not counted past MOST_COUNTED."""
        found = rows[: MOST_COUNTED + 1].count()
        return cls(min(found, MOST_COUNTED), found > MOST_COUNTED)


class DeleteStoreForm(NoteForm, NameTypedForm):
    """The name of the store, and why it is deleted."""


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def delete(request: Request, store: MemoryStore) -> HttpResponse:
    """What goes with a store and, once its name was typed, its end; for superusers, and not under a legal hold."""
    if not person(request).is_superuser:
        raise PermissionDenied
    form = DeleteStoreForm(store, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            seq = deleting.delete_store(store.id, act=act(request, form.cleaned_data["note"]))
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            messages.success(request, _said(store, seq))
            return see_other("stores")
    return render(request, "stores/delete.html", pages.context(request, store, form=form, **_facts(store)))


def _said(store: MemoryStore, seq: int) -> str:
    said, entry = _("The memory store “%(name)s” was deleted."), reverse("entry", args=[store.id, seq])
    return format_html(
        '{} <a href="{}">{}</a>', said % {"name": store.name}, entry, _("The entry that closes its audit")
    )


def _facts(store: MemoryStore) -> dict[str, object]:
    """What the page tells of a store, at a cost that does not grow with it."""
    return {
        "versions": Count.of(MemoryVersion.objects.filter(store=store)),
        "trashed": Count.of(Memory.objects.in_trash().filter(store=store)),
        "members": Member.objects.filter(store=store).count(),
        "keys": KeyStore.objects.filter(store=store, key__revoked_at=None).count(),
        "holds": Hold.objects.of_store(store.id).active(timezone.now()).legal().order_by("-pk")[:MOST_HOLDS],
    }
