"""What the hub recorded about the last run of `verify_audit`, above the audit."""

import shlex
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.urls import reverse

from memoryhub.actions.verification import runs
from memoryhub.models import User
from memoryhub.web.audit.sentences import told_of


def command_for() -> str:
    """Return the line that verifies the audit where the hub runs. Only administrators see it: it names the data."""
    data = shlex.quote(str(settings.DATA_DIR))
    database = "" if connection.vendor == "sqlite" else "DATABASE_URL=… "
    return f"{database}MEMORYHUB_DATA_DIR={data} .venv/bin/python manage.py verify_audit"


@dataclass(frozen=True, slots=True)
class VerificationRun:
    """A recorded run over all chains, and how many entries were right.

    `url` is the page of its entry, for who may see the hub's chain, else empty.
    """

    at: datetime
    is_right: bool
    has_all_checkpoints: bool
    url: str
    entries: int

    @classmethod
    def last(cls, user: User) -> "VerificationRun | None":
        """Return the last recorded run, or None."""
        entry = runs.last()
        if entry is None:
            return None
        details = told_of(entry.input)
        is_complete, entries = bool(details.get("checkpoints_complete")), details.get("entries")
        url = reverse("entry", args=[entry.chain, entry.seq]) if user.is_superuser else ""
        return cls(entry.at, entry.ok, is_complete, url, entries if isinstance(entries, int) else 0)
