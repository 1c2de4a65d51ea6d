"""Who has seen a memory in any of its versions, and since when people's reading is recorded."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.history import blame
from memoryhub.actions.memories.viewing import Period, periods
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import MemoryStore, User
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller
from tests.web.sessions.reads import readers, seen, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


@pytest.mark.both_databases
def test_it_begins_with_all_versions_and_one_can_be_chosen(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    first = view(caller, "/a.md", "early")
    caller.replace("/a.md", "one", "two")
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    last = view(caller, "/b.md", "late")
    memory.refresh_from_db()
    assert {(first, 1), (last, 3)} <= seen(bob, memory) and {number for _, number in seen(bob, memory)} == {1, 2, 3}
    assert (seen(bob, memory, version=1), seen(bob, memory, version=3)) == ({(first, 1)}, {(last, 3)})
    everything, one = readers(bob, memory).content.decode(), readers(bob, memory, version=1).content.decode()
    assert "Who has seen b.md" in everything and "Who has seen version 1 of" in one
    assert '<option value="1" selected>' in one and '<option value="">All versions</option>' in one
    assert 'value="1" selected' not in everything
    lines = signed_in(bob).get(reverse("blame", args=[memory.store_id, memory.pk]), {"version": "1"}).content.decode()
    assert f'href="{reverse("readers", args=[memory.store_id, memory.pk])}?version=1"' in lines


def test_of_too_many_versions_the_newest_are_examined_and_the_page_says_so(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "0\n")
    first = view(caller, "/a.md", "early")
    for number in range(3):
        caller.replace("/a.md", str(number), str(number + 1))
    memory.refresh_from_db()
    assert (first, 1) in seen(bob, memory)
    assert "are not examined here" not in readers(bob, memory).content.decode()
    monkeypatch.setattr(blame, "MOST_VERSIONS", 2)
    assert {number for _, number in seen(bob, memory)} <= {3, 4}
    page = readers(bob, memory).content.decode()
    assert "Versions before 3 are not examined here" in page and "Retention has removed" not in page


def test_more_versions_cost_no_more_queries(caller: Caller, bob: User) -> None:
    memory, client = caller.create("/a.md", "0\n"), signed_in(bob)
    address = reverse("readers", args=[memory.store_id, memory.pk])
    counts = []
    for number in range(12):
        caller.replace("/a.md", str(number), str(number + 1))
        if number in (2, 11):
            client.get(address)
            with CaptureQueriesContext(connection) as queries:
                client.get(address)
            counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.both_databases
def test_the_page_says_since_when_people_are_recorded_and_when_they_were_before(
    caller: Caller, alice: User, bob: User
) -> None:
    memory, store = caller.create("/a.md", "one\n"), caller.store

    def switched(is_on: bool, day: int) -> str:
        """The page after the setting was changed on a day."""
        at = datetime(2030, 1, day, 9, 30, tzinfo=UTC)
        row = MemoryStore.objects.get(pk=store.pk)
        stores.edit_store(row, replace(StoreSettings.of(row), records_views=is_on), **BY | {"at": at})
        return " ".join(readers(bob, memory).content.decode().split())

    page = switched(True, 3)
    assert "People's reading has been recorded since 3 Jan 2030, 09:30." in page
    assert "No agent has seen this memory" in page, "people may have, before"
    page = switched(False, 5)
    assert "Earlier, it was recorded from 3 Jan 2030, 09:30 to 5 Jan 2030, 09:30." in page
    assert "What agents read is always recorded. What people read" in page
    assert "is not recorded in this memory store" in page and "recorded since" not in page
    page = switched(True, 8)
    assert "recorded since 8 Jan 2030, 09:30." in page and "from 3 Jan 2030, 09:30 to 5 Jan 2030, 09:30." in page
    caller.at = datetime(2030, 1, 9, tzinfo=UTC)
    later = caller.create("/later.md", "one\n")
    assert "No one has seen this memory" in readers(bob, later).content.decode()


@pytest.mark.both_databases
def test_where_the_audit_lost_the_change_of_the_setting_the_page_says_that_it_does_not_know(
    caller: Caller, bob: User
) -> None:
    store = stores.create_store(StoreSettings("Recorded", records_views=True), **BY)
    assert periods(store) == [Period(store.created_at)]
    memory = caller.create("/a.md", "one\n")
    with tampering():
        MemoryStore.objects.filter(pk=caller.store.pk).update(records_views=True)
    assert "no longer has the entry that says since when" in readers(bob, memory).content.decode()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by what its tables hold")
def test_since_when_it_is_recorded_is_read_without_reading_the_whole_chain(store: MemoryStore) -> None:
    with CaptureQueriesContext(connection) as sent:
        periods(store)
    (statement,) = [query["sql"] for query in sent.captured_queries]
    with connection.cursor() as cursor:
        cursor.execute(f"explain query plan {statement}")
        assert any("entry_by_command" in row[3] for row in cursor.fetchall())
