"""Writes that wait for the commit: no read misses them, and a failure leaves none of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from memoryhub.actions.core import sql, transactions
from memoryhub.actions.core.sql import statements
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Directory, MemoryVersion
from tests.actions.core.trees import directories, make, rename, root
from tests.api.harness import Hub, contents


@contextmanager
def sent() -> Iterator[list[str]]:
    """Collect the statements that SQLite runs, with their values."""
    run: list[str] = []
    connection.ensure_connection()
    connection.connection.set_trace_callback(run.append)
    try:
        yield run
    finally:
        connection.connection.set_trace_callback(None)


def bytes_in(hub: Hub, path: str) -> int:
    row = sql.one(sql.DIRECTORY_BYTES, hub.store.id, path)
    assert row is not None
    return int(row[0])


@pytest.mark.both_databases
def test_reads_in_the_same_transaction_see_what_waits(hub: Hub) -> None:
    with writing():
        make(hub, "/a/1", "/a/2")
        assert bytes_in(hub, "/a") == 8
        make(hub, "/a/b/3")
        assert directories(hub.store) == {"/a": (3, 14), "/a/b": (1, 6)}  # through the ORM
        make(hub, "/a/4")
        assert AuditEntry.objects.of_chain(hub.store.id).filter(command="create").count() == 4
        assert MemoryVersion.objects.filter(store=hub.store).count() == 4
        assert hub.call(command="delete", path="/memories/a/b")[0] == "ok"
    assert directories(hub.store) == {"/a": (3, 12)} and root(hub.store) == (3, 12, 3, 12)
    assert verify.verify(hub.store.id)[1] is None


@pytest.mark.both_databases
def test_a_version_that_waits_can_be_replaced(hub: Hub) -> None:
    with writing():
        make(hub, "/a/1")
        for number in "12":
            assert (
                hub.call(command="str_replace", path="/memories/a/1", old_str="/a/", new_str=number + "/a/")[0] == "ok"
            )
    rows = MemoryVersion.objects.filter(store=hub.store).order_by("number").values_list("seq", "superseded_seq")
    first, second, third = rows
    assert (first[1], second[1], third[1]) == (second[0], third[0], None)
    assert verify.verify(hub.store.id)[1] is None


@pytest.mark.both_databases
def test_a_memory_that_waits_is_read_and_changed_like_any_other(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions._thread, "is_committer", connection.vendor == "sqlite", raising=False)
    monkeypatch.setattr(statements, "MOST_LATER", 3)
    with writing():
        make(hub, "/a/1", "/a/2", "/a/3", "/a/4")
        assert hub.call(command="str_replace", path="/memories/a/4", old_str="4", new_str="5")[0] == "ok"
        assert "/a/5" in hub.call(command="view", path="/memories/a/4")[1]
        assert rename(hub, "/a/4", "/b") == "ok"
        assert hub.call(command="delete", path="/memories/a/3")[0] == "ok"
        make(hub, "/a/3")
        assert hub.call(command="create", path="/memories/a/3", file_text="again")[0] == "err"
    assert contents(hub.store) == {
        "/memories/a/1": "/a/1",
        "/memories/a/2": "/a/2",
        "/memories/b": "/a/5",
        "/memories/a/3": "/a/3",
    }
    assert verify.verify(hub.store.id)[1] is None


@pytest.mark.both_databases
def test_a_savepoint_that_is_given_up_takes_what_waited_in_it_along(hub: Hub) -> None:
    add = (sql.COUNT_STORE, (1, 5), (), hub.store.id)
    with writing():
        sql.add(*add)
        with transaction.atomic():
            sql.add(*add)
            transaction.set_rollback(True)
        sql.add(*add)
    hub.store.refresh_from_db()
    assert (hub.store.memory_count, hub.store.total_bytes) == (2, 10)


@pytest.mark.both_databases
def test_after_a_failure_nothing_waits_for_the_next_transaction(hub: Hub) -> None:
    def fail() -> None:
        with writing():
            sql.add(sql.COUNT_STORE, (1, 5), (), hub.store.id)
            sql.run_later(sql.ADD_CHAIN, "other", "0")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with writing():
        assert sql.one(sql.CHAIN, "other") is None
    assert root(hub.store) == (0, 0, 0, 0)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL commits each call alone")
def test_calls_that_are_committed_together_write_a_counter_once(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions._thread, "is_committer", True, raising=False)
    make(hub, "/a/0")
    with sent() as run, writing():
        make(hub, "/a/1", "/a/2", "/a/3")
    for table in ("directory", "memorystore", "auditchain"):
        written = [one for one in run if one.startswith(f"update memoryhub_{table} ")]
        assert len(written) == (2 if table == "directory" else 1), written
    for table in ("memory", "memorytext", "memoryversion", "auditentry"):
        at = [number for number, one in enumerate(run) if one.startswith(f"insert into memoryhub_{table} ")]
        assert at == list(range(at[0], at[0] + 3)), table
    assert Directory.objects.get(store=hub.store, path="/a").memory_count == 4
