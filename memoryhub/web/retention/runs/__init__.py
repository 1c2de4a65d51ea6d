"""The runs of a store's policies: the list, one run, and starting, allowing, cancelling or undoing it."""

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext, ngettext_lazy
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actions.core.audit import Act
from memoryhub.actions.retention import runs
from memoryhub.actions.retention.runs.undoing import Done
from memoryhub.models import HUB, MemoryStore, Role, Run, RunState
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.retention.access import of_run
from memoryhub.web.retention.authors import saved_by
from memoryhub.web.retention.outlook import outlook
from memoryhub.web.retention.runs import rows

SIZE = 50


@require_safe
@in_store(Role.VIEWER)
def listing(request: Request, store: MemoryStore) -> HttpResponse:
    """List the newest runs. If the URL has the id of a run in `before`, list only older ones."""
    before = request.GET.get("before", "").replace("\0", "")
    found = Run.objects.of_store(store.pk).select_related("started_by").newest()
    shown = list((found.filter(pk__lt=before) if before else found)[: SIZE + 1])
    return render(
        request,
        "retention/runs/list.html",
        pages.context(
            request,
            store,
            runs=[rows.summary(run) for run in shown[:SIZE]],
            before=before,
            older=shown[SIZE - 1].pk if len(shown) > SIZE else "",
        ),
    )


@require_POST
@in_store(Role.ADMIN)
def start(request: Request, store: MemoryStore) -> HttpResponse:
    """Request a run, which a background thread then carries out."""
    try:
        run = runs.start(store.pk, act(request), timezone.now())
    except runs.NothingDue:
        messages.info(request, _("Nothing has expired, so a run would remove nothing."))
        return see_other("retention", store.pk)
    except runs.AlreadyOpen as open:
        messages.info(request, _("A run is already in progress. This is its page."))
        return see_other("run", open.run.pk)
    return see_other("run", run.pk)


@require_safe
@of_run(Role.VIEWER)
def page(request: Request, run: Run) -> HttpResponse:
    """Show a run. htmx polls its state as a fragment until the run ends, and then reloads the page."""
    after = request.GET.get("after", "")
    summary = rows.summary(run)
    shown = {"run": run, "summary": summary, "now": timezone.now()}
    if request.htmx and request.GET.get("part") == "state":
        answer = render(request, "retention/runs/_state.html", _context(request, run.store, **shown))
        if run.state not in (RunState.RUNNING, RunState.WAITING):
            answer.headers["HX-Refresh"] = "true"
        return answer
    items = rows.items(run, int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0)
    chain = run.store.pk if run.store else HUB
    shown["policies"] = saved_by((line.item.policy for line in items.lines), chain, run.started_at, person(request))
    if summary.is_waiting and run.store:
        shown["outlook"] = outlook(run.store.pk, run.at, None, against_saved=False, weeks=False)
    return render(
        request,
        "retention/runs/page.html",
        _context(
            request,
            run.store,
            items=items,
            back=rows.way_back(run),
            undone=rows.undone(run),
            allowed=rows.allowed(run),
            after=after,
            **shown,
        ),
    )


@require_POST
@of_run(Role.ADMIN)
def allow(request: Request, run: Run) -> HttpResponse:
    return _do(request, run, runs.allow, _("The run continues."))


@require_POST
@of_run(Role.ADMIN)
def cancel(request: Request, run: Run) -> HttpResponse:
    return _do(request, run, runs.cancel, _("The run was cancelled. What it already removed stays removed."))


@require_POST
@of_run(Role.ADMIN)
def undo(request: Request, run: Run) -> HttpResponse:
    """Restore the memories that the run moved to the trash, as far as they are still in the trash."""
    if run.store is None:
        raise Http404
    try:
        done = runs.undo(run.pk, act(request))
    except ToolError as error:
        messages.error(request, for_people(error))
        return see_other("run", run.pk)
    (messages.success if done.count else messages.info)(request, _what_came_back(run, done))
    return see_other("run", run.pk)


_TAKEN = ngettext_lazy(
    "%(count)s stays in the trash, because something else is at its path now.",
    "%(count)s stay in the trash, because something else is at their paths now.",
    "count",
)
_GONE = ngettext_lazy(
    "%(count)s stays in the trash, because its text was redacted.",
    "%(count)s stay in the trash, because their texts were redacted.",
    "count",
)
_HELD = ngettext_lazy(
    "%(count)s stays in the trash, because a legal hold freezes it.",
    "%(count)s stay in the trash, because legal holds freeze them.",
    "count",
)
_BLOCKED = ngettext_lazy(
    "%(count)s stays in the trash, because the rules for sensitive text do not allow it.",
    "%(count)s stay in the trash, because the rules for sensitive text do not allow them.",
    "count",
)


def _what_came_back(run: Run, done: Done) -> str:
    """Return the sentences about an undo: how many memories are back, and why others stay in the trash."""
    count = done.count
    said = ngettext("%(count)s memory is back.", "%(count)s memories are back.", count) % {"count": f"{count:,}"}
    back = rows.way_back(run)
    stays = ((_TAKEN, len(back.taken)), (_GONE, back.gone), (_HELD, back.held), (_BLOCKED, back.blocked))
    said = " ".join([said, *(str(words % {"count": number}) for words, number in stays if number)])
    if done.refused:
        said += " " + ngettext(
            "%(count)s stays in the trash: %(why)s", "%(count)s stay in the trash: %(why)s", len(done.refused)
        ) % {"count": len(done.refused), "why": for_people(done.refused[0])}
    return said


def _do(request: Request, run: Run, verb: Callable[[str, Act], None], said: str) -> HttpResponse:
    try:
        verb(run.pk, act(request))
    except runs.NotOpen:
        messages.info(request, _("The run has already ended."))
    else:
        messages.success(request, said)
    return see_other("run", run.pk)


def _context(request: Request, store: MemoryStore | None, **more: object) -> dict[str, object]:
    """Return the template context for a run; a run of a store also has the context of the store's pages."""
    shown = {"may_act": request.role.includes(Role.ADMIN), **more}
    return pages.context(request, store, **shown) if store else shown
