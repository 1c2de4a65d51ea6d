"""Keyed fingerprints that recognise a value without storing it: an HMAC under the audit key."""

import hmac

from django.conf import settings


def fingerprint(kind: str, value: str) -> str:
    """Return the fingerprint of a value of some kind. The value cannot be read from it."""
    message = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
    return hmac.digest(settings.MEMORYHUB_AUDIT_KEY, b"finding\0" + message, "sha256").hex()
