"""The pages that ask for a proof, or for a second person, lead back to where the act began."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.models import ActRequest, MemoryStore, User
from tests.support.fixtures import PASSWORD
from tests.web.accounts.test_second_person import needed, other, text_of
from tests.web.common.test_fresh import stale

pytestmark = pytest.mark.django_db
__all__ = ["needed", "other"]
HERE = "http://testserver/people/?page=2&q=<x>"


def cancel(page: str) -> str:
    (address,) = re.findall(r'href="([^"]*)">Cancel</a>', page[page.index('class="form-actions"') :])
    return html.unescape(address)


def hidden(page: str) -> dict[str, str]:
    form = page[page.index('<form class="form"') :].partition("</form>")[0]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form)
    return {name: html.unescape(value) for name, value in found if name != "csrfmiddlewaretoken"}


def test_cancel_leads_back_to_where_the_act_began_and_asks_nothing(
    store: MemoryStore, superuser: User, alice: User, needed: None
) -> None:
    address = reverse("administrator", args=[alice.pk])
    client = stale(superuser)
    proof = text_of(client.post(address, {"is_one": "1", "note": "x"}, headers={"Referer": HERE}))
    assert "Is it you?" in proof and cancel(proof) == HERE
    again = text_of(client.post(address, hidden(proof) | {"proof": "wrong"}, headers={"Referer": address}))
    assert "not your current password" in again and cancel(again) == HERE
    asked = text_of(client.post(address, hidden(again) | {"proof": PASSWORD}, headers={"Referer": address}))
    assert "A second person is needed" in asked and cancel(asked) == HERE and hidden(asked)["note"] == "x"
    refused = text_of(client.post(address, hidden(asked) | {"second_reason": ""}, headers={"Referer": address}))
    assert cancel(refused) == HERE
    assert not ActRequest.objects.exists() and not User.objects.get(pk=alice.pk).is_superuser


@pytest.mark.parametrize(
    "from_elsewhere", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""]
)
def test_cancel_never_leads_to_another_host(superuser: User, alice: User, needed: None, from_elsewhere: str) -> None:
    client: Client = stale(superuser)
    given = {"is_one": "1", "came_from": from_elsewhere}
    page = text_of(client.post(reverse("administrator", args=[alice.pk]), given))
    assert cancel(page) == "/"
