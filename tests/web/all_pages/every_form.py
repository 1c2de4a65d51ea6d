"""What a person can press on a page with the fields as they stand, as a browser without scripts would send it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urljoin

from django.db import transaction
from django.http.request import QueryDict
from django.test import Client

_IDS = re.compile(r"[a-z]+_[0-9A-Za-z]{20,}|\d+")


class Press(NamedTuple):
    """A button of a form: where and how its form is sent, and with which fields."""

    method: str
    address: str
    fields: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> tuple[object, ...]:
        """The same for buttons that differ only in the ids that they name."""
        values = [(name, value) for name, value in self.fields if name != "csrfmiddlewaretoken"]
        return _IDS.sub("#", self.address), *((name, _IDS.sub("#", value)[:20]) for name, value in values)


def _is_sent(kind: str, given: dict[str, str]) -> bool:
    return kind not in ("checkbox", "radio") or "checked" in given


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page = page
        self.forms: list[dict[str, Any]] = []
        self.inside = False
        self.area: str | None = None
        self.select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = True
            self.forms.append(given | {"fields": [], "buttons": []})
        elif self.inside and "disabled" not in given:
            self._field(tag, given)

    def _field(self, tag: str, given: dict[str, str]) -> None:
        form, name, kind = self.forms[-1], given.get("name", ""), given.get("type", "")
        if tag == "button" and kind in ("", "submit"):
            form["buttons"].append(given)
        elif tag == "textarea" and name:
            self.area = name
            form["fields"].append((name, ""))
        elif tag == "select":
            self.select = name
            form["fields"].append((name, None))
        elif tag == "option" and self.select and (form["fields"][-1][1] is None or "selected" in given):
            form["fields"][-1] = self.select, given.get("value", "")
        elif tag == "input" and name and kind not in ("file", "submit", "button") and _is_sent(kind, given):
            form["fields"].append((name, given.get("value", "on" if kind == "checkbox" else "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "textarea":
            self.area = None
        elif tag == "select":
            self.select = None

    def handle_data(self, data: str) -> None:
        if self.inside and self.area is not None:
            name, before = self.forms[-1]["fields"][-1]
            self.forms[-1]["fields"][-1] = name, before + data


def presses(page: str, html: str) -> Iterator[Press]:
    """Yield each button of each form of a page (its address is `page`)."""
    reader = _Reader(page)
    reader.feed(html)
    for form in reader.forms:
        if form.get("method") == "dialog":
            continue
        fields = tuple((name, value) for name, value in form["fields"] if value is not None)
        for button in form["buttons"] or [{}]:
            method = button.get("formmethod") or form.get("method") or "get"
            address = urljoin(page, button.get("formaction") or form.get("action") or page)
            own = ((button["name"], button.get("value", "")),) if button.get("name") else ()
            yield Press(method.lower(), address, fields + own)


def press(client: Client, chosen: Press) -> Any:
    """Press a button and return the answer."""
    data = QueryDict(mutable=True)
    for name, value in chosen.fields:
        data.appendlist(name, value)
    if chosen.method == "get":
        address = chosen.address.partition("?")[0]
        return client.get(f"{address}?{data.urlencode()}")
    return client.post(chosen.address, data.urlencode(), content_type="application/x-www-form-urlencoded")


@contextmanager
def undone() -> Iterator[None]:
    """Take back, at the end of the block, what is written in it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
