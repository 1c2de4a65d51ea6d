"""Access to the pages of a webhook: admins of its store, or superusers for a webhook of the hub."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse

from memoryhub.actions.webhooks.manage import NoSuchWebhook
from memoryhub.models import MemoryStore, Role, Webhook
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import View, person, refused_if_gone
from memoryhub.web.common.request import Request

T = TypeVar("T")


def of_webhook(view: View) -> View:
    """Wrap a view so that it gets the webhook itself instead of its id `webhook_id` from the URL.

    A person with a lower role than admin in the webhook's store gets 403, a person without a role 404. For a webhook of
    the hub, everyone except superusers gets 404.
    """

    @login_required
    @wraps(view)
    def guarded(request: Request, webhook_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        webhook = Webhook.objects.filter(pk=webhook_id).select_related("store", "created_by").first()
        if webhook is None or (webhook.store is not None and webhook.store.deleted_at is not None):
            raise Http404
        request.role = _role(request, webhook.store)
        with refused_if_gone():
            return view(request, webhook, *args, **kwargs)

    return guarded


def _role(request: Request, store: MemoryStore | None) -> Role:
    who = person(request)
    role = who.role_in(store) if store else Role.ADMIN if who.is_superuser else None
    if role is None:
        raise Http404
    if not role.includes(Role.ADMIN):
        raise PermissionDenied
    return role


def context(request: Request, store: MemoryStore | None, **more: Any) -> dict[str, Any]:
    """Return the template context for a page about webhooks of a store, or of the hub if `store` is None."""
    shown = {"list_url": list_url(store), "section": "stores" if store else "settings", **more}
    return pages.context(request, store, **shown) if store else shown


def list_url(store: MemoryStore | None) -> str:
    return reverse("store_webhooks", args=[store.pk]) if store else reverse("webhooks")


def done(verb: Callable[[], T]) -> T:
    """Call `verb`, and return its result. Raise Http404 if the webhook has just been deleted."""
    try:
        return verb()
    except NoSuchWebhook:
        raise Http404 from None
