"""Dreams in the API, in the shape of Anthropic's: the official SDK's `client.beta.dreams` starts and follows them."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Case, Q, Value, When
from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import configuration, dreams
from memoryhub.actions.claude_runs.dreams import NoSuchSessions, Updating, Wanted
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.actions.claude_runs.runs import NoSuchRun, NotNow, TooManyCopies
from memoryhub.actions.core.rules.sight import sight_in
from memoryhub.actions.memories.api.requests import note_key
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.api.frame import ALL_STORES, NOT_WHOLE, Call, Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.dreams import CreateDream, Dream, DreamModel, DreamPage, ListDreams
from memoryhub.api.sessions import reached
from memoryhub.machines import cursors, requests
from memoryhub.machines.errors import Problem
from memoryhub.models import (
    GOING_ON,
    Access,
    ClaudeEvent,
    ClaudeEventKind,
    ClaudeRun,
    ClaudeRunState,
    Door,
    Session,
)
from memoryhub.pure import chain

router = Router()

ONE = "/dreams/{dream_id}"
OFF = (
    "Dreams are experimental, and this hub has none: an administrator of the hub has to set "
    "MEMORYHUB_EXPERIMENTAL=dreams, and let people run Claude."
)
NO_KEY = "The hub has no key for Claude's API: an administrator of the hub has to set ANTHROPIC_API_KEY."
_TYPES = {"timed_out": "timeout", "hub_error": "internal_error"}

_STATUS = Case(
    When(Q(state__in=GOING_ON, stop_asked=True) | Q(state=ClaudeRunState.STOPPED, problem=""), then=Value("canceled")),
    When(state=ClaudeRunState.WAITING, events=0, copied=None, then=Value("pending")),
    When(state__in=GOING_ON, then=Value("running")),
    When(state=ClaudeRunState.FINISHED, problem="", then=Value("completed")),
    default=Value("failed"),
)
"""The status of a dream. The states of its run are in `models.ClaudeRunState`."""


@router.post("/dreams", auth=needs(Access.MANAGE), response=answers(Dream, 404, 409, 429), summary="Create a dream")
def create_dream(request: HttpRequest, body: CreateDream) -> Json:
    """Starts a dream, which the hub works on in the background: poll it until `status` is `completed`, `failed` or
    `canceled`. It works on a copy. With `update_existing`, its result is a proposal, about which a person decides
    unless path rules allow each change. With `create_new`, which needs a key with `manage` access to all memory stores,
    the copy becomes a memory store. The key must see every memory. 404 where dreams are off."""
    call = _on(request)
    store_id, sessions = _inputs(body)
    behavior = body.output_behavior
    updates = behavior is not None and behavior.type == "update_existing"
    if behavior is not None and behavior.type == "update_existing" and behavior.memory_store_id != store_id:
        raise Problem.invalid("`output_behavior.memory_store_id` must be the memory store of `inputs`.")
    requests.caller_of(request, store_id, call.at, Door.API)
    _require_may(request, call, store_id, updates=updates)
    wanted = Wanted(_model(body), sessions, body.instructions or "", updates)
    if not configuration.is_configured():
        raise Problem.invalid(NO_KEY)
    call.store_id = store_id
    run = _done(lambda: dreams.start(store_id, wanted, call.asked))
    return _as_json([run])[0]


@router.get("/dreams", auth=needs(Access.MANAGE), response=answers(DreamPage, 404), summary="List dreams")
def list_dreams(request: HttpRequest, query: Query[ListDreams]) -> Json:
    """The dreams of the memory stores that the key reaches, newest first; archived ones only if `include_archived` is
    `true`. 404 where dreams are off."""
    call = _on(request)
    filters = query.model_dump(exclude={"limit", "page"}, mode="json")
    key = cursors.decode("dreams", filters, query.page, (str,))
    found = ClaudeRun.objects.dreams().filter(store__in=reached(call.caller))
    if not query.include_archived:
        found = found.filter(archived_at=None)
    if query.statuses:
        found = found.alias(status=_STATUS).filter(status__in=query.statuses)
    limits = {"created_at__gt": query.created_at_gt, "created_at__lt": query.created_at_lt}
    found = found.filter(**{name: moment for name, moment in limits.items() if moment is not None})
    rows = list((found if key is None else found.filter(pk__lt=key[0])).order_by("-pk")[: query.limit + 1])
    shown = rows[: query.limit]
    more = len(rows) > query.limit
    return {
        "data": _as_json(shown),
        "next_page": cursors.encode("dreams", filters, [shown[-1].pk]) if more else None,
    }


@router.get(ONE, auth=needs(Access.MANAGE), response=answers(Dream, 404), summary="Retrieve a dream")
def retrieve_dream(request: HttpRequest, dream_id: str) -> Json:
    """One dream, archived or not. The hub deletes it some time after its end."""
    return _as_json([_found(_on(request), dream_id)])[0]


@router.post(ONE + "/cancel", auth=needs(Access.MANAGE), response=answers(Dream, 404, 429), summary="Cancel a dream")
def cancel_dream(request: HttpRequest, dream_id: str) -> Json:
    """Stops a dream, which then has no result. To cancel a canceled dream is 200 and changes nothing; to cancel a
    completed or failed dream is 400."""
    call = _on(request)
    run = _found(call, dream_id)
    return _as_json([_done(lambda: dreams.cancel(run, call.asked), "The dream has ended: it cannot be canceled.")])[0]


@router.post(ONE + "/archive", auth=needs(Access.MANAGE), response=answers(Dream, 404, 429), summary="Archive a dream")
def archive_dream(request: HttpRequest, dream_id: str) -> Json:
    """Removes a dream that has ended from the list. To archive it again is 200 and changes nothing; a dream that has
    not ended is 400."""
    call = _on(request)
    run = _found(call, dream_id)
    return _as_json([_done(lambda: dreams.archive(run, call.asked), "The dream goes on: cancel it first.")])[0]


def _on(request: HttpRequest) -> Call:
    """Return the Call of the request. Raises Problem (404) if dreams are off."""
    if not configuration.has_dreams():
        raise Problem.not_found(OFF)
    note_key(call_of(request).asked)
    return call_of(request)


def _found(call: Call, dream_id: str) -> ClaudeRun:
    run = ClaudeRun.objects.dreams().filter(pk=dream_id, store__in=reached(call.caller)).first()
    if run is None:
        raise Problem.not_found("There is no such dream of a memory store that the key reaches.")
    return run


def _inputs(body: CreateDream) -> tuple[str, Sequence[str]]:
    """Return the id of the memory store and the ids of the sessions in `body.inputs`.

    Raises Problem (400) if there is not exactly one memory store and one list of sessions, or if a session id occurs
    twice.
    """
    stores = [one.memory_store_id for one in body.inputs if one.type == "memory_store"]
    sessions = [one.session_ids for one in body.inputs if one.type == "sessions"]
    if len(stores) != 1 or len(sessions) != 1:
        raise Problem.invalid("`inputs` must have one `memory_store` and one `sessions`.")
    if len(set(sessions[0])) < len(sessions[0]):
        raise Problem.invalid("`session_ids` has an id twice.")
    return stores[0], sessions[0]


def _model(body: CreateDream) -> str:
    model = body.model.id if isinstance(body.model, DreamModel) else body.model
    known = [one.pk for one in configuration.models()]
    if model not in known:
        raise Problem.invalid(f"`model` must be one of those of this hub: {', '.join(known)}.")
    return model


def _require_may(request: HttpRequest, call: Call, store_id: str, *, updates: bool) -> None:
    """Raise Problem (403) if the key may not start a dream of the memory store.

    With `updates`, the dream changes the memory store itself; without it, the dream creates a memory store, so the key
    must reach all stores.
    """
    why = ""
    if not updates and not keys_and_roles.reaches_all(call.caller):
        why = f"{ALL_STORES} Another key may use `update_existing`."
    elif sight_in(store_id, call.caller.actor, call.at) is not None:
        why = NOT_WHOLE
    if why:
        requests.note_refusal(request, call.caller, Refusal(store_id, 403, why), door=Door.API, at=call.at)
        raise Problem.forbidden(why)


def _done(do: Callable[[], ClaudeRun], not_now: str = "") -> ClaudeRun:
    """Return the run that `do` returns. If `do` raises an error, raise a Problem in its place. `not_now` is the message
    of the Problem for NotNow."""
    try:
        return do()
    except NoSuchSessions as error:
        what = "These sessions have done nothing in the memory store"
        raise Problem.not_found(f"{what}: {', '.join(error.sessions[:10])}.") from None
    except NoSuchRun:
        raise Problem.not_found("There is no such dream of a memory store that the key reaches.") from None
    except Updating:
        what = "Another dream that updates this memory store goes on."
        raise Problem.conflict("conflict_error", what) from None
    except TooManyCopies:
        what = "Too many dreams and Claude runs work on copies of this memory store; try again when one has ended."
        raise Problem.conflict("conflict_error", what) from None
    except NotNow:
        raise Problem.invalid(not_now) from None


def _as_json(runs: Sequence[ClaudeRun]) -> list[Json]:
    """Return dreams as the API shows them."""
    ids, names = [run.pk for run in runs], {run.session_name: run.pk for run in runs}
    statuses = dict(ClaudeRun.objects.filter(pk__in=ids).annotate(status=_STATUS).values_list("pk", "status"))
    sessions = Session.objects.filter(name__in=names, agent__in={run.agent for run in runs}).values_list("name", "pk")
    proposed = ClaudeEvent.objects.filter(run__in=ids, kind=ClaudeEventKind.PROPOSAL)
    contents: Any = proposed.order_by("run", "number").values_list("run_id", "content")
    numbers = {run: content["number"] for run, content in contents}
    by_run = {names[name]: session for name, session in sessions}
    return [_one(run, statuses.get(run.pk, "failed"), by_run.get(run.pk), numbers.get(run.pk)) for run in runs]


def _one(run: ClaudeRun, status: str, session: str | None, proposal: int | None) -> Json:
    dream: Any = run.dream
    behavior = {"type": "update_existing", "memory_store_id": run.store_id}
    output = run.store_id if dreams.updates(run) else run.copy
    return {
        "type": "dream",
        "id": run.pk,
        "status": status,
        "inputs": [
            {"type": "memory_store", "memory_store_id": run.store_id},
            {"type": "sessions", "session_ids": dream["sessions"]},
        ],
        "model": {"id": run.model, "speed": "standard"},
        "instructions": run.task or None,
        "output_behavior": behavior if dreams.updates(run) else {"type": "create_new"},
        "outputs": [{"type": "memory_store", "memory_store_id": output}] if status == "completed" else [],
        "session_id": session,
        "usage": {
            "input_tokens": run.input_tokens - run.cache_written - run.cache_read,
            "output_tokens": run.output_tokens,
            "cache_creation_input_tokens": run.cache_written,
            "cache_read_input_tokens": run.cache_read,
        },
        "error": _error(run.problem) if status == "failed" else None,
        "created_at": chain.moment(run.created_at),
        "ended_at": chain.moment(run.ended_at) if run.ended_at else None,
        "archived_at": chain.moment(run.archived_at) if run.archived_at else None,
        "proposal_number": proposal,
    }


def _error(problem: str) -> Json:
    return {"type": _TYPES.get(problem, problem or "internal_error"), "message": problem_words(problem or "hub_error")}
