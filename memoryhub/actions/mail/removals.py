"""Warns the admins of a memory store before its retention policies remove something."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.mail import choices
from memoryhub.actions.mail.moments import has_passed
from memoryhub.actions.retention import rehearsal
from memoryhub.actions.retention.rehearsal import Item, Totals
from memoryhub.models import Alarm, MailKind, Member, MemoryStore, Role, User

CHECKED = timedelta(days=1)
EVERY = timedelta(days=7)
AHEAD = timedelta(days=10)
"""A store is checked once a day; its admins get at most one warning in EVERY, about what is removed within AHEAD. So a
removal that can be foreseen at the time of a warning is announced at least three days before it happens."""
KIND = "retention"
NAMED = 10
"""How many paths a warning names."""


class Removals(NamedTuple):
    """What retention will remove from a memory store: the totals of all items, and the first items that have a path."""

    totals: Totals
    first: Sequence[Item]


def put_due(at: datetime) -> bool:
    """Check the next memory store, and put warnings into the outbox if items will be removed within AHEAD.

    Return whether all stores have been checked.
    """
    known = {alarm.key: alarm for alarm in Alarm.objects.filter(key__startswith=KIND)}
    for store in MemoryStore.objects.order_by("pk"):
        key = f"{KIND} {store.pk}"
        if (row := known.get(key)) is None or _is_due(row, at):
            _check(store, key, at)
            return False
    return True


def _is_due(row: Alarm, at: datetime) -> bool:
    was_mailed = row.mailed_at is not None and not has_passed(row.mailed_at, EVERY, at)
    return has_passed(row.since, CHECKED, at) and not was_mailed


def _check(store: MemoryStore, key: str, at: datetime) -> None:
    is_due = next(rehearsal.rehearse(store.pk, at + AHEAD), None) is not None
    with writing():
        row, _ = Alarm.objects.select_for_update().get_or_create(pk=key, defaults={"since": at})
        if row.since != at and not _is_due(row, at):
            return  # another process was first
        Alarm.objects.filter(pk=key).update(since=at, **({"mailed_at": at} if is_due else {}))
        if is_due:
            outbox.put(MailKind.RETENTION, _receivers(store), at, store=store.pk)


def _receivers(store: MemoryStore) -> list[str]:
    """Return the ids of the people who get the warnings: the store's admins or, if it has none, the hub's
    administrators.

    People who do not want such e-mails are left out.
    """
    admins = Member.objects.filter(store=store, role=Role.ADMIN, user__is_active=True).values("user")
    people = User.objects.filter(pk__in=admins) or User.objects.filter(is_active=True, is_superuser=True)
    return [user.pk for user in people if choices.wants(user, MailKind.RETENTION)]


def soon(store_id: str, at: datetime) -> Removals:
    """Return the items that retention will remove from a store within AHEAD."""
    items = rehearsal.by_then(rehearsal.rehearse(store_id, at + AHEAD), rehearsal.Rules.of(store_id, at + AHEAD), at)
    named = sorted((item for item in items if item.path), key=lambda item: (item.due_at, item.path))
    return Removals(rehearsal.totals(items), list(islice(named, NAMED)))
