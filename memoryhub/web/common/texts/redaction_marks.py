"""The mark of a redacted version: who redacted it, when, and whether the whole version was redacted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryhub.models import AuditEntry, MemoryVersion


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest redaction of a version. `by` is None if the entry of the redaction has been removed."""

    whole: bool
    by: str | None
    at: datetime | None
    seq: int | None


def mark_of(version: MemoryVersion, entries: Mapping[int, AuditEntry]) -> Mark | None:
    """Return the mark of a redacted version, or None if the version was not redacted. `entries` is {seq: entry}."""
    if version.redacted_seq is None and version.redacted_at is None:
        return None
    whole = version.redacted_at is not None
    entry = entries.get(version.redacted_seq or 0)
    if entry is None:
        return Mark(whole, None, version.redacted_at, None)
    return Mark(whole, entry.label, version.redacted_at or entry.at, entry.seq)
