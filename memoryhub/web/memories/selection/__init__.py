"""Acts on several memories and directories at once. After a preview, an act is done on all or on none."""

from collections.abc import Callable, Sequence

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub.actions.core.plans import TooMuch
from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import Item, NotDone, Selected, deletion
from memoryhub.actions.memories.selection.moves import MovePlan, move, move_plan
from memoryhub.actions.transfer import exporting
from memoryhub.models import Directory, MemoryStore, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.forms import NoteForm
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.memories import branches
from memoryhub.web.memories.selection import holds, restore
from memoryhub.web.memories.selection.forms import DeleteForm, MoveForm, Posted
from memoryhub.web.retention.holds.held import by_hold, going_along
from memoryhub.web.transfer import exports as web_exporting

SHOWN = 200
"""The most selected items that are listed. Items that prevent the act come first."""
SUGGESTED = 200


@require_POST
@in_store(Role.VIEWER)
def answer(request: Request, store: MemoryStore) -> HttpResponse:
    """Do the act that the form field `act` names, on the selection or on everything in a directory."""
    posted = Posted.of(request.POST)
    view = _ACTS.get(posted.act)
    if view is None:
        return HttpResponseBadRequest(_("This action cannot be used on a selection."))
    role: Role = request.role
    if posted.act != "export" and not role.includes(Role.CURATOR):
        raise PermissionDenied
    if posted.is_empty:
        return _page(request, store, posted, "memories/selection/empty.html")
    try:
        return view(request, store, posted)
    except TooMuch as error:
        return _page(request, store, posted, "memories/selection/too_large.html", most=error.most)


def _delete(request: Request, store: MemoryStore, posted: Posted) -> HttpResponse:
    """Ask for confirmation; after that, move the memories to the trash."""
    form = DeleteForm(request.POST if posted.digest else None)
    problem = ""
    if form.is_valid():
        try:
            done = deletion.delete(store.pk, posted.chosen, posted.digest, act(request, form.cleaned_data["note"]))
        except NotDone as error:
            problem = _faster() if error.changed else _nothing_left()
        except ToolError as error:
            problem = in_words(error)
        else:
            said = ngettext(
                "%(count)s memory is in the trash now.", "%(count)s memories are in the trash now.", done.count
            )
            tell_done(request, store.id, said % {"count": done.count}, done.seq)
            return see_other(_place_of(store, posted.place))
    return ask_to_delete(request, store, posted, form, problem)


def ask_to_delete(
    request: Request, store: MemoryStore, posted: Posted, form: NoteForm, problem: str = ""
) -> HttpResponse:
    """Return the page that asks whether to delete a selection, and lists the memories that legal holds keep. Raises
    TooMuch."""
    plan = deletion.deletion(store.pk, posted.chosen, timezone.now())
    found = plan.selected
    if not found.items:
        return _page(request, store, posted, "memories/selection/empty.html", vanished=found.vanished)
    return _page(
        request,
        store,
        posted,
        "memories/selection/delete.html",
        form=form,
        problem=problem,
        plan=plan,
        kept=by_hold((one.hold, one.path) for one in plan.held),
        **_shown(found, plan.going),
    )


def ask_to_delete_directory(request: Request, store: MemoryStore, directory: Directory) -> HttpResponse:
    """Return the page that asks whether to delete a directory, and lists the memories in it that legal holds keep."""
    posted = Posted("delete", (directory.pk,), False, directory.path, "", "", None)
    try:
        return ask_to_delete(request, store, posted, DeleteForm())
    except TooMuch as error:
        return _page(request, store, posted, "memories/selection/too_large.html", most=error.most)


def _move(request: Request, store: MemoryStore, posted: Posted) -> HttpResponse:
    """Ask for the destination, show a preview of the new paths, then move the selection."""
    form = MoveForm(store, request.POST if "into" in request.POST else None)
    plan: MovePlan | None = None
    problem = ""
    if form.is_valid():
        into = form.cleaned_data["into"]
        if posted.digest:
            try:
                return _moved(request, store, posted, form, into)
            except NotDone as error:
                problem = _faster() if error.changed else ""
            except ToolError as error:
                problem = in_words(error)
        plan = move_plan(store.pk, posted.chosen, into, timezone.now())
    found = plan.selected if plan else selection.selected(store.pk, posted.chosen)
    if not found.items:
        return _page(request, store, posted, "memories/selection/empty.html", vanished=found.vanished)
    return _page(
        request,
        store,
        posted,
        "memories/selection/move.html",
        form=form,
        plan=plan,
        problem=problem,
        **_shown(found),
        directories=_suggested(store),
        moving=plan.moving[:SHOWN] if plan else (),
        blocked=plan.blocked[:SHOWN] if plan else (),
        kept=by_hold((one.hold, one.item.path) for one in plan.held if one.hold) if plan else (),
        along=going_along(store, ((one.item.id, one.item.path) for one in plan.moving), timezone.now()) if plan else (),
        rest=max(0, len(plan.moving) - SHOWN) if plan else 0,
    )


def _moved(request: Request, store: MemoryStore, posted: Posted, form: MoveForm, into: str) -> HttpResponse:
    done = move(store.pk, posted.chosen, into, posted.digest, act(request, form.cleaned_data["note"]))
    said = ngettext("%(count)s memory moved to %(into)s.", "%(count)s memories moved to %(into)s.", done.count)
    tell_done(request, store.id, said % {"count": done.count, "into": isolated(into or "/")}, done.seq)
    return see_other(addresses.of_directory(store.pk, into))


def _export(request: Request, store: MemoryStore, posted: Posted) -> HttpResponse:
    """Audit the export of a selection, and send it."""
    if posted.format not in exporting.FORMATS:
        return HttpResponseBadRequest(_("The format of an export must be zip, jsonl or git."))
    wanted = web_exporting.wanted_by(request, posted.format, chosen=posted.chosen, history=posted.format != "zip")
    try:
        return web_exporting.answer(exporting.begin(store.pk, wanted, act(request)))
    except NotDone as error:
        return _page(request, store, posted, "memories/selection/empty.html", vanished=error.plan.vanished)


_ACTS: dict[str, Callable[[Request, MemoryStore, Posted], HttpResponse]] = {
    "move": _move,
    "delete": _delete,
    "export": _export,
    "restore": restore.answer,
    "hold": holds.answer,
}


def _page(request: Request, store: MemoryStore, posted: Posted, template: str, **more: object) -> HttpResponse:
    """Render a page about a selection. The page gets the selection, so that its forms can send it again."""
    shown = pages.context(
        request,
        store,
        posted=posted,
        tab="memories",
        back=_place_of(store, posted.place),
        crumbs=addresses.crumbs(store.pk, store.name, f"{posted.place}/x"),
        **more,
    )
    return render(request, template, shown)


def _place_of(store: MemoryStore, path: str) -> str:
    """Return the URL of a directory, or of its closest existing parent."""
    return addresses.of_directory(store.pk, branches.nearest(store, path).path)


def _shown(found: Selected, listed: Sequence[Item] | None = None) -> dict[str, object]:
    items = found.items if listed is None else listed
    return {"found": found, "items": items[:SHOWN], "unlisted": max(0, len(items) - SHOWN)}


def _suggested(store: MemoryStore) -> list[str]:
    rows = Directory.objects.filter(store=store).exclude(path="").order_by("path")
    return list(rows.values_list("path", flat=True)[:SUGGESTED])


def _faster() -> str:
    return _("Nothing was done, because the selected items have changed in the meantime. Check them and try again.")


def _nothing_left() -> str:
    return _("Nothing was done, because the selected items no longer exist.")
