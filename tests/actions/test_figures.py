"""Figures: what is counted as time goes by is what counting everything again gives."""

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from memoryhub.actions import figures
from memoryhub.actions.stores import stores
from memoryhub.background import tasks
from memoryhub.models import Activity, AuditEntry, Figures, Growth, Memory, MemoryStore
from memoryhub.models.figures import ALL, OK
from tests.actions.history.histories import History
from tests.api.harness import AT, BY, Hub, new_hub, row_counts
from tests.api.test_concurrency import together
from tests.support.long import tried
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db


def totals(store: MemoryStore, **where: str) -> dict[str, int]:
    """outcome -> count, of everybody and everything unless it says otherwise."""
    found = Activity.objects.filter(store=store, **({"author": ALL, "command": ALL} | where))
    return dict(found.values_list("outcome").annotate(total=Sum("count")))


def grown(store: MemoryStore) -> tuple[int, int, int]:
    """(memories, bytes, versions) that all days together added."""
    sums = Growth.objects.filter(store=store).aggregate(a=Sum("memories"), b=Sum("bytes"), c=Sum("versions"))
    return sums["a"], sums["b"], sums["c"]


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(tried(20)))
def test_what_is_counted_step_by_step_is_what_counting_again_gives(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    store = history.store
    for _ in range(6):
        history.run(random.randint(1, 12))
        while figures.count(store.id):
            pass
        assert list(figures.problems(store.id)) == []
    store.refresh_from_db()
    assert grown(store) == (store.memory_count, store.total_bytes, store.versions.count())
    assert sum(totals(store).values()) == AuditEntry.objects.of_chain(store.id).count()
    before = sorted(Activity.objects.values_list("day", "author", "command", "outcome", "count"))
    figures.forget(store.id)
    assert not Activity.objects.exists()
    figures.catch_up()
    assert sorted(Activity.objects.values_list("day", "author", "command", "outcome", "count")) == before


def test_the_size_of_the_batches_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(Random(99)).run(60)
    monkeypatch.setattr(figures, "ENTRIES", 7)
    monkeypatch.setattr(figures, "VERSIONS", 3)
    assert not figures.catch_up(2)
    assert Figures.objects.get().seq < history.seq
    assert figures.catch_up(1_000)
    assert Figures.objects.get().seq == history.seq
    assert list(figures.problems(history.store.id)) == []


def test_entries_are_counted_by_day_author_command_and_how_they_ended(hub: Hub) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="one\none\n")
    hub.call(command="view", path="/memories/a.md")
    hub.call(command="view", path="/memories/b.md")
    hub.call(command="str_replace", path="/memories/a.md", old_str="one", new_str="x")
    hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="x")
    hub.call(command="create", path="/memories/a.md", file_text="")
    hub.call(command="create", path="/elsewhere", file_text="")
    figures.catch_up()
    assert totals(hub.store, command="view") == {OK: 1, "not_found": 1}
    assert totals(hub.store, command="str_replace") == {"no_match": 1, "several_matches": 1}
    assert totals(hub.store, command="create") == {OK: 1, "already_exists": 1, "path_refused": 1}
    agent = AuditEntry.objects.get(chain=hub.store.id, seq=2).author_id
    assert agent is not None
    assert sum(totals(hub.store, author=agent).values()) == 7
    assert grown(hub.store) == (1, 8, 1)


@pytest.mark.both_databases
def test_a_day_ends_at_midnight_utc() -> None:
    history = History(Random(1))
    history.step()
    moment = datetime(2025, 11, 3, 23, 59, 59, tzinfo=UTC)
    with tampering():
        AuditEntry.objects.filter(chain=history.store.id, seq=1).update(at=moment)
        AuditEntry.objects.filter(chain=history.store.id, seq=2).update(at=moment + timedelta(seconds=1))
    figures.catch_up()
    days = Activity.objects.in_sum().order_by("day").values_list("day", flat=True)
    assert list(days) == [date(2025, 11, 3), date(2025, 11, 4)]


def test_a_repeated_call_that_failed_is_an_error_of_the_same_kind(hub: Hub) -> None:
    for _ in range(2):
        hub.call(id="toolu_1", command="insert", path="/memories/a.md", insert_line=0, insert_text="x")
    figures.catch_up()
    assert totals(hub.store, command="insert") == {"not_found": 2}


