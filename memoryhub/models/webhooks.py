"""Webhooks: their addresses, each delivery with its attempts, and how far the audit has been read for them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, Literal, PlainJSONField
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore
from memoryhub.pure.webhook_rules import schedule


class Pause(models.TextChoices):
    """The reason why a webhook is paused."""

    PERSON = "person", _("Paused by a person")
    GONE = "gone", _("The receiver said that it is gone")
    FAILING = "failing", _("Nothing arrived for days")


class WebhookQuerySet(SealedQuerySet["Webhook"]):
    def active(self) -> WebhookQuerySet:
        return self.filter(paused_at=None)

    def due(self, at: datetime) -> WebhookQuerySet:
        """Return the active webhooks that have a delivery due and that no thread serves; the one that has waited
        longest is first.

        Times that are too far ahead are ignored, because they were set while the clock was wrong.
        """
        free = Q(leased_until=None) | Q(leased_until__lte=at) | Q(leased_until__gt=at + 2 * schedule.LEASE)
        is_time = Q(next_at__lte=at) | Q(next_at__gt=at + schedule.NO_WAIT_IS_LONGER)
        return self.active().filter(free, is_time).order_by("next_at", "id")

    def of_place(self, store_id: str | None) -> WebhookQuerySet:
        """Return the webhooks of a store, ordered by name. For None, return the webhooks of the hub, which get the
        events of all stores."""
        return self.filter(store_id=store_id).order_by("name", "id")


_Webhooks = models.Manager.from_queryset(WebhookQuerySet)


class PresentWebhooks(_Webhooks["Webhook"]):
    """The webhooks that are not deleted."""

    def get_queryset(self) -> models.QuerySet[Webhook]:
        return super().get_queryset().filter(deleted_at=None)


class Webhook(Sealed):
    """An address to which the events of one store are sent (store null: the events of all stores).

    With `is_chat`, a sentence for people is sent instead of the event. The secret is never stored: it is derived from
    an audit key, the id and `generation`. The previous secret is valid until `previous_until`. `keys` has pairs
    (generation, name of an audit key): from this generation on, the secret is derived from this key. `next_at` is when
    the next delivery is due (null: none waits). While a thread sends to the webhook, no other thread may send to it
    until `leased_until`. `failing_since` is the time of the first failed attempt after the last success. `problem` and
    `status` describe the last attempt.
    """

    HOME: ClassVar = "store_id"
    OUTSIDE: ClassVar = dict.fromkeys(
        ("failing_since", "problem", "status", "delivered_at", "next_at", "leased_until"),
        "marks of the background work",
    )

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, null=True, related_name="webhooks")
    name = models.CharField(max_length=100)
    url = models.TextField()
    events = PlainJSONField(default=list)
    is_chat = models.BooleanField(default=False, db_default=False)
    generation = models.BigIntegerField(default=1)
    previous_until = models.DateTimeField(null=True)
    keys = PlainJSONField(default=list)
    may_be_private = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    paused_at = models.DateTimeField(null=True)
    paused_for = models.CharField(max_length=7, choices=Pause.choices, default="", blank=True)
    failing_since = models.DateTimeField(null=True)
    problem = models.CharField(max_length=40, default="", blank=True)
    status = models.BigIntegerField(null=True)
    delivered_at = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    objects = PresentWebhooks()
    every = _Webhooks()

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Failed")


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> DeliveryQuerySet:
        """Return the deliveries that wait to be sent. The literal in the SQL lets SQLite use the partial indexes."""
        return self.filter(Exact(F("state"), Literal(DeliveryState.WAITING.value)))

    def failed(self) -> DeliveryQuerySet:
        return self.filter(Exact(F("state"), Literal(DeliveryState.FAILED.value)))

    def newest(self) -> DeliveryQuerySet:
        return self.order_by("-id")


class Delivery(models.Model):
    """One event for one webhook: about the entry `seq` of a chain, with the exact bytes to send in `payload`.

    The ids of a webhook's deliveries have the order of the events. A delivery that is `aside` does not delay later
    deliveries. A delivery is `aside` if the receiver refused it, if it failed often, or if a person sent it (again, or
    as a test). `attempts` is the number of attempts since the delivery was created, since a person sent it again, or
    since the webhook was resumed.
    """

    id = IdField(primary_key=True)
    webhook = models.ForeignKey(Webhook, models.CASCADE, db_index=False, related_name="deliveries")
    chain = IdField()
    seq = models.BigIntegerField()
    event = models.CharField(max_length=60)
    payload = models.TextField()
    state = models.CharField(max_length=9, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.BigIntegerField(default=0)
    aside = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["webhook", "id"], name="delivery_of_webhook"),
            models.Index(fields=["webhook", "id"], condition=Q(state=DeliveryState.WAITING), name="delivery_waiting"),
            models.Index(
                fields=["webhook", "id"], condition=Q(state=DeliveryState.WAITING, aside=False), name="delivery_first"
            ),
            models.Index(
                fields=["webhook", "next_at", "id"],
                condition=Q(state=DeliveryState.WAITING, aside=True),
                name="delivery_aside",
            ),
            models.Index(fields=["webhook", "id"], condition=Q(state=DeliveryState.FAILED), name="delivery_failed"),
            models.Index(fields=["created_at"], name="delivery_by_time"),
        ]


class Attempt(models.Model):
    """One attempt to send a delivery: the HTTP status of the answer, or a code for why there is none.

    If the receiver refused, `said` is the beginning of its answer, with sensitive values masked.
    """

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="tries")
    number = models.BigIntegerField()
    at = models.DateTimeField()
    status = models.BigIntegerField(null=True)
    problem = models.CharField(max_length=40, default="", blank=True)
    duration = models.BigIntegerField()
    said = models.TextField(default="", db_default="")


class WebhookCursor(models.Model):
    """How far a chain has been read for the events of webhooks: `seq` is the seq of the last entry that was read."""

    chain = IdField(primary_key=True)
    seq = models.BigIntegerField()
