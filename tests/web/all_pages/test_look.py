"""The look: colours that can be told apart, icons that exist, and how times, sizes and names are written."""

import re
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone

from memoryhub.models import User
from memoryhub.templatetags import look
from memoryhub.web.common.assets import JOINED, STYLES
from tests.support.layers import ROOMS

ROOT = Path(__file__).resolve().parents[3]
STATIC, TEMPLATES = ROOT / "static", ROOT / "templates"
NOW = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
THEMES = ("light", "dark")

TEXT, SIGN = 4.5, 3.0
"""The least contrast of WCAG 2.2 AA: of text, and of what shows where a control is or has the focus."""
GROUNDS = ("bg", "surface", "surface-raised", "surface-sunken", "hover", "accent-soft")
TONES = ("success", "warning", "danger", "info")
CODE = ("comment", "keyword", "string", "number", "name", "type", "error")


def pairs() -> list[tuple[str, str, float]]:
    """What stands on what, and the contrast that it needs."""
    texts = ("text", "text-muted", "accent", "accent-hover", "danger-text")
    found = [(text, ground, TEXT) for text, ground in product(texts, GROUNDS)]
    found += [(f"{tone}-text", ground, TEXT) for tone in TONES for ground in (f"{tone}-bg", "bg", "surface", "hover")]
    found += [(text, f"{tone}-bg", TEXT) for text, tone in product(("text", "text-muted"), TONES)]
    found += [(f"code-{kind}", ground, TEXT) for kind, ground in product(CODE, ("surface", "surface-sunken"))]
    found += [
        (text, f"{side}-bg", TEXT) for side in ("added", "removed") for text in ("text", "text-muted", f"{side}-text")
    ]
    found += [("text", f"{side}-mark", TEXT) for side in ("added", "removed")]
    found += [(text, "line-mark", TEXT) for text in ("text", "text-muted")]
    solids = ("accent-solid", "accent-solid-hover", "danger-solid", "danger-solid-hover")
    found += [("on-solid", solid, TEXT) for solid in solids]
    found += [("border-strong", ground, SIGN) for ground in ("bg", "surface", "surface-raised")]
    return found + [("focus", ground, SIGN) for ground in GROUNDS]


def colours() -> dict[str, dict[str, str]]:
    """The colours of the tokens, by theme and name."""
    css = (STATIC / "css" / "common" / "tokens.css").read_text()
    found = re.findall(r"--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}))", css)
    return {theme: {name: (both[at] or both[2]) for name, *both in found} for at, theme in enumerate(THEMES)}


def contrast(one: str, other: str) -> float:
    """As WCAG defines it, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read_on_its_ground(theme: str) -> None:
    tokens = colours()[theme]
    weak = [
        f"{front} on {ground}: {ratio:.2f}"
        for front, ground, least in pairs()
        if (ratio := contrast(tokens[front], tokens[ground])) < least
    ]
    assert not weak


def test_every_icon_that_a_template_names_is_in_the_sprite() -> None:
    there = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    named = {name for path in TEMPLATES.rglob("*.html") for name in re.findall(r'icon "([\w-]+)"', path.read_text())}
    assert named | set(look.ACTOR_ICONS.values()) | {"check"} <= there


def test_every_icon_of_the_sprite_is_used() -> None:
    there = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    assert there - set(re.findall(r"""["',#]([\w-]+)(?=["',])""", _ours())) == set()


def test_every_class_of_a_sheet_is_used() -> None:
    """Also by a name whose end a template or module puts in, as in `status-{{ state }}`."""
    text = _ours()
    words, begun = set(re.findall(r"[\w-]+", text)), set(re.findall(r"([\w-]+-)[{%'\"\\]", text))
    sheets = [path for path in STATIC.glob("css/*/*.css") if path.name != "api.css"]  # names parts of Swagger UI
    styled = set().union(*(_classes(path.read_text()) for path in sheets)) - words
    ends = {name for name in styled if any(name.startswith(beginning) for beginning in begun)}
    assert {name for name in styled - ends if not name.startswith("cm-")} == {"htmx-request"}


def _ours() -> str:
    """The templates, modules and scripts in one text."""
    code = [*(ROOT / "memoryhub").rglob("*.py"), *STATIC.glob("js/*/*.js")]
    return "\n".join(path.read_text() for path in [*TEMPLATES.rglob("*.html"), *code])


def test_every_token_that_a_sheet_or_the_editor_uses_exists() -> None:
    sheets = {path: path.read_text() for path in [*STATIC.glob("css/*/*.css"), *STATIC.glob("js/*/*.js")]}
    made = {name for text in sheets.values() for name in re.findall(r"(--[\w-]+):", text)}
    used = {name for text in sheets.values() for name in re.findall(r"var\((--[\w-]+)", text)}
    assert used <= made


def test_every_sheet_is_linked_and_stands_in_a_layer() -> None:
    """By the head of every page, or by the one page that needs it."""
    templates = [path.read_text() for path in TEMPLATES.rglob("*.html")]
    linked = [name for template in templates for name in re.findall(r"'(css/[\w/-]+\.css)'", template)]
    linked += JOINED[STYLES]
    sheets = sorted(STATIC.glob("css/**/*.css"))
    assert sorted(linked) == [str(sheet.relative_to(STATIC)) for sheet in sheets]
    assert [sheet.name for sheet in sheets if "@layer" not in sheet.read_text()] == ["api.css"]  # as Swagger UI's own


def test_sheets_and_scripts_stand_in_the_rooms_of_their_pages() -> None:
    rooms = {*ROOMS["web"], "api"}
    assert {path.name for kind in ("css", "js") for path in (STATIC / kind).iterdir()} <= rooms
    drawn: dict[str, set[str]] = {room: set() for room in rooms}
    for sheet in STATIC.glob("css/*/*.css"):
        drawn[sheet.parent.name] |= _classes(sheet.read_text())
    elsewhere = []
    for room, text in _text_of_rooms().items():
        near = set().union(*(drawn[name] for name in ("common", room, *ROOMS["web"][room].split())))
        used = {name for names in re.findall(r'class="([^"]*)"', text) for name in names.split()}
        elsewhere += [f"{name} of {room}" for name in used & set().union(*drawn.values()) - near]
    assert elsewhere == []


def _classes(sheet: str) -> set[str]:
    """The classes in the selectors of a sheet."""
    bare = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return set(re.findall(r"\.([a-z][a-z0-9-]*)(?=[^{};]*\{)", bare))


def _text_of_rooms() -> dict[str, str]:
    """All templates of each room in one text, without what Django puts in."""
    folders = [path for path in TEMPLATES.iterdir() if path.is_dir() and path.name != "common"]
    texts = {room.name: "\n".join(path.read_text() for path in room.rglob("*.html")) for room in folders}
    return {room: re.sub(r"{[%{].*?[%}]}", " ", text, flags=re.DOTALL) for room, text in texts.items()}


def test_no_static_asset_names_a_source_map() -> None:
    assert not [path.name for path in STATIC.rglob("*.js") if "sourceMappingURL=" in path.read_text()]


@pytest.mark.parametrize(
    ("distance", "shown"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=30), "4 Oct 2025"),
        (timedelta(minutes=-5), "in 5 minutes"),
        (timedelta(days=-3), "in 3 days"),
    ],
)
def test_a_moment_is_told_by_its_distance(distance: timedelta, shown: str) -> None:
    assert look.ago(NOW - distance, NOW) == shown


