"""Addresses at which only forms are sent: opened as a page, each says so, with its status and ways on."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.support.long import LONG, some

pytestmark = pytest.mark.django_db


def routes(patterns: Any = None) -> Iterator[str]:
    """The names of all routes."""
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name


def addresses(store: MemoryStore) -> Iterator[str]:
    """One address of each route of the people's door; what it names besides the store need not be there."""
    resolver = get_resolver()
    for name in sorted(set(routes())):
        for possible, _pattern, _defaults, converters in resolver.reverse_dict.getlist(name):
            for _route, names in possible:
                numbers = {n for n in names if type(converters.get(n)).__name__ == "IntConverter"}
                parts = {n: store.pk if n == "store_id" else 1 if n in numbers else "none" for n in names}
                try:
                    address = reverse(name, kwargs=parts)
                except NoReverseMatch:
                    continue
                if not address.startswith(("/v1", "/mcp", "/healthz", "/livez", "/readyz")):
                    yield address


@pytest.mark.push
def test_every_address_that_a_page_cannot_be_opened_at_says_so_and_leads_on(
    store: MemoryStore, superuser: User
) -> None:
    client, met = signed_in(superuser), []
    for address in some(addresses(store), 4):
        answer = client.get(address)
        if answer.status_code != 405:
            continue
        html = answer.content.decode()
        assert answer.headers["Allow"] == "POST", address
        assert "There is no page at this address" in html and "<h1" in html, address
        assert reverse("stores") in html, address
        if store.pk in address:
            assert reverse("store", args=[store.pk]) in html, address
        met.append(address)
    assert len(met) > (30 if LONG else 7)


def test_an_address_with_an_id_that_no_memory_store_can_have_is_not_found(superuser: User) -> None:
    client, known = signed_in(superuser), "memstore_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    store = MemoryStore(pk=known)
    within = [address for address in addresses(store) if known in address]
    assert len(within) > 60
    for number, address in enumerate(some(within, 8)):
        odd = ("..", "a b", "\u0663", "\U0001f600")
        for one in odd if LONG else [odd[number % 4]]:
            assert client.get(address.replace(known, quote(one))).status_code == 404, (address, one)


def test_other_wrong_methods_have_the_page_too(store: MemoryStore, superuser: User, client: Client) -> None:
    answer = signed_in(superuser).put(reverse("stores"))
    assert answer.status_code == 405 and "There is no page" in answer.content.decode()
    assert "GET" in answer.headers["Allow"]
    anonymous = client.get(reverse("theme"))
    assert anonymous.status_code == 405 and b"<h1" in anonymous.content
