"""Puts pins or legal holds on memories and directories that a person selected in a directory or in search results."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core.plans import TooMuch
from memoryhub.actions.core.rules import holds
from memoryhub.models import Directory, HoldKind, Memory, MemoryStore
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.guards.access import act
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.memories.selection.forms import Posted
from memoryhub.web.retention.holds import kinds_for, list_url
from memoryhub.web.retention.holds.forms import TermsForm

MOST = 500
"""The most memories and directories that are held at once, because each gets its own hold."""

SHOWN = 200


def answer(request: Request, store: MemoryStore, posted: Posted) -> HttpResponse:
    """Ask for a reason, then hold each selected memory and directory. Raise TooMuch for more than MOST items."""
    places = _places(store, posted)
    kinds = kinds_for(request)
    asked = "reason" in request.POST
    form = TermsForm(kinds, request.POST if asked else None, initial={"kind": kinds[-1]})
    if asked and places and form.is_valid():
        try:
            held = holds.place_several(
                store.pk, act(request), [(memory, at) for memory, at, _path in places], form.terms()
            )
        except (ValidationError, Memory.DoesNotExist):
            form.add_error(
                None, _("Some of the selected memories were removed permanently. Select again what you want to hold.")
            )
        else:
            return _done(request, store, form, len(held), len(places) - len(held))
    shown = pages.context(
        request,
        store,
        posted=posted,
        form=form,
        tab="memories",
        paths=[path for _memory, _at, path in places[:SHOWN]],
        count=len(places),
        rest=max(0, len(places) - SHOWN),
        back=addresses.of_directory(store.pk, posted.place),
        crumbs=addresses.crumbs(store.pk, store.name, f"{posted.place}/x"),
    )
    return render(request, "memories/selection/hold.html", shown)


def _done(request: Request, store: MemoryStore, form: TermsForm, count: int, already: int) -> HttpResponse:
    said = (
        ngettext("%(count)s legal hold was placed.", "%(count)s legal holds were placed.", count)
        if form.terms().kind == HoldKind.HOLD
        else ngettext("%(count)s pin was placed.", "%(count)s pins were placed.", count)
    )
    told = said % {"count": count}
    if already:
        had = ngettext("%(count)s existed already.", "%(count)s existed already.", already)
        told = f"{told} {had % {'count': already}}"
    messages.success(request, told)
    return see_other(list_url(store))


def _places(store: MemoryStore, posted: Posted) -> list[tuple[str | None, str | None, str]]:
    """Return (memory, held path, path to show) of each selected item. For a memory, the held path is None; for a
    directory, the memory is None. Raises TooMuch."""
    if posted.everything:
        return [(None, posted.place, f"{posted.place}/")]
    if len(posted.ids) > MOST:
        raise TooMuch(len(posted.ids), MOST)
    directories = Directory.objects.filter(store=store, pk__in=posted.ids).order_by("path")
    memories = Memory.objects.among(store.pk, posted.ids).order_by("path", "pk")
    return [
        *((None, path, f"{path}/") for path in directories.values_list("path", flat=True)),
        *((memory, None, path) for memory, path in memories.values_list("pk", "path")),
    ]
