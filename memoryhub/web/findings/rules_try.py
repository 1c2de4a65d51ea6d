"""What the rules would do with a text that somebody tries; the text is not stored, audited or logged."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from memoryhub import sensitive
from memoryhub.sensitive import Action, Span
from memoryhub.text import visible
from memoryhub.web.common import kinds as findings_words
from memoryhub.web.common.highlights import excerpt

LONGEST = 100_000
MOST = 50
"""So many findings of a tried text are listed."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a tried text, with what would become of it."""

    kind: str
    label: str
    icon: str
    group: str
    line: int
    shown: SafeString
    action: Action


@dataclass(frozen=True, slots=True)
class Tried:
    """What would become of a text; `stored` is it as it would be, where something is masked (else null)."""

    found: list[Found]
    more: int
    refused: Found | None
    stored: SafeString | None


def tried(text: str, actions: Mapping[str, Action]) -> Tried:
    """What these rules, by kind, do with a text of which everything is new."""
    kinds = [kind for kind, action in actions.items() if action != Action.OFF]
    spans = sensitive.find(text, kinds)
    found = [_found(text, span, actions[span.kind]) for span in spans[:MOST]]
    refused = next((span for span in spans if actions[span.kind] == Action.BLOCK), None)
    masked = [span for span in spans if actions[span.kind] == Action.MASK]
    stored = mark_safe(visible.to_html(sensitive.mask(text, masked))) if masked and refused is None else None
    return Tried(found, len(spans) - len(found), refused and _found(text, refused, Action.BLOCK), stored)


def _found(text: str, span: Span, action: Action) -> Found:
    kind, words = span.kind, findings_words
    return Found(
        kind,
        words.label(kind),
        words.icon_of(kind),
        words.group_of(kind).value,
        sensitive.line_of(text, span.start),
        excerpt(text, span.start, span.end, kind),
        action,
    )
