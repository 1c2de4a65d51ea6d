"""The previews of restores and undos: the changes, the choices, and the button that applies them."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.comments import addressee
from memoryhub.actions.comments.comments import LONGEST_NOTE
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Done, Plan, PlanChanged, TooMuch
from memoryhub.actions.history.refused import without_refused
from memoryhub.actions.review import decisions
from memoryhub.database import watch
from memoryhub.models import Agent, Directory, MemoryStore, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.comments import telling
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.moment_addresses import Scope, of_restore
from memoryhub.web.common.pages import May, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions import undo_banner
from memoryhub.web.history.moments import choice
from memoryhub.web.undo import tasks
from memoryhub.web.undo.asked import Asked, flagged_words, shown, since_opened, to_flag_words, undone_words
from memoryhub.web.undo.tasks import Task

METHODS = ["GET", "HEAD", "POST"]
SECONDS_EACH = 0.03
"""Processor seconds that a request may take for each memory of its plan. For the largest plan, these are five
minutes."""
MOST_DIRECTORIES = 200


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def restore_moment(request: Request, store: MemoryStore, seq: int) -> HttpResponse:
    """Restore the store to its state after the entry `seq`, or only a directory (`path` in the URL) or a memory
    (`memory`)."""
    return _answer(request, store, tasks.to_moment(store, seq, choice.scope_of(store, request.GET)))


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
    """Show the preview to everyone with a role in the store. Only curators may apply it."""
    try:
        if request.method != "POST":
            asked = Asked.by(request, task.spread)
            return _page(request, store, task, _plan(task, asked), asked)
        role: Role = request.role
        if not role.includes(Role.CURATOR):
            raise PermissionDenied
        return _apply(request, store, task, Asked.by(request, task.spread))
    except TooMuch as error:
        return _too_much(request, store, task, error)


def _apply(request: Request, store: MemoryStore, task: Task, asked: Asked) -> HttpResponse:
    plan, given = _plan(task, asked), asked.given
    if problem := _problem(request, plan, asked):
        return _page(request, store, task, plan, asked, problem)
    if not given.count(plan) and asked.ticks.flag:
        return _flag(request, store, task, asked)
    try:
        done = task.apply(given.for_plan(plan), given.digest, act(request, given.note), asked.ticks)
    except PlanChanged as changed:
        return _page(request, store, task, without_refused(changed.plan, timezone.now()), asked, since_opened())
    except ToolError as error:
        return _page(request, store, task, _plan(task, asked), asked, in_words(error))
    said = _said(task, done)
    if task.version and given.tell:
        said = f"{said} {telling.tell_note(task.version, given.note, given.tell, act(request))}"
    undo_banner.tell_done(
        request,
        store.id,
        said,
        done.seq,
        pages.came_from(request) or task.back_url,
        has_flagged=done.flagged > 0,
        is_at_entry=not done.memory,
    )
    if done.memory:
        return see_other("memory", store.id, done.memory)
    return see_other("entry", store.id, str(done.seq))


def _plan(task: Task, asked: Asked) -> Plan:
    """Return the plan of a task, without the choices that legal holds and the rules for sensitive text forbid."""
    plan = without_refused(task.plan(asked.ticks), timezone.now())
    watch.allow(len(plan.changes) * SECONDS_EACH)
    return plan


def _flag(request: Request, store: MemoryStore, task: Task, asked: Asked) -> HttpResponse:
    """Flag the memories of the ticked entries. This is for an undo in which no memory changes."""
    versions = apply_plan.entry_versions(store.pk, *asked.ticks.flag)
    done = decisions.flag(store.pk, versions, act(request, asked.given.note))
    if done is None:
        return redirect(task.back_url)
    link = undo_banner.flag_link(store.pk)
    messages.success(request, format_html("{} {}", flagged_words(len(done.versions)), link))
    return see_other("entry", store.id, str(done.seq))


def _problem(request: Request, plan: Plan, asked: Asked) -> str:
    """Return a sentence on why a posted form cannot be applied yet; "" if it can."""
    if problem := asked.problem(request, plan):
        return problem
    if plan.digest == asked.given.digest and not asked.given.count(plan) and not asked.ticks.flag:
        return _("Nothing was done, because you chose to keep everything as it is.")
    return ""


def _said(task: Task, done: Done) -> str:
    if task.verb == "restore":
        message = ngettext("Restored %(count)s memory.", "Restored %(count)s memories.", done.count)
        return message % {"count": done.count}
    message = undone_words(done.count)
    return f"{message} {flagged_words(done.flagged)}" if done.flagged else message


def _page(
    request: Request, store: MemoryStore, task: Task, plan: Plan, asked: Asked, problem: str = ""
) -> HttpResponse:
    may = May.of(request.role, store)
    changes = shown(request, store, plan, asked, may_apply=may.write)
    flags = decisions.without_flags(store.pk, apply_plan.entry_versions(store.pk, *asked.ticks.flag))
    is_fixed = not changes["spread"] and 0 < len(plan.changes) == changes["preview"].fixed
    words = _labels(task, changes["preview"].count, len(flags), is_empty=plan.is_empty, is_fixed=is_fixed)
    more = {"task": task, "lost": task.lost(), "plan": plan, "problem": problem, "button": words, "tab": "moments"}
    more |= {"undone": task.undone() if plan.is_empty else None}
    more |= {"next": pages.came_from(request), "agent": _agent(task), "longest_note": LONGEST_NOTE}
    return render(request, "undo/page.html", pages.context(request, store, **changes, **more))


def _agent(task: Task) -> Agent | None:
    """Return the agent that wrote the undone version, if it can get the note; else None."""
    version = task.version
    return addressee.agent_of(version.memory, version.number, None) if version else None


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a preview's button, for no, one and several changes."""

    now: str  # for the current choices
    none: str
    one: str
    many: str  # the page replaces # in it by the number
    is_idle: bool  # no memory would change


def _labels(task: Task, count: int, flags: int, *, is_empty: bool, is_fixed: bool) -> Labels:
    """Return the labels of the button of a plan that is empty, that is fixed (no memory has a choice), or neither."""
    if task.verb == "restore":
        text = ngettext("Restore %(count)s memory", "Restore %(count)s memories", count) % {"count": count}
        none = _("Nothing can be restored") if is_fixed else _("Choose what to restore")
        return Labels(text if count else none, none, _("Restore 1 memory"), _("Restore # memories"), True)
    text = ngettext("Undo changes in %(count)s memory", "Undo changes in %(count)s memories", count) % {"count": count}
    none, one, many = _("Choose what to undo"), _("Undo changes in 1 memory"), _("Undo changes in # memories")
    if flags:
        flag = to_flag_words(flags)
        text, one, many = (_("%(undo)s and %(flag)s") % {"undo": undo, "flag": flag} for undo in (text, one, many))
        none = flag.capitalize()
    elif is_empty:
        none = _("Undo what is ticked")
    elif is_fixed:
        none = _("Nothing can be undone")
    return Labels(text if count else none, none, one, many, not flags)


def _too_much(request: Request, store: MemoryStore, task: Task, error: TooMuch) -> HttpResponse:
    """Show a page that suggests smaller restores: one for each subdirectory of the requested directory."""
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
