"""The help of every page opens at a section that belongs to it; few pages have only the beginning of the guide."""

import pytest
from django.urls import resolve

from memoryhub.demo.load import load
from memoryhub.models import User
from memoryhub.web.common.guide.places import BEGINNING, place_of
from tests.web.all_pages.every_page import pages
from tests.web.all_pages.test_browser_pages import NOW

pytestmark = pytest.mark.django_db


@pytest.mark.push
def test_only_the_guide_and_the_tree_open_at_the_beginning(superuser: User) -> None:
    load(NOW)
    places = {name: place_of(resolve(address.partition("?")[0])) for name, address in pages()}
    assert {name for name, place in places.items() if place == BEGINNING} == {"guide", "store", "directory"}
