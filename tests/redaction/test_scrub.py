"""What was redacted is taken from SQLite's file once, however long a reader keeps the log."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.erasure import sqlite_remains as database_remains
from memoryhub.actions.erasure.sqlite_remains import NotScrubbed
from memoryhub.models import Door, HubSettings, User
from tests.api.harness import AT
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of the database; nothing waits between two tries."""
    done: list[str] = []
    monkeypatch.setattr(sql, "rewrite", lambda: done.append("rewrite"))
    monkeypatch.setattr(database_remains.time, "sleep", lambda _: None)
    yield done
    with tampering():
        HubSettings.objects.all().delete()


def is_due() -> bool:
    return HubSettings.objects.filter(scrub_since__isnull=False).exists()


def test_a_log_that_a_reader_keeps_is_tried_again_without_writing_the_file_again(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing():
        database_remains.note(AT)
    monkeypatch.setattr(sql, "empty_log", lambda: False)
    for _ in range(2):
        with pytest.raises(NotScrubbed, match="read by another process"):
            database_remains.scrub_due(AT)
        assert is_due() and did == ["rewrite"]
    monkeypatch.setattr(sql, "empty_log", lambda: True)
    database_remains.scrub_due(AT)
    assert not is_due() and did == ["rewrite"]


def test_each_redaction_has_the_file_written_anew(did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "empty_log", lambda: True)
    database_remains.scrub(AT)
    assert did == []
    for at in (AT, AT, AT + timedelta(days=1)):
        with writing():
            database_remains.note(at)
        database_remains.scrub(at)
        assert not is_due()
    assert did == ["rewrite"] * 3


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such log")
def test_the_log_is_empty_afterwards() -> None:
    with writing():
        database_remains.note(AT)
    sql.connect()
    database_remains.scrub(AT)
    assert not is_due() and sql.empty_log()


def test_a_small_file_that_could_not_be_written_is_not_tried_again_at_every_start(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed() -> None:
        did.append("rewrite")
        raise KeyboardInterrupt  # the process ends here

    monkeypatch.setattr(sql, "rewrite", killed)
    with writing():
        database_remains.note(AT)
    with pytest.raises(KeyboardInterrupt):
        database_remains.scrub_due(AT)
    for minutes in (0, 1, 9):
        database_remains.scrub_due(AT + timedelta(minutes=minutes))
    assert did == ["rewrite"] and is_due()
    with pytest.raises(KeyboardInterrupt):
        database_remains.scrub_due(AT + timedelta(minutes=10))


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL writes no file anew")
class TestALargeFile:
    @pytest.fixture(autouse=True)
    def _large(self, did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database_remains, "AT_ONCE_BYTES", 0)
        monkeypatch.setattr(sql, "empty_log", lambda: True)
        with writing():
            database_remains.note(AT)

    def at(self, hour: int, day: int = 0) -> datetime:
        return AT.replace(hour=hour, minute=0) + timedelta(days=day)

    def test_it_is_written_anew_at_the_hour_that_the_administrator_chose(self, did: list[str], superuser: User) -> None:
        database_remains.set_hour(4, Act(Actor.person(superuser), Door.WEB, AT))
        database_remains.scrub_small()
        for hour in (1, 2, 3, 5, 23):
            database_remains.scrub_due(self.at(hour))
        assert did == [] and is_due()
        database_remains.scrub_due(self.at(4, 1))
        assert did == ["rewrite"] and not is_due()

    def test_it_is_written_anew_once_an_hour_at_most_and_a_day_late_where_the_hub_slept_at_the_hour(
        self, did: list[str]
    ) -> None:
        database_remains.scrub_due(self.at(3, 1))
        with writing():
            database_remains.note(self.at(3, 1) + timedelta(minutes=5))
        database_remains.scrub_due(self.at(3, 1) + timedelta(minutes=6))
        assert did == ["rewrite"] and is_due()
        database_remains.scrub_due(self.at(12, 2))
        assert did == ["rewrite"] * 2

    def test_somebody_can_have_it_done_now(self, did: list[str], superuser: User) -> None:
        database_remains.ask(Act(Actor.person(superuser), Door.WEB, AT))
        database_remains.scrub_due(self.at(12))
        assert did == ["rewrite"] and not is_due()

    def test_without_room_on_the_disk_nothing_is_begun_and_the_reason_is_said(
        self, did: list[str], monkeypatch: pytest.MonkeyPatch, superuser: User
    ) -> None:
        monkeypatch.setattr(sql, "bytes_in_use", lambda: 10**15)
        database_remains.ask(Act(Actor.person(superuser), Door.WEB, AT))
        with pytest.raises(NotScrubbed, match=r"needs 2,000,000,000 MB of free disk, and there are [\d,]+ MB"):
            database_remains.scrub_due(self.at(12))
        assert did == [] and is_due()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL writes no file anew")
@pytest.mark.long
def test_writing_the_file_anew_needs_little_memory(tmp_path: Path) -> None:
    """In a process of its own, whose largest size is measured: with the copy in memory it grew by 300 MB."""
    program = """
import os, resource, sqlite3, sys
os.environ.update(MEMORYHUB_DATA_DIR=sys.argv[1], DJANGO_SETTINGS_MODULE="memoryhub.settings")
import django; django.setup()
from memoryhub.actions.core import sql
from django.db import connection
sql.connect()
connection.connection.execute("create table filling (x)")
connection.connection.execute("PRAGMA cache_size=-2000")
for _ in range(300):
    connection.connection.execute("insert into filling values (randomblob(1000000))")
sql.empty_log()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sql.rewrite()
sql.empty_log()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    grown = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, text=True, capture_output=True
    ).stdout
    assert int(grown) < 80
