"""The README's lines for backup and restore as they stand: twice, after a crash, after an upgrade, on a wrong path."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyrage import x25519

from memoryhub.pure import chain
from tests.api.server import put_migrated
from tests.faults import postgres
from tests.faults.clients import Load
from tests.faults.hub import ROOT, Hub
from tests.operating.test_starting import served_once
from tests.support import cluster, starts
from tests.support.long import LONG

README = (ROOT / "README.md").read_text()
OLDER = "0015"
"""A migration after which others added tables that refer to those of then."""
IDENTITY = x25519.Identity.generate()
RECIPIENT = {"MEMORYHUB_BACKUP_RECIPIENT": str(IDENTITY.to_public())}
"""A public key for most tests: a passphrase costs seconds of the processor, as it should."""
PASSPHRASE = {"MEMORYHUB_BACKUP_PASSPHRASE": "seven words that no one else knows"}


def lines(after: str) -> str:
    """The commands of the first block that follows a sentence."""
    found = re.search(rf"{re.escape(after)}.*?```sh\n(.*?)```", README, flags=re.DOTALL)
    assert found, after
    return found[1]


BACKUP, RESTORE = lines("Back up the hub while it runs"), lines("Restore a backup while the hub is stopped")
RESTORE_POSTGRES = lines("Restore a backup of PostgreSQL")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory in which `.venv`, `manage.py`, `data` and `backups` are, as in a checkout."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    (tmp_path / "backups").mkdir()
    return tmp_path


def typed(commands: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(place / "data"), "DATABASE_URL": "", **environment}
    return subprocess.run(["sh", "-c", commands], cwd=place, env=own, text=True, capture_output=True, check=False)


def backed_up(place: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the line of the README does, in a process that has loaded the hub already."""
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(place / "data"), "DATABASE_URL": "", **environment}
    command = [sys.executable, "manage.py", "backup", "backups", *options]
    return starts.run(command, cwd=place, env=own, text=True, capture_output=True, check=False)


