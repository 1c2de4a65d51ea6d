"""Elements that look the same on every page: icons, times, sizes, people and agents, and links to the current page."""

from __future__ import annotations

import json
from datetime import datetime

from django import template
from django.forms import BoundField
from django.template.defaulttags import querystring
from django.templatetags.static import static
from django.utils import formats, timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _, ngettext

from memoryhub.pure.protocol.rendering import human_size
from memoryhub.web.common import assets
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.responses import page_of

register = template.Library()
register.simple_tag(querystring, takes_context=True, name="query")

THEMES = ("system", "light", "dark")
ACTOR_ICONS = {"key": "bot", "policy": "clock", "system": "server"}
MINUTE, HOUR, DAY = 60, 3600, 86400
RELATIVE_DAYS = 30
"""A moment that is more than this many days away is shown as a date."""


@register.simple_tag
def stylesheets() -> SafeString:
    """Return the links to the style sheets that every page has, in their order."""
    links = ((static(name),) for name in assets.files_of(assets.STYLES))
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', links)


@register.simple_tag
def scripts() -> SafeString:
    """Return the script elements of every page."""
    links = ((static(name),) for name in assets.files_of(assets.SCRIPTS))
    return format_html_join("\n", '<script type="module" src="{}"></script>', links)


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Return an icon of the sprite.

    Without a `label`, the icon is decorative. With one, it is an image that screen readers call by this label.
    """
    meaning = format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    return format_html(
        '<svg class="icon icon-{}" {}><use href="{}#{}"></use></svg>', name, meaning, static("icons.svg"), name
    )


@register.simple_tag
def avatar(kind: str, name: str) -> SafeString:
    """Return the mark before an actor's name: the initials of a person, or an icon for any other actor. Screen readers
    skip the mark."""
    inner = icon(ACTOR_ICONS[kind]) if kind in ACTOR_ICONS else initials(name)
    return format_html('<span class="avatar avatar-{}" dir="auto" aria-hidden="true">{}</span>', kind, inner)


register.filter("act", act_words)


@register.filter
def initials(name: str) -> str:
    """Return the initials of a name: `AL` for `Ada Lovelace`, `A` for `ada@example.com`.

    Return `?` if no word of the name begins with a letter or a digit.
    """
    words = [word for word in name.partition("@")[0].split() if word[0].isalnum()]
    letters = [words[0][0], words[-1][0]] if len(words) > 1 else [word[0] for word in words]
    return "".join(letters).upper() or "?"


@register.filter
def size(count: int) -> str:
    """Return a number of bytes for people, such as `999 B` or `1.5 KB`, rounded as the memory tool does."""
    figure = human_size(count).removesuffix("B")
    return f"{figure[:-1]} {figure[-1]}B" if figure[-1].isalpha() else f"{figure} B"


@register.simple_tag
def relative_time(moment: datetime | None, now: datetime | None = None) -> SafeString | str:
    """Return how long ago (or ahead) a moment is, with the exact time in the person's zone as title; "" for None."""
    if moment is None:
        return ""
    return _time_element(moment, ago(moment, now or timezone.now()), exactly(moment))


@register.simple_tag
def short_time(moment: datetime) -> SafeString:
    """Return the moment in the person's zone, to the second, in few characters: `21 Nov 2026, 09:49:12`."""
    return _time_element(moment, formats.date_format(timezone.localtime(moment), "j M Y, H:i:s"))


@register.simple_tag
def exact_time(moment: datetime | None) -> SafeString | str:
    """Return the moment in the person's zone, to the second; "" for None."""
    return "" if moment is None else _time_element(moment, exactly(moment))


@register.simple_tag
def exact_and_ago(moment: datetime | None) -> SafeString | str:
    """Return the moment in the person's zone, to the second; "" for None.

    If it is less than RELATIVE_DAYS away, also say how long ago it is.
    """
    if moment is None:
        return ""
    now = timezone.now()
    if abs(now - moment).total_seconds() >= RELATIVE_DAYS * DAY:
        return _time_element(moment, exactly(moment))
    return _time_element(moment, f"{exactly(moment)} ({ago(moment, now)})")


