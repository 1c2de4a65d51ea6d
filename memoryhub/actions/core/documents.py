"""Signed documents for people outside the hub: receipts of erasures, and certificates of retention.

A document is JSON with a content and its signature, made with the hub's audit key. Only this hub can verify it.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

RECEIPT, CERTIFICATE = "receipt", "certificate"

MOST = 200_000
"""The most characters of a document that are read."""


class Malformed(ValueError):
    """The text does not have the form of a document; the message says why."""


def signature(content: Mapping[str, Any]) -> str:
    """Return the signature of a content, in hexadecimal digits."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    key = settings.MEMORYHUB_AUDIT_KEY
    return hmac.new(key, b"receipt\0" + text.encode(), hashlib.sha256).hexdigest()


def is_signed(content: Mapping[str, Any], signed: str) -> bool:
    """Return whether this hub signed this content with its current audit key."""
    return hmac.compare_digest(signature(content).encode(), signed.encode("utf-8", "replace"))


def document(kind: str, content: Mapping[str, Any], signed: str) -> str:
    """Return a content and its signature as JSON text."""
    return json.dumps({kind: content, "signature": signed}, indent=2, ensure_ascii=True) + "\n"


def is_right(text: str) -> bool:
    """Return whether this hub signed the document and it is unchanged. Raises Malformed."""
    if len(text) > MOST:
        raise Malformed("it is too long")
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    told = value if isinstance(value, dict) else {}
    content, signed = told.get(RECEIPT, told.get(CERTIFICATE)), told.get("signature")
    if not isinstance(content, dict) or not isinstance(signed, str):
        raise Malformed("it has no receipt and no certificate with a signature")
    return len(told) == 2 and is_signed(content, signed)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a JSON object. Raises ValueError for a repeated name, whose value would be ambiguous."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)
