"""An address with a slash too many at its end leads people who are signed in to the page without it."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db


def test_the_page_without_the_slash_is_opened(store: MemoryStore, bob: User) -> None:
    client = signed_in(bob)
    for address in ("/review", reverse("trash", args=[store.id])):
        answer = client.get(f"{address}/?q=a%20b")
        assert (answer.status_code, answer["Location"]) == (302, f"{address}?q=a%20b")


def test_nothing_else_is_redirected(store: MemoryStore, bob: User) -> None:
    client, page = signed_in(bob), reverse("trash", args=[store.id])
    for asked in (client.get("/nowhere/"), client.post(f"{page}/"), Client().get(f"{page}/")):
        assert asked.status_code == 404
    assert "Location" not in client.get(f"/v1/memory_stores/{store.id}/")
