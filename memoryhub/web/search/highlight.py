"""HTML that marks the matches of a search."""

import re
from collections.abc import Sequence

from django.utils.safestring import SafeString, mark_safe

from memoryhub.pure.text import visible
from memoryhub.pure.text.folding import Span, spans
from memoryhub.templatetags.visible import is_right_to_left

_OF_PATH = re.compile("/|[^/]+")
_NAMES = re.compile(" · |(?:(?! · ).)+", re.DOTALL)


def marked(text: str, words: Sequence[str]) -> SafeString:
    """Return a text as HTML with folded words marked and hidden characters visible."""
    return with_marks(text, spans(text, words))


def with_marks(text: str, found: Sequence[Span]) -> SafeString:
    """Return a text as HTML with some ranges marked and hidden characters visible."""
    parts, at = [], 0
    for start, end in found:
        parts += [visible.to_html(text[at:start]), "<mark>", visible.to_html(text[start:end]), "</mark>"]
        at = end
    return mark_safe("".join([*parts, visible.to_html(text[at:])]))


def marked_path(path: str, words: Sequence[str]) -> SafeString:
    """Return a path as HTML with words marked and its directory less prominent."""
    found, cut = spans(path, words), path.rfind("/") + 1
    part = _isolated_part if is_right_to_left(path) else _part
    directory, name = part(path, 0, cut, found), part(path, cut, len(path), found)
    return mark_safe(f'<span class="found-directory">{directory}</span>{name}')


def marked_names(text: str, words: Sequence[str]) -> SafeString:
    """Return names joined by “ · ” as HTML with words marked; right-to-left names are isolated."""
    return mark_safe(_isolated_part(text, 0, len(text), spans(text, words), _NAMES))


def _part(path: str, begin: int, end: int, found: Sequence[Span]) -> str:
    inside = [(max(a, begin) - begin, min(b, end) - begin) for a, b in found if a < end and b > begin]
    return with_marks(path[begin:end], inside)


def _isolated_part(path: str, begin: int, end: int, found: Sequence[Span], parts: re.Pattern[str] = _OF_PATH) -> str:
    html = []
    for match in parts.finditer(path[begin:end]):
        part = _part(path, begin + match.start(), begin + match.end(), found)
        html.append(f"<bdi>{part}</bdi>" if is_right_to_left(match[0]) else part)
    return "".join(html)
