"""The guide in the hub: its sections and glossary, its filter, and the part that belongs to each page."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, resolve, reverse

from memoryhub.models import MemoryStore, User
from memoryhub.web.common.guide import DOCUMENTS, document
from memoryhub.web.common.guide.places import BEGINNING, OF_VIEWS, PLACES, place_of
from tests.support.fixtures import signed_in
from tests.support.layers import ROOMS, read
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def text(user: User, query: str = "", *name: str) -> str:
    response = signed_in(user).get(reverse("guide", args=name) + query)
    assert response.status_code == 200
    return str(response.content.decode())


def sections(response: Any) -> list[str]:
    return [section.title for section in response.context["found"]]


def test_the_guide_and_the_glossary_are_a_page_with_contents(bob: User) -> None:
    html = text(bob)
    for id, title in (("a-few-words", "A few words"), ("taking-it-back-undo", "Taking it back: undo")):
        assert f'<h2 id="{id}">{title}</h2>' in html and f'href="/guide#{id}"' in html
    assert '<h2 id="glossary">' in html and "<td>A weaker hold" in html and "<td>proposal</td>" in html
    assert "<img" not in html and "Words that we do not use" not in html


def test_every_document_is_a_page_whose_links_lead_somewhere(bob: User) -> None:
    pages = {name: text(bob, "", *(() if name == "guide" else (name,))) for name in DOCUMENTS}
    for html in pages.values():
        (article,) = re.findall(r'id="guide-text">(.*?)</main>', html, re.DOTALL)
        for link in re.findall(r'href="([^"]*)"', article):
            if not link.startswith(("http://", "https://", "#")):
                address, _, anchor = link.partition("#")
                name = address.removeprefix("/guide").strip("/") or "guide"
                assert name in pages, link
                assert not anchor or anchor in _anchors(name), link
    client = signed_in(bob)
    assert client.get("/guide/architecture").status_code == 404
    assert client.get("/guide/..%2FREADME").status_code == 404


def _anchors(name: str) -> set[str]:
    """The anchors of a document, of sections and of the headings in them."""
    found = {section.id for section in document(name).sections}
    inside = "".join(section.html for section in document(name).sections)
    return found | set(re.findall(r'<h\d id="([^"]+)"', inside))


def test_a_filter_finds_lines_and_keeps_their_sections(bob: User) -> None:
    client = signed_in(bob)
    response = client.get(reverse("guide"), {"q": "cabinet"})
    assert sections(response) == ["A few words"]
    article = response.content.decode().partition('id="guide-text"')[2]
    assert "like a cabinet" in article and "like drawers" not in article
    assert sections(client.get(reverse("guide"), {"q": "FINDS a path"})) == ["Finding things"]
    assert sections(client.get(reverse("guide"), {"q": "weaker hold"})) == ["Glossary"]
    nothing = client.get(reverse("guide"), {"q": "<b>xyzzy"})
    assert "No line contains “&lt;b&gt;xyzzy”" in nothing.content.decode()


def test_help_opens_at_the_section_of_the_page_for_every_role(
    store: MemoryStore, key: str, bob: User, superuser: User
) -> None:
    memory = Caller(store, key).create("/a.md", "one\n")
    for user in (bob, superuser):
        client = signed_in(user)
        for name, args, section in (
            ("review", [], "/guide#reviewing-what-agents-wrote"),
            ("blame", [store.pk, memory.pk], "/guide#where-a-line-came-from"),
            ("store", [store.pk], "/guide#a-few-words"),
            ("account", [], "/guide#keys"),
            ("edit_memory", [store.pk, memory.pk], "/guide#editing-and-when-two-people-edit"),
            ("api_docs", [], "/guide/http#authentication"),
            ("guide", ["retention"], "/guide/retention#a-first-policy"),
        ):
            if name == "edit_memory" and user == bob:
                continue
            html = client.get(reverse(name, args=args)).content.decode()
            assert f'class="menu-item" href="{section}" data-dialog="help"' in html, name
            part = section.replace("#", "?part=")
            assert f'hx-get="{part}"' in html
            alone = client.get(part).content.decode()
            assert "<html" not in alone and len(alone) > 300


def test_every_place_exists_and_every_room_has_one_or_the_beginning() -> None:
    for name, id in {*PLACES.values(), *OF_VIEWS.values(), BEGINNING}:
        assert id in {section.id for section in document(name).sections}
    rooms = {place.partition(".")[0] for place in PLACES}
    assert rooms <= set(ROOMS["web"])
    assert set(ROOMS["web"]) - rooms == set()
    assert place_of(None) == place_of(resolve("/guide/nothing")) == BEGINNING


def test_no_module_and_no_view_is_named_that_is_not_there() -> None:
    modules = {module.removeprefix("memoryhub.web.") for module in read(Path(__file__).parents[3] / "memoryhub")}
    assert set(PLACES) <= modules
    assert set(OF_VIEWS) <= {name for name in get_resolver().reverse_dict if isinstance(name, str)}


def test_it_is_for_people_with_an_account() -> None:
    assert Client().get(reverse("guide")).status_code == 302


def test_a_command_of_the_guide_can_be_copied(bob: User) -> None:
    page = text(bob)
    section = page[page.index('id="is-the-audit-true"') :]
    assert 'data-copy-text=".venv/bin/python manage.py verify_audit"' in section.partition("<h2")[0]


@pytest.mark.parametrize("topic", ["mcp", "identity"])
def test_what_is_to_be_copied_has_the_address_of_this_hub(bob: User, settings: Any, topic: str) -> None:
    html = signed_in(bob).get(reverse("guide", args=[topic])).content.decode()
    assert settings.MEMORYHUB_URL in html and "hub.example.com" not in html


def test_what_connects_programs_is_found_from_the_page_of_the_api(client: Client, bob: User) -> None:
    html = client.get(reverse("api_docs")).content.decode()
    for name in ("agents", "mcp", "webhooks", "metrics"):
        assert f'href="{reverse("guide", args=[name])}"' in html
    assert "pip install mcp" in text(bob, "", "mcp")
    assert "Alerts" in [section.title for section in document("metrics").sections]
