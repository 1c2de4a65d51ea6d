"""Decorators that check who may open a page, and functions that return the person and the act of a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules.roles import RightLost
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.models import Door, MemoryStore, Role, User
from memoryhub.web.common.request import Request

P = ParamSpec("P")
View = Callable[..., HttpResponse]
StoreView = Callable[Concatenate[Request, MemoryStore, P], HttpResponse]


@contextmanager
def refused_if_gone() -> Iterator[None]:
    """Raise Http404 if an action finds that the memory store was deleted, and PermissionDenied if it finds that the
    person has lost the right to do the action."""
    try:
        yield
    except NoSuchStore:
        raise Http404 from None
    except RightLost:
        raise PermissionDenied from None


def signed_in(view: View) -> View:
    """Require a signed-in person. Anyone else is redirected to the sign-in page, and then back."""

    @login_required
    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        with refused_if_gone():
            return view(request, *args, **kwargs)

    return guarded


def superuser_only(view: View) -> View:
    """Require a superuser. Any other signed-in person gets 403."""

    @login_required
    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        if not person(request).is_superuser:
            raise PermissionDenied
        with refused_if_gone():
            return view(request, *args, **kwargs)

    return guarded


def in_store(least: Role) -> Callable[[StoreView[P]], View]:
    """Require the role `least` or a higher one in the memory store of the address.

    The view receives the store instead of `store_id`; `request.role` is the person's role. A person without any
    role gets 404, a person with a lower role 403. In a throw-away copy, everyone gets 403 for an act, because the
    copy's audit is deleted with the copy.
    """

    def decorator(view: StoreView[P]) -> View:
        @login_required
        @wraps(view)
        def guarded(request: Request, store_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
            store = MemoryStore.present.filter(pk=store_id).first()
            role = person(request).role_in(store) if store else None
            # people without a role do not learn whether the store exists
            if store is None or role is None:
                raise Http404
            # not in a throw-away copy: its audit is deleted with it
            is_act = request.method not in ("GET", "HEAD")
            if not role.includes(least) or (store.copy_of is not None and is_act):
                raise PermissionDenied
            request.role = role
            with refused_if_gone():
                return view(request, store, *args, **kwargs)

        return guarded

    return decorator


def person(request: Request) -> User:
    """Return the signed-in person who sent the request. Call it only in a view with a decorator of this module."""
    assert isinstance(request.user, User)
    return request.user


def by(request: Request) -> dict[str, Any]:
    """Return the keyword arguments of an action: the person as actor, the web door, and the current time."""
    return {
        "actor": Actor.person(person(request), getattr(request, "second", None)),
        "door": Door.WEB,
        "at": timezone.now(),
    }


def act(request: Request, note: str = "", group: str | None = None) -> Act:
    """Return the act of the person who sent the request, with the `note`. NUL in the note is replaced."""
    # PostgreSQL cannot store NUL
    return Act(**by(request), note=note.replace("\0", "\ufffd").strip() or None, group=group)