@register.simple_tag(takes_context=True)
def current(context: template.Context, url: str, section: str = "") -> SafeString | str:
    """Return `aria-current` for a link to the current page or to its section; otherwise ""."""
    request = context.get("request")
    path = request.path if request else ""
    if url == path:
        return mark_safe('aria-current="page"')
    is_inside = bool(section) and (path.startswith(f"/{section}/") or context.get("section") == section)
    return mark_safe('aria-current="true"') if is_inside else ""


@register.simple_tag(takes_context=True)
def page_of_form(context: template.Context, *, query: bool = False) -> str:
    """Return the address of the page to which the person returns after sending a form of this page.

    With `query`, the address includes the query string of this page.
    """
    request = context.get("request")
    return page_of(request, query=query) if request else ""


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """Return `system`, `light` or `dark`: the theme that the signed-in person has chosen or, before sign-in, the theme
    in the browser's cookie."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        chosen = user.theme
    else:
        chosen = request.COOKIES.get("theme") if request else None
    return chosen if chosen in THEMES else THEMES[0]


@register.filter
def field_kind(field: BoundField) -> str:
    """Return the layout of a form field: `check` (box before its label), `set` (several inputs with a legend) or
    `plain`."""
    if field.use_fieldset:
        return "set"
    return "check" if field.widget_type == "checkbox" else "plain"


@register.filter
def drawn(field: BoundField) -> SafeString:
    """Return a form field as HTML; the direction of a text field follows its content."""
    if field.widget_type in ("text", "textarea"):
        field.field.widget.attrs.setdefault("dir", "auto")
    return field.as_widget()


@register.simple_tag
def editor_phrases() -> str:
    """Return the JSON object {English phrase of CodeMirror: its translation}."""
    return json.dumps(
        {
            "Find": _("Find"),
            "Replace": _("Replace"),
            "next": _("next"),
            "previous": _("previous"),
            "all": _("all"),
            "match case": _("match case"),
            "regexp": _("regular expression"),
            "by word": _("by word"),
            "replace": _("replace"),
            "replace all": _("replace all"),
            "close": _("close"),
            "current match": _("current match"),
            "on line": _("on line"),
            "replaced match on line $": _("replaced match on line $"),
            "replaced $ matches": _("replaced $ matches"),
            "Go to line": _("Go to line"),
            "go": _("go"),
            "Control character": _("Hidden character"),
            "$ unchanged lines": _("$ unchanged lines"),
            "Selection deleted": _("Selection deleted"),
        }
    )


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago or ahead a moment is, in one unit, rounded down: `3 minutes ago` or `in 2 days`.

    If the moment is more than RELATIVE_DAYS away, return a date.
    """
    seconds = int(abs(now - moment).total_seconds())
    if seconds < MINUTE:
        return _("just now") if moment <= now else _("in a moment")
    if seconds >= RELATIVE_DAYS * DAY:
        return formats.date_format(timezone.localtime(moment), "j M Y")
    return (_past if moment <= now else _ahead)(seconds)


def exactly(moment: datetime) -> str:
    """Return a moment as `21 November 2026, 09:49:12 CET`, in the current zone."""
    return formats.date_format(timezone.localtime(moment), "j F Y, H:i:s T")


def _past(seconds: int) -> str:
    if seconds < HOUR:
        return ngettext("%(n)s minute ago", "%(n)s minutes ago", seconds // MINUTE) % {"n": seconds // MINUTE}
    if seconds < DAY:
        return ngettext("%(n)s hour ago", "%(n)s hours ago", seconds // HOUR) % {"n": seconds // HOUR}
    return ngettext("%(n)s day ago", "%(n)s days ago", seconds // DAY) % {"n": seconds // DAY}


def _ahead(seconds: int) -> str:
    if seconds < HOUR:
        return ngettext("in %(n)s minute", "in %(n)s minutes", seconds // MINUTE) % {"n": seconds // MINUTE}
    if seconds < DAY:
        return ngettext("in %(n)s hour", "in %(n)s hours", seconds // HOUR) % {"n": seconds // HOUR}
    return ngettext("in %(n)s day", "in %(n)s days", seconds // DAY) % {"n": seconds // DAY}


def _time_element(moment: datetime, shown: str, title: str = "") -> SafeString:
    attribute = format_html(' title="{}"', title) if title else ""
    return format_html('<time datetime="{}"{}>{}</time>', moment.isoformat(timespec="seconds"), attribute, shown)
