"""Decorators for the pages of a policy or a run.

A policy or a run of a memory store requires a role in this store; one of the hub requires a superuser.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse

from memoryhub.models import MemoryStore, RetentionPolicy, Role, Run
from memoryhub.web.common.guards.access import View, person, refused_if_gone
from memoryhub.web.common.request import Request


def of_policy(view: View) -> View:
    """Let the view receive the policy whose id is `policy_id` in the address.

    Only admins of its store may pass; for a policy of the hub, only superusers.
    """

    @login_required
    @wraps(view)
    def guarded(request: Request, policy_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        policy = RetentionPolicy.objects.filter(pk=policy_id).select_related("store").first()
        if policy is None:
            raise Http404
        _let_in(request, policy.store, Role.ADMIN)
        with refused_if_gone():
            return view(request, policy, *args, **kwargs)

    return guarded


def of_run(least: Role) -> Callable[[View], View]:
    """Let the view receive the run whose id is `run_id` in the address.

    Only people with at least the role `least` in its store may pass; for a run of the hub, only superusers.
    """

    def decorator(view: View) -> View:
        @login_required
        @wraps(view)
        def guarded(request: Request, run_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
            people = ("store", "started_by", "guard_allowed_by")
            run = Run.objects.filter(pk=run_id).select_related(*people).first()
            if run is None:
                raise Http404
            _let_in(request, run.store, least)
            with refused_if_gone():
                return view(request, run, *args, **kwargs)

        return guarded

    return decorator


def _let_in(request: Request, store: MemoryStore | None, least: Role) -> None:
    """Set `request.role`. Raises Http404 for a person without a role, and PermissionDenied for a role below `least`."""
    who = person(request)
    role = who.role_in(store) if store else Role.ADMIN if who.is_superuser else None
    if role is None:
        raise Http404
    if not role.includes(least):
        raise PermissionDenied
    request.role = role
