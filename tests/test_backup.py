"""The README's lines for backup and restore as they stand: twice, after a crash, after an upgrade, on a wrong path."""

import os
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests import cluster
from tests.faults import postgres
from tests.faults.clients import Load
from tests.faults.hub import ROOT, Hub

README = (ROOT / "README.md").read_text()
OLDER = "0015"
"""A migration after which others added tables that refer to those of then."""


def lines(after: str) -> str:
    """The commands of the first block that follows a sentence."""
    found = re.search(rf"{re.escape(after)}.*?```sh\n(.*?)```", README, flags=re.DOTALL)
    assert found, after
    return found[1]


BACKUP, RESTORE = lines("Back up SQLite"), lines("Restore a backup of SQLite")
DUMP, RESTORE_DUMP = lines("Back up PostgreSQL"), lines("Restore a backup of PostgreSQL")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory in which `.venv` and `data` are, as in a checkout."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


def typed(commands: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, **environment}
    return subprocess.run(["sh", "-c", commands], cwd=place, env=own, text=True, capture_output=True, check=False)


def test_a_backup_of_a_database_that_is_not_there_fails_and_makes_nothing(place: Path) -> None:
    (place / "backup.sqlite3").write_text("the one of yesterday")
    (place / "data").mkdir()
    assert typed(BACKUP, place).returncode != 0
    assert (place / "backup.sqlite3").read_text() == "the one of yesterday"
    assert list((place / "data").iterdir()) == []


def test_a_backup_can_be_made_every_day_and_put_back_after_a_crash_and_the_audit_is_told_why(place: Path) -> None:
    hub = Hub(place / "data")
    hub.start()
    try:
        with Load(hub, place / "journal", clients=1) as load:
            load.wait_for(5)
            for _ in range(2):
                assert typed(BACKUP, place).returncode == 0
            assert (place / "backup.sqlite3").stat().st_mode & 0o077 == 0
            count = entries(place / "backup.sqlite3", load.store)
            hub.command("create_store", "Made later")
            load.wait_for(20)
            hub.kill()  # what is not in the database's file yet is in its log
            load.stop.set()
        hub.command("verify_audit")
        wait_for_checkpoints(hub)
        hub.kill()
        assert typed(RESTORE, place).returncode == 0
        assert not (place / "data" / "memoryhub.sqlite3-wal").exists()
        assert entries(place / "data" / "memoryhub.sqlite3", load.store) == count
    finally:
        hub.stop()
    told = hub.command("verify_audit", check=False)
    assert told.returncode == 1 and "checkpoint" in told.stderr
    accepted = hub.command("verify_audit", "--accept-missing", "put back the backup of Monday")
    assert "was accepted, with the reason" in accepted.stdout
    again = hub.command("verify_audit")
    assert "put back the backup of Monday" in again.stdout and f"entries {count + 1} to" in again.stdout
    assert "Nothing is missing" in hub.command("verify_audit", "--accept-missing", "again").stdout
    assert "All" in hub.command("verify_audit").stdout


def entries(file: Path, store: str) -> int:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        found = database.execute("select max(seq) from memoryhub_auditentry where chain = ?", (store,)).fetchone()
    return int(found[0])


def wait_for_checkpoints(hub: Hub) -> None:
    """A server that stops as it should writes them."""
    hub.start()
    hub.stop()
    hub.start()


def test_a_dump_from_before_an_upgrade_is_put_back_into_a_new_database_and_serves(place: Path) -> None:
    with postgres.running() as server:
        programs = str(Path(cluster._binary("pg_dump")).parent)
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "DATABASE_URL": f"{server.url}?connect_timeout=5"}
        hub = Hub(place / "data", environment["DATABASE_URL"])
        hub.start()
        hub.stop()
        hub.command("create_store", "before")
        hub.command("migrate", "memoryhub", OLDER)
        dumped = typed(DUMP, place, **environment)
        assert dumped.returncode == 0, dumped.stderr
        assert (place / "backup.dump").stat().st_mode & 0o077 == 0
        hub.command("migrate")
        hub.command("create_store", "after")
        restored = typed(RESTORE_DUMP + 'echo "$DATABASE_URL"', place, **environment)
        assert restored.returncode == 0, restored.stderr
        assert restored.stdout.strip() == environment["DATABASE_URL"].replace("/postgres?", "/hub_restored?")
        assert typed(RESTORE_DUMP, place, **environment).returncode != 0  # never over what is there
        again = Hub(place / "data", restored.stdout.strip())
        again.start()
        try:
            assert stores(again) == ["before"]
            assert stores(hub) == ["after", "before"]
        finally:
            again.stop()
        again.command("verify_audit")


def stores(hub: Hub) -> list[str]:
    names = "from memoryhub.models import MemoryStore; print(*MemoryStore.objects.values_list('name', flat=True))"
    return sorted(hub.command("shell", "-v", "0", "-c", names).stdout.split())
