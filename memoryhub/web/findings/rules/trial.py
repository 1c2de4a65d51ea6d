"""What the rules would do to a text that a person enters as a test. The text is not stored, audited or logged."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import Action, Span
from memoryhub.pure.text import visible
from memoryhub.web.common.texts import kinds as findings_words
from memoryhub.web.common.texts.highlights import excerpt

LONGEST = 100_000
MOST = 50
"""The most findings of a tried text that are listed."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in a tried text, and the action of its rule."""

    kind: str
    label: str
    icon: str
    group: str
    line: int
    shown: SafeString
    action: Action


@dataclass(frozen=True, slots=True)
class Tried:
    """The result for a tried text. `stored` is the masked text; None if nothing is masked or the text is refused."""

    found: list[Found]
    more: int
    refused: Found | None
    stored: SafeString | None


def tried(text: str, actions: Mapping[str, Action]) -> Tried:
    """Return the effect of rules ({kind: action}) on a text, as if all of the text were new."""
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
