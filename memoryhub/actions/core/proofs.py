"""The salts and commitments of audit entries, in the current form and in the older one."""

import json
from typing import NamedTuple

from memoryhub.actions.core.audit import keys
from memoryhub.models import AuditEntry
from memoryhub.pure import chain, compact_json

COLUMNS = ("salts", "commitments", "proof")
"""The columns that `read` needs."""

_to_json = compact_json.writer()


class Proof(NamedTuple):
    """The salts and commitments that an entry contains: {name of a field: hexadecimal digits}.

    With `is_older`, `commitments` has the commitments to all fields. Otherwise it has only the commitments to fields
    whose value is not in the entry.
    """

    salts: dict[str, str]
    commitments: dict[str, str]
    is_older: bool = False

    def has(self, field: str) -> bool:
        """Return whether the field had a value when the entry was written."""
        return field in self.salts or field in self.commitments

    def is_destroyed(self, field: str) -> bool:
        """Return whether the field's value can no longer be verified, because a redaction destroyed its salt."""
        return field in self.commitments and field not in self.salts


def read(entry: AuditEntry) -> Proof:
    """Return the proof of an entry. Raises ValueError if the proof has a form that the hub never writes."""
    if entry.proof is None:
        return Proof(entry.salts, entry.commitments, is_older=True)
    if not isinstance(entry.proof, bytes | memoryview):
        raise ValueError("a proof is no text and no number")
    return Proof(*chain.unpacked(bytes(entry.proof)))


def commitments_of(entry: AuditEntry) -> dict[str, str]:
    """Return the commitments to all committed values of an entry. Raises ValueError, as `read` does."""
    proof = read(entry)
    if proof.is_older:
        return proof.commitments
    found = {}
    for field in chain.COMMITTED:
        if field in proof.commitments:
            found[field] = proof.commitments[field]
        elif field in proof.salts and (value := _value(entry, field)) is not None:
            found[field] = chain.commit(bytes.fromhex(proof.salts[field]), value)
    return found


def _value(entry: AuditEntry, field: str) -> str | None:
    """Return a committed value; None if it is not in the entry, or has a form that the hub never writes."""
    value: str | None = getattr(entry, field)
    if field != "message" or value is None:
        return value
    answer = json.loads(value)
    return answer if isinstance(answer, str) and _to_json(answer) == value else None


def hash_of(entry: AuditEntry, key: bytes) -> str:
    """Return the hash that an entry must have if it was written with this key. Raises ValueError, as `read` does."""
    plain = [chain.moment(entry.at) if name == "at" else getattr(entry, name) for name in chain.PLAIN]
    canonical = chain.canonical(entry.key_name, plain, commitments_of(entry))
    return chain.entry_hash(key, entry.previous_hash, canonical)


def is_right(entry: AuditEntry) -> bool:
    """Return whether an entry's hash is right. True if its key was lost, because then the hash cannot be checked."""
    key = keys.of(entry.key_name)
    return keys.is_lost(entry.key_name) if key is None else fits(entry, key)


def fits(entry: AuditEntry, key: bytes) -> bool:
    """Return whether an entry was written with this key, and nothing that the hash covers has changed since."""
    try:
        return hash_of(entry, key) == entry.hash
    except (ValueError, TypeError, AttributeError):
        return False


def without_salt(entry: AuditEntry, field: str) -> dict[str, object]:
    """Return the update ({column: new value}) that removes the salt of a field from an entry.

    Return {} if the entry has no salt for the field. Call this function before the field's value is removed, because
    the new proof contains a commitment to this value.
    """
    proof = read(entry)
    if field not in proof.salts:
        return {}
    salts = {name: salt for name, salt in proof.salts.items() if name != field}
    if proof.is_older:
        return {"salts": salts}
    value = _value(entry, field)
    own = {} if value is None else {field: chain.commit(bytes.fromhex(proof.salts[field]), value)}
    return {"proof": chain.packed(salts, proof.commitments | own)}
