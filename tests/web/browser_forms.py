"""Forms of a page as a browser understands them and sends them, with what it does to the newlines of a textarea."""

import re
from html.parser import HTMLParser


class _Forms(HTMLParser):
    """Collects the fields of each form by its action."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str]]] = []
        self.inside: dict[str, str] | None = None
        self.area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = {}
            self.found.append((given.get("action", ""), self.inside))
        elif self.inside is not None and tag == "textarea" and "name" in given:
            self.area = given["name"]
            self.inside[self.area] = ""
        elif self.inside is not None and tag == "input" and "name" in given:
            ticked = given.get("type") not in ("checkbox", "radio") or "checked" in given
            if ticked:
                self.inside[given["name"]] = given.get("value", "on" if given.get("type") == "checkbox" else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = None
        elif tag == "textarea":
            self.area = None

    def handle_data(self, data: str) -> None:
        if self.inside is not None and self.area is not None:
            self.inside[self.area] += data


def forms(html: str) -> list[tuple[str, dict[str, str]]]:
    """(action, fields) of each form, the value of a textarea as its `value` would be in the browser."""
    parser = _Forms()
    parser.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
    parser.close()
    areas = set(re.findall(r"<textarea[^>]*\bname=\"([^\"]*)\"", html))
    for _, fields in parser.found:
        for name in areas & fields.keys():
            fields[name] = fields[name].removeprefix("\n")
    return parser.found


def form_with(html: str, field: str) -> dict[str, str]:
    """The fields of the one form that has this one."""
    (fields,) = [fields for _, fields in forms(html) if field in fields]
    return fields


def sent(fields: dict[str, str], **typed: str) -> dict[str, str]:
    """What the browser sends after a person has typed: every newline is CR LF."""
    return {name: re.sub(r"\r\n|\r|\n", "\r\n", value) for name, value in (fields | typed).items()}
