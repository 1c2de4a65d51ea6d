"""The Claude runs of a store, and the form that starts one."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from memoryhub.actions.claude_runs import configuration, presets, runs
from memoryhub.models import ClaudePreset, ClaudeRun, MemoryStore
from memoryhub.pure.conversation import guidance
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.claude_runs import rows
from memoryhub.web.claude_runs.access import run_of, who_may_run
from memoryhub.web.claude_runs.forms import StartForm, initial_of, tidying
from memoryhub.web.claude_runs.presets import content_of, preset_of
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, person
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.versions import number_of

PAGE = 30


@require_GET
@who_may_run
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """List the runs, newest first. If the URL has the id of a run in `before`, list only older runs."""
    newest = ClaudeRun.objects.of_store(store.pk).newest()
    before = newest.filter(pk=request.GET.get("before", "").replace("\0", "")).first()
    found = list((newest.before(before) if before else newest)[: PAGE + 1])
    shown = [rows.listed(run) for run in found[:PAGE]]
    older = found[PAGE - 1].pk if len(found) > PAGE else None
    more = {"rows": shown, "before": before, "older": older, "is_configured": configuration.is_configured()}
    return render(request, "claude_runs/list.html", pages.context(request, store, **more))


@require_http_methods(["GET", "HEAD", "POST"])
@who_may_run
def new(request: Request, store: MemoryStore) -> HttpResponse:
    """Start a run, save a preset, or show the form for a run.

    The query sets the initial values: `like` is an earlier run, and with `copy`, the new run works on a copy of the
    store as it was when that run began. `preset` and `version` name a version of a preset. `tidy` asks for a run
    that reorganises the store.
    """
    is_post = request.method == "POST"
    saves = is_post and "save" in request.POST
    form = StartForm(store.pk, request.POST if is_post else None, initial=_initial(request, store), saves=saves)
    if saves and form.is_valid() and (preset := _saved(request, store, form)):
        return see_other("claude_preset", store.pk, preset.pk)
    if is_post and not saves and configuration.is_configured() and form.is_valid():
        try:
            run = runs.start(store.pk, form.asked(), person(request), act(request))
        except ToolError as error:
            form.add_error(None, for_people(error))
        except runs.TooManyCopies:
            form.add_error(
                "place", _("Too many runs work on copies of this memory store. Wait until one of the runs has ended.")
            )
        else:
            return see_other("claude_run", store.pk, run.pk)
    more = {
        "form": form,
        "tidies": "tidy" in request.GET,
        "presets": ClaudePreset.objects.of_store(store.pk).by_name(),
        "preset": request.GET.get("preset", ""),
        "protocol": guidance.PROTOCOL,
        "is_configured": configuration.is_configured(),
        "budget": settings.MEMORYHUB_CLAUDE_RUN_TOKENS,
        "days": settings.MEMORYHUB_CLAUDE_DAYS,
    }
    return render(request, "claude_runs/new.html", pages.context(request, store, **more))


def _saved(request: Request, store: MemoryStore, form: StartForm) -> ClaudePreset | None:
    """Save the form as a preset, and return it. If that is refused, add an error to the form and return None."""
    try:
        preset = presets.save(store.pk, form.cleaned_data["preset"], form.as_preset(), act(request))
    except ToolError as error:
        form.add_error(None, for_people(error))
    except presets.TooManyPresets:
        form.add_error("preset", _("This memory store has too many presets. Delete one first."))
    else:
        messages.success(request, _("The preset was saved."))
        return preset
    return None


def _initial(request: Request, store: MemoryStore) -> dict[str, object] | None:
    if like := request.GET.get("like", ""):
        return initial_of(run_of(store, like), copies="copy" in request.GET)
    if preset := request.GET.get("preset", ""):
        found = preset_of(store, preset)
        return content_of(found, number_of(request, "version")) | {"preset": found.name}
    return tidying() if "tidy" in request.GET else None
