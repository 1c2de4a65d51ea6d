"""The demo with every name in Hebrew, in Arabic or in both: for a walk over all pages, and a reader of their HTML."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

from memoryhub.demo.load import load
from memoryhub.models import (
    Agent,
    AuditEntry,
    Directory,
    Hold,
    Import,
    ImportItem,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    RetentionPolicy,
    SavedView,
    Session,
    User,
    Webhook,
)
from tests.support.write_guard import tampering
from tests.web.all_pages.every_page import Page, pages
from tests.web.all_pages.test_browser_pages import NOW

NAMED = (Agent, User, MemoryStore, Key, RetentionPolicy, SavedView, Session, Webhook, Import)
PATHS = {
    Memory: ("path",), MemoryVersion: ("path",), Directory: ("path",), ImportItem: ("path",),
    AuditEntry: ("path", "new_path"), Hold: ("path",), RetentionPolicy: ("pattern",),
}  # fmt: skip
RTL = re.compile("[\u0590-\u05ff\u0600-\u06ff]")
ALIKE = ("שם", "اسم", "mixed שם", "اسم mixed")


def renamed_demo() -> list[Page]:
    """Loads the demo, gives everything another name behind the hub's back, and returns the addresses of all pages."""
    load(NOW)
    found = list(pages())
    names: dict[str, str] = {}
    with tampering():
        _rename(names)
    return [(name, _renamed_address(address, names)) for name, address in found]


def _new(name: str, names: dict[str, str]) -> str:
    """Another name for the same name each time; what ends a name stays."""
    stem, dot, ending = name.partition(".")
    if not re.search("[A-Za-z]", stem):
        return name
    return names.setdefault(stem, f"{ALIKE[len(names) % len(ALIKE)]} {len(names)}") + dot + ending


def _path(path: str, names: dict[str, str]) -> str:
    return "/".join(_new(name, names) for name in path.split("/"))


def _rename(names: dict[str, str]) -> None:
    for model in NAMED:
        for row in model._default_manager.all():
            if row.name:
                model._default_manager.filter(pk=row.pk).update(name=_new(row.name, names))
    for model, columns in PATHS.items():
        for row in model._default_manager.all():
            changed = {name: _path(value, names) for name in columns if (value := getattr(row, name))}
            if model is Memory:
                changed["name"] = changed["path"].rpartition("/")[2]
            if changed:
                model._default_manager.filter(pk=row.pk).update(**changed)
    for entry in AuditEntry.objects.all():
        told = {"label": _new(entry.label, names) if entry.label else None, "input": _told(entry.input, names)}
        AuditEntry.objects.filter(pk=entry.pk).update(**told)


def _told(input: str | None, names: dict[str, str]) -> str | None:
    """The input of a call or an act with the same other names in it; texts stay."""
    return None if input is None else json.dumps(_inside(json.loads(input), names))


def _inside(value: object, names: dict[str, str]) -> object:
    if isinstance(value, str):
        if re.fullmatch(r"(/[\w.-]+)+/?", value):
            return _path(value, names)
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: _inside(item, names) for key, item in value.items()}
    return [_inside(item, names) for item in value] if isinstance(value, list) else value


def _renamed_address(address: str, names: dict[str, str]) -> str:
    for old in ("tickets", "refund_policies"):
        address = re.sub(rf"(?<=/){old}(?=$|[/.?&])", quote(names[old]), address)
    return address


class Reader(HTMLParser):
    """Collects what shows a name from right to left outside of an element, or of the characters, that isolate it."""

    VOID = frozenset(
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
    )
    SHOWN = ("title", "aria-label", "alt", "placeholder", "label")
    TEXTS = frozenset(("pre", "code", "script", "style"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool, bool]] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name in self.SHOWN:
            if not _is_isolated(given.get(name, "")):
                self.wrong.append(f'<{tag} {name}="{given[name]}">')
        has_auto = given.get("dir") == "auto"
        if RTL.search(given.get("value", "")) and tag == "input" and not has_auto and given.get("type") not in (
            "hidden", "checkbox", "radio",
        ):  # fmt: skip
            self.wrong.append(f'<input value="{given["value"]}">')
        if tag not in self.VOID:
            self.open.append((tag, tag == "bdi" or has_auto, tag in self.TEXTS))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not RTL.search(data) or any(is_text for _tag, _isolates, is_text in self.open):
            return
        if any(isolates for _tag, isolates, _is_text in self.open):
            if any(tag == "bdi" for tag, *_rest in self.open) and re.search(r"/.*/", data.strip("/")):
                self.wrong.append(f"several names in one <bdi>: {data.strip()}")
            return
        if not _is_isolated(data):
            self.wrong.append(f"<{self.open[-1][0] if self.open else ''}> {' '.join(data.split())}"[:160])


def _is_isolated(text: str) -> bool:
    """Whether each name from right to left stands between the characters that isolate, by itself."""
    return not RTL.search(re.sub("\u2068[^\u2069/]*\u2069", "", text))


def wrong_in(html: str) -> Iterator[str]:
    reader = Reader()
    reader.feed(html)
    yield from dict.fromkeys(reader.wrong)
