"""The answer to an audited call, verified against the commitment in the call's audit entry."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memoryhub.actions.core import proofs
from memoryhub.actions.memories import calls
from memoryhub.models import AuditChain, AuditEntry, MemoryText, MemoryVersion, Redaction
from memoryhub.pure import chain
from memoryhub.pure.text import keeping
from memoryhub.web.audit.masking import Entries, Mask

UNKNOWN = "/[redacted]"
"""The placeholder for a redacted path in an answer that is rendered again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call, as the page of its entry shows it."""

    text: str
    fits: bool  # the answer matches the commitment in its entry
    redacted: bool  # the answer cannot be verified, because of a redaction
    rendered: bool  # the answer is not stored, and was rendered again
    removed: bool = False  # the text of the answer has been removed
    masked: bool = False  # some values are masked
    whole_bytes: str = ""  # the size of an answer of which only the beginning is stored


def answer_of(entry: AuditEntry, entries: Entries) -> Answer | None:
    """Return the answer of an entry, or None if the entry has none. An act of a person has no answer: the person gets a
    page instead."""
    if entry.message is None and not proofs.read(entry).has("message"):
        return None
    version = _versions([entry]).get(entry.version or "")
    text = _text(entry, version)
    removed = version is None and entry.message is None and _was_removed(entry)
    redacted = is_redacted(entry, "message")
    seen, is_whole, rendered = _seen(entry, version, text, entries), fits(entry, "message", text), entry.message is None
    whole = "" if rendered else keeping.size_of_cut(text, not entry.ok and _is_in_part(entry)) or ""
    return Answer(seen, is_whole, redacted, rendered, removed, masked=seen != text, whole_bytes=whole)


def _is_in_part(entry: AuditEntry) -> bool:
    """Return whether only a part of an entry's input is kept."""
    try:
        return keeping.parts(json.loads(entry.input or "null"))[1] is not None
    except ValueError:
        return False


def _was_removed(entry: AuditEntry) -> bool:
    """Return whether the version that the answer showed was removed. For a repeated call, return whether the entry of
    the original call was removed."""
    if entry.version is None:
        repeated = entry.replay_of
        return repeated is not None and AuditChain.objects.filter(pk=entry.chain, start_seq__gte=repeated).exists()
    gone = Redaction.objects.of_chain(entry.chain).removed()
    return gone.filter(memory=entry.memory, version=entry.version).exists()


def is_redacted(entry: AuditEntry, field: str) -> bool:
    """Return whether a redaction destroyed the salt of the commitment to `field`. The value of the field can then no
    longer be verified."""
    return proofs.read(entry).is_destroyed(field)


def answers_of(entries: Iterable[AuditEntry], masked: Entries) -> dict[tuple[str, int], str]:
    """Return {(chain, seq): masked answer} of many entries. Entries without an answer are left out."""
    entries = [entry for entry in entries if entry.message is not None or proofs.read(entry).has("message")]
    versions = _versions(entries)
    answers = {}
    for entry in entries:
        version = versions.get(entry.version or "")
        answers[entry.chain, entry.seq] = _seen(entry, version, _text(entry, version), masked)
    return answers


def _seen(entry: AuditEntry, version: MemoryVersion | None, text: str, entries: Entries) -> str:
    """Return the text of an answer with its sensitive values masked."""
    mask = entries.masker(entry)
    if mask is None or not text:
        return text
    if entry.message is None and entry.replay_of is not None and entry.first_line is None:
        original = AuditEntry.objects.of_chain(entry.chain).filter(seq=entry.replay_of).first()
        if original is not None and original.message is None:
            return mask(_text(original, _versions([original]).get(original.version or ""), mask))
    # masked before rendering: in a rendered answer, line numbers would be inside a value
    return mask(_text(entry, version, mask))


def fits(entry: AuditEntry, field: str, value: str | None) -> bool:
    """Return whether `value` was the value of `field` when the entry was written.

    The entry's commitment to the field proves this. The value None fits only if the field had no value.
    """
    proof = proofs.read(entry)
    if value is None or field not in proof.salts:
        return value is None and not proof.has(field)
    try:
        commitment = proof.commitments.get(field) or proofs.commitments_of(entry).get(field)
        is_whole = field in proof.commitments or proofs.is_right(entry)
        return is_whole and chain.commit(bytes.fromhex(proof.salts[field]), value) == commitment
    except (TypeError, ValueError):
        return False


def _versions(entries: Iterable[AuditEntry]) -> Mapping[str, MemoryVersion]:
    """Return {version id: version} of the versions whose texts the answers showed."""
    shown = [entry for entry in entries if entry.message is None and entry.version]
    of_stores = MemoryVersion.objects.filter(store_id__in={entry.chain for entry in shown})
    return of_stores.select_related("text").in_bulk({entry.version for entry in shown}) if shown else {}


def _text(entry: AuditEntry, version: MemoryVersion | None, mask: Mask = str) -> str:
    """Return the text of an answer, or "" if it is no longer available. `mask` is applied to a memory's text."""
    try:
        if entry.message is not None:
            return str(json.loads(entry.message))
        if entry.first_line is not None and entry.last_line is not None:
            content = version.content if version and version.store_id == entry.chain else None
            content = None if content is None else mask(content)
            path = UNKNOWN if entry.path is None and is_redacted(entry, "path") else entry.path or ""
            place = (entry.command or "", path, content, entry.first_line, entry.last_line)
            return calls.rendered(*place, bool(entry.cut))
        if entry.replay_of is not None:
            return calls.answer_of(entry.chain, entry.replay_of)[1]
    except (ValueError, LookupError, TypeError, MemoryText.DoesNotExist):
        return ""
    return ""
