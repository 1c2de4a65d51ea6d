"""Signs downloads for auditors, with an Ed25519 key that is derived from the audit key.

A rotation of the audit key replaces the signing key. The public keys are not secret.
"""

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryhub.actions.core.audit import keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_LABEL = b"memoryhub signature of downloads, Ed25519, 1"


class PublicKey(NamedTuple):
    """A public key as PEM, and its fingerprint: the SHA-256 of its DER form in hexadecimal digits.

    `until` is when the audit key behind it was replaced (None: this key is the current one).
    """

    fingerprint: str
    pem: str
    until: datetime | None = None


def sign(content: bytes) -> bytes:
    """Return the signature of a content by the current key, 64 bytes."""
    return _private(keys.current()).sign(content)


def current() -> PublicKey:
    """Return the public key with which new signatures can be verified."""
    return _public(keys.current(), None)


def public_keys() -> list[PublicKey]:
    """Return all public keys, the current one first, then older ones from the newest on."""
    older = (_public(one.key.encode(), datetime.fromisoformat(one.until)) for one in reversed(keys.known().keys))
    return [current(), *older]


def _private(audit_key: bytes) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return Ed25519PrivateKey.from_private_bytes(HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(audit_key))


def _public(audit_key: bytes, until: datetime | None) -> PublicKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = _private(audit_key).public_key()
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(hashlib.sha256(der).hexdigest(), pem.decode(), until)
