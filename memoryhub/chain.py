"""The audit chain as pure functions: canonical form, commitments and hashes of audit entries and memory versions.

An entry's hash is ``HMAC-SHA256(key, previous hash + canonical entry)``. The canonical entry holds, instead of each
value that a redaction may have to destroy, a commitment ``HMAC-SHA256(salt, value)``: destroying value and salt leaves
the chain verifiable and says nothing about what was there.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

FORMAT = 1
GENESIS = "0" * 64
SALT_BYTES = 16

COMMITTED = ("path", "new_path", "label", "session", "note", "token", "input", "message")
"""The fields of an entry that are committed to, each with its own salt, in the order of the canonical form."""

PLAIN = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "door", "command", "memory", "version", "ok",
    "duration", "group", "replay_of", "first_line", "last_line", "cut", "digest",
)  # fmt: skip
"""The fields of an entry that stand in the canonical form themselves, in its order."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def key_id(key: bytes) -> str:
    """Eight hexadecimal digits that name an audit key without giving it away."""
    return hashlib.sha256(b"memoryhub audit key\0" + key).hexdigest()[:8]


def commit(salt: bytes, value: str) -> str:
    """The commitment to one text; an unpaired surrogate counts as the three bytes that UTF-8 would give it."""
    return hmac.digest(salt, value.encode("utf-8", "surrogatepass"), "sha256").hex()


def seal(values: Mapping[str, str | None]) -> tuple[dict[str, str], dict[str, str]]:
    """({field: salt}, {field: commitment}), with fresh salts, for those of COMMITTED that have a value."""
    present = [field for field in COMMITTED if values[field] is not None]
    random = os.urandom(SALT_BYTES * len(present))
    salts, commitments = {}, {}
    for position, field in enumerate(present):
        salt = random[position * SALT_BYTES : (position + 1) * SALT_BYTES]
        salts[field] = salt.hex()
        commitments[field] = commit(salt, values[field] or "")
    return salts, commitments


def canonical(key_name: str, plain: Sequence[object], commitments: Mapping[str, str]) -> str:
    """The text that is hashed: a JSON array of the format, the key's id, the PLAIN values and the commitments."""
    return _encode([FORMAT, key_name, *plain, [commitments.get(field) for field in COMMITTED]])


def entry_hash(key: bytes, previous: str, canonical_entry: str) -> str:
    """The 64 hexadecimal digits that chain an entry to the one before it."""
    return hmac.digest(key, previous.encode() + canonical_entry.encode(), "sha256").hex()


def new_salt() -> str:
    """A fresh salt in hexadecimal."""
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
    """What an entry holds of a memory version; the text is bound through its SHA-256 (null for `deleted`).

    `origin` says who wrote a version that an import brought; those without one are as they were before there was any.
    """
    values = [FORMAT, id, memory, number, operation, path, sha256, at]
    value = _encode(values if origin is None else [*values, origin])
    return hmac.digest(bytes.fromhex(salt), value.encode(), "sha256").hex()


def redaction_commitment(salt: str | None, values: Sequence[object]) -> str:
    """What an entry holds of a redaction: its target and what stands there now; no salt where nothing does."""
    value = _encode([FORMAT, "redaction", *values])
    return hmac.digest(bytes.fromhex(salt or ""), value.encode("utf-8", "surrogatepass"), "sha256").hex()


def canonical_row(values: Sequence[object]) -> str:
    """The text to which a seal of a governing row commits, and the one by which an entry holds that seal."""
    return _encode([FORMAT, "row", *values])


def seal_of(key: bytes, values: Sequence[object]) -> str:
    """What speaks for something whose entry has been removed: nobody without the audit key can write it."""
    return hmac.digest(key, b"seal\0" + _encode(list(values)).encode(), "sha256").hex()


def set_digest(key: bytes, members: Iterable[str], start: str | None = None, *, less: Iterable[str] = ()) -> str:
    """A digest of a set that can be carried on: with members more, and others less, whatever their order."""
    total = int(start or "0", 16)
    total += sum(int(seal_of(key, ["member", member]), 16) for member in members)
    total -= sum(int(seal_of(key, ["member", member]), 16) for member in less)
    return f"{total % 2**256:064x}"


def digest(commitments: Iterable[str]) -> str | None:
    """The SHA-256 of the commitments of an entry's versions, redactions, then seals, in order; null without any."""
    joined = "".join(commitments)
    return hashlib.sha256(joined.encode()).hexdigest() if joined else None


def moment(at: datetime) -> str:
    """How the canonical form writes an aware UTC time: to the microsecond, always."""
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