def test_counting_needs_no_audit_entry_and_changes_nothing_else(hub: Hub) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="")
    before = row_counts()
    assert figures.catch_up()
    assert figures.catch_up()
    figures.make_lists(AT)
    assert row_counts() == before


def test_a_store_without_new_entries_is_not_looked_at(hub: Hub) -> None:
    hub.call(command="view", path="/memories")
    assert figures.behind() == {hub.store.id: (0, 2)}
    figures.catch_up()
    assert figures.behind() == {}


@pytest.mark.both_databases
def test_figures_that_are_wrong_are_found(hub: Hub) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="abc")
    figures.catch_up()
    with tampering():
        Activity.objects.filter(command="create", author=ALL).update(count=9)
        Growth.objects.update(bytes=1)
    assert len(list(figures.problems(hub.store.id))) == 2


@pytest.mark.both_databases
def test_the_lists_name_what_is_large_grows_and_was_read_unreviewed_or_never(hub: Hub) -> None:
    for path, text in (("a", "a"), ("b", "bb" * 50), ("c", "c")):
        hub.call(command="create", path=f"/memories/{path}.md", file_text=text)
    for _ in range(3):
        hub.call(command="view", path="/memories/a.md")
    hub.call(command="insert", path="/memories/c.md", insert_line=0, insert_text="x")
    paths = dict(Memory.objects.values_list("pk", "path"))
    lists = figures.lists_of(hub.store.id, AT)
    named = {name: [paths[pk] for pk in lists[name]] for name in ("risky", "largest", "unread")}
    assert named == {
        "risky": ["/a.md"], "largest": ["/b.md", "/c.md", "/a.md"], "unread": ["/c.md", "/b.md"],
    }  # fmt: skip
    assert [(paths[pk], added) for pk, added in lists["growing"]] == [("/b.md", 100), ("/c.md", 4), ("/a.md", 1)]
    assert figures.lists_of(hub.store.id, datetime.now(UTC) + figures.GROWING * 2)["growing"] == []
    assert (lists["unread_count"], lists["unread_bytes"]) == (2, 100 + len("x\nc\n"))


def test_the_lists_of_a_large_store_are_made_now_and_then(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "SMALL", 0)
    for number in range(2):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="")
        figures.catch_up()
        figures.make_lists(AT + timedelta(seconds=30 * number))
        assert len(Figures.objects.get().lists["largest"]) == 1
    figures.make_lists(AT + figures.PAUSE)
    assert len(Figures.objects.get().lists["largest"]) == 2
    made = Figures.objects.get().listed_at
    figures.make_lists(AT + 3 * figures.PAUSE)
    assert Figures.objects.get().listed_at == made


@pytest.mark.usefixtures("own_checkpoints")
def test_the_background_work_counts_every_half_minute(hub: Hub) -> None:
    seconds = [0.0]
    runner = tasks.runner(lambda: AT, lambda: seconds[0])
    hub.call(command="view", path="/memories")
    runner.run_due()
    assert Figures.objects.get().seq == 2
    hub.call(command="view", path="/memories")
    seconds[0] = 5
    runner.run_due()
    assert Figures.objects.get().seq == 2
    seconds[0] = 30
    runner.run_due()
    assert Figures.objects.get().seq == 3


def test_calls_that_never_stop_do_not_keep_the_counting_from_its_end(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention removes nothing before all entries are counted: beside an agent that writes all day it would never."""
    for number in range(3):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="")
    count, others = figures.count, iter(range(3, 100))

    def counted(*store: Any) -> int:
        number = count(*store)
        hub.call(command="create", path=f"/memories/{next(others)}.md", file_text="")
        return number

    monkeypatch.setattr(figures, "count", counted)
    assert figures.catch_up()
    assert Figures.objects.get().seq == 4
    assert figures.catch_up()
    assert Figures.objects.get().seq > 4


@pytest.mark.both_databases
def test_a_deleted_store_is_no_trouble(hub: Hub) -> None:
    gone = stores.create_store(stores.StoreSettings(name="Gone"), **BY)
    with tampering():
        gone.delete()
    assert figures.catch_up()
    assert figures.count(gone.id) == 0


@pytest.mark.django_db(transaction=True)
def test_two_who_count_at_once_count_once() -> None:
    hub = new_hub()
    for number in range(30):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="")

    def work(_: int) -> bool:
        try:
            return figures.catch_up()
        finally:
            connection.close()

    together(work, clients=4)
    assert list(figures.problems(hub.store.id)) == []
    assert totals(hub.store) == {OK: 31}
