"""What is put away when its time has passed."""

from datetime import datetime, timedelta

from django.conf import settings

from memoryhub.actions.transactions import writing
from memoryhub.models import IdempotentCall


def forget_calls(at: datetime, most: int = 1_000) -> int:
    """Forgets, in one short transaction, calls that are too old to be sent again; gives how many (at most `most`)."""
    before = at - timedelta(days=settings.MEMORYHUB_IDEMPOTENCY_DAYS)
    with writing():
        old = list(IdempotentCall.objects.filter(at__lt=before).order_by("at")[:most])
        for call in old:
            call.delete()
    return len(old)
