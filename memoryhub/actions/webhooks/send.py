"""Sends deliveries to webhooks: claims those that are due, sends them outside of any transaction, and stores the
results."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Q

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record, to_json
from memoryhub.actions.core.hub import clock as hub_clock
from memoryhub.actions.core.transactions import is_open, my_turn, together, writing
from memoryhub.actions.webhooks import gather, manage
from memoryhub.models import Attempt, Delivery, DeliveryState, Door, MemoryStore, Pause, Webhook
from memoryhub.pure import sensitive
from memoryhub.pure.outgoing import Answer, Sender
from memoryhub.pure.webhook_rules import chat, schedule, signing

KEPT = timedelta(days=30)
"""The time for which the log of deliveries is kept."""

Clock = Callable[[], datetime]
Rest = Callable[[float, bool], None]


def no_rest(_: float, __: bool) -> None:
    """Make no pause between two tries. This is the default `rest` of `work`."""


def always() -> bool:
    """Never end the work. This is the default `may_go_on` of `work`."""
    return True


IN_ONE_GO = 50
GO_FOR = timedelta(seconds=5)
"""The most deliveries, and the longest time, until a process stores the results. If the process is killed before that,
the deliveries are sent again."""


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery to send. `body` has the bytes to send. `tries` counts all its tries.

    `attempts` counts the tries since a person last sent the delivery again or resumed the webhook. A delivery that is
    `aside` does not delay later ones.
    """

    webhook: str
    delivery: str
    url: str
    private: bool
    event: str
    body: str
    secrets: tuple[str, ...]
    attempts: int
    tries: int
    aside: bool


Result = tuple[Message, Answer, datetime]
"""(sent message, answer, time)."""


def due(at: datetime, most: int = 100) -> list[tuple[str, bool]]:
    """Return (webhook, whether it is failing) of webhooks with due deliveries; the one that has waited longest is
    first."""
    rows = Webhook.objects.due(at).values_list("pk", "failing_since")[:most]
    return [(webhook, failing is not None) for webhook, failing in rows]


def claim(webhook_id: str, at: datetime, most: int = IN_ONE_GO) -> list[Message]:
    """Return the next deliveries of a webhook; an empty list if none is due.

    This takes a lease on the webhook: until the lease ends, no other process sends to the webhook.
    """
    if not together(lambda: _lease(webhook_id, at)):
        return []
    with my_turn():
        found = _messages(webhook_id, at, most)
    if not found:
        together(lambda: _give_back(webhook_id))
    return found


def _messages(webhook_id: str, at: datetime, most: int) -> list[Message]:
    webhook = Webhook.objects.filter(pk=webhook_id).first()
    if webhook is None or not (found := _next(webhook_id, at, most)):
        return []
    tries = Attempt.objects.filter(delivery__in=found).values("delivery").annotate(count=Count("pk"))
    tried = dict(tries.values_list("delivery", "count"))
    secrets = tuple(manage.secrets_of(webhook, at))
    return [
        Message(
            webhook_id,
            one.pk,
            webhook.url,
            webhook.may_be_private,
            str(json.loads(one.payload)["id"]),
            body_of(webhook, one.payload),
            secrets,
            one.attempts,
            tried.get(one.pk, 0),
            one.aside,
        )
        for one in found
    ]


def body_of(webhook: Webhook, payload: str) -> str:
    """Return the body to send to a webhook: the event or, for a chat, a sentence."""
    if not webhook.is_chat:
        return payload
    data = json.loads(payload)["data"]
    store = data.get("memory_store_id") or data.get("id")
    name = MemoryStore.every.filter(pk=store).values_list("name", flat=True).first() or ""
    return chat.body(webhook.url, payload, name, settings.MEMORYHUB_URL)


def _lease(webhook_id: str, at: datetime) -> bool:
    with writing():
        free = Webhook.objects.due(at).order_by().filter(pk=webhook_id)
        return bool(free.update(leased_until=at + schedule.LEASE))


