"""The age of the backlog: what waited at the end of each day, worked out from decisions, with bounded queries."""

import csv
import io
from datetime import datetime, time, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import stores
from memoryhub.models import Door, Memory, MemoryStore, User
from memoryhub.web.dashboards import ages
from tests.support.fixtures import BY, signed_in
from tests.web.dashboards.pages import MARK, cells, section, text_of
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, at=noon(6))


def noon(days: int) -> datetime:
    """Noon, some days ago."""
    return datetime.combine(timezone.now().date() - timedelta(days=days), time(12), timezone.now().tzinfo)


def create(caller: Caller, path: str, days: int) -> str:
    """Let the agent write a memory some days ago; its version awaits review."""
    caller.at = noon(days)
    caller.create(path, "one\n")
    return str(Memory.objects.at(path).get(store=caller.store).head_id)


def approve(caller: Caller, person: User, version: str, days: int) -> int:
    act = Act(Actor.person(person), Door.WEB, noon(days))
    return decisions.approve(caller.store.pk, version, act, earlier=0).seq


def before_today(text: str) -> list[list[str]]:
    """What the table says about the days before today, the oldest first, without the days' names."""
    return [[shown for shown, _url in row[1:]] for row in cells(text, "ages")[:0:-1]]


@pytest.mark.parametrize("where", ["store_overview", "overview"])
def test_each_day_says_how_old_the_backlog_was_at_its_end(caller: Caller, alice: User, where: str) -> None:
    first = create(caller, "/a.md", 6)
    create(caller, "/b.md", 4)
    seq = approve(caller, alice, first, 3)
    decisions.reopen(caller.store.pk, seq, Act(Actor.person(alice), Door.WEB, noon(1)))
    parts = [caller.store.pk] if where == "store_overview" else []
    text = text_of(signed_in(alice), where, "?range=7", *parts)
    assert before_today(text) == [
        ["0.5", "0.5", "1"],
        ["1.5", "1.5", "1"],
        ["2.5", "1.5", "2"],
        ["1.5", "1.5", "1"],  # the first one was approved
        ["2.5", "2.5", "1"],
        ["5.5", "4.5", "2"],  # and awaits review again
    ]
    assert "The oldest of 2 versions that await review is" in section(text, "ages")


def test_marks_and_legend_lead_to_the_day_and_the_inbox(caller: Caller, alice: User) -> None:
    create(caller, "/a.md", 3)
    text = section(text_of(signed_in(alice), "store_overview", "?range=7", caller.store.pk), "ages")
    marks = [name for _url, name in MARK.findall(text)]
    assert [name.split(": ")[1] for name in marks[:5]] == ["nothing awaited review"] * 3 + [
        "oldest 11 hours, median 11 hours", "oldest 35 hours, median 35 hours",
    ]  # fmt: skip
    assert all("/audit?" in url for url, _name in MARK.findall(text))
    assert text.count(f"/review?store={caller.store.pk}") == 2


def test_nothing_waited_and_nothing_waits(caller: Caller, alice: User) -> None:
    client = signed_in(alice)
    for _time in range(2):
        text = section(text_of(client, "store_overview", "?range=7", caller.store.pk), "ages")
        assert "At the end of each of these days, nothing awaited review." in text and "chart-line" not in text
        stores.create_store(stores.StoreSettings(name="Another"), **BY)


def test_the_table_can_be_downloaded(caller: Caller, alice: User) -> None:
    create(caller, "/a.md", 2)
    form = {"picture": "ages", "range": "7"}
    for url in (reverse("export_overview"), reverse("export_store_overview", args=[caller.store.pk])):
        response = signed_in(alice).post(url, form)
        body = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
        rows = list(csv.DictReader(io.StringIO(body)))
        assert [row["Oldest, in days"] for row in rows[1:]] == ["1.5", "0.5", "", "", "", ""]


@pytest.mark.both_databases
def test_other_stores_do_not_count(caller: Caller, alice: User, charlie: User, superuser: User) -> None:
    create(caller, "/a.md", 2)
    other = stores.create_store(stores.StoreSettings(name="Elsewhere"), **BY)
    assert "of these days, nothing awaited review" in text_of(signed_in(superuser), "overview", f"?store={other.pk}")
    assert "of these days, nothing awaited review" not in text_of(signed_in(superuser), "overview")
    assert 'id="ages"' not in text_of(signed_in(charlie), "overview")


@pytest.mark.both_databases
def test_a_long_backlog_has_its_oldest_and_no_median(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ages, "MOST", 2)
    for number in (4, 3, 1):
        create(caller, f"/{number}.md", number)
    text = text_of(signed_in(alice), "store_overview", "?range=7", caller.store.pk)
    assert before_today(text) == [["–"], ["–"], ["0.5"], ["1.5"], ["2.5"], ["3.5"]]
    assert "There are too many for a median." in section(text, "ages")


def test_days_before_too_many_decisions_are_left_out(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ages, "MOST", 2)
    for number in (5, 4, 1):
        approve(caller, alice, create(caller, f"/{number}.md", 6), number)
    text = text_of(signed_in(alice), "store_overview", "?range=7", caller.store.pk)
    assert before_today(text) == [["4.5", "4.5", "1"], ["–", "–", "0"]]
    assert "Earlier days are left out, because at most 2 decisions are counted." in section(text, "ages")


def test_the_chart_costs_as_many_queries_with_more_versions(caller: Caller, alice: User) -> None:
    client, counts = signed_in(alice), []
    for part in range(2):
        for number in range(1 + 9 * part):
            approve(caller, alice, create(caller, f"/{part}-{number}.md", 3), 2)
            create(caller, f"/{part}-{number}-waits.md", 3)
        counts.append(queries(client, caller.store.pk))
    assert counts[0] == counts[1]


def queries(client: Client, store_id: str) -> int:
    with CaptureQueriesContext(connection) as sent:
        text_of(client, "store_overview", "?range=7", store_id)
    return len(sent)
