"""The text of a memory on a page: numbered lines, and a lossless round trip through a textarea."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from django.utils.safestring import SafeString, mark_safe

from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.sensitive import Span
from memoryhub.pure.text import visible
from memoryhub.web.common.texts.highlights import by_line, marked

LINES = 20_000
"""The most lines shown on one page."""

NOTHING: Mapping[int, SafeString] = {}

LF, CRLF = "lf", "crlf"
_SIGN = re.compile(r"␍|⟨CR[0-9]{0,9}⟩")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines `first` to `last` of a text of `total` lines, as HTML."""

    html: SafeString
    first: int
    last: int
    total: int
    next: int | None  # the number after `last`, or None at the end of the text
    ended: bool  # the text's last line ends with a newline


def shown_lines(text: str | None, first: int = 1, last: int | None = None) -> range:
    """Return the numbers of the lines of a text that a page shows, from `first` to `last`."""
    total = count_lines(text or "")
    first = max(1, min(first, total or 1))
    return range(first, min(total, first + LINES - 1, total if last is None else last) + 1)


def numbered_lines(
    text: str,
    first: int = 1,
    marks: Sequence[Span] = (),
    *,
    last: int | None = None,
    below: Mapping[int, SafeString] = NOTHING,
) -> Lines:
    """Return at most LINES lines from `first` to `last`. The element of line 12 has the id `L12`.

    `marks` are the spans of findings. `below` has the HTML under a line, by the line's number.
    """
    total, numbers = count_lines(text), shown_lines(text, first, last)
    first, last = numbers.start, numbers.stop - 1
    shown = text.split("\n")[first - 1 : last]
    lines = visible.to_html("\n".join(shown)).split("\n") if total else []
    for number, found in by_line(text, marks).items():
        if first <= number <= last:
            lines[number - first] = marked(shown[number - first], found)
    rows = enumerate(lines, first)
    html = "".join(
        [f'<li id="L{n}"><a href="#L{n}">{n}</a><code>{line}</code>{below.get(n, "")}</li>' for n, line in rows]
    )
    return Lines(mark_safe(html), first, last, total, last + 1 if last < total else None, text.endswith("\n"))


@dataclass(frozen=True, slots=True)
class Editable:
    """A text for a textarea, and its kind of line endings.

    `newlines` is `lf`, `crlf`, or the sign that replaces each CR. Without the sign, these CRs would be lost, because a
    browser makes all line endings the same.
    """

    text: str
    newlines: str

    @property
    def sign(self) -> str | None:
        """Return the sign that replaces each CR in the textarea, or None if there is none."""
        return None if self.newlines in (LF, CRLF) else self.newlines


def to_textarea(text: str) -> Editable:
    """Return a text in the form that a person edits."""
    if "\r" not in text:
        return Editable(text, LF)
    crlf = text.count("\r\n")
    if crlf == text.count("\r") == text.count("\n"):
        return Editable(text.replace("\r\n", "\n"), CRLF)
    sign = "␍" if "␍" not in text else next(sign for n in count(1) if (sign := f"⟨CR{n}⟩") not in text)
    return Editable(text.replace("\r", sign), sign)


def from_textarea(value: str, newlines: str) -> str:
    """Return the submitted text with its original line endings. Raise ValueError for unknown `newlines`."""
    text = value.replace("\r\n", "\n")
    if newlines == LF:
        return text
    if newlines == CRLF:
        return text.replace("\n", "\r\n")
    if not _SIGN.fullmatch(newlines):
        raise ValueError(newlines)
    return text.replace(newlines, "\r")
