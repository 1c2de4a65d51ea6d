"""The list of agents leads an admin of a memory store to the form that connects a new agent to it."""

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db

WORDS = "Connect a new agent to one of your memory stores:"


def test_an_admin_of_a_store_is_led_to_the_form_for_a_new_agent(store: MemoryStore, alice: User, bob: User) -> None:
    client = signed_in(alice)
    page = client.get(reverse("agents")).content.decode()
    assert WORDS in page and f'href="{reverse("store_keys", args=[store.pk])}#issue-title"' in page
    assert 'id="issue-title"' in client.get(reverse("store_keys", args=[store.pk])).content.decode()
    assert WORDS not in signed_in(bob).get(reverse("agents")).content.decode()


def test_an_administrator_of_the_hub_has_the_button_alone(store: MemoryStore, superuser: User) -> None:
    page = signed_in(superuser).get(reverse("agents")).content.decode()
    assert WORDS not in page and reverse("new_agent") in page
