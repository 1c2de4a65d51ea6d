"""The page of a delivery, sending a test event, and sending events again."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actions.webhooks import deliveries
from memoryhub.actions.webhooks.deliveries import IsPaused
from memoryhub.models import Delivery, DeliveryState, Webhook
from memoryhub.web.common.guards.access import act
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.webhooks import rows, sentences
from memoryhub.web.webhooks.access import context, done, of_webhook

SINCE = {"1": 1, "7": 7, "30": 30}
"""{value of the form field `days`: how many days back failed deliveries are sent again}"""


@require_safe
@of_webhook
def delivery(request: Request, webhook: Webhook, delivery_id: str) -> HttpResponse:
    """Show a delivery. While it is waiting, htmx polls the list of its attempts as a fragment."""
    found = Delivery.objects.filter(webhook=webhook, pk=delivery_id).first()
    if found is None:
        raise Http404
    is_moving = found.state == DeliveryState.WAITING and webhook.paused_at is None
    shown: dict[str, Any] = {
        "webhook": webhook,
        "delivery": found,
        "tries": rows.tries(found),
        "is_moving": is_moving,
    }
    if request.htmx and request.GET.get("part") == "tries":
        return render(request, "webhooks/_tries.html", context(request, webhook.store, **shown))
    shown |= {
        "event": sentences.event(found.event),
        "pretty": rows.pretty(found),
        "event_id": rows.event_id(found),
        "entry": rows.entry_of(found),
        "about": next(iter(rows.paths_of([found]).values()), ""),
    }
    return render(request, "webhooks/delivery.html", context(request, webhook.store, **shown))


@require_POST
@of_webhook
def test(request: Request, webhook: Webhook) -> HttpResponse:
    try:
        made = done(lambda: deliveries.send_test(webhook.pk, act(request)))
    except IsPaused:
        return _paused(request, webhook)
    messages.info(request, _("The hub is sending a test event. The result is shown below."))
    return see_other("delivery", webhook.pk, made.pk)


@require_POST
@of_webhook
def replay(request: Request, webhook: Webhook, delivery_id: str) -> HttpResponse:
    """Send one delivery again, in any state."""
    try:
        found = done(lambda: deliveries.replay(webhook.pk, delivery_id, act(request)))
    except IsPaused:
        return _paused(request, webhook)
    if not found:
        raise Http404
    messages.success(request, _("The hub is sending it again: the same event, with the same id."))
    return see_other("delivery", webhook.pk, delivery_id)


@require_POST
@of_webhook
def replay_failed(request: Request, webhook: Webhook) -> HttpResponse:
    """Send the failed deliveries of a webhook again. The form field `days` limits how long ago they failed."""
    since = timezone.now() - timedelta(days=SINCE.get(request.POST.get("days", ""), 1))
    try:
        count = done(lambda: deliveries.replay_failed(webhook.pk, since, act(request)))
    except IsPaused:
        return _paused(request, webhook)
    if count:
        said = ngettext("%(count)s delivery is sent again.", "%(count)s deliveries are sent again.", count)
        messages.success(request, said % {"count": f"{count:,}"})
    else:
        messages.info(request, _("Nothing has failed in that time."))
    return see_other("webhook", webhook.pk)


def _paused(request: Request, webhook: Webhook) -> HttpResponse:
    messages.info(request, _("The webhook is paused. Resume it to send anything."))
    return see_other("webhook", webhook.pk)
