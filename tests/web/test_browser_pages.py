"""Every page in both themes and at both widths: axe finds nothing, nothing overflows, the console stays empty."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions import people
from memoryhub.demo.load import load
from memoryhub.models import Agent, Key, Memory, MemoryStore, User
from tests.browser import Console, axe, sign_in_as
from tests.fixtures import BY

pytestmark = pytest.mark.browser

NOW = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


def pages() -> Iterator[str]:
    """The address of every page that a person can open, on demo data."""
    store = MemoryStore.objects.get(name="Customer service")
    memory = Memory.objects.at("/refund_policies.xml").get(store=store)
    versions = list(memory.store.versions.filter(memory=memory).order_by("number"))
    in_store = {"store_id": store.id}
    of_memory = in_store | {"memory_id": memory.id}
    agent = Agent.objects.order_by("name")[0]
    for name in ("stores", "new_store", "agents", "new_agent", "people", "account", "audit"):
        yield reverse(name)
    for name in ("store", "edit_store", "archive_store", "new_memory", "members", "store_keys", "store_audit", "trash"):
        yield reverse(name, kwargs=in_store)
    for name in ("memory", "edit_memory", "rename_memory", "delete_memory", "versions"):
        yield reverse(name, kwargs=of_memory)
    yield reverse("memory", kwargs=of_memory) + "?view=rendered"
    for name in ("directory", "rename_directory", "delete_directory"):
        yield reverse(name, kwargs=in_store | {"path": "tickets"})
    ends = f"?from={versions[0].id}&to={versions[-1].id}"
    yield reverse("compare", kwargs=of_memory) + ends
    yield reverse("compare", kwargs=of_memory) + ends + "&mode=split"
    yield reverse("version", kwargs=in_store | {"version_id": versions[0].id})
    yield reverse("restore_version", kwargs=in_store | {"version_id": versions[0].id})
    for seq in (versions[0].seq, versions[-1].seq, versions[-1].seq - 1):
        yield reverse("entry", kwargs={"chain": store.id, "seq": seq})
    yield reverse("audit") + "?q=outcome:error"
    yield reverse("audit") + "?q=agent:nobody-of-that-name"
    yield reverse("agent", kwargs={"agent_id": agent.id})
    yield reverse("edit_agent", kwargs={"agent_id": agent.id})
    yield reverse("issue_key", kwargs={"agent_id": agent.id})
    yield reverse("revoke_key", kwargs={"key_id": Key.objects.filter(agent=agent)[0].id})


def widths_are_kept(page: Page) -> None:
    """Nothing makes the page scroll sideways on a desk, a telephone, or at 320 pixels."""
    for width in (1440, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{page.url} is {wide} pixels wide at {width}"
    page.set_viewport_size({"width": 1440, "height": 900})


def test_every_page_is_sound_in_both_themes(
    page: Page, console: Console, live_server: LiveServer, superuser: User
) -> None:
    load(NOW)
    sign_in_as(page.context, superuser, live_server.url)
    for address in pages():
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status == 200, address
        assert page.locator("h1").count() == 1, address
        axe(page)
        widths_are_kept(page)
        assert not console.unexpected(), (address, console.unexpected())


def test_the_pages_of_a_stranger_are_sound_too(page: Page, live_server: LiveServer) -> None:
    token = people.invite(**(BY | {"at": timezone.now()}), is_superuser=True)[1]
    for address in ("/sign-in", f"/invitations/{token}"):
        page.goto(live_server.url + address)
        axe(page)
        widths_are_kept(page)


def test_pages_of_errors_are_sound(page: Page, console: Console, live_server: LiveServer, charlie: User) -> None:
    console.expect("status of 404", "status of 403")
    sign_in_as(page.context, charlie, live_server.url)
    for address in ("/stores/memstore_nowhere/", "/people", "/nothing-here"):
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status in (403, 404)
        axe(page)
        widths_are_kept(page)


def test_a_hub_without_stores_says_what_to_do(page: Page, live_server: LiveServer, superuser: User) -> None:
    sign_in_as(page.context, superuser, live_server.url)
    for address in ("/", "/agents", "/audit"):
        page.goto(live_server.url + address)
        axe(page)
    page.goto(live_server.url)
    assert page.get_by_role("link", name="New memory store").count() >= 1
