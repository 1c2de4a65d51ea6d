"""Data for the pages of webhooks: the health of each, and its deliveries with their results."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F
from django.utils.translation import gettext as _

from memoryhub.actions.webhooks import send
from memoryhub.models import HUB, Attempt, AuditEntry, Delivery, DeliveryState, MemoryStore, Webhook
from memoryhub.web.webhooks import sentences

SIZE = 25
MOST_COUNTED = 1_000
MOST_OF_STORES = 100
STATES = ("", *DeliveryState.values)


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a webhook. `waiting` counts deliveries up to MOST_COUNTED. `problem` describes the last failed
    attempt."""

    webhook: Webhook
    waiting: int
    problem: str

    @property
    def state(self) -> str:
        """Return `paused`, `failing`, `new` (nothing was delivered yet) or `ok`."""
        if self.webhook.paused_at is not None:
            return "paused"
        if self.webhook.failing_since is not None:
            return "failing"
        return "ok" if self.webhook.delivered_at is not None else "new"

    @property
    def is_many(self) -> bool:
        return self.waiting >= MOST_COUNTED

    @property
    def events(self) -> list[str]:
        return list(self.webhook.events)


@dataclass(frozen=True, slots=True)
class Line:
    """One delivery with its last attempt."""

    delivery: Delivery
    event: str
    status: int | None
    problem: str
    tries: int  # all attempts
    about: str = ""  # the path in the audit entry

    @property
    def is_waiting(self) -> bool:
        return bool(self.delivery.state == DeliveryState.WAITING)


@dataclass(frozen=True, slots=True)
class Lines:
    """One page of deliveries, newest first."""

    lines: Sequence[Line]
    older: str  # the id before which the next page begins, or empty
    is_moving: bool  # a delivery is waiting, and the webhook is not paused


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt in words."""

    attempt: Attempt
    is_ok: bool
    words: str
    milliseconds: int


def health(webhook: Webhook) -> Health:
    waiting = Delivery.objects.waiting().filter(webhook=webhook).values("pk")[:MOST_COUNTED].count()
    problem = sentences.problem(webhook.problem, webhook.status) if webhook.problem else ""
    return Health(webhook, waiting, problem)


def listed(store_id: str | None) -> list[Health]:
    """Return the health of each webhook of a store, or of the hub if `store_id` is None."""
    return [health(webhook) for webhook in Webhook.objects.of_place(store_id)]


def of_stores() -> list[Health]:
    """Return the health of at most MOST_OF_STORES webhooks of stores, paused or failing ones first. Waiting deliveries
    are not counted."""
    found = Webhook.objects.filter(store__deleted_at=None).exclude(store=None).select_related("store")
    trouble = F("paused_at").asc(nulls_last=True), F("failing_since").asc(nulls_last=True)
    rows = found.order_by(*trouble, "store__name", "name", "id")[:MOST_OF_STORES]
    return [Health(row, 0, sentences.problem(row.problem, row.status) if row.problem else "") for row in rows]


def lines(webhook: Webhook, state: str, before: str) -> Lines:
    """Return the newest deliveries in the state `state` (empty: any). With `before`, only those older than this id."""
    found = Delivery.objects.filter(webhook=webhook).newest()
    if state == DeliveryState.WAITING:
        found = found.waiting()
    elif state == DeliveryState.FAILED:
        found = found.failed()
    elif state:
        found = found.filter(state=state)
    shown = list((found.filter(pk__lt=before) if before else found)[: SIZE + 1])
    older = shown[SIZE - 1].pk if len(shown) > SIZE else ""
    shown = shown[:SIZE]
    last: dict[str, Attempt] = {}
    often = Counter[str]()
    for attempt in Attempt.objects.filter(delivery__in=shown).order_by("id"):
        last[attempt.delivery_id] = attempt
        often[attempt.delivery_id] += 1
    paths = paths_of(shown)
    made = [_line(one, last.get(one.pk), often[one.pk], paths.get((one.chain, one.seq), "")) for one in shown]
    active = webhook.paused_at is None
    return Lines(made, older, active and any(line.is_waiting for line in made))


def paths_of(deliveries: Sequence[Delivery]) -> dict[tuple[str, int], str]:
    """Return {(chain, seq): path} of the audit entries that the deliveries report. Entries without a path are left
    out."""
    by_chain: dict[str, list[int]] = {}
    for delivery in deliveries:
        by_chain.setdefault(delivery.chain, []).append(delivery.seq)
    found: dict[tuple[str, int], str] = {}
    for chain, seqs in by_chain.items():
        named = AuditEntry.objects.of_chain(chain).filter(seq__in=seqs).values_list("seq", "path")
        found |= {(chain, seq): path for seq, path in named if path}
    return found


def _line(delivery: Delivery, last: Attempt | None, tries: int, about: str) -> Line:
    words = _words(last) if last and last.problem else ""
    return Line(delivery, sentences.event(delivery.event), last.status if last else None, words, tries, about)


def tries(delivery: Delivery) -> list[Try]:
    """Return the attempts of a delivery, newest first."""
    return [
        Try(attempt, not attempt.problem, _words(attempt), attempt.duration // 1000)
        for attempt in Attempt.objects.filter(delivery=delivery).order_by("-id")[:200]
    ]


def _words(attempt: Attempt) -> str:
    if not attempt.problem:
        return _("Delivered")
    words = sentences.problem(attempt.problem, attempt.status)
    return _("%(words)s It answered: %(said)s") % {"words": words, "said": attempt.said} if attempt.said else words


def pretty(delivery: Delivery) -> str:
    """Return the body of a delivery as indented JSON. It is sent without indentation."""
    body = json.loads(send.body_of(delivery.webhook, delivery.payload))
    return json.dumps(body, indent=2, ensure_ascii=False)


def event_id(delivery: Delivery) -> str:
    return str(json.loads(delivery.payload)["id"])


def entry_of(delivery: Delivery) -> tuple[str, int] | None:
    """Return the chain and the seq of the audit entry that a delivery is about. Return None if the delivery names no
    entry, or if the entry's store no longer exists."""
    if not delivery.seq or (delivery.chain != HUB and not MemoryStore.objects.filter(pk=delivery.chain).exists()):
        return None
    return delivery.chain, delivery.seq
