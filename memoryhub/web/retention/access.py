"""Who may see a policy or a run: those of a store its members, those of the hub superusers."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse

from memoryhub.models import MemoryStore, RetentionPolicy, Role, Run
from memoryhub.web.common.access import View, person
from memoryhub.web.common.request import Request


def of_policy(view: View) -> View:
    """`policy_id` of the address becomes the policy, for admins of its store; of the hub for superusers."""

    @login_required
    @wraps(view)
    def guarded(request: Request, policy_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        policy = RetentionPolicy.objects.filter(pk=policy_id).select_related("store").first()
        if policy is None:
            raise Http404
        _let_in(request, policy.store, Role.ADMIN)
        return view(request, policy, *args, **kwargs)

    return guarded


def of_run(least: Role) -> Callable[[View], View]:
    """`run_id` of the address becomes the run, for people with a role in its store."""

    def decorator(view: View) -> View:
        @login_required
        @wraps(view)
        def guarded(request: Request, run_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
            people = ("store", "started_by", "guard_allowed_by")
            run = Run.objects.filter(pk=run_id).select_related(*people).first()
            if run is None:
                raise Http404
            _let_in(request, run.store, least)
            return view(request, run, *args, **kwargs)

        return guarded

    return decorator


def _let_in(request: Request, store: MemoryStore | None, least: Role) -> None:
    """404 without a role, 403 with one that is too low; what is the hub's own is for superusers alone."""
    who = person(request)
    role = who.role_in(store) if store else Role.ADMIN if who.is_superuser else None
    if role is None:
        raise Http404
    if not role.includes(least):
        raise PermissionDenied
    request.role = role
