"""The marks of a chart as HTML. It is built in Python, because a chart has hundreds of marks."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memoryhub.templatetags.visible import isolated, plain

register = template.Library()

_LINK = '<a href="{}" tabindex="-1" aria-label="{}">'
_BAR = '<rect class="chart-mark" x="{}%" y="{}" width="{}%" height="{}" fill="url(#fill-{})"><title>{}</title></rect>'
BAR = _LINK + _BAR + "</a>"
DOT = _LINK + (
    '<circle class="chart-reach" cx="{}%" cy="{}" r="12"><title>{}</title></circle>'
    '<circle class="chart-dot chart-dot-{}" cx="{}%" cy="{}" r="3"/></a>'
)


@register.simple_tag
def bars(marks: Iterable[Any]) -> SafeString:
    """Return the HTML of marks whose shape is a `charts.Bar`. A mark without a URL is no link."""
    every = [
        (mark, (shape.x, shape.y, shape.width, shape.height, mark.series, mark.name))
        for mark in marks
        if (shape := mark.shape)
    ]
    linked = ((mark.url, mark.name, *drawn) for mark, drawn in every if mark.url)
    others = (drawn for mark, drawn in every if not mark.url)
    return format_html_join("", BAR, linked) + format_html_join("", _BAR, others)


@register.simple_tag
def dots(marks: Iterable[Any]) -> SafeString:
    """Return the HTML of marks whose shape is a `charts.Dot`."""
    return format_html_join(
        "",
        DOT,
        (
            (mark.url, mark.name, shape.x, shape.y, mark.name, mark.series, shape.x, shape.y)
            for mark in marks
            if (shape := mark.shape)
        ),
    )


LIFE = (
    '<a href="{}" tabindex="-1" aria-label="{}"><rect class="life-reach" x="{}%" width="{}%" height="58">'
    "<title>{}</title></rect>{}</a>"
)
TICK = '<rect class="life-tick life-{}" x="{}%" y="{}" width="3" height="{}" rx="1" transform="translate(-1.5 0)"/>'
READ = '<circle class="life-read" cx="{}%" cy="51" r="{}"/>'
FINDING = '<svg x="{}%" overflow="visible"><path class="life-{}" d="M-4.5 9L0 1l4.5 8z"/></svg>'
LIFE_BASE = 30


@register.simple_tag
def life_marks(life: Any) -> SafeString:
    """Return the HTML of the marks of a memory's life line, with one link for each column."""
    rows = (
        (mark.url, mark.name, round(mark.x - life.reach / 2, 3), life.reach, mark.name, _life_shapes(mark))
        for mark in life.marks
    )
    return format_html_join("", LIFE, rows)


def _life_shapes(mark: Any) -> SafeString:
    """Return the shapes of one column: ticks of agents rise from the base line, and ticks of people hang from it."""
    ticks = [(by, _height(count)) for by, count in mark.made.items() if count]
    tops = {"agents": -1.0, "people": 0.0, "hub": -0.5}
    shapes = format_html_join("", TICK, ((by, mark.x, LIFE_BASE + tops[by] * high, high) for by, high in ticks))
    if mark.reads:
        shapes += format_html(READ, mark.x, min(4.5, round(2.5 + log2(mark.reads) / 3, 1)))
    if mark.open or mark.settled:
        shapes += format_html(FINDING, mark.x, "open" if mark.open else "settled")
    return shapes


def _height(count: int) -> float:
    return min(16.0, round(9 + log2(count) * 1.5, 1))


TILE = (
    '<a href="{}" tabindex="-1" aria-label="{}"><svg x="{}%" y="{}" width="{}%" height="{}">'
    '<rect class="map-tile heat-{}" width="100%" height="100%"><title>{}</title></rect>{}</svg></a>'
)
AROUND = (
    '<svg class="map-around" x="{}%" y="{}" width="{}%" height="{}"><rect width="100%" height="100%"/></svg>'
    '<a href="{}" tabindex="-1" aria-label="{}"><svg x="{}%" y="{}" width="{}%" height="{}">{}</svg></a>'
)
FRAME = '<svg x="{}%" y="{}" width="{}%" height="{}"><rect class="map-frame" width="100%" height="100%"/></svg>'
WORD = '<text class="map-word" x="6" y="{}"><title>{}</title>{}</text>'


@register.simple_tag
def tiles(found: Iterable[Any]) -> SafeString:
    """Return the HTML of a tree map: its rectangles, the outlines and names of directories, and the frames around
    memories that await review."""
    every = list(found)
    leaves = (
        (tile.url, name, *_place(tile), tile.heat, name, _word(tile))
        for tile in every
        if tile.heat is not None and (name := isolated(plain(tile.name)))
    )
    around = (
        (*_place(tile), tile.url, isolated(plain(tile.name)), *_place(tile), _word(tile))
        for tile in every
        if tile.heat is None
    )
    frames = (_place(tile) for tile in every if tile.waits)
    return (
        format_html_join("", TILE, leaves) + format_html_join("", AROUND, around) + format_html_join("", FRAME, frames)
    )


def _place(tile: Any) -> tuple[float, ...]:
    return tile.x, tile.y, tile.width, tile.height


def _word(tile: Any) -> SafeString | str:
    return format_html(WORD, tile.line, isolated(plain(tile.name)), isolated(plain(tile.label))) if tile.line else ""
