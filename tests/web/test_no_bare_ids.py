"""Pages show names: an id is in the visible text only where it is the point."""

import re

import pytest
from django.utils import timezone

from memoryhub.demo.load import load
from memoryhub.models import User
from tests.fixtures import signed_in
from tests.web.every_page import pages

pytestmark = pytest.mark.django_db

BARE = re.compile(r"\b(?:memstore|mem|memver|agent|apikey|user|sesn|rev|import)_[0-9A-Z]{26}\b")
THE_POINT = re.compile(r"<dt>(?:Id)</dt><dd[^>]*>.*?</dd>|<(script|style|textarea|pre|template)\b.*?</\1>", re.DOTALL)
"""The id among the facts about a thing, and raw text, such as the JSON of a call."""

NAMED_BY_ID = frozenset(("edit-store", "delete-store"))
"""Pages that give the id of a memory store to copy or to keep."""


def test_no_page_of_the_demo_shows_a_bare_id(superuser: User) -> None:
    load(timezone.now())
    client, bare = signed_in(superuser), {}
    for name, address in pages():
        response = client.get(address)
        if name in NAMED_BY_ID or response.streaming or not response["Content-Type"].startswith("text/html"):
            continue
        shown = re.sub(r"<[^>]*>", " ", THE_POINT.sub(" ", response.content.decode().partition("<main")[2]))
        if found := BARE.findall(shown):
            bare[name] = found[:3]
    assert bare == {}
