"""Who may see a page, and who acts on it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.models import Door, MemoryStore, Role, User
from memoryhub.web.common.request import Request

P = ParamSpec("P")
View = Callable[..., HttpResponse]
StoreView = Callable[Concatenate[Request, MemoryStore, P], HttpResponse]


def signed_in(view: View) -> View:
    """Anybody who is signed in; others are sent to sign in and come back."""
    return login_required(view)


def superuser_only(view: View) -> View:
    """403 for everybody but superusers."""

    @login_required
    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        if not person(request).is_superuser:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def in_store(least: Role) -> Callable[[StoreView[P]], View]:
    """A view of one store: `store_id` of the address becomes the store, and `request.role` the person's role.

    404 without a role (the store might not exist for all that the person learns), 403 with one below `least`.
    """

    def decorator(view: StoreView[P]) -> View:
        @login_required
        @wraps(view)
        def guarded(request: Request, store_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
            store = MemoryStore.objects.filter(pk=store_id).first()
            role = person(request).role_in(store) if store else None
            if store is None or role is None:
                raise Http404
            if not role.includes(least):
                raise PermissionDenied
            request.role = role
            try:
                return view(request, store, *args, **kwargs)
            except NoSuchStore:  # it has been deleted meanwhile
                raise Http404 from None

        return guarded

    return decorator


def person(request: Request) -> User:
    """The person of a request that has passed one of the guards."""
    assert isinstance(request.user, User)
    return request.user


def by(request: Request) -> dict[str, Any]:
    """Keyword arguments of an action: the person, this door, and now."""
    return {"actor": Actor.person(person(request)), "door": Door.WEB, "at": timezone.now()}


def act(request: Request, note: str = "", group: str | None = None) -> Act:
    """The act of the person of a request, with the note that they gave; PostgreSQL keeps no NUL."""
    return Act(**by(request), note=note.replace("\0", "\ufffd").strip() or None, group=group)
