"""Alarms for the administrators of the hub.

An alarm is sent only after it has lasted for LASTS, and not again within AGAIN.
"""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from memoryhub.actions.core.hub import background, disk_space, outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.mail import choices
from memoryhub.actions.mail.moments import has_passed
from memoryhub.actions.verification import runs
from memoryhub.models import Alarm, AlarmState, MailKind, Pause, User, Webhook
from memoryhub.pure.webhook_rules.events import GROUPS

LASTS = timedelta(minutes=5)
"""How long something must last before it is an alarm: many failures are over at the next try."""
AGAIN = timedelta(days=1)
FAILURES = 3
SILENT = timedelta(hours=6)
"""A webhook that has failed for this long is an alarm."""
LEAST_FREE = 2 * 1024**3
LEAST_PART = 0.05
"""The disk is short of space if its free bytes are fewer than LEAST_FREE, and fewer than this part of the disk."""

WORK, AUDIT, DISK, WEBHOOK = "work", "audit", "disk", "webhook"
EVENTS = frozenset(GROUPS["alarm"])
"""The events of alarms, for webhooks of the hub."""

ONCE = (WEBHOOK,)
"""Kinds of alarms for which one message is enough."""


def look(at: datetime) -> None:
    """Note, for webhooks and e-mail, which alarms there are now. Do nothing if neither is used for alarms."""
    if outbox.is_on() or any(EVENTS & set(one.events) for one in Webhook.objects.active().filter(store=None)):
        put_due(at)


def put_due(at: datetime) -> None:
    """Store which alarms are new, raised or over, and put e-mails about raised alarms into the outbox.

    An alarm is raised when it has lasted for LASTS. Its e-mails are repeated each time the period AGAIN has passed,
    unless its kind is in ONCE.
    """
    now, known = set(lasting(at)), {alarm.key: alarm for alarm in _alarms()}
    new = [Alarm(key=key, since=at) for key in sorted(now - known.keys())]
    over = [key for key in known.keys() - now if _may_go(known[key], at)]
    due = [alarm for key, alarm in sorted(known.items()) if key in now and outbox.is_on() and _is_due(alarm, at)]
    changed = [(alarm, state) for alarm in known.values() if (state := _state(alarm, alarm.key in now, at))]
    if not (new or over or due or changed):
        return
    with writing():
        Alarm.objects.bulk_create(new, ignore_conflicts=True)
        Alarm.objects.filter(key__in=over).delete()
        for alarm, state in changed:
            begins = {"since": at} if state == AlarmState.NEW else {}
            same = Alarm.objects.filter(key=alarm.key, state=alarm.state, changed_at=alarm.changed_at)
            same.update(state=state, changed_at=at, **begins)
        for alarm in due:
            same = Alarm.objects.filter(key=alarm.key, mailed_at=alarm.mailed_at)
            if same.update(mailed_at=at):  # else another process was first
                outbox.put(MailKind.ALARM, _administrators(), at, about=alarm.key)


def lasting(at: datetime) -> Iterator[str]:
    """Yield the keys of the alarms that there are at a moment. A key names the kind of the alarm, then its subject."""
    yield from _work(at)
    last = runs.last()
    if last is not None and not last.ok:
        yield AUDIT
    disk = shutil.disk_usage(settings.DATA_DIR)
    if disk_space.is_full() or disk.free < min(LEAST_FREE, disk.total * LEAST_PART):
        yield DISK
    dead = Q(paused_for__in=(Pause.FAILING, Pause.GONE)) | Q(paused_at=None, failing_since__lt=at - SILENT)
    yield from (f"{WEBHOOK} {pk}" for pk in Webhook.objects.filter(dead).values_list("pk", flat=True))


def _work(at: datetime) -> Iterator[str]:
    """Yield the alarms of the background work.

    A node whose kinds of work are all silent counts as switched off, and makes no alarm.
    """
    states = background.states()
    # A node whose kinds of work are all silent counts as switched off.
    running = {row.node for row in states if not background.hangs(row, at)}
    for row in states:
        hangs = background.hangs(row, at)
        if row.node in running and row.name != "mail" and (hangs or row.failures >= FAILURES):
            yield f"{WORK} {row.node} {row.name}"


def _alarms() -> Iterator[Alarm]:
    kinds = (WORK, AUDIT, DISK, WEBHOOK)
    return (alarm for alarm in Alarm.objects.all() if alarm.key.partition(" ")[0] in kinds)


def _may_go(alarm: Alarm, at: datetime) -> bool:
    """Return whether the row of an alarm may be deleted, because the alarm is over and was not sent recently."""
    if alarm.state == AlarmState.RAISED:
        return False
    moments = (alarm.mailed_at, alarm.changed_at if alarm.state == AlarmState.ENDED else None)
    return all(moment is None or has_passed(moment, AGAIN, at) for moment in moments)


def _state(alarm: Alarm, lasts: bool, at: datetime) -> AlarmState | None:
    """Return the new state of an alarm, or None if its state does not change."""
    if not lasts:
        return AlarmState.ENDED if alarm.state == AlarmState.RAISED else None
    if alarm.state == AlarmState.ENDED:
        return AlarmState.NEW
    return AlarmState.RAISED if alarm.state == AlarmState.NEW and has_passed(alarm.since, LASTS, at) else None


def _is_due(alarm: Alarm, at: datetime) -> bool:
    if alarm.mailed_at is None:
        return has_passed(alarm.since, LASTS, at)
    return alarm.key.partition(" ")[0] not in ONCE and has_passed(alarm.mailed_at, AGAIN, at)


def _administrators() -> list[str]:
    people = User.objects.filter(is_active=True, is_superuser=True)
    return [user.pk for user in people if choices.wants(user, MailKind.ALARM)]
