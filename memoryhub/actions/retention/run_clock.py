"""The clock of the retention runs: whether it can be trusted, by when the policies were looked at last."""

from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Subquery

from memoryhub.actions.core.transactions import writing
from memoryhub.models import AuditChain, AuditEntry, HubSettings

MOST = timedelta(hours=24)


def has_moved(at: datetime) -> bool:
    """Whether the clock differs by more than a day from the last look that was accepted.

    Before the first look the newest entry of the audit counts. Afterwards it does not: entries that were written while
    the clock was ahead stay the newest of chains in which nothing happens any more, for as long as it was ahead.
    """
    trusted = HubSettings.current().checked_at or newest_entry()
    return trusted is not None and abs(at - trusted) > MOST


def newest_entry() -> datetime | None:
    """The moment of the latest of the newest entries of all chains."""
    last = AuditEntry.objects.filter(chain=OuterRef("pk"), seq=OuterRef("last_seq")).values("at")[:1]
    moments = AuditChain.objects.annotate(newest=Subquery(last)).exclude(newest=None)
    found: datetime | None = moments.order_by(F("newest").desc()).values_list("newest", flat=True).first()
    return found


def accept(at: datetime) -> None:
    """Notes that the policies were looked at with a clock that can be trusted."""
    with writing():
        HubSettings.objects.update_or_create(pk=1, defaults={"checked_at": at})
