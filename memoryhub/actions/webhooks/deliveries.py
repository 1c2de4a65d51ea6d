"""The acts of people on the deliveries of a webhook: they send a test event, or send events again."""

from datetime import datetime

from memoryhub.actions.core.audit import Act, keys
from memoryhub.actions.webhooks import gather
from memoryhub.actions.webhooks.manage import change, locked, tell_of
from memoryhub.models import HUB, Delivery, DeliveryState, Webhook
from memoryhub.models.webhooks import DeliveryQuerySet
from memoryhub.pure.webhook_rules import events as webhook_events

MOST_REPLAYED = 10_000


class IsPaused(Exception):
    """The webhook is paused, so nothing is sent to it."""


def send_test(webhook_id: str, act: Act) -> Delivery:
    """Create a delivery of a test event and return it. Raises IsPaused."""
    with locked(webhook_id, act) as (webhook, tell):
        _require_active(webhook)
        seq = tell_of(tell, "test_webhook", webhook, {})
        event = webhook_events.test_event(webhook.pk, webhook.store_id or HUB, seq, act.at, keys.first())
        made = gather.add(webhook, event, act.at)
        change(webhook, next_at=act.at)
    return made


def replay(webhook_id: str, delivery_id: str, act: Act) -> bool:
    """Send a delivery again now, whatever its state, with the same event id. Raises IsPaused.

    Return False if the webhook has no such delivery.
    """
    with locked(webhook_id, act) as (webhook, tell):
        _require_active(webhook)
        found = Delivery.objects.filter(webhook=webhook, pk=delivery_id)
        delivery = found.first()
        if delivery is None:
            return False
        _send_again(webhook, found, act.at)
        tell_of(tell, "replay_webhook", webhook, {"delivery": delivery.pk, "state": [delivery.state, "waiting"]})
    return True


def replay_failed(webhook_id: str, since: datetime, act: Act) -> int:
    """Send again the failed deliveries that were created after the moment `since`; return how many.

    At most MOST_REPLAYED are sent, the oldest first. Raises IsPaused.
    """
    with locked(webhook_id, act) as (webhook, tell):
        _require_active(webhook)
        failed = Delivery.objects.failed().filter(webhook=webhook, created_at__gte=since).order_by("id")
        found = list(failed.values_list("pk", flat=True)[:MOST_REPLAYED])
        if not found:
            return 0
        _send_again(
            webhook, Delivery.objects.failed().filter(webhook=webhook, pk__gte=found[0], pk__lte=found[-1]), act.at
        )
        details = {"since": since.isoformat(), "deliveries": len(found), "state": ["failed", "waiting"]}
        tell_of(tell, "replay_webhook", webhook, details)
    return len(found)


def _send_again(webhook: Webhook, deliveries: DeliveryQuerySet, at: datetime) -> None:
    deliveries.update(state=DeliveryState.WAITING, attempts=0, aside=True, next_at=at, ended_at=None)
    change(webhook, next_at=at)


def _require_active(webhook: Webhook) -> None:
    if webhook.paused_at is not None:
        raise IsPaused
