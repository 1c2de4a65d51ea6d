"""The answer to an audited call as the caller saw it, checked against what the entry committed to."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memoryhub import chain
from memoryhub.actions import calls
from memoryhub.models import AuditEntry, MemoryText, MemoryVersion


@dataclass(frozen=True, slots=True)
class Answer:
    """`fits`: it is what the entry committed to; `redacted`: it cannot be, since its text has been redacted."""

    text: str
    fits: bool
    redacted: bool
    rendered: bool


def answer_of(entry: AuditEntry) -> Answer | None:
    """Null where nothing was answered: people see pages, not answers."""
    if "message" not in entry.commitments and entry.message is None:
        return None
    version = _versions([entry]).get(entry.version or "")
    text = _text(entry, version)
    redacted = version is not None and version.redacted_at is not None
    return Answer(text, fits(entry, "message", text), redacted, rendered=entry.message is None)


def answers_of(entries: Iterable[AuditEntry]) -> dict[tuple[str, int], str]:
    """The answers of many entries, by chain and seq."""
    entries = [entry for entry in entries if "message" in entry.commitments or entry.message is not None]
    versions = _versions(entries)
    return {(entry.chain, entry.seq): _text(entry, versions.get(entry.version or "")) for entry in entries}


def fits(entry: AuditEntry, field: str, value: str | None) -> bool:
    """Whether a value is the one that the entry committed to under that name."""
    salt, commitment = entry.salts.get(field), entry.commitments.get(field)
    if value is None or salt is None or commitment is None:
        return value is None and salt is None and commitment is None
    try:
        return chain.commit(bytes.fromhex(salt), value) == commitment
    except (TypeError, ValueError):
        return False


def _versions(entries: Iterable[AuditEntry]) -> Mapping[str, MemoryVersion]:
    """The versions whose texts some answers showed."""
    ids = {entry.version for entry in entries if entry.message is None and entry.version}
    return MemoryVersion.objects.select_related("text").in_bulk(list(ids)) if ids else {}


def _text(entry: AuditEntry, version: MemoryVersion | None) -> str:
    """As stored, rendered again, or that of the call that this one repeats; empty where none of these is possible."""
    try:
        if entry.message is not None:
            return str(json.loads(entry.message))
        if entry.first_line is not None and entry.last_line is not None:
            content = version.content if version and version.store_id == entry.chain else None
            place = (entry.command or "", entry.path or "", content, entry.first_line, entry.last_line)
            return calls.rendered(*place, bool(entry.cut))
        if entry.replay_of is not None:
            return calls.answer_of(entry.chain, entry.replay_of)[1]
    except (ValueError, LookupError, TypeError, MemoryText.DoesNotExist):
        return ""
    return ""
