"""Deleting a memory store permanently, after a page that lists what will be deleted."""

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
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.forms import NameTypedForm, NoteForm
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.guards.second import guard, note_of
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people

MOST_COUNTED = 10_000
MOST_HOLDS = 10


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows, counted up to MOST_COUNTED."""

    number: int
    is_more: bool = False

    @classmethod
    def of(cls, rows: "QuerySet[Any]") -> "Count":
        """Return the number of rows, counted up to MOST_COUNTED."""
        found = rows[: MOST_COUNTED + 1].count()
        return cls(min(found, MOST_COUNTED), found > MOST_COUNTED)


class DeleteStoreForm(NoteForm, NameTypedForm):
    """A confirmation, for which the person types the store's name, and an optional note."""


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def delete(request: Request, store: MemoryStore) -> HttpResponse:
    """Show what will be deleted; on POST, delete the store. Only superusers may do this, and only if there is no legal
    hold."""
    if not person(request).is_superuser:
        raise PermissionDenied
    form = DeleteStoreForm(store, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        words = [
            (_("Memory store"), f"{store.name} ({store.pk})"), *note_of(form.cleaned_data["note"]),
        ]  # fmt: skip
        if (asks := guard(request, "delete_store", lambda: words)) is not None:
            return asks
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
        '{} <a href="{}">{}</a>', said % {"name": store.name}, entry, _("See the last entry of its audit")
    )


def _facts(store: MemoryStore) -> dict[str, object]:
    """Return facts about a store for the page, at a cost that does not depend on the size of the store."""
    return {
        "versions": Count.of(MemoryVersion.objects.filter(store=store)),
        "trashed": Count.of(Memory.objects.in_trash().filter(store=store)),
        "members": Member.objects.filter(store=store).count(),
        "keys": KeyStore.objects.filter(store=store, key__revoked_at=None).count(),
        "holds": Hold.objects.of_store(store.id).active(timezone.now()).legal().order_by("-pk")[:MOST_HOLDS],
    }
