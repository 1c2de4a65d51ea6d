"""The tree map of a store: where its rectangles lead, what they say, and what they show of many memories."""

import html
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.review import decisions
from memoryhub.models import Memory, MemoryStore, MemoryVersion, User
from tests.support.fixtures import signed_in
from tests.web.dashboards.pages import MARK, cells, section, text_of
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, at=timezone.now() - timedelta(days=3))


@pytest.fixture
def look(bob: User) -> Client:
    return signed_in(bob)


def map_of(client: Client, store: MemoryStore) -> str:
    return section(text_of(client, "store_overview", "", store.id), "map")


def marks(part: str) -> dict[str, str]:
    """{what a rectangle says: where it leads}."""
    return {html.unescape(name): url for url, name in MARK.findall(part)}


def test_a_rectangle_names_its_memory_and_opens_it_and_a_directory_opens_too(caller: Caller, look: Client) -> None:
    caller.create("/tickets/1.md", "x" * 300)
    caller.create("/tickets/2.md", "x" * 100)
    caller.create("/top.md", "x" * 200)
    found = marks(map_of(look, caller.store))
    memory = Memory.objects.at("/tickets/1.md").get()
    assert found == {
        "/tickets/1.md: 300 B, never read, awaits review": reverse("memory", args=[caller.store.id, memory.pk]),
        "/tickets/2.md: 100 B, never read, awaits review": found["/tickets/2.md: 100 B, never read, awaits review"],
        "/top.md: 200 B, never read, awaits review": found["/top.md: 200 B, never read, awaits review"],
        "/tickets: 2 memories, 400 B": reverse("directory", args=[caller.store.id, "tickets"]),
    }
    assert {look.get(url).status_code for url in found.values()} == {200}


def test_the_colour_is_the_last_read_and_the_outline_what_awaits_review(
    caller: Caller, look: Client, alice: User
) -> None:
    for name in ("never", "lately", "before"):
        caller.create(f"/{name}.md", "x" * 100)
    caller.call("view", path="/memories/before.md")
    caller.at = timezone.now() - timedelta(hours=1)
    caller.call("view", path="/memories/lately.md")
    decisions.approve(caller.store.id, MemoryVersion.objects.get(path="/never.md").pk, act(alice), earlier=0)
    part = map_of(look, caller.store)
    assert [name in part for name in ("heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5")] == [
        True, True, False, False, True, False,
    ]  # fmt: skip
    assert part.count("map-frame") == 3  # two memories, and the legend
    waiting = {row[0][0]: row[4][0] for row in cells(part_of_page(look, caller.store), "map")}
    assert waiting == {"/lately.md": "yes", "/before.md": "yes", "/never.md": ""}


def part_of_page(client: Client, store: MemoryStore) -> str:
    return text_of(client, "store_overview", "", store.id)


def test_of_many_memories_the_largest_are_shown_and_the_others_together(
    caller: Caller, look: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "MAPPED", 2)
    for number in range(6):
        caller.create(f"/many/{number}.md", "x" * (100 + number))
    found = marks(map_of(look, caller.store))
    assert len(found) == 4
    assert "/many: 4 other memories, 406 B, awaits review" in found
    total = sum(int(row[2][0]) for row in cells(part_of_page(look, caller.store), "map"))
    assert total == 6


def test_a_name_cannot_leave_the_picture(caller: Caller, look: Client) -> None:
    caller.create('/<script>alert("1").md', "x")
    part = map_of(look, caller.store)
    assert "<script" not in part
    assert "&lt;script&gt;" in part


def test_the_map_costs_as_many_queries_with_more_memories(caller: Caller, look: Client) -> None:
    counts = []
    for number in range(2):
        for more in range(1 + 9 * number):
            caller.create(f"/{number}/{more}/a.md", "x" * 50)
        with CaptureQueriesContext(connection) as found:
            part_of_page(look, caller.store)
        counts.append(len(found))
    assert counts[0] == counts[1]