def test_the_exact_moment_stands_in_the_zone_of_the_person() -> None:
    with timezone.override("Asia/Tokyo"):
        html = look.relative_time(NOW, NOW)
    assert 'datetime="2025-11-03T09:00:00+00:00"' in html
    assert 'title="3 November 2025, 18:00:00 JST"' in html
    assert look.relative_time(None) == ""


@pytest.mark.parametrize(("count", "shown"), [(0, "0 B"), (999, "999 B"), (1536, "1.5 KB"), (102_400, "100.0 KB")])
def test_sizes_have_a_unit(count: int, shown: str) -> None:
    assert look.size(count) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Ada Lovelace", "AL"), ("ada@example.com", "A"), ("美香 山田", "美山"), ("- x", "X"), ("", "?")],
)
def test_initials_come_from_what_can_be_read(name: str, shown: str) -> None:
    assert look.initials(name) == shown


def test_a_hostile_name_is_escaped() -> None:
    assert "<b>" not in look.avatar("user", "<b> <i>")
    assert '"><script>' not in look.icon("x", label='"><script>')


def test_the_current_section_is_marked_beneath_it_too() -> None:
    template = Template(
        '{% load look %}{% current "/" "stores" %}|{% current "/audit" "audit" %}|{% current "/audit" %}'
    )

    def marks(path: str) -> str:
        return template.render(Context({"request": RequestFactory().get(path)}))

    assert marks("/") == 'aria-current="page"||'
    assert marks("/stores/memstore_1/") == 'aria-current="true"||'
    assert marks("/audit") == '|aria-current="page"|aria-current="page"'
    assert marks("/audit/hub/1") == '|aria-current="true"|'
    elsewhere = Context({"request": RequestFactory().get("/webhooks/webhook_1"), "section": "stores"})
    assert template.render(elsewhere) == 'aria-current="true"||'


def test_the_theme_is_the_persons_or_else_the_browsers() -> None:
    request = RequestFactory().get("/")
    request.COOKIES["theme"] = "dark"
    assert look.theme(Context({"request": request})) == "dark"
    request.user = User(email="ada@example.com", theme="light")
    assert look.theme(Context({"request": request})) == "light"
    request = RequestFactory().get("/")
    request.COOKIES["theme"] = '"><script>'
    assert look.theme(Context({"request": request})) == "system"
    assert look.theme(Context({})) == "system"


def test_the_page_of_a_failure_needs_nothing() -> None:
    assert "The hub failed" in render_to_string("common/errors/failed.html")


@pytest.mark.parametrize("text", ["\n\nfirst lines empty", "</textarea><script>", "tab\tend \n"])
def test_a_text_survives_the_textarea_of_the_editor(text: str) -> None:
    html = render_to_string("common/_editor.html", {"name": "text", "value": text, "label": "Text"})
    content = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", html, re.DOTALL)
    assert content is not None
    assert content[1] == text.replace("<", "&lt;").replace(">", "&gt;")
