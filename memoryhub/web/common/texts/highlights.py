"""HTML for findings in a text: a box for a sensitive value, a label beside a sign of poisoning."""

from collections.abc import Iterable

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import Group, Span
from memoryhub.pure.text import visible
from memoryhub.templatetags.look import icon
from memoryhub.web.common.texts import kinds
from memoryhub.web.common.texts.masking import MASKED

AROUND = 60
"""The number of characters shown before and after a value."""
WINDOW = 2_000
"""The number of characters around a finding in which other values are detected."""
LONGEST_SIGN = 160


def box(kind: str) -> SafeString:
    """Return the box that replaces a value of this kind."""
    return mark_safe(visible.to_html(f"[redacted:{kind}]"))


def label(kind: str) -> SafeString:
    """Return the label that is shown beside a sign of poisoning."""
    return format_html('<span class="finding-label finding-{}">{}</span>', kinds.group_of(kind), kinds.label(kind))


def excerpt(text: str, start: int, end: int, kind: str) -> SafeString:
    """Return as HTML the part of a line around the finding from `start` to `end`. Sensitive values before and
    after the finding are masked. The finding itself is masked too, unless it is a sign of poisoning."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    first, last = max(first, start - WINDOW), min(last if last >= 0 else len(text), end + WINDOW)
    before, after = _masked(text[first:last], start - first, end - first)
    found = _stored(kind) if kinds.group_of(kind) != Group.POISON else _sign(text[start:end], kind)
    low, high = ("…" if len(part) > AROUND else "" for part in (before, after))
    return mark_safe(f"{low}{visible.to_html(before[-AROUND:])}{found}{visible.to_html(after[:AROUND])}{high}")


def _stored(kind: str) -> SafeString:
    """Return the box that replaces a value of this kind on the page only: the value is still stored."""
    told = gettext("Masked on this page; the value is still stored")
    return format_html('<span class="masked-here" title="{}">{}{}</span>', told, icon("eye-off"), box(kind))


def _sign(text: str, kind: str) -> SafeString:
    cut = text[:LONGEST_SIGN]
    more = "…" if len(text) > LONGEST_SIGN else ""
    return format_html('<mark class="finding-poison">{}{}</mark>{}', mark_safe(visible.to_html(cut)), more, label(kind))


def _masked(line: str, start: int, end: int) -> tuple[str, str]:
    """Return the text before a range of a line and the text after it, with values masked."""
    spans = sensitive.find(line, MASKED)
    before = [span for span in spans if span.start < start]
    cut = min([start, *(span.start for span in before if span.end > start)])
    head = sensitive.mask(line[:cut], [span for span in before if span.end <= start])
    shift = max([end, *(span.end for span in spans if span.start < end)])
    rest = [span._replace(start=span.start - shift, end=span.end - shift) for span in spans if span.start >= shift]
    return head, sensitive.mask(line[shift:], rest)


def marked(line: str, spans: Iterable[Span]) -> str:
    """Return a line as HTML in which each span is marked and followed by the label of its kind."""
    parts, at = [], 0
    for start, end, kind in spans:
        words = f'<mark class="finding-{kinds.group_of(kind)}">{visible.to_html(line[start:end])}</mark>'
        parts += [visible.to_html(line[at:start]), words, label(kind)]
        at = end
    return "".join([*parts, visible.to_html(line[at:])])


def by_line(text: str, spans: Iterable[Span]) -> dict[int, list[Span]]:
    """Split the ordered spans of a text at line ends. Return {line number (from 1): its spans}."""
    found: dict[int, list[Span]] = {}
    number, counted = 1, 0
    for span in spans:
        number, counted = number + text.count("\n", counted, span.start), span.start
        at, line_number = text.rfind("\n", 0, span.start) + 1, number
        for line in text[at : span.end].split("\n"):
            piece = Span(max(span.start - at, 0), min(span.end - at, len(line)), span.kind)
            if piece.start < piece.end:
                found.setdefault(line_number, []).append(piece)
            line_number, at = line_number + 1, at + len(line) + 1
    return found
