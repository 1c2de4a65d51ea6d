"""The README's lines for backup and restore, typed as they stand: twice, after a crash, on a wrong path."""

import re
import sqlite3
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests.faults.clients import Load
from tests.faults.hub import ROOT, Hub

README = (ROOT / "README.md").read_text()
SQLITE = "sqlite" in settings.DATABASES["default"]["ENGINE"]
pytestmark = pytest.mark.skipif(not SQLITE, reason="the lines for SQLite; PostgreSQL's are its own programs")


def lines(after: str) -> str:
    """The commands of the first block that follows a sentence."""
    found = re.search(rf"{re.escape(after)}.*?```sh\n(.*?)```", README, flags=re.DOTALL)
    assert found, after
    return found[1]


BACKUP, RESTORE = lines("Back up SQLite"), lines("Restore a backup of SQLite")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory in which `.venv` and `data` are, as in a checkout."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


def typed(commands: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", commands], cwd=place, text=True, capture_output=True, check=False)


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
