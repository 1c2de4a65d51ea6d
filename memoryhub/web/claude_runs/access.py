"""Who may open the pages of Claude runs."""

from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse

from memoryhub.actions.claude_runs import configuration
from memoryhub.models import ClaudeRun, MemoryStore, Role
from memoryhub.web.common.guards.access import View, in_store, person
from memoryhub.web.common.request import Request


def who_may_run(view: Any) -> View:
    """Require a person who may run Claude in the store of the address; anyone else gets 404.

    The view receives the store instead of `store_id`.
    """

    @in_store(Role.VIEWER)
    @wraps(view)
    def guarded(request: Request, store: MemoryStore, *args: Any, **kwargs: Any) -> HttpResponse:
        if not configuration.may_run(person(request), store):
            raise Http404
        response: HttpResponse = view(request, store, *args, **kwargs)
        return response

    return guarded


def run_of(store: MemoryStore, claude_run_id: str) -> ClaudeRun:
    """Return a run of a store, or raise Http404."""
    run = ClaudeRun.objects.of_store(store.pk).select_related("started_by").filter(pk=claude_run_id).first()
    if run is None:
        raise Http404
    return run
