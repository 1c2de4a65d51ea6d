"""The lines of the checkpoint files: JSON objects, each with a signature by the audit key.

The signature also covers the line's place: the number of its segment and its number in the segment, from 1. Each file
is one segment. From the second segment on, the first line is an Opening. The last line of a full segment is a Closing.
Lines without a number were written by an older version of the hub.
"""

import hmac
import json
from dataclasses import asdict, dataclass
from typing import Any

from memoryhub.actions.core.audit import keys

LONGEST = 4_096
"""The greatest length of a line, in bytes."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a chain at a moment. `key` is the name of the audit key."""

    at: str
    chain: str
    seq: int
    hash: str
    key: str


@dataclass(frozen=True, slots=True)
class Opening:
    """A segment's first line. It has the SHA-256 of the previous segment's file.

    The next `heads` lines repeat the newest checkpoints of the previous segment.
    """

    previous: str
    heads: int
    key: str


@dataclass(frozen=True, slots=True)
class Closing:
    """The last line of a full segment: the SHA-256 of all lines before it.

    The number of this line shows how many lines the segment must have.
    """

    sha256: str
    key: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line from a file. `segment` and `number` are None in the oldest format."""

    what: Checkpoint | Opening | Closing
    segment: int | None
    number: int | None


def written(what: Checkpoint | Opening | Closing, segment: int, number: int) -> bytes:
    """Return a line as bytes, with its place and its signature by the current key."""
    fields = {**asdict(what), "key": keys.key_name(), "segment": segment, "line": number}
    return (json.dumps({**fields, "mac": _mac(fields)}) + "\n").encode()


def parsed(text: bytes) -> Line | None:
    """Return the line, or None if its form or its signature is wrong."""
    try:
        fields = json.loads(text)
        mac = fields.pop("mac")
        if (json.dumps({**fields, "mac": mac}) + "\n").encode() != text or keys.of(fields["key"]) is None:
            return None
        if not hmac.compare_digest(_mac(fields) if "line" in fields else _old_mac(fields), str(mac)):
            return None
        return _line(fields)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def lost_key(text: bytes) -> str | None:
    """Return the name of a line's audit key if that key was lost, else None."""
    try:
        name = str(json.loads(text)["key"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return name if keys.is_lost(name) else None


def _line(fields: dict[str, Any]) -> Line:
    segment, number = fields.pop("segment", None), fields.pop("line", None)
    kind = Checkpoint if "chain" in fields else Opening if "previous" in fields else Closing
    return Line(kind(**fields), segment, number)


def _mac(fields: dict[str, Any]) -> str:
    text = json.dumps(fields)
    return hmac.digest(keys.of(fields["key"]) or b"", b"checkpoint line\0" + text.encode(), "sha256").hex()


def _old_mac(fields: dict[str, Any]) -> str:
    text = json.dumps([fields[name] for name in ("at", "chain", "seq", "hash", "key")])
    return hmac.digest(keys.of(fields["key"]) or b"", b"checkpoint\0" + text.encode(), "sha256").hex()
