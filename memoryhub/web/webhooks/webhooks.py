"""The pages of webhooks: the list of a memory store or of the hub, and one webhook with its deliveries."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memoryhub.actions.webhooks import manage as actions
from memoryhub.actions.webhooks.send import KEPT
from memoryhub.models import Delivery, DeliveryState, MemoryStore, Role, Webhook
from memoryhub.pure.webhook_rules.events import EVENTS
from memoryhub.web.common.guards.access import in_store, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import fresh_form
from memoryhub.web.webhooks import rows as webhooks_rows, sentences
from memoryhub.web.webhooks.access import context, of_webhook
from memoryhub.web.webhooks.snippets import SNIPPETS


@require_safe
@in_store(Role.ADMIN)
def of_store(request: Request, store: MemoryStore) -> HttpResponse:
    return _listing(request, store)


@require_safe
@superuser_only
def of_hub(request: Request) -> HttpResponse:
    return _listing(request, None)


def _listing(request: Request, store: MemoryStore | None) -> HttpResponse:
    rows = webhooks_rows.listed(store.pk if store else None)
    more = [] if store else webhooks_rows.of_stores()
    shown = {
        "rows": rows,
        "of_stores": more,
        "most": actions.MOST,
        "is_full": len(rows) >= actions.MOST,
        "snippets": SNIPPETS,
    }
    return render(request, "webhooks/list.html", context(request, store, **shown))


@require_safe
@of_webhook
def page(request: Request, webhook: Webhook) -> HttpResponse:
    """Show a webhook. While deliveries are waiting, htmx polls the list of deliveries as a fragment."""
    state, before = request.GET.get("state", ""), request.GET.get("before", "").replace("\0", "")
    if state not in webhooks_rows.STATES:
        state = ""
    found = webhooks_rows.lines(webhook, state, before)
    shown: dict[str, Any] = {
        "webhook": webhook,
        "health": webhooks_rows.health(webhook),
        "found": found,
        "state": state,
        "before": before,
        "states": DeliveryState,
        "days": KEPT.days,
    }
    if request.htmx and request.GET.get("part") == "deliveries":
        return render(request, "webhooks/_deliveries.html", context(request, webhook.store, **shown))
    now = timezone.now()
    shown |= {
        "snippets": SNIPPETS,
        "form_once": fresh_form(),
        "has_failed": Delivery.objects.failed().filter(webhook=webhook).exists(),
        "is_rotating": webhook.previous_until is not None and webhook.previous_until > now,
        "events": [(name, sentences.event(name)) for name in EVENTS if name in webhook.events],
    }
    return render(request, "webhooks/page.html", context(request, webhook.store, **shown))
