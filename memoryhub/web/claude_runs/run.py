"""The page of a Claude run, which can be watched, stopped and continued there."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from memoryhub.actions.claude_runs import configuration, made, runs, work
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.models import Agent, ClaudeEvent, ClaudeEventKind, ClaudeRun, ClaudeRunState, MemoryStore, Session
from memoryhub.pure.conversation.options import Options
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.claude_runs import rows
from memoryhub.web.claude_runs.access import run_of, who_may_run
from memoryhub.web.claude_runs.forms import MessageForm
from memoryhub.web.claude_runs.picture import picture_of
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, person
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.sessions.undone import is_left, undone_in


@require_GET
@who_may_run
def page(request: Request, store: MemoryStore, claude_run_id: str) -> HttpResponse:
    """Show a run with its newest events. If the URL has `from`, the page has the events after the event `from`.

    If the URL has `after`, answer with only the events after the event `after`; 204 if the run has not changed since
    the `revision` in the URL. `from` and `after` are numbers of events.
    """
    run = run_of(store, claude_run_id)
    after = _number(request.GET.get("after"))
    if after is not None and _number(request.GET.get("revision")) == run.revision:
        return HttpResponse(status=204)
    first = _number(request.GET.get("from")) if after is None else after
    shown = _context(request, store, run, max(0, run.events - rows.MOST) if first is None else first)
    shows_of_stores(request, rows.in_calls_of(shown["complete"], shown["growing"]))
    return render(request, "claude_runs/run.html" if after is None else "claude_runs/_live.html", shown)


def _context(request: Request, store: MemoryStore, run: ClaudeRun, after: int) -> dict[str, Any]:
    place = rows.place_of(store, run, person(request))
    is_kept = run.is_dream and place is not None and place.copy_of is None
    dream: Any = run.dream or {"sessions": []}
    session = None if run.copy else Session.objects.filter(agent=run.agent, name=run.session_name).first()
    undone = undone_in(session, [store]).get(store.pk) if session else None
    items = rows.items(place, run, after, undone.writes if undone else {})
    count = _complete(items, run)
    complete, growing = items[:count], items[count:]
    return pages.context(
        request,
        store,
        run=run,
        row=rows.listed(run),
        task=rows.masked_task(run),
        system=rows.masked_system(run),
        complete=complete,
        growing=growing,
        after=complete[-1].event.number if complete else after,
        shown_from=after,
        earlier=max(0, after - rows.MOST),
        later=after + rows.MOST if after + rows.MOST < run.events else None,
        session=session,
        undone=undone,
        is_left=session is not None and not run.is_going_on and is_left(session, store, undone),
        copy=place if run.copy and not is_kept else None,
        kept=place if is_kept else None,
        read=Session.objects.filter(pk__in=dream["sessions"]).order_by("pk"),
        base=pages.entries(store, run.base).get(run.base or 0) if run.copy else None,
        is_copy_gone=place is None,
        agent=Agent.objects.filter(pk=run.agent).first(),
        options=Options.of(run.options),
        picture=picture_of(run),
        form=MessageForm(),
        may_summarize=configuration.may_summarize(run.model),
        needs_message=run.state == ClaudeRunState.FINISHED,
        is_configured=configuration.is_configured(),
        may_go_on=work.may_go_on(run),
        not_allowed=problem_words("not_allowed"),
    )


def _complete(items: Sequence[rows.Item], run: ClaudeRun) -> int:
    """Return how many of the `items`, counted from the first, can no longer change."""
    if not run.is_going_on:
        return len(items)
    ends = (ClaudeEventKind.TURN, ClaudeEventKind.MESSAGE, ClaudeEventKind.PROBLEM, ClaudeEventKind.PROPOSAL)
    last = max((item.event.number for item in items if item.event.kind in ends), default=0)
    return next((at for at, item in enumerate(items) if _may_change(item.event, last)), len(items))


def _may_change(event: ClaudeEvent, last: int) -> bool:
    """Return whether an event can still change: it is a call that has not ended, or a part of an unfinished answer. The
    parts of an unfinished answer are the events after the event `last`."""
    waits = event.kind == ClaudeEventKind.CALL and event.seq is None and "answer" not in event.content
    return not event.is_cut and (waits or event.number > last)


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) < 16 else None


@require_POST
@who_may_run
def stop(request: Request, store: MemoryStore, claude_run_id: str) -> HttpResponse:
    """Stop a run."""
    run = run_of(store, claude_run_id)
    try:
        runs.stop(run.pk, store.pk, act(request))
    except (runs.NotNow, runs.NoSuchRun):
        messages.info(request, _("The run had already ended, or was being stopped."))
    return see_other("claude_run", store.pk, run.pk)


@require_POST
@who_may_run
def go_on(request: Request, store: MemoryStore, claude_run_id: str) -> HttpResponse:
    """Continue a run that has ended."""
    run = run_of(store, claude_run_id)
    form = MessageForm(request.POST)
    if not form.is_valid():
        messages.error(request, str(form.errors["message"][0]))
    elif not configuration.is_configured():
        messages.error(request, _("The hub has no key for Claude’s API."))
    elif not work.may_go_on(run):
        messages.error(request, problem_words("not_allowed"))
    else:
        try:
            given = form.cleaned_data
            runs.go_on(run.pk, store.pk, given["message"], act(request), summarizes=given["summarizes"])
        except runs.CopyGone:
            messages.error(request, _("The copy on which this run worked has been deleted. Start the run again."))
        except (runs.NotNow, runs.NoSuchRun):
            messages.error(request, _("Nothing was continued. Write a message, and wait until the run has ended."))
        except ToolError as error:
            messages.error(request, for_people(error))
    return see_other("claude_run", store.pk, run.pk)


@require_POST
@who_may_run
def propose(request: Request, store: MemoryStore, claude_run_id: str) -> HttpResponse:
    """Make a proposal of the changes that a run made in its copy."""
    run = run_of(store, claude_run_id)
    try:
        proposed = made.propose(run.pk, store.pk, act(request))
    except (runs.NotNow, runs.NoSuchRun, runs.CopyGone):
        messages.error(request, _("Nothing was proposed: the run has not ended yet, or its copy has been deleted."))
        return see_other("claude_run", store.pk, run.pk)
    if proposed.number is None:
        return see_other("claude_run", store.pk, run.pk)
    return see_other("proposal", store.pk, str(proposed.number))
