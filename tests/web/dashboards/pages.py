"""What the tests of the dashboards share: an agent's work, and what a page says as text, tables and marks."""

import html
import re
from datetime import timedelta

from django.test import Client
from django.urls import reverse

from tests.web.history.versions import Caller

MARK = re.compile(r'<a href="([^"]*)" tabindex="-1" aria-label="([^"]*)"')


def work(caller: Caller) -> None:
    """Some of everything: over three days, with errors."""
    caller.create("/a.md", "one\n")
    caller.create("/b.md", "two\n")
    caller.call("view", path="/memories/a.md")
    caller.at += timedelta(days=1)
    caller.call("view", path="/memories/a.md")
    caller.call("view", path="/memories/nothing.md")
    caller.replace("/a.md", "one", "three")
    caller.at += timedelta(days=1)
    caller.call("insert", path="/memories/b.md", insert_line=99, insert_text="x")
    caller.delete("/b.md")


def text_of(client: Client, name: str, query: str = "", *parts: str) -> str:
    response = client.get(reverse(name, args=parts) + query)
    assert response.status_code == 200
    return response.content.decode()


def section(text: str, name: str) -> str:
    """The picture of that name."""
    return text.split(f'id="{name}"')[1].split("</section>", maxsplit=1)[0]


def cells(text: str, name: str) -> list[list[tuple[str, str]]]:
    """(text, link) of the table of a picture, row by row."""
    table = section(text, name).split("<tbody>")[1].split("</tbody>")[0]
    return [
        [(html.unescape(re.sub("<[^>]*>", "", cell)), html.unescape("".join(re.findall('href="([^"]*)"', cell))))
         for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in table.split("</tr>")[:-1]
    ]  # fmt: skip


def entries_at(client: Client, url: str) -> int:
    """How many entries the audit lists at an address; htmx asks for the list alone, about half the work of the page."""
    response = client.get(html.unescape(url), headers={"HX-Request": "true"})
    assert response.status_code == 200
    assert not response.context["problem"], url
    assert response.context["older"] is None
    return len(response.context["rows"])
