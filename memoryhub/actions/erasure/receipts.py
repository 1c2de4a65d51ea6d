"""Receipts of erasures as documents: what leaves the hub, and is held against its signature again later."""

import json
from typing import Any

from memoryhub.actions.erasure import erasure
from memoryhub.models import Receipt

MOST = 200_000
"""Characters of a document that are read."""


class Malformed(ValueError):
    """Not a document that a hub writes; the message says why."""


def document(receipt: Receipt) -> str:
    """The receipt with its signature as JSON text."""
    return json.dumps({"receipt": receipt.content, "signature": receipt.signature}, indent=2, ensure_ascii=True) + "\n"


def is_right(text: str) -> bool:
    """Whether this hub wrote the document, and nobody changed it since; raises Malformed."""
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
    """An object of which no name stands twice: whoever reads it would not know which counts."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)
