"""The marks of a chart, put together in Python because there are hundreds of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

_LINK = '<a href="{}" tabindex="-1" aria-label="{}">'
BAR = _LINK + (
    '<rect class="chart-mark" x="{}%" y="{}" width="{}%" height="{}" fill="url(#fill-{})"><title>{}</title></rect></a>'
)
DOT = _LINK + (
    '<circle class="chart-reach" cx="{}%" cy="{}" r="12"><title>{}</title></circle>'
    '<circle class="chart-dot chart-dot-{}" cx="{}%" cy="{}" r="3"/></a>'
)


@register.simple_tag
def bars(marks: Iterable[Any]) -> SafeString:
    """Return marks whose shape is a charts.Bar."""
    return format_html_join(
        "",
        BAR,
        (
            (mark.url, mark.name, shape.x, shape.y, shape.width, shape.height, mark.series, mark.name)
            for mark in marks
            if (shape := mark.shape)
        ),
    )


@register.simple_tag
def dots(marks: Iterable[Any]) -> SafeString:
    """Return marks whose shape is a charts.Dot."""
    return format_html_join(
        "",
        DOT,
        (
            (mark.url, mark.name, shape.x, shape.y, mark.name, mark.series, shape.x, shape.y)
            for mark in marks
            if (shape := mark.shape)
        ),
    )
