"""Signed documents for people outside the hub: receipts of erasures, and certificates of retention.

A document is JSON with a content and its signature, made with the audit key. Only this hub can verify it. After a
rotation, anyone who has the older key could still sign documents with it. So a document with the signature of an older
key counts only if the audit confirms it.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from django.conf import settings

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record, keys
from memoryhub.models import AuditEntry, Receipt
from memoryhub.pure import chain, ids

RECEIPT, CERTIFICATE = "receipt", "certificate"
_OUTER = ("type", "id", "hub", "memory_store_id", "at", "by", "entry", "entry_hash", "audit_key")
"""The fields that every certificate has."""


class Malformed(ValueError):
    """The text does not have the form of a document; the message says why."""


class Verdict(Enum):
    """The result of checking a document. RIGHT: this hub signed it. WRONG: this hub did not sign it. UNCONFIRMED: an
    older key signed it, and the audit does not confirm this. LOST: it may be signed with a key that this hub has
    lost."""

    RIGHT = "right"
    WRONG = "wrong"
    UNCONFIRMED = "unconfirmed"
    LOST = "lost"


def signature(content: Mapping[str, Any], key: bytes | None = None) -> str:
    """Return the signature of a content in hexadecimal digits.

    It is made with `key` (None: with the current audit key).
    """
    key = keys.current() if key is None else key
    return hmac.new(key, b"receipt\0" + _text(content), hashlib.sha256).hexdigest()


def sha256(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document's content, in hexadecimal digits."""
    return hashlib.sha256(_text(content)).hexdigest()


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def is_signed(content: Mapping[str, Any], signed: str) -> bool:
    """Return whether this hub signed this content with its current audit key."""
    return hmac.compare_digest(signature(content).encode(), signed.encode("utf-8", "replace"))


def document(kind: str, content: Mapping[str, Any], signed: str) -> str:
    """Return a content and its signature as JSON text."""
    return json.dumps({kind: content, "signature": signed}, indent=2, ensure_ascii=True) + "\n"


def certified(kind: str, store_id: str, found: Mapping[str, Any], counted: Mapping[str, Any], act: Act) -> str:
    """Write the entry `certify` in a store's chain, and return the signed certificate as JSON text.

    The certificate contains `found`; the entry contains `counted` and the digest of `found`. Raises tree.NoSuchStore.
    """
    stated = {**counted, "type": kind, "names": sorted(found), "sha256": sha256(found)}
    with tree.locked(store_id, act) as store:
        seq = tree.commit(store, Record("certify", input=audit.to_json(stated)))
    entry = AuditEntry.objects.of_chain(store_id).get(seq=seq)
    content = {
        "type": kind,
        "id": ids.new_id(ids.RECEIPT, act.at),
        "hub": settings.MEMORYHUB_URL,
        "memory_store_id": store_id,
        "at": chain.moment(act.at),
        "by": act.actor.id,
        "entry": seq,
        "entry_hash": entry.hash,
        "audit_key": entry.key_name,
        **found,
    }
    return document(CERTIFICATE, content, signature(content))


def check(text: str) -> Verdict:
    """Return the verdict on a document: whether this hub signed it, and whether it is unchanged. Raises Malformed."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    told = value if isinstance(value, dict) else {}
    content, signed = told.get(RECEIPT, told.get(CERTIFICATE)), told.get("signature")
    if not isinstance(content, dict) or not isinstance(signed, str):
        raise Malformed("it has no receipt and no certificate with a signature")
    if len(told) != 2 or (content.get("type") == "erasure_receipt") != (RECEIPT in told):
        return Verdict.WRONG
    return Verdict.RIGHT if is_signed(content, signed) else _by_older(content, signed)


def _by_older(content: Mapping[str, Any], signed: str) -> Verdict:
    """Return the verdict on a document that the current key has not signed."""
    name = str(content.get("audit_key"))
    key = keys.of(name)
    if key is None:
        return Verdict.LOST if keys.is_lost(name) else Verdict.WRONG
    if not hmac.compare_digest(signature(content, key).encode(), signed.encode("utf-8", "replace")):
        return Verdict.WRONG
    confirms = _receipt_confirms if content.get("type") == "erasure_receipt" else _entry_confirms
    return Verdict.RIGHT if confirms(content) else Verdict.UNCONFIRMED


def _receipt_confirms(content: Mapping[str, Any]) -> bool:
    """Return whether the database has a receipt with this content, signed with the current key."""
    row = Receipt.objects.filter(store=str(content.get("memory_store_id")), pk=str(content.get("id"))).first()
    return row is not None and row.content == content and is_signed(row.content, row.signature)


def _entry_confirms(content: Mapping[str, Any]) -> bool:
    """Return whether the certificate's entry exists, and says the same as the certificate.

    `id` and `hub` are not compared, because the entry does not contain them. If an older version of the hub wrote the
    entry, it does not contain `type` either.
    """
    seq = content.get("entry")
    rows = AuditEntry.objects.of_chain(str(content.get("memory_store_id"))).of_command("certify")
    entry = rows.filter(seq=seq).first() if isinstance(seq, int) else None
    if entry is None or not entry.input:
        return False
    details = json.loads(entry.input)
    names = details.get("names", [])
    known = {
        "at": chain.moment(entry.at), "by": entry.actor_id, "entry_hash": entry.hash, "audit_key": entry.key_name,
        "type": details.get("type", content.get("type")),
    }  # fmt: skip
    if content.keys() != {*_OUTER, *names} or any(content[name] != value for name, value in known.items()):
        return False
    return bool(names) and details.get("sha256") == sha256({name: content[name] for name in names})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a JSON object. Raises ValueError for a repeated name."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)
