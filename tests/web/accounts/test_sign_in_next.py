"""Where somebody is sent after signing in, when the address says something odd."""

import pytest
from django.test import Client

from memoryhub.models import User


@pytest.mark.parametrize("wanted", ["nowhere", "stores", "a:b", "%"])
def test_a_word_that_is_no_address_leads_to_the_first_page(charlie: User, wanted: str) -> None:
    client = Client()
    client.force_login(charlie)
    response = client.get("/sign-in", {"next": wanted})
    assert (response.status_code, response.headers["Location"]) == (302, "/")
