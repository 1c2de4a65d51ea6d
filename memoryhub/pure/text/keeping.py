"""Shortens the input of calls that changed nothing, before it is stored. Of a large input, only a part is stored, with
the size of the whole.

Without this, refused calls could fill the disk. No digest of the whole is stored, because it could confirm guesses at a
text that is erased later.
"""

import json
import re
from collections.abc import Collection
from typing import Any

MOST = 4_096
"""How many bytes, as ASCII-escaped JSON, are stored of the input of a call that changed nothing, and of a directory's
listing."""
_LEAST = 256
"""A string of at most this many characters is not shortened within an answer."""

_NEAR = 512
_PIECES = tuple(map(re.compile, (r"\n", r"(?<=[.!?])\s|(?<=[。！？])", r"\s", r"\W")))
"""Where a line, a sentence or a word ends, or at least a part of a word."""

_END = re.compile(r"… \[kept in part: ([0-9,]+) bytes\]\Z")

_to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def in_part(text: str, whole: Collection[str] = ()) -> str:
    """Return the JSON text of an input as it is stored, with at most about MOST bytes.

    The parameters in `whole` are not shortened and do not count. A shortened input becomes an array of two objects:
    what is kept of the input, and the size of the original in bytes. No agent can send an array, so an array is always
    a shortened input.
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
    return _to_json(of_parts(kept, len(text)))


def _cut(value: Any, room: int) -> Any:
    """Return a value that takes at most `room` bytes of JSON. A longer string is cut; any other longer value becomes
    None."""
    if len(_to_json(value)) <= room:
        return value
    return cut(value, room) if isinstance(value, str) and room > 2 else None


def cut(value: str, room: int) -> str:
    """Return the beginning of a string, in at most `room` bytes of JSON.

    If possible, it ends at the end of a line, a sentence or a word, so that no name is cut in half: an erasure would
    not find half a name.
    """
    kept = _begin(value, room)
    return kept if kept == value else kept[: _end_of_a_piece(kept)]


def _begin(value: str, room: int) -> str:
    kept = value[:room]
    while kept and (size := len(_to_json(kept))) > room:
        kept = kept[: min(len(kept) - 1, len(kept) * room // size)]
    return kept


def _end_of_a_piece(text: str) -> int:
    """Return where the last complete piece of a text ends, at most _NEAR characters before the end of the text."""
    start = max(0, len(text) - _NEAR)
    for piece in _PIECES:
        ends = [found.start() for found in piece.finditer(text, start)]
        if ends:
            return ends[-1]
    return len(text)


def parts(value: Any) -> tuple[Any, int | None]:
    """Return the stored part of an input, and the size of the original in bytes (None: the input was not shortened)."""
    summary = value[1] if isinstance(value, list) and len(value) == 2 else None
    if isinstance(summary, dict) and summary.get("kept_in_part") is True and isinstance(summary.get("bytes"), int):
        return value[0], summary["bytes"]
    return value, None


def of_parts(kept: Any, size: int) -> list[Any]:
    """Return what is stored for a shortened input: `kept`, the part that was kept, and `size`, the bytes of the whole
    input."""
    return [kept, {"kept_in_part": True, "bytes": size}]


def short_answer(answer: str, quoted: str) -> str:
    """Return an answer as it is stored.

    If an answer is too long, a mark replaces the string `quoted`, unless this string is short. If the answer is still
    too long, its end is cut. `whole_answer` puts the quoted string back.
    """
    if len(answer) > MOST and len(quoted) > _LEAST:
        answer = answer.replace(quoted, mark(quoted))
    return answer if len(answer) <= MOST else cut(answer, MOST) + _kept_in_part(answer)


def short_listing(answer: str) -> str:
    """Return the listing of a directory as it is stored.

    A long listing is cut after the last complete line within MOST bytes of JSON, and the size of the whole listing is
    added. No path is cut in the middle, because a redaction would not find a part of a path.
    """
    if len(answer) <= MOST and len(_to_json(answer)) <= MOST:
        return answer
    return _begin(answer, MOST).rpartition("\n")[0] + "\n" + _kept_in_part(answer)


def whole_answer(kept: str, quoted: str) -> str:
    """Return the answer that `short_answer` shortened to `kept`, with the string `quoted` in place of its mark."""
    return kept.replace(mark(quoted), quoted) if len(quoted) > _LEAST else kept


def is_cut(kept: str) -> bool:
    """Return whether the end of a stored answer is missing."""
    return len(kept) > _LEAST and _END.search(kept) is not None


def size_of_cut(kept: str, in_part: bool) -> str | None:
    """Return the size in bytes that a stored answer had before it was cut; None if it is stored whole.

    `in_part` says whether the call was refused and its input is kept in part. If not, only the listing of a directory
    counts as cut.
    """
    end = _END.search(kept) if len(kept) > _LEAST else None
    return end[1] if end and (in_part or kept[end.start() - 1] == "\n") else None


def mark(quoted: str) -> str:
    """Return the mark that replaces a string: the string's beginning and its length."""
    return cut(quoted, _LEAST) + _kept_in_part(quoted)


def _kept_in_part(text: str) -> str:
    return f"… [kept in part: {len(text.encode('utf-8', 'surrogatepass')):,} bytes]"
