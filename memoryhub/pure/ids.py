"""Identifiers: a prefix and 26 Crockford base32 characters, which are 48 bits of milliseconds and 80 random bits."""

import os
from datetime import datetime
from functools import lru_cache

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_LETTERS = _ALPHABET.encode() * 8
"""The character for each byte: that of the last five bits."""

MEMORY_STORE = "memstore_"
MEMORY = "mem_"
MEMORY_VERSION = "memver_"
MEMORY_TEXT = "text_"
DIRECTORY = "dir_"
AGENT = "agent_"
KEY = "apikey_"
SESSION = "sesn_"
USER = "user_"
INVITATION = "invite_"
GROUP = "group_"
REVIEW = "rev_"
SAVED_VIEW = "view_"
POLICY = "policy_"
HOLD = "hold_"
RUN = "run_"
FINDING = "find_"
SCAN = "scan_"
REDACTION = "redact_"
RECEIPT = "receipt_"
IMPORT = "import_"
WEBHOOK = "webhook_"
EVENT = "whevt_"
DELIVERY = "delivery_"
REQUEST = "req_"
PROPOSAL = "prop_"
PROPOSED_CHANGE = "change_"
COMMENT = "comment_"
CLAUDE_RUN = "clrun_"
DREAM = "drm_"
EVALUATION = "eval_"
CLAUDE_PRESET = "clpreset_"
BROWSER = "browser_"
AUTHENTICATOR = "auth_"
ACT_REQUEST = "actreq_"


def milliseconds(at: datetime) -> int:
    """Return the whole milliseconds since 1970 of an aware moment, never below zero."""
    return max(0, int(at.timestamp() * 1000))


def new_id(prefix: str, at: datetime) -> str:
    """Return a fresh identifier. It sorts after all identifiers of earlier milliseconds."""
    return prefix + _of_moment(at) + os.urandom(16).translate(_LETTERS).decode()


def derived_id(prefix: str, at: datetime, random: bytes) -> str:
    """Return the identifier made of a moment and ten given bytes. The same arguments give the same identifier.

    Within a millisecond, identifiers sort by these bytes.
    """
    return prefix + _of_moment(at) + _base32(int.from_bytes(random[:10], "big"), 80)


@lru_cache(maxsize=64)
def _of_moment(at: datetime) -> str:
    """Return the ten characters that follow the prefix of an identifier. They are made only from the moment, so they
    are the same in all ids of an act."""
    return _base32(milliseconds(at) & 0xFFFF_FFFF_FFFF, 50)


def _base32(value: int, bits: int) -> str:
    pairs = _PAIRS
    return "".join([pairs[(value >> shift) & 0x3FF] for shift in range(bits - 10, -1, -10)])
