"""Keyed fingerprints that recognise a value without storing it: an HMAC under the first audit key."""

import hmac

from memoryhub.actions.core.audit import keys


def fingerprint(kind: str, value: str) -> str:
    """Return the fingerprint of a value of some kind. The value cannot be read from it."""
    message = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
    return hmac.digest(keys.first(), b"finding\0" + message, "sha256").hex()
