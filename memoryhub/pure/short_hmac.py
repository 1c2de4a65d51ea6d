"""HMAC-SHA256 of short texts: `hmac.digest` looks up its algorithm in OpenSSL, which takes longer than they do."""

import hashlib

_BLOCK = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


def sha256(key: bytes, message: bytes) -> str:
    """Return the HMAC of RFC 2104 with SHA-256, 64 hexadecimal digits."""
    if len(key) > _BLOCK:
        key = hashlib.sha256(key).digest()
    key = key.ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(key.translate(_INNER) + message).digest()
    return hashlib.sha256(key.translate(_OUTER) + inner).hexdigest()
