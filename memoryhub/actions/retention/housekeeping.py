"""Deletes expired browser sessions, and stored calls that are too old to be repeated."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import F, OuterRef, Q, Subquery

from memoryhub.actions.core.transactions import pace, writing
from memoryhub.models import AuditChain, IdempotentCall

KEPT_ENTRIES = 1_000
LONGEST = timedelta(days=90)
"""A call is kept until its store has KEPT_ENTRIES further entries, but not longer than LONGEST."""


def forget_sessions(at: datetime, most: int = 1_000) -> None:
    """Delete at most `most` expired browser sessions. Django itself refuses a session after its expiry."""
    with writing():
        old = Session.objects.filter(expire_date__lt=at).order_by("expire_date")[:most]
        Session.objects.filter(pk__in=[session.pk for session in old]).delete()


def forget_calls(clock: datetime, most: int = 1_000) -> int:
    """Delete at most `most` stored calls, in one short transaction; return how many were deleted.

    A call is deleted if it is older than LONGEST. It is also deleted if it is older than MEMORYHUB_IDEMPOTENCY_DAYS and
    its store has had KEPT_ENTRIES entries since. `clock` is the time of `core.hub.clock`.
    """
    before = clock - timedelta(days=settings.MEMORYHUB_IDEMPOTENCY_DAYS)
    last = AuditChain.objects.filter(pk=OuterRef("store_id")).values("last_seq")
    with writing():
        old = IdempotentCall.objects.filter(at__lt=before).alias(last=Subquery(last))
        enough = Q(last__gte=F("seq") + KEPT_ENTRIES) | Q(at__lt=clock - LONGEST)
        found, count = list(old.filter(enough).order_by("at")[:most]), 0
        for call in pace.some(found):
            IdempotentCall.objects.filter(store_id=call.store_id, key=call.key, token=call.token).delete()
            count += 1
    return count