def restored(file: Path, into: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Restores a backup that was made for the public key into a directory that is not there yet."""
    key = into.parent / "key.txt"
    key.write_text(f"# secret\n{IDENTITY}\n")
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(into), "DATABASE_URL": "", **environment}
    command = [sys.executable, "manage.py", "restore", str(file), "--identity", str(key), *options]
    return starts.run(command, cwd=ROOT, env=own, text=True, capture_output=True, check=False)


def newest(place: Path) -> Path:
    return max((place / "backups").glob("*.backup"))


def test_a_backup_of_a_hub_that_is_not_there_fails_and_makes_nothing(place: Path) -> None:
    (place / "backups" / "yesterday.backup").write_text("the one of yesterday")
    (place / "data").mkdir()
    told = typed(BACKUP, place, **RECIPIENT)
    assert told.returncode == 1 and "There is no hub in" in told.stderr
    assert [file.name for file in (place / "backups").iterdir()] == ["yesterday.backup"]
    assert list((place / "data").iterdir()) == []


@pytest.mark.push
def test_a_backup_needs_keys_and_a_directory_that_is_there(place: Path) -> None:
    put_migrated(place / "data")
    told = typed(BACKUP, place)
    assert told.returncode == 1 and "MEMORYHUB_BACKUP_PASSPHRASE" in told.stderr
    told = typed(BACKUP.replace(" backups", " elsewhere"), place, **RECIPIENT)
    assert told.returncode == 1 and "is no directory" in told.stderr
    assert not (place / "elsewhere").exists()


def test_a_backup_can_be_made_every_day_and_put_back_after_a_crash_and_the_audit_is_told_why(place: Path) -> None:
    hub = Hub(place / "data")
    hub.start()
    try:
        with Load(hub, place / "journal", clients=1) as load:
            load.wait_for(5)
            made = typed(BACKUP, place, **PASSPHRASE)
            assert made.returncode == 0, made.stderr
            file = Path(made.stdout.strip().splitlines()[-1])
            assert file.stat().st_mode & 0o077 == 0
            assert sorted(path.name for path in file.parent.iterdir()) == [file.name]
            hub.command("create_store", "Made later")
            load.wait_for(20)
            hub.kill()  # what is not in the database's file yet is in its log
            load.stop.set()
        hub.command("verify_audit")
        wait_for_checkpoints(hub)
        hub.kill()
        back = typed(RESTORE, place, **PASSPHRASE)
        assert back.returncode == 0, back.stderr
        assert "audit entries are right" in back.stdout and "--accept-missing" in back.stdout
        assert not (place / "data" / "memoryhub.sqlite3-wal").exists()
        count = entries(place / "data" / "memoryhub.sqlite3", load.store)
        with sqlite3.connect(place / "data" / "memoryhub.sqlite3") as database:
            work = database.execute("select count(*) from memoryhub_backgroundtask").fetchone()
        assert work == (0,), "doctor would find the machine of the backup silent"
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


@pytest.mark.push
def test_the_hub_makes_the_planned_backups_by_itself_and_its_work_fails_where_it_cannot(place: Path) -> None:
    hub = Hub(place / "data", **RECIPIENT)
    hub.start()
    try:
        begin = (
            "from django.utils import timezone as z; from memoryhub.actions.backups import schedule as s;"
            "from memoryhub.actions.core.audit import Act, Actor;"
            "from memoryhub.models import BackgroundTask as b, Door;"
            "a = Act(Actor.system('test'), Door.COMMAND, z.now());"
        )
        hub.command("shell", "-v", "0", "-c", f"{begin} s.set_plan(s.Plan({str(place / 'backups')!r}, newest=1), a)")
        waited_for(lambda: any((place / "backups").glob("*.backup")))
        first = newest(place)
        hub.command("shell", "-v", "0", "-c", f"{begin} s.ask(a)")
        waited_for(lambda: newest(place) != first and not first.exists())  # the older one is deleted
        (place / "backups").rename(place / "unmounted")
        told = "; import time\nwhile not b.objects.get(name='backups').problem: time.sleep(0.5)\n"
        said = hub.command(
            "shell", "-v", "0", "-c", f"{begin} s.ask(a){told}print(b.objects.get(name='backups').problem)"
        )
        assert "is no directory" in said.stdout
    finally:
        hub.stop()


@pytest.mark.push
def test_a_restored_hub_deletes_no_backup_of_the_hub_that_it_came_from(place: Path) -> None:
    put_migrated(place / "data")
    assert backed_up(place, **RECIPIENT).returncode == 0
    first = newest(place)
    told = restored(first, place / "tried")
    assert told.returncode == 0 and "another mark" in told.stdout, told.stderr
    half = place / "backups" / f".{first.name}.new"
    half.write_text("the first hub is writing it")
    tried = {**RECIPIENT, "MEMORYHUB_DATA_DIR": str(place / "tried")}
    told = backed_up(place, "--keep", "1,0,0", **tried)
    assert told.returncode == 0, told.stderr
    marks = [file.name.split("-")[1] for file in (place / "backups").glob("*.backup")]
    assert len(marks) == len(set(marks)) == 2 and first.exists() and half.exists()
    found = re.search(r"\$\((ls .*?)\)", RESTORE)
    assert found
    chosen = Path(typed(found[1], place).stdout.strip())
    assert chosen.name.split("-")[1] != first.name.split("-")[1], "the README takes the newest, whatever its mark"
    waited_for(lambda: time.time() > first.stat().st_mtime + 1)  # a name has its second
    assert backed_up(place, "--keep", "1,0,0", **RECIPIENT).returncode == 0
    assert not half.exists() and (place / chosen).exists()


def waited_for(happened: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.push
def test_a_backup_of_a_hub_whose_secrets_end_with_a_line_break_is_put_back_where_they_are_set(place: Path) -> None:
    """As the secrets of Kubernetes often do. A file of a secret is read without it."""
    put_migrated(place / "data")
    secrets = {"MEMORYHUB_AUDIT_KEY": "thirty-two characters and more of them\n", "SECRET_KEY": "s" * 40 + "\n"}
    hub = Hub(place / "data", **RECIPIENT, **secrets)
    hub.command("create_store", "Written with this key")
    made = backed_up(place, **RECIPIENT, **secrets)
    assert made.returncode == 0, made.stderr
    file, there = newest(place), place / "restored"
    told = restored(file, there)
    assert told.returncode == 1 and "set MEMORYHUB_AUDIT_KEY to exactly what it was" in told.stderr
    told = restored(file, there, **secrets)
    assert told.returncode == 0 and "audit entries are right" in told.stdout, told.stderr
    assert "All" in Hub(there, **secrets).command("verify_audit").stdout


@pytest.mark.push
def test_a_damaged_file_and_a_wrong_key_are_named_and_change_nothing(place: Path) -> None:
    put_migrated(place / "data")
    assert backed_up(place, **RECIPIENT).returncode == 0
    file, there = newest(place), place / "restored"
    whole = file.read_bytes()
    for damaged in damages(whole):
        file.write_bytes(damaged)
        told = restored(file, there)
        assert told.returncode == 1 and re.search("is damaged|are damaged|no backup|not a backup", told.stderr), told
        assert "Traceback" not in told.stderr
        assert not there.exists() or [path.name for path in there.iterdir()] == ["lock"]
    file.write_bytes(whole)
    told = typed(RESTORE, place, **PASSPHRASE, MEMORYHUB_DATA_DIR=str(there))
    assert told.returncode == 1 and "--identity" in told.stderr
    assert restored(file, there).returncode == 0
    told = restored(file, there)
    assert told.returncode == 1 and "A restore replaces nothing" in told.stderr


@pytest.mark.push
def test_a_hub_does_not_start_where_a_restore_was_interrupted_and_the_restore_is_repeated(place: Path) -> None:
    hub, there = Hub(place / "data"), place / "restored"
    hub.start()
    hub.new_store()
    hub.stop()  # with a checkpoint
    assert backed_up(place, **RECIPIENT).returncode == 0
    (there / "restore.new").mkdir(parents=True)
    for placed in ("", "audit_key", "checkpoints.jsonl", "secret_key"):  # in this order, as far as it came
        if placed:
            shutil.copy(place / "data" / placed, there)
        answer = served_once(there)
        assert answer.returncode == 1 and "A restore was interrupted: run `restore` again." in answer.stderr, answer
        made = {path.name for path in there.iterdir()} & {"memoryhub.sqlite3", "secret_key"}
        assert made == ({"secret_key"} if placed == "secret_key" else set())
    told = restored(newest(place), there)
    assert (told.returncode, "Restored" in told.stdout, "were kept" in told.stdout) == (0, True, False), told
    assert Hub(there).command("verify_audit").returncode == 0
    (there / "restore.new").mkdir()  # it was killed after its last step
    hub = Hub(there)
    hub.start()
    hub.stop()


def damages(whole: bytes) -> Iterator[bytes]:
    """A file that is cut off, longer, or has another byte; in the long form with 50 more that chance damages."""
    yield from (whole[:-1], whole[: len(whole) // 2], _flipped(whole, [len(whole) // 2]), whole + b"x")
    chance = random.Random(16)
    for number in range(50 if LONG else 0):
        flipped = chance.sample(range(len(whole)), chance.choice([1, 2, 1_000]))
        yield _flipped(whole, flipped) if number % 2 else whole[: chance.randrange(len(whole))]


def _flipped(text: bytes, places: list[int]) -> bytes:
    other = bytearray(text)
    for place in places:
        other[place] ^= 1
    return bytes(other)


@pytest.mark.long
def test_a_wrong_passphrase_is_named_and_changes_nothing(place: Path) -> None:
    put_migrated(place / "data")
    assert typed(BACKUP, place, **PASSPHRASE).returncode == 0
    there = {"MEMORYHUB_DATA_DIR": str(place / "restored")}
    told = typed(RESTORE, place, MEMORYHUB_BACKUP_PASSPHRASE="eight words that are not the right ones", **there)
    assert told.returncode == 1 and "is not the passphrase of this backup" in told.stderr
    assert not (place / "restored").exists()
    assert typed(RESTORE, place, **PASSPHRASE, **there).returncode == 0


@pytest.mark.push
def test_a_backup_for_which_the_disk_has_no_room_leaves_nothing_and_the_hub_goes_on(place: Path) -> None:
    put_migrated(place / "data")
    limited = f"ulimit -f 1000; {BACKUP}"  # no file may have more than 512 KB
    told = typed(limited, place, **RECIPIENT)
    assert told.returncode == 1 and "The database could not be copied" in told.stderr, told.stderr
    assert "Traceback" not in told.stderr
    assert list((place / "backups").iterdir()) == []
    assert not (place / "data" / "backup.new").exists()
    mark = chain.key_id((place / "data" / "audit_key").read_bytes().strip())
    (place / "backups" / f".memoryhub-{mark}-20260101T000000Z.backup.new").touch()  # of a backup that was killed
    assert backed_up(place, **RECIPIENT).returncode == 0
    assert [file.name for file in (place / "backups").iterdir()] == [newest(place).name]


@pytest.mark.push
def test_a_backup_with_a_wrong_audit_is_made_but_does_not_count(place: Path) -> None:
    put_migrated(place / "data")
    hub = Hub(place / "data")
    hub.command("create_store", "notes")
    with sqlite3.connect(hub.file) as database:
        database.execute("update memoryhub_auditentry set command = 'view' where command = 'create_store'")
    mark = chain.key_id((place / "data" / "audit_key").read_bytes().strip())
    before = [f"memoryhub-{mark}-2025010{day}T000000Z-unverified.backup" for day in (1, 2, 3)]
    right = [f"memoryhub-{mark}-2024010{day}T000000Z.backup" for day in (1, 2)]
    for name in (*before, *right):
        (place / "backups" / name).touch()
    told = backed_up(place, "--keep", "1,0,0", **RECIPIENT)
    assert told.returncode == 1 and "The audit is not right" in told.stderr
    file = newest(place)
    assert file.name.endswith("-unverified.backup")
    left = sorted(path.name for path in (place / "backups").iterdir())
    assert left == sorted([*right, before[0], file.name]), "those that count stay, and the first of the others"
    refused = restored(file, place / "restored")
    assert refused.returncode == 1 and "The audit of the backup is not right" in refused.stderr
    accepted = restored(file, place / "restored", "--unverified")
    assert accepted.returncode == 0 and "NOT right" in accepted.stdout


def entries(file: Path, store: str) -> int:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        found = database.execute("select max(seq) from memoryhub_auditentry where chain = ?", (store,)).fetchone()
    return int(found[0])


def wait_for_checkpoints(hub: Hub) -> None:
    """A server that stops as it should writes them."""
    hub.start()
    hub.stop()
    hub.start()


@pytest.mark.long
def test_a_backup_of_postgresql_from_before_an_upgrade_is_put_back_into_a_new_database_and_serves(place: Path) -> None:
    with postgres.running() as server:
        programs = str(Path(cluster._binary("pg_dump")).parent)
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "DATABASE_URL": f"{server.url}?connect_timeout=5"}
        hub = Hub(place / "data", environment["DATABASE_URL"])
        hub.start()
        hub.stop()
        hub.command("create_store", "now")
        made = typed(BACKUP, place, **environment, **RECIPIENT)
        assert made.returncode == 0 and "entries are right" in made.stdout, made.stderr
        newest(place).unlink()
        hub.command("migrate", "memoryhub", OLDER)
        made = typed(BACKUP, place, **environment, **RECIPIENT)
        assert made.returncode == 0 and "older MemoryHub" in made.stdout, made.stderr
        hub.command("migrate")
        hub.command("create_store", "after")
        key = place / "key.txt"
        key.write_text(str(IDENTITY))
        restore = RESTORE_POSTGRES.rstrip() + f' --identity {key} && echo "$DATABASE_URL"'
        back = typed(restore, place, **environment)
        assert back.returncode == 0, back.stderr
        address = back.stdout.strip().splitlines()[-1]
        assert address == environment["DATABASE_URL"].replace("/postgres?", "/hub_restored?")
        assert typed(restore, place, **environment).returncode != 0  # never over what is there
        again = Hub(place / "data", address)
        again.start()
        try:
            assert stores(again) == ["now"]
            assert stores(hub) == ["after", "now"]
        finally:
            again.stop()
        again.command("verify_audit", "--accept-missing", "put back the backup")
        again.command("verify_audit")


def stores(hub: Hub) -> list[str]:
    names = "from memoryhub.models import MemoryStore; print(*MemoryStore.objects.values_list('name', flat=True))"
    return sorted(hub.command("shell", "-v", "0", "-c", names).stdout.split())
