"""Power cuts while a backup is made or restored: what has its name is whole, and a restore can be repeated."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.api.server import put_migrated
from tests.faults import power
from tests.faults.hub import ROOT, Hub
from tests.faults.test_backups import IDENTITY
from tests.faults.test_power_cuts import cuts, states

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="SQLite's files are recorded"),
]
TO = {"MEMORYHUB_BACKUP_RECIPIENT": str(IDENTITY.to_public())}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    (file := tmp_path / "key").write_text(str(IDENTITY))
    return file


def recorded(place: Path, tmp_path: Path, *command: str) -> tuple[power.Start, Path]:
    """Run a command on the hub in `data` of a place, of which all is recorded; it ends well."""
    start, log = power.Start(place), tmp_path / f"{command[0]}.log"
    hub = Hub(place / "data", **TO)
    environment = hub.environment | power.environment(power.compiled(tmp_path), place, log)
    subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True)
    return start, log


def test_a_backup_that_has_its_name_after_a_power_cut_is_whole(tmp_path: Path, key: Path) -> None:
    chance, place = random.Random(20), tmp_path / "place"
    put_migrated(place / "data")
    Hub(place / "data").command("create_store", "notes")
    (place / "backups").mkdir()
    start, log = recorded(place, tmp_path, "backup", str(place / "backups"))
    chosen = [*cuts(log, [], 60, chance), log.stat().st_size]
    seen = 0
    for number, (position, directory) in enumerate(states(start, log, chosen, tmp_path / "cut", chance)):
        files = list((directory / "backups").glob("*.backup"))
        assert len(files) == 1 or position < chosen[-1], "the command has ended, and there is no backup"
        for file in files:
            Hub(tmp_path / f"restored-{number}").command("restore", str(file), "--identity", str(key))
            seen += 1
    assert seen


def test_a_restore_that_a_power_cut_has_ended_is_repeated(tmp_path: Path, key: Path) -> None:
    chance, place = random.Random(21), tmp_path / "place"
    put_migrated(tmp_path / "data")
    hub = Hub(tmp_path / "data", **TO)
    hub.command("create_store", "notes")
    (tmp_path / "backups").mkdir()
    file = hub.command("backup", str(tmp_path / "backups")).stdout.strip().splitlines()[-1]
    (place / "data").mkdir(parents=True)
    start, log = recorded(place, tmp_path, "restore", file, "--identity", str(key))
    chosen = [*cuts(log, [], 30, chance), log.stat().st_size]
    for position, directory in states(start, log, chosen, tmp_path / "cut", chance):
        again = Hub(directory / "data")
        is_there = again.file.exists()
        assert is_there or position < chosen[-1], "the command has ended, and there is no database"
        if not is_there:
            again.command("restore", file, "--identity", str(key))
        again.command("verify_audit")
