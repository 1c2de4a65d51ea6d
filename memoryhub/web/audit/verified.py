"""What the hub recorded about the last run of `verify_audit`, above the audit."""

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from memoryhub.actions.verification import runs
from memoryhub.models import User
from memoryhub.web.audit.sentences import told_of


@dataclass(frozen=True, slots=True)
class VerificationRun:
    """A recorded run over all chains. `url` is the page of its entry, for who may see the hub's chain, else empty."""

    at: datetime
    is_right: bool
    has_all_checkpoints: bool
    url: str

    @classmethod
    def last(cls, user: User) -> "VerificationRun | None":
        """Return the last recorded run, or None."""
        entry = runs.last()
        if entry is None:
            return None
        is_complete = bool(told_of(entry.input).get("checkpoints_complete"))
        url = reverse("entry", args=[entry.chain, entry.seq]) if user.is_superuser else ""
        return cls(entry.at, entry.ok, is_complete, url)
