"""Pure functions of the audit chain: canonical form, commitments and hashes of audit entries and memory versions.

An entry's hash is ``HMAC-SHA256(key, previous hash + canonical entry)``. For each value that a redaction may destroy,
the canonical entry has a commitment ``HMAC-SHA256(salt, value)`` in place of the value. When value and salt are
destroyed, the chain still verifies, and the commitment reveals nothing about the value.

The *proof* of an entry has its salts, and the commitments to values that are no longer in the entry.
"""

import hashlib
import hmac
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from memoryhub.pure import compact_json

FORMAT = 1
GENESIS = "0" * 64
SALT_BYTES = 16
COMMITMENT_BYTES = 32

COMMITTED = ("path", "new_path", "label", "session", "note", "token", "input", "message")
"""The fields of an entry in whose place the canonical form has a commitment, each with a salt of its own.

They have the order of the canonical form.
"""

_BIT = {field: 1 << place for place, field in enumerate(COMMITTED)}

PLAIN = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "door", "command", "memory", "version", "ok",
    "duration", "group", "replay_of", "first_line", "last_line", "cut", "digest",
)  # fmt: skip
"""The fields of an entry that the canonical form contains as they are, in its order."""

_encode = compact_json.writer()


@lru_cache(maxsize=8)
def key_id(key: bytes) -> str:
    """Return eight hexadecimal digits that identify an audit key without revealing it."""
    return hashlib.sha256(b"memoryhub audit key\0" + key).hexdigest()[:8]


def commit(salt: bytes, value: str) -> str:
    """Return the commitment to a text. An unpaired surrogate in the text is encoded as three bytes."""
    return hmac.digest(salt, value.encode("utf-8", "surrogatepass"), "sha256").hex()


def seal(values: Mapping[str, str | None], away: Collection[str] = ()) -> tuple[bytes, dict[str, str]]:
    """Return the proof of an entry with these values, and {field: commitment} of the COMMITTED fields that have a
    value.

    Each salt is fresh. `away` are the fields whose values the entry will not contain: the proof keeps the commitments
    to them, because they cannot be computed from the entry.
    """
    random = os.urandom(SALT_BYTES * len(COMMITTED))
    salted, kept, kept_bytes, commitments, end = 0, 0, b"", {}, 0
    for field, bit in _BIT.items():
        value = values[field]
        if value is None:
            continue
        salted |= bit
        start, end = end, end + SALT_BYTES
        commitments[field] = commitment = commit(random[start:end], value)
        if field in away:
            kept |= bit
            kept_bytes += bytes.fromhex(commitment)
    return bytes((salted, kept)) + random[:end] + kept_bytes, commitments


def packed(salts: Mapping[str, str], commitments: Mapping[str, str]) -> bytes:
    """Return the proof with these salts and commitments, in the order of COMMITTED.

    Its first byte has a bit for each field that has a salt, its second byte a bit for each field that has a commitment.
    Then the salts and the commitments follow.
    """
    salted, kept = (sum(_BIT[field] for field in found) for found in (salts, commitments))
    values = [found[field] for found in (salts, commitments) for field in COMMITTED if field in found]
    return bytes((salted, kept)) + bytes.fromhex("".join(values))


def unpacked(proof: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Return {field: salt} and {field: commitment} of a proof, in the order of COMMITTED.

    Raises ValueError if the length of the proof is wrong.
    """
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    place = 2
    for mask, values, size in zip(proof[:2], found, (SALT_BYTES, COMMITMENT_BYTES), strict=True):
        for field in COMMITTED:
            if mask & _BIT[field]:
                values[field] = proof[place : place + size].hex()
                place += size
    if place != len(proof):
        raise ValueError(f"a proof of {len(proof)} bytes should have {place}")
    return found


def canonical(key_name: str, plain: Sequence[object], commitments: Mapping[str, str]) -> str:
    """Return the text that is hashed: a JSON array of the format, the key's id, the PLAIN values and the
    commitments."""
    return _encode([FORMAT, key_name, *plain, [commitments.get(field) for field in COMMITTED]])


def entry_hash(key: bytes, previous: str, canonical_entry: str) -> str:
    """Return the hash, 64 hexadecimal digits, that chains an entry to the previous one."""
    return hmac.digest(key, previous.encode() + canonical_entry.encode(), "sha256").hex()


def new_salt() -> str:
    """Return a fresh salt in hexadecimal."""
    return os.urandom(SALT_BYTES).hex()


def version_commitment(
    salt: str,
    *,
    id: str,
    memory: str,
    number: int,
    operation: str,
    path: str,
    sha256: str | None,
    at: str,
    origin: object = None,
) -> str:
    """Return the commitment to a memory version. It covers the text by its SHA-256 (None: the version is a deletion).

    `origin` says who wrote an imported version. If it is None, the commitment has the form that versions had before
    there was an `origin`.
    """
    values = [FORMAT, id, memory, number, operation, path, sha256, at]
    value = _encode(values if origin is None else [*values, origin])
    return hmac.digest(bytes.fromhex(salt), value.encode(), "sha256").hex()


def redaction_commitment(salt: str | None, values: Sequence[object]) -> str:
    """Return the commitment to a redaction: to its target, and to the value that is stored now.

    If no value is stored, `salt` is None.
    """
    value = _encode([FORMAT, "redaction", *values])
    return hmac.digest(bytes.fromhex(salt or ""), value.encode("utf-8", "surrogatepass"), "sha256").hex()


def canonical_row(values: Sequence[object]) -> str:
    """Return the canonical text of some values. From such texts, the commitments to governing rows and the hashes of
    their seals are computed."""
    return _encode([FORMAT, "row", *values])


def seal_of(key: bytes, values: Sequence[object]) -> str:
    """Return a keyed digest of `values`. No one can forge it without the key, so it can take the place of a removed
    audit entry."""
    return hmac.digest(key, b"seal\0" + _encode(list(values)).encode(), "sha256").hex()


def set_digest(key: bytes, members: Iterable[str], start: str | None = None, *, less: Iterable[str] = ()) -> str:
    """Return the digest of a set: the set whose digest is `start` (None: the empty set), plus `members`, minus `less`.

    The order of the members does not matter.
    """
    total = int(start or "0", 16)
    total += sum(int(seal_of(key, ["member", member]), 16) for member in members)
    total -= sum(int(seal_of(key, ["member", member]), 16) for member in less)
    return f"{total % 2**256:064x}"


def digest(commitments: Iterable[str]) -> str | None:
    """Return the SHA-256 of an entry's commitments to its versions, redactions and seals, in this order; None if it has
    none."""
    joined = "".join(commitments)
    return hashlib.sha256(joined.encode()).hexdigest() if joined else None


@lru_cache(maxsize=64)
def moment(at: datetime) -> str:
    """Return an aware UTC time as the canonical form writes it: always with microseconds."""
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
