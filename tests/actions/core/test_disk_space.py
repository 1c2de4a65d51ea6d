"""A full disk and a file that is replaced: what is noticed, what is refused, and what goes on."""

import sqlite3
from collections import namedtuple
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.test import Client

from memoryhub.actions.core.hub import disk_space
from memoryhub.database import sqlite_files
from memoryhub.models import AuditEntry, Memory
from tests.api.harness import Hub
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="the disk of SQLite's file"),
]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The free bytes of a disk on which the reserve is kept."""
    free = [10**9]
    monkeypatch.setattr(disk_space, "_reserve", disk_space._Reserve())
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda _: Usage(10**9, 0, free[0]))
    disk_space.watch(tmp_path)
    return free


def full() -> OperationalError:
    error, cause = OperationalError("database or disk is full"), sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.__cause__ = cause
    return error


def test_the_reserve_is_given_up_on_a_full_disk_and_made_again_when_there_is_room(
    disk: list[int], tmp_path: Path
) -> None:
    reserve = tmp_path / "reserve"
    assert reserve.stat().st_blocks * 512 >= disk_space.RESERVE_BYTES and not disk_space.is_full()
    assert not disk_space.give_up(OperationalError("database is locked")) and not disk_space.is_full()
    assert disk_space.give_up(full()) and disk_space.is_full() and not reserve.exists()
    assert not disk_space.give_up(full())  # there is nothing more to give up
    disk[0] = disk_space.RESERVE_BYTES
    disk_space.look()
    assert disk_space.is_full()
    disk[0] = 10**9
    disk_space.look()
    assert not disk_space.is_full() and reserve.exists()


def test_readyz_says_that_the_disk_is_full_and_goes_on_because_reading_does(client: Client, disk: list[int]) -> None:
    assert client.get("/readyz").json() == {"status": "ok"}
    assert disk_space.give_up(full())
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["warning"]) == (200, "the disk of the database is full")
    assert client.get("/livez").json() == {"status": "ok"}


def test_while_the_disk_is_full_storing_is_refused_with_503_and_reading_and_deleting_go_on(
    hub: Hub, disk: list[int], superuser: object
) -> None:
    hub.call(command="create", path="/memories/old.md", file_text="old")
    disk_space.give_up(full())
    entries = AuditEntry.objects.of_chain(hub.store.id).count()
    for input in (
        {"command": "create", "path": "/memories/new.md", "file_text": "new"},
        {"command": "str_replace", "path": "/memories/old.md", "old_str": "old", "new_str": "new"},
    ):
        answer = hub.send(hub.block(**input))
        assert (answer.status, answer.value["error"]["type"]) == (503, "overloaded_error")
        assert "The disk is full" in answer.value["error"]["message"] and answer.headers["retry-after"] == "30"
    assert AuditEntry.objects.of_chain(hub.store.id).count() == entries
    assert hub.call(command="view", path="/memories/old.md")[0] == "ok"
    assert hub.call(command="delete", path="/memories/old.md")[0] == "ok"
    assert Memory.objects.filter(deleted_at=None).count() == 0
    client = signed_in(superuser)  # type: ignore[arg-type]
    client.raise_request_exception = False
    address = f"/stores/{hub.store.id}/new"
    fields = form_with(client.get(address).content.decode(), "text")
    page = client.post(address, fields | {"path": "/a.md", "text": "text"})
    assert page.status_code == 503 and "The disk of the hub is full" in page.content.decode()
    assert client.get(f"/stores/{hub.store.id}/").status_code == 200


def test_a_file_that_is_moved_over_a_running_database_is_noticed_before_the_next_answer(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "served.sqlite3", tmp_path / "other.sqlite3"
    for path in (file, other):
        path.write_bytes(b"")
    monkeypatch.setattr(sqlite_files, "_kept", {file: sqlite_files.identity(file)})
    assert hub.call(command="create", path="/memories/a.md", file_text="a")[0] == "ok"
    for replace in (lambda: other.replace(file), file.unlink):
        monkeypatch.setattr(sqlite_files, "_kept", {file: sqlite_files.identity(file)})
        replace()
        assert sqlite_files.replaced() == file
        answer = hub.send(hub.block(command="view", path="/memories"))
        assert (answer.status, answer.value["error"]["type"]) == (503, "overloaded_error")
