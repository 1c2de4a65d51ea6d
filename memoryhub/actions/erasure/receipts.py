"""Receipts of erasures as documents: exported from the hub, and checked later by their signature."""

import json
from typing import Any

from memoryhub.actions.erasure import erasure
from memoryhub.models import Receipt

MOST = 200_000
"""The most characters of a document that are read."""


class Malformed(ValueError):
    """The document does not have the form of a receipt; the message says why."""


def document(receipt: Receipt) -> str:
    """Return the receipt and its signature as JSON text."""
    return json.dumps({"receipt": receipt.content, "signature": receipt.signature}, indent=2, ensure_ascii=True) + "\n"


def is_right(text: str) -> bool:
    """Return whether this hub signed the document and it is unchanged. Raises Malformed."""
    if len(text) > MOST:
        raise Malformed("it is too long")
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    content, signature = (value.get("receipt"), value.get("signature")) if isinstance(value, dict) else (None, None)
    if not isinstance(content, dict) or not isinstance(signature, str):
        raise Malformed("it has no receipt with a signature")
    return set(value) == {"receipt", "signature"} and erasure.receipt_is_right(content, signature)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a JSON object. Raises ValueError for a repeated name, whose value would be ambiguous."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)
