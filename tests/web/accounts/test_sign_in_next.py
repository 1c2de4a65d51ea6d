"""Where somebody is sent after signing in, when the address says something odd or is no page."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from memoryhub.models import User

HUB = "http://testserver"
HTMX = {"hx-request": "true"}


@pytest.mark.parametrize("wanted", ["nowhere", "stores", "a:b", "%"])
def test_a_word_that_is_no_address_leads_to_the_first_page(charlie: User, wanted: str) -> None:
    client = Client()
    client.force_login(charlie)
    response = client.get("/sign-in", {"next": wanted})
    assert (response.status_code, response.headers["Location"]) == (302, "/")


@pytest.mark.parametrize(
    ("method", "address", "headers", "page"),
    [
        ("get", "/filters/completions?q=by:x", {**HTMX, "referer": f"{HUB}/audit?q=x"}, "/audit?q=x"),
        ("get", "/stores/x/retention/pattern", {**HTMX, "hx-current-url": f"{HUB}/audit#part"}, "/audit"),
        ("post", "/views/save", {"referer": f"{HUB}/views/save?page=audit"}, "/views/save?page=audit"),
        ("post", "/views/save", {**HTMX, "hx-current-url": f"{HUB}/review"}, "/review"),
        ("get", "/audit?q=x", {"referer": f"{HUB}/stores"}, "/audit?q=x"),
        ("post", "/account", {"referer": "https://evil.example/review"}, "/account"),
        ("post", "/account", {"referer": f"{HUB}//evil.example"}, "//evil.example"),
        ("get", "/audit", {**HTMX, "hx-current-url": "http://["}, "/audit"),
        ("post", "/account", {"referer": "http://["}, "/account"),
    ],
)
@pytest.mark.django_db
def test_who_was_signed_out_comes_back_to_the_page_and_to_no_part_of_it(
    method: str, address: str, headers: dict[str, str], page: str
) -> None:
    response = getattr(Client(), method)(address, headers=headers)
    location = response.headers.get("HX-Redirect") or response.headers["Location"]
    assert location.startswith("/sign-in?") and parse_qs(urlsplit(location).query) == {"next": [page]}
