"""The previews of restoring and undoing: what will change, the choices to make, and the button that applies them."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.history.apply_plan import Done, Plan, PlanChanged, TooMuch
from memoryhub.models import Directory, MemoryStore, Role
from memoryhub.protocol.errors import ToolError
from memoryhub.web.common import pages, undo_banner
from memoryhub.web.common.access import act, in_store
from memoryhub.web.common.moment_addresses import Scope, of_restore
from memoryhub.web.common.pages import May, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.history import moment_choice
from memoryhub.web.undo import rows, tasks
from memoryhub.web.undo.form import MOST_NOTE, Given, rest_options
from memoryhub.web.undo.summary import brief_rows
from memoryhub.web.undo.tasks import Task

METHODS = ["GET", "HEAD", "POST"]
MOST_DIRECTORIES = 200


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def restore_moment(request: Request, store: MemoryStore, seq: int) -> HttpResponse:
    """Restore the store, the directory `path` or the memory `memory` to its state after an entry."""
    return _answer(request, store, tasks.to_moment(store, seq, moment_choice.scope_of(store, request.GET)))


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def undo_session(request: Request, store: MemoryStore, session_id: str) -> HttpResponse:
    return _answer(request, store, tasks.of_session(store, session_id))


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def undo_entry(request: Request, store: MemoryStore, seq: int) -> HttpResponse:
    return _answer(request, store, tasks.of_entry(store, seq))


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def undo_version(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    return _answer(request, store, tasks.of_version(store, version_id))


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def undo_import(request: Request, store: MemoryStore, import_id: str) -> HttpResponse:
    return _answer(request, store, tasks.of_import(store, import_id))


def _answer(request: Request, store: MemoryStore, task: Task) -> HttpResponse:
    """Show the preview to everyone with a role; only curators may apply it."""
    try:
        if request.method != "POST":
            return _page(request, store, task, task.plan(), Given(note=request.GET.get("note", "")[:MOST_NOTE]))
        role: Role = request.role
        if not role.includes(Role.CURATOR):
            raise PermissionDenied
        return _apply(request, store, task, Given.of(request.POST))
    except TooMuch as error:
        return _too_much(request, store, task, error)


def _apply(request: Request, store: MemoryStore, task: Task, given: Given) -> HttpResponse:
    plan = task.plan()
    if len(given.note) > MOST_NOTE:
        return _page(request, store, task, plan, given, _("The note is too long. Use at most 1,000 characters."))
    if plan.digest == given.digest and not given.count(plan):
        return _page(
            request, store, task, plan, given, _("Nothing was done, because you chose to keep everything as it is.")
        )
    try:
        done = task.apply(given.for_plan(plan), given.digest, act(request, given.note))
    except PlanChanged as changed:
        sentence = _(
            "Nothing was done, because something was written since you opened this "
            "page. Check the preview and try again."
        )
        return _page(request, store, task, changed.plan, given, sentence)
    except ToolError as error:
        return _page(request, store, task, task.plan(), given, in_words(error))
    undo_banner.tell_done(request, store.id, _said(task, done), done.seq)
    if done.memory:
        return see_other("memory", store.id, done.memory)
    return see_other("entry", store.id, str(done.seq))


def _said(task: Task, done: Done) -> str:
    if task.verb == "restore":
        told = ngettext("Restored %(count)s memory.", "Restored %(count)s memories.", done.count)
    else:
        told = ngettext("Undid %(count)s change.", "Undid %(count)s changes.", done.count)
    return told % {"count": done.count}


def _page(
    request: Request, store: MemoryStore, task: Task, plan: Plan, given: Given, problem: str = ""
) -> HttpResponse:
    preview = rows.preview(store, plan, given, rows.Wanted.of(request.GET))
    may = May.of(request.role, store)
    button, one, many = _labels(task, preview.count)
    return render(
        request,
        "undo/page.html",
        pages.context(
            request,
            store,
            task=task,
            plan=plan,
            preview=preview,
            given=given,
            problem=problem,
            may_apply=may.write,
            brief=brief_rows(store.id, preview.briefly, may.write),
            rest=rest_options(preview.unasked, given),
            button=button,
            button_one=one,
            button_many=many,
            most_note=MOST_NOTE,
            tab="moments",
        ),
    )


def _labels(task: Task, count: int) -> tuple[str, str, str]:
    """Return the label of the button for the current count, for one change, and for several (with # for the number)."""
    if task.verb == "restore":
        text = ngettext("Restore %(count)s memory", "Restore %(count)s memories", count) % {"count": count}
        return text, _("Restore 1 memory"), _("Restore # memories")
    text = ngettext("Undo %(count)s change", "Undo %(count)s changes", count) % {"count": count}
    return text, _("Undo 1 change"), _("Undo # changes")


def _too_much(request: Request, store: MemoryStore, task: Task, error: TooMuch) -> HttpResponse:
    """Suggest smaller restores: one for each subdirectory of the requested directory."""
    links = []
    if task.seq is not None:
        above = Directory.objects.filter(store=store).at(task.scope.path).first()
        beneath = Directory.objects.in_directory(above)[:MOST_DIRECTORIES] if above else []
        links = [(row.path, of_restore(store.id, task.seq, Scope(row.path))) for row in beneath]
    return render(
        request,
        "undo/too_much.html",
        pages.context(request, store, task=task, count=error.count, most=error.most, links=links),
    )