def _give_back(webhook_id: str) -> None:
    with writing():
        next_at = gather.next_of(webhook_id)
        Webhook.objects.filter(pk=webhook_id).update(leased_until=None, next_at=next_at)


def _next(webhook_id: str, at: datetime, most: int) -> list[Delivery]:
    """Return the next waiting deliveries of a webhook.

    If the oldest delivery that is not `aside` is due, return the deliveries that are not `aside`, oldest first.
    Otherwise, return the due deliveries that are `aside`.
    """
    waiting = Delivery.objects.waiting().filter(webhook_id=webhook_id)
    first = list(waiting.filter(aside=False).order_by("id")[:most])
    beyond = at + schedule.NO_WAIT_IS_LONGER
    if first and not at < first[0].next_at <= beyond:
        return first
    aside = waiting.filter(aside=True).order_by("next_at", "id")
    return list(aside.filter(next_at__lte=at)[:most]) or list(aside.filter(next_at__gt=beyond)[:most])


def send(message: Message, sender: Sender, at: datetime) -> Answer:
    """Send a message, and return the answer.

    Raises RuntimeError inside a transaction, because other writers would have to wait for the webhook's server.
    """
    if is_open():
        # Other writers would have to wait for the receiver.
        raise RuntimeError("a webhook is being sent inside a transaction")
    headers = signing.headers(message.secrets, message.event, int(at.timestamp()), message.body)
    answer = sender.post(message.url, message.body.encode("ascii"), headers, private=message.private)
    return replace(answer, said=sensitive.mask(answer.said, sensitive.find(answer.said))) if answer.said else answer


def settle(results: Sequence[Result], chance: Callable[[], float] = random.random) -> None:
    """Store the results of some tries to send to one webhook, and the time at which this webhook is due next."""
    together(lambda: _settle(results, chance))


def _settle(results: Sequence[Result], chance: Callable[[], float]) -> None:
    with writing():
        webhook = Webhook.objects.filter(pk=results[0][0].webhook).first()
        there = set(
            Delivery.objects.filter(pk__in=[one.delivery for one, _, _ in results]).values_list("pk", flat=True)
        )
        if webhook is None:
            return
        _, last, at = results[-1]
        why = _pause_for(webhook, last, hub_clock.at_most(at))
        if why is not None:
            _pause(webhook, why, at)
        kept = [result for result in results if result[0].delivery in there]
        _write_attempts(kept)
        _write_delivered([(one, moment) for one, answer, moment in kept if answer.is_delivered])
        for one, answer, moment in kept:
            if not answer.is_delivered:
                _write_failed(one, answer, moment, chance, give_up=why is None)
        _write_health(webhook, results)


def _write_attempts(results: Sequence[Result]) -> None:
    Attempt.objects.bulk_create(
        [
            Attempt(
                delivery_id=one.delivery,
                number=one.tries + 1,
                at=at,
                status=answer.status,
                problem=answer.problem,
                duration=answer.duration,
                said=answer.said,
            )
            for one, answer, at in results
        ]
    )


def _write_delivered(messages: Sequence[tuple[Message, datetime]]) -> None:
    if messages:
        arrived = Delivery.objects.filter(pk__in=[one.delivery for one, _ in messages])
        arrived.update(state=DeliveryState.DELIVERED, attempts=F("attempts") + 1, ended_at=messages[-1][1])


def _write_failed(
    message: Message, answer: Answer, at: datetime, chance: Callable[[], float], *, give_up: bool
) -> None:
    """Store a failed try. If it was the last try, the delivery has failed.

    `give_up` is False if the webhook was paused: then the delivery waits until the webhook is resumed.
    """
    attempts = message.attempts + 1
    after = schedule.after_failure(attempts, answer.status, answer.retry_after, at, chance, aside=message.aside)
    values: dict[str, Any] = {"attempts": attempts, "aside": after.aside}
    if after.at is not None:
        values["next_at"] = after.at
    elif give_up:
        values |= {"state": DeliveryState.FAILED, "ended_at": at}
    Delivery.objects.filter(pk=message.delivery).update(**values)


