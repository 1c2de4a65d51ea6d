"""What is kept of a call that changed nothing: a small input whole, of a large one its beginning, length and digest.

An agent may send what it likes and be refused as often as it likes. Kept whole, such calls would fill the disk outside
every limit of its memories.
"""

import hashlib
import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

MOST = 4_096
"""Bytes of an input, as ASCII-escaped JSON, that are kept of a call that changed nothing."""
_LEAST = 256
"""A string this short is kept whole where it stands in an answer."""

_END = re.compile(r"… \[kept in part: [0-9,]+ bytes\]\Z")

_to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class Whole(NamedTuple):
    """What an input was that is kept in part: its bytes as ASCII-escaped JSON, and their SHA-256 (null: redacted)."""

    bytes: int
    sha256: str | None


def in_part(text: str, whole: Collection[str] = ()) -> str:
    """An input's JSON text as it is kept: at most about MOST bytes of it, not counting the parameters named `whole`.

    What is shortened becomes an array of two objects, the input as far as it is kept and what it was. No agent can send
    one, for an input is an object.
    """
    if len(text) <= MOST:
        return text
    given = json.loads(text)
    if not isinstance(given, dict):
        return text
    kept, room = {name: value for name, value in given.items() if name in whole}, MOST
    rest = [item for item in given.items() if item[0] not in whole]
    if len(_to_json(dict(rest))) <= MOST:
        return text
    for name, value in sorted(rest, key=lambda item: len(_to_json(item))):
        room -= len(_to_json(name)) + 2
        short = _cut(value, room) if room > 0 else None
        if short is None:
            break
        kept[name], room = short, room - len(_to_json(short))
    told = {"kept_in_part": True, "bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return _to_json([kept, told])


def _cut(value: Any, room: int) -> Any:
    """A value in at most so many bytes of JSON: a string cut, anything else whole or not at all (null)."""
    if len(_to_json(value)) <= room:
        return value
    return cut(value, room) if isinstance(value, str) and room > 2 else None


def cut(value: str, room: int) -> str:
    """The beginning of a string, at most so many bytes of JSON."""
    kept = value[:room]
    while kept and (size := len(_to_json(kept))) > room:
        kept = kept[: min(len(kept) - 1, len(kept) * room // size)]
    return kept


def parts(value: Any) -> tuple[Any, Whole | None]:
    """A kept input as JSON value: what is there of it, and what the whole was (null: it is whole)."""
    told = value[1] if isinstance(value, list) and len(value) == 2 else None
    if isinstance(told, dict) and told.get("kept_in_part") is True and isinstance(told.get("bytes"), int):
        return value[0], Whole(told["bytes"], told.get("sha256"))
    return value, None


def without_digest(kept: Any, whole: Whole) -> list[Any]:
    """A kept input of which something has been redacted: on the digest of the whole nobody can try what it was."""
    return [kept, {"kept_in_part": True, "bytes": whole.bytes, "sha256": None}]


def short_answer(answer: str, quoted: str) -> str:
    """A long answer with the mark of a string in its place, which `whole_answer` puts back; what is left is cut."""
    if len(answer) > MOST and len(quoted) > _LEAST:
        answer = answer.replace(quoted, mark(quoted))
    return answer if len(answer) <= MOST else cut(answer, MOST) + _told(answer)


def whole_answer(kept: str, quoted: str) -> str:
    """The answer again of which `short_answer` made `kept`."""
    return kept.replace(mark(quoted), quoted) if len(quoted) > _LEAST else kept


def is_cut(kept: str) -> bool:
    """Whether the end of an answer is missing."""
    return len(kept) > _LEAST and _END.search(kept) is not None


def mark(quoted: str) -> str:
    """The beginning of a string, and how long it was; its digest is that of the input, which a redaction takes."""
    return cut(quoted, _LEAST) + _told(quoted)


def _told(text: str) -> str:
    return f"… [kept in part: {len(text.encode('utf-8', 'surrogatepass')):,} bytes]"
