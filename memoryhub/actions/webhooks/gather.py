"""Makes webhook deliveries from committed audit entries, in the background, in short transactions.

Each chain has a cursor: the last entry that was read. The cursor moves in the transaction that creates the deliveries,
so no delivery is lost or created twice.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from memoryhub.actions.core.audit import keys, lock_hub
from memoryhub.actions.core.transactions import my_turn, together, writing
from memoryhub.actions.webhooks import facts
from memoryhub.models import (
    HUB,
    Alarm,
    AuditChain,
    Delivery,
    Import,
    MemoryStore,
    Run,
    Webhook,
    WebhookCursor,
)
from memoryhub.pure import ids
from memoryhub.pure.webhook_rules import events as webhook_events
from memoryhub.pure.webhook_rules.events import Event

ENTRIES = 250
"""The most entries that are read for one transaction."""

ROWS = 12
"""About the most deliveries that one transaction creates, unless a single entry needs more: tool calls wait for such a
transaction."""

ROWS_IN_A_HURRY = 96
"""The limit that replaces ROWS for a large backlog: a transaction with eight times as many deliveries takes about three
times as long."""


class Wants(NamedTuple):
    """An active webhook and its events. `store` is None for a webhook of all stores."""

    id: str
    store: str | None
    events: tuple[str, ...]
    created_at: datetime


def begin(store_id: str | None) -> None:
    """Skip the current entries, runs and imports, so that a new or resumed webhook gets only later events.

    `store_id` is the webhook's store (None: it is a webhook of the hub). Entries that another webhook still needs are
    not skipped. Call this function in the transaction that creates or resumes the webhook.
    """
    # So only one webhook begins at a time, and each sees all others.
    lock_hub()
    active = Webhook.objects.active()
    if active.filter(store=None).exists():
        return
    heads = AuditChain.objects.exclude(pk=HUB).exclude(pk__in=MemoryStore.every.exclude(copy_of=None).values("pk"))
    listened = Q(store_id=store_id)
    if store_id is None:
        read = list(active.values_list("store_id", flat=True).distinct())
        heads, listened = heads.exclude(pk__in=read), Q(store=None) | ~Q(store_id__in=read)
    elif active.filter(store_id=store_id).exists():
        return
    else:
        heads = heads.filter(pk=store_id)
    cursors = [WebhookCursor(chain=chain, seq=seq) for chain, seq in heads.values_list("pk", "last_seq")]
    WebhookCursor.objects.bulk_create(
        cursors, batch_size=400, update_conflicts=True, update_fields=["seq"], unique_fields=["chain"]
    )
    if store_id is None:
        Alarm.objects.exclude(told=F("state")).update(told=F("state"))
    for jobs in (Run.objects, Import.objects):
        jobs.filter(listened).exclude(told=F("state")).update(told=F("state"))


def gather(at: datetime, most: int = 10, *, turn: int = 0, hurry: bool = False) -> bool:
    """Create the deliveries of new entries in at most `most` transactions; return whether all new entries were read.

    `turn` selects the chain to start with. With `hurry`, a transaction creates about ROWS_IN_A_HURRY deliveries instead
    of ROWS.
    """
    wanting = _wanting()
    if not wanting:
        return True
    rows, behind = ROWS_IN_A_HURRY if hurry else ROWS, _behind(wanting)
    first = turn % max(1, len(behind))
    for chain, read, last in behind[first:] + behind[:first]:
        seq = read
        while seq < last:
            if most <= 0:
                return False
            most -= 1
            with my_turn():
                before, seq = seq, _read(chain, seq, last, wanting, at, rows)
            if seq == before:
                return False  # another process read it, or a webhook changed: next time
    _tell_of_alarms([wants for wants in wanting if wants.store is None], at)
    return _tell_of_jobs(wanting, at)


def _wanting() -> list[Wants]:
    rows = Webhook.objects.active().order_by("id").values_list("id", "store_id", "events", "created_at")
    return [Wants(id, store, tuple(events), created_at) for id, store, events, created_at in rows]


def _behind(wanting: Sequence[Wants]) -> list[tuple[str, int, int]]:
    """Return (chain, seq of the last entry that was read, seq of the newest entry) for the chains that have unread
    entries."""
    read = WebhookCursor.objects.filter(chain=OuterRef("pk")).values("seq")
    chains = AuditChain.objects.exclude(pk=HUB)
    if all(wants.store is not None for wants in wanting):
        chains = chains.filter(pk__in={wants.store for wants in wanting})
    chains = chains.annotate(read=Coalesce(Subquery(read[:1]), 0)).filter(last_seq__gt=F("read")).order_by("pk")
    return [(chain, seq, last) for chain, seq, last in chains.values_list("pk", "read", "last_seq")]


def _read(chain: str, seq: int, last: int, wanting: Sequence[Wants], at: datetime, most: int) -> int:
    """Read the next entries of a chain, and create their deliveries; return the seq of the last entry that was read.

    Return `seq` if another process was first, or if a webhook has changed.
    """
    mine = [wants for wants in wanting if wants.store in (None, chain)]
    end = facts.end_of_part(chain, seq, min(last, seq + ENTRIES), max(1, most // max(1, len(mine))))
    names = {name for wants in mine for name in wants.events}
    key = keys.first()
    found = [
        (wants.id, event)
        for entry in (facts.entries(chain, seq, end, names) if names else ())
        for event in webhook_events.of_entry(entry, key)
        for wants in mine
        if event.type in wants.events and _is_since(entry.at, wants, at)
    ]

    rows = _rows(found, at)

    def write() -> bool:
        with writing():
            if _wanting() != list(wanting) or not _moved(chain, seq, end):
                return False
            _deliver(rows, at)
            return True

    # Without success, another process was first, or a webhook has changed.
    return end if together(write) else seq


def _is_since(moment: datetime, wants: Wants, at: datetime) -> bool:
    """Return whether an entry was written after a webhook was made.

    True for every entry if the webhook seems to be made in the future: the clock was ahead when it was made.
    """
    # A webhook from the future was made while the clock was ahead: it gets every unread entry.
    return moment >= wants.created_at or wants.created_at > at


def _moved(chain: str, seq: int, end: int) -> bool:
    """Move the cursor to `end`. Return False if it is no longer at `seq`."""
    if WebhookCursor.objects.filter(chain=chain, seq=seq).update(seq=end):
        return True
    return not seq and WebhookCursor.objects.get_or_create(chain=chain, defaults={"seq": end})[1]


# ------------------------------------------------------------------------------------------------ deliveries


def add(webhook: Webhook, event: Event, at: datetime) -> Delivery:
    """Add a delivery that is sent without waiting for other deliveries; return it. Call it in a transaction."""
    (row,) = _rows([(webhook.pk, event)], at)
    row.aside = True
    row.save(force_insert=True)
    return row


def _rows(events: Sequence[tuple[str, Event]], at: datetime) -> list[Delivery]:
    """Return unsaved deliveries, with ids in the order of the events."""
    newest = {webhook: _newest(webhook, at) for webhook in {webhook for webhook, _ in events}}
    rows = []
    for position, (webhook, event) in enumerate(events):
        place = event.seq.to_bytes(5, "big") + (position % 65_536).to_bytes(2, "big") + os.urandom(3)
        rows.append(
            Delivery(
                id=ids.derived_id(ids.DELIVERY, newest[webhook], place),
                webhook_id=webhook,
                chain=event.chain,
                seq=event.seq,
                event=event.type,
                payload=event.payload,
                created_at=newest[webhook],
                next_at=at,
            )
        )
    return rows


def _newest(webhook: str, at: datetime) -> datetime:
    found = Delivery.objects.filter(webhook_id=webhook).newest().values_list("created_at", flat=True).first()
    return at if found is None else max(at, found)


def _deliver(rows: Sequence[Delivery], at: datetime) -> None:
    """Save the deliveries, and make each webhook due now, unless one of its earlier deliveries must be sent first."""
    if not rows:
        return
    webhooks = Webhook.objects.filter(pk__in={row.webhook_id for row in rows})
    held = Delivery.objects.waiting().filter(aside=False)
    locked = list(webhooks.select_for_update(no_key=True).order_by("pk").values_list("pk", "next_at"))
    idle = [
        pk for pk, next_at in locked if next_at is None or (next_at > at and not held.filter(webhook_id=pk).exists())
    ]
    Delivery.objects.bulk_create(rows, batch_size=ROWS)
    webhooks.filter(pk__in=idle).update(next_at=at)


def next_of(webhook_id: str) -> datetime | None:
    """Return when a webhook's next delivery is due; None if none waits.

    This locks the webhook first, so that no delivery can be added before the caller has saved the result.
    """
    # Without the lock, a delivery could be committed after this reading, and would wait until another one comes.
    list(Webhook.objects.select_for_update(no_key=True).filter(pk=webhook_id).values_list("pk"))
    waiting = Delivery.objects.waiting().filter(webhook_id=webhook_id)
    first = waiting.filter(aside=False).order_by("id").values_list("next_at", flat=True).first()
    aside = waiting.filter(aside=True).order_by("next_at", "id").values_list("next_at", flat=True).first()
    return min((moment for moment in (first, aside) if moment is not None), default=None)


# ------------------------------------------------------------------------------------------------ alarms of the hub


def _tell_of_alarms(wanting: Sequence[Wants], at: datetime) -> None:
    """Create deliveries for alarms whose state has changed, to webhooks of the hub.

    A webhook gets no delivery about its own alarm.
    """
    if not any(name in wants.events for wants in wanting for name in webhook_events.GROUPS["alarm"]):
        return
    key = keys.first()
    for alarm in list(Alarm.objects.exclude(told=F("state")).order_by("pk")[:100]):
        moment = alarm.changed_at or at
        found = [
            (wants.id, event)
            for event in webhook_events.of_alarm(alarm.key, alarm.since, alarm.told, alarm.state, moment, key)
            for wants in wanting
            if event.type in wants.events and not alarm.key.endswith(f" {wants.id}")
        ]
        together(lambda alarm=alarm, found=found: _write_alarm(alarm, found, at))  # type: ignore[misc]


def _write_alarm(alarm: Alarm, found: Sequence[tuple[str, Event]], at: datetime) -> None:
    with writing():
        if Alarm.objects.filter(pk=alarm.pk, told=alarm.told, state=alarm.state).update(told=alarm.state):
            _deliver_to_active(found, at)


# ------------------------------------------------------------------------------------------------ jobs: runs, imports


def _tell_of_jobs(wanting: Sequence[Wants], at: datetime) -> bool:
    """Create deliveries for retention runs and imports whose state has changed. Always return True."""
    key = keys.first()
    for jobs in (Run.objects, Import.objects):
        stores = Q() if any(wants.store is None for wants in wanting) else Q(store_id__in={w.store for w in wanting})
        changed: Any = jobs.filter(stores).exclude(told=F("state")).order_by("pk")
        for job in list(changed[:100]):
            events = list(_of_job(job, at, key))
            found = [
                (wants.id, event)
                for event in events
                for wants in wanting
                if wants.store in (None, job.store_id) and event.type in wants.events
            ]
            together(lambda job=job, found=found: _write_job(job, found, at))  # type: ignore[misc]
    return True


def _of_job(job: Run | Import, at: datetime, key: bytes) -> Iterable[Event]:
    moment = job.ended_at or job.started_at or at
    if isinstance(job, Run):
        return webhook_events.of_run(job.store_id, job.pk, job.told, job.state, moment, key)
    return webhook_events.of_import(job.store_id, job.pk, job.state, job.done_count, moment, key)


def _write_job(job: Run | Import, found: Sequence[tuple[str, Event]], at: datetime) -> None:
    with writing():
        there = type(job)._default_manager.filter(pk=job.pk, told=job.told)
        if there.update(told=job.state):
            _deliver_to_active(found, at)


def _deliver_to_active(found: Sequence[tuple[str, Event]], at: datetime) -> None:
    active = set(Webhook.objects.active().filter(pk__in={id for id, _ in found}).values_list("pk", flat=True))
    _deliver(_rows([(webhook, event) for webhook, event in found if webhook in active], at), at)
