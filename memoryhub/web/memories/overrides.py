"""Asks a person for a reason to save a text or path that the rules flag."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from django import forms
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from memoryhub.actions.findings.findings import NeedsReason
from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import Span
from memoryhub.web.common.texts import highlights, kinds as findings_words

SHOWN = 50
"""The most findings that are listed one by one."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: its kind and icon, its line (None if it is in the path), and the masked text around it."""

    kind: str
    icon: str
    line: int | None
    excerpt: SafeString


@dataclass(frozen=True, slots=True)
class Asked:
    """The findings shown on the form. `refused` means that the person confirmed without a reason."""

    found: tuple[Found, ...]
    more: int
    refused: bool


def ask_reason(form: forms.Form, needed: NeedsReason) -> None:
    """Set `form.asked` to the findings, with masked values. The page then shows them and a field for the reason."""
    count = len(needed.spans) + len(needed.path_spans)
    found = tuple(islice(_found(needed), SHOWN))
    form.asked = Asked(found, count - len(found), "asked" in form.data)  # type: ignore[attr-defined]
    del form.fields["override"]  # the template of the findings has its own field
    if form.data.get("mark"):  # the person has already confirmed saving the conflict markers
        form.data = {**{name: form.data[name] for name in form.data}, "mark": "0"}


def _found(needed: NeedsReason) -> Iterator[Found]:
    for text, spans, in_path in ((needed.path, needed.path_spans, True), (needed.text, needed.spans, False)):
        for span in spans:
            yield _one(text, span, None if in_path else sensitive.line_of(text, span.start))


def _one(text: str, span: Span, line: int | None) -> Found:
    excerpt = highlights.excerpt(text, span.start, span.end, span.kind)
    return Found(findings_words.label(span.kind), findings_words.icon_of(span.kind), line, excerpt)


def said_of_masked(kinds: tuple[str, ...]) -> str:
    """Return a sentence that is shown after a save: how many passages were masked, and of which kinds. Return "" if
    `kinds` is empty."""
    if not kinds:
        return ""
    named = ", ".join(sorted({findings_words.label(kind) for kind in kinds}))
    text = ngettext(
        "%(count)s passage was masked before it was stored, because this memory "
        "store does not keep such text: %(kinds)s.",
        "%(count)s passages were masked before they were stored, because this memory "
        "store does not keep such text: %(kinds)s.",
        len(kinds),
    )
    return " " + text % {"count": len(kinds), "kinds": named}
