"""Checks whether the clock can be trusted for retention runs: compares it with the last check of the policies."""

from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Subquery

from memoryhub.actions.core.transactions import writing
from memoryhub.models import AuditChain, AuditEntry, HubSettings

MOST = timedelta(hours=24)


def has_moved(at: datetime) -> bool:
    """Return whether the clock differs by more than a day from the last accepted check.

    Before the first check, the clock is compared with the audit's newest entry.
    """
    trusted = HubSettings.current().checked_at or newest_entry()
    return trusted is not None and abs(at - trusted) > MOST


def newest_entry() -> datetime | None:
    """Return the latest time among the newest entries of all chains; None if there are no entries."""
    last = AuditEntry.objects.filter(chain=OuterRef("pk"), seq=OuterRef("last_seq")).values("at")[:1]
    moments = AuditChain.objects.annotate(newest=Subquery(last)).exclude(newest=None)
    found: datetime | None = moments.order_by(F("newest").desc()).values_list("newest", flat=True).first()
    return found


def accept(at: datetime) -> None:
    """Record that the policies were checked at this moment, with a clock that can be trusted."""
    with writing():
        HubSettings.objects.update_or_create(pk=1, defaults={"checked_at": at})
