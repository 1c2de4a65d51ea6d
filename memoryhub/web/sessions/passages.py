"""The passages that calls read, at most MOST_LINES lines of each.

Sensitive values are masked, and signs of poisoning are marked.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from memoryhub.models import MemoryText, MemoryVersion
from memoryhub.pure.sensitive import Span
from memoryhub.pure.text import visible
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.highlights import by_line, marked

MOST_LINES = 8
LONGEST = 300
"""The most characters of a line that are shown."""
MOST_BYTES = 500_000
"""The most bytes of text that are read for the passages of one page."""

Read = tuple[Hashable, MemoryVersion, tuple[int, int]]
"""A key for the read, the version, and the range of lines that was read."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a text as HTML, with the number of the first line. `hidden` counts the lines that were read but are
    not shown."""

    first: int
    lines: Sequence[SafeString]
    hidden: int


def passages(reads: Sequence[Read]) -> dict[Hashable, Passage]:
    """Return {key: passage} for these reads. A text that was removed, or does not fit on the page, has no passage."""
    texts = _texts([version for _key, version, _lines in reads])
    return {key: _passage(texts[version.pk], lines) for key, version, lines in reads if version.pk in texts}


def _texts(versions: Sequence[MemoryVersion]) -> dict[str, masking.Shown]:
    """Return {version id: masked text} for as many of these texts as the page has room for."""
    chosen: dict[str, dict[str, MemoryVersion]] = defaultdict(dict)
    left = MOST_BYTES
    for version in versions:
        is_new = version.pk not in chosen[version.store_id]
        if version.text_id and is_new and (version.size or 0) <= left:
            chosen[version.store_id][version.pk] = version
            left -= version.size or 0
    found: dict[str, masking.Shown] = {}
    for store_id, some in chosen.items():
        contents = MemoryText.objects.contents(store_id, {version.text_id for version in some.values()})
        covers = masking.covers(store_id, {version.memory_id for version in some.values()})
        for pk, version in some.items():
            text = contents.get(version.text_id or "")
            if text is not None:
                found[pk] = masking.shown(text, covers.get(version.memory_id, masking.NOTHING))
    return found


def _passage(shown: masking.Shown, lines: tuple[int, int]) -> Passage:
    first, last = lines
    signs = by_line(shown.text or "", shown.signs)
    begin = _beginning(signs, first, last)
    end = min(last, begin + MOST_LINES - 1)
    rows = (shown.text or "").split("\n")[begin - 1 : end]
    html = [_line(row, signs.get(number, ())) for number, row in enumerate(rows, begin)]
    return Passage(begin, html, last - first + 1 - len(html))


def _beginning(signs: Mapping[int, Sequence[Span]], first: int, last: int) -> int:
    """Return the first line to show of the lines `first` to `last`: `first`, or a later line if a sign of poisoning
    would otherwise not be shown."""
    sign = min((number for number in signs if first <= number <= last), default=first)
    return first if sign < first + MOST_LINES else max(first, min(sign - 2, last - MOST_LINES + 1))


def _line(line: str, signs: Sequence[Span]) -> SafeString:
    cut = line[:LONGEST]
    inside = [Span(sign.start, min(sign.end, LONGEST), sign.kind) for sign in signs if sign.start < LONGEST]
    html = marked(cut, inside) if inside else visible.to_html(cut)
    return mark_safe(html + ("…" if len(line) > LONGEST else ""))