def _write_health(webhook: Webhook, results: Sequence[Result]) -> None:
    for _, answer, at in results:
        webhook.problem, webhook.status = answer.problem, answer.status
        if answer.is_delivered:
            webhook.delivered_at, webhook.failing_since = at, None
        else:
            webhook.failing_since = min(webhook.failing_since or at, at)
    webhook.next_at, webhook.leased_until = gather.next_of(webhook.pk), None
    webhook.save(update_fields=["delivered_at", "failing_since", "problem", "status", "next_at", "leased_until"])


def _pause_for(webhook: Webhook, answer: Answer, at: datetime) -> Pause | None:
    """Return the reason for which an answer pauses an active webhook. None if the webhook is not to be paused.

    `at` is a time of the hub's clock, which moves only while the hub runs. So the time in which the hub did not run
    does not count as failing.
    """
    if webhook.paused_at is not None or answer.is_delivered:
        return None
    if answer.status == 410:
        return Pause.GONE
    # By the hub's clock: time in which the hub did not run does not count as failing.
    return Pause.FAILING if schedule.has_failed_too_long(webhook.failing_since, at) else None


def _pause(webhook: Webhook, why: Pause, at: datetime) -> None:
    """Pause a webhook as an act of the hub. If its store is deleted, no entry is written, because the store's chain is
    closed."""
    paused = Webhook.objects.filter(pk=webhook.pk)
    details = {"webhook": webhook.pk, "name": webhook.name, "state": ["active", "paused"], "for": why.value}
    try:
        with manage.place(webhook.store_id, Act(Actor.system("webhooks"), Door.COMMAND, at)) as tell:
            paused.update(paused_at=at, paused_for=why)
            tell(Record("pause_webhook", input=to_json(details)))
    # The chain of a deleted store is closed, so there is no entry.
    except tree.NoSuchStore:
        paused.update(paused_at=at, paused_for=why)


def work(
    webhook_id: str,
    sender: Sender,
    clock: Clock,
    most: int,
    *,
    rest: Rest = no_rest,
    chance: Callable[[], float] = random.random,
    may_go_on: Callable[[], bool] = always,
) -> int:
    """Send the due deliveries of one webhook, one after the other, about `most` of them; return the number of tries.

    After a successful try, `rest` is called with two values: the seconds that the try took, and whether many deliveries
    wait. `may_go_on` is called before each claim except the first; if it returns False, the work ends.
    """
    tries = 0
    while tries < most and (not tries or may_go_on()) and (messages := claim(webhook_id, clock())):
        results: list[Result] = []
        end = clock() + GO_FOR
        for message in messages:
            answer = send(message, sender, clock())
            results.append((message, answer, clock()))
            if not answer.is_delivered or clock() >= end:
                break
            rest(answer.duration / 1_000_000, len(messages) >= IN_ONE_GO)
        settle(results, chance)
        tries += len(results)
    return tries


def forget(at: datetime, most: int = 1_000) -> int:
    """Delete at most `most` deliveries that are older than KEPT or of deleted webhooks; return how many.

    If there are no such deliveries, the rows of deleted webhooks are deleted. This is one short transaction.
    """
    old = Q(created_at__lt=at - KEPT)
    deleted = list(Webhook.every.filter(deleted_at__isnull=False).values_list("pk", flat=True))
    with writing():
        gone = Delivery.objects.filter(old).order_by("created_at").values_list("pk", flat=True)
        found = list(gone[:most])
        for webhook in deleted:
            rows = Delivery.objects.filter(webhook_id=webhook).order_by("id").values_list("pk", flat=True)
            found += list(rows[: most - len(found)])
        Delivery.objects.filter(pk__in=found).delete()
        if not found and deleted:
            Webhook.every.filter(pk__in=deleted).delete()
            return len(deleted)
    return len(found)
