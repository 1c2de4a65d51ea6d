"""Template filters for texts that an agent may have written. Every such text passes through them on its way to a
page."""

import re

from django import template
from django.template.defaultfilters import stringfilter
from django.utils.safestring import SafeString, mark_safe

from memoryhub.pure.text.visible import to_html, without_hidden

register = template.Library()

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_BETWEEN = re.compile(r"(/| → |[“”\"(),;·]|: )")
"""The separators between the names of a path, and between a path and the words around it."""
_ISOLATE, _END = "\u2068", "\u2069"


def is_right_to_left(text: str) -> bool:
    """Return whether any character of the text is written from right to left."""
    return _RIGHT_TO_LEFT.search(text) is not None


@register.filter
def visible(value: object, show: str = "") -> SafeString:
    """Return the text escaped, with hidden characters as labelled boxes.

    `|visible:"whitespace"` also shows spaces and tabs. Without "whitespace", if the text is a single line, each
    right-to-left name in it is put into a `<bdi>` element, so that a path keeps the order of its names.
    """
    text = str(value)
    if show or "\n" in text or not _RIGHT_TO_LEFT.search(text):
        return mark_safe(to_html(text, show_whitespace=show == "whitespace"))
    parts = ((part, to_html(part)) for part in _BETWEEN.split(text))
    return mark_safe("".join(f"<bdi>{html}</bdi>" if _RIGHT_TO_LEFT.search(part) else html for part, html in parts))


@register.filter(is_safe=True)
@stringfilter
def plain(value: str) -> str:
    """Return the text for titles, attributes and options: each hidden character is replaced by U+FFFD."""
    return without_hidden(value)


@register.filter(is_safe=True)
@stringfilter
def isolated(value: str) -> str:
    """Return the text with each right-to-left name isolated, so that a path keeps the order of its names.

    Use this where HTML is not possible, for example in the title of a page. If `plain` is needed too, apply `plain`
    before this filter: `plain` replaces the characters that isolate a name.
    """
    if not _RIGHT_TO_LEFT.search(value):
        return value
    parts = _BETWEEN.split(value)
    return "".join(f"{_ISOLATE}{part}{_END}" if _RIGHT_TO_LEFT.search(part) else part for part in parts)
