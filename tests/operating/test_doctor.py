"""Faults that are planted in a hub, each of which the doctor finds; and a hub in which it finds none."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from django.conf import settings as real
from django.utils import timezone

from memoryhub.actions.backups import databases, schedule
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import background, installation
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import checkpoints, runs
from memoryhub.database import facts
from memoryhub.doctor import inside
from memoryhub.doctor.examine import examine
from memoryhub.doctor.findings import ERROR, WARNING, Finding
from memoryhub.models import HUB, AuditChain, AuditEntry, Door, HubSettings, Installation, User
from memoryhub.operating import private_files
from tests.api.server import ROOT, put_migrated
from tests.support import starts
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db

real_setting = facts.setting
Plant = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, tuple[Plant, str]] = {}


def fault(name: str, says: str) -> Callable[[Plant], Plant]:
    """Names a fault and a part of what the doctor says of it."""

    def planted(plant: Plant) -> Plant:
        FAULTS[name] = plant, says
        return plant

    return planted


def act(at: datetime | None = None) -> Act:
    return Act(Actor.system("test"), Door.COMMAND, at or timezone.now())


@pytest.fixture(autouse=True)
def healthy(settings, tmp_path: Path, superuser: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub without a fault: private files, work that succeeds, checkpoints, a backup of today, a verified audit."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir(mode=0o700)
    settings.MEMORYHUB_CHECKPOINT_FILE = settings.DATA_DIR / "checkpoints.jsonl"
    settings.MEMORYHUB_BACKUP_PASSPHRASE = "seven words that no one else knows"
    settings.SQLITE_SYNCHRONOUS = "FULL"
    settings.MEMORYHUB_ABSENT_SECRETS = {}
    monkeypatch.delenv("MEMORYHUB_URL", raising=False)
    monkeypatch.setattr("memoryhub.doctor.examine.require_hub", lambda: None)  # the tests' database is in memory
    monkeypatch.setattr("memoryhub.doctor.inside.facts.setting", sound_setting)
    monkeypatch.setattr(private_files, "database_file", lambda: None)
    installation.keep_marks()
    (tmp_path / "backups").mkdir()
    schedule.set_plan(schedule.Plan(str(tmp_path / "backups")), act())
    last(at=timezone.now().isoformat(), name="memoryhub-1.backup")
    background.note(Outcome("figures", timezone.now()))
    runs.record(act(), entries=1, wrong=[], checkpoints_complete=True)
    checkpoints.append(settings.MEMORYHUB_CHECKPOINT_FILE, timezone.now())


def sound_setting(name: str) -> str:
    return {"journal_mode": "wal", "server_version_num": "160000", "server_encoding": "UTF8"}.get(name, "on")


def last(**values: object) -> None:
    with writing():
        HubSettings.objects.update_or_create(pk=1, defaults={"backup_last": values})


def found() -> list[Finding]:
    return examine(timezone.now())


@pytest.mark.both_databases
def test_a_healthy_hub_has_no_findings() -> None:
    assert found() == []


@fault("file that others may read", "Others than the owner may read or change")
def _(_: pytest.MonkeyPatch) -> None:
    (real.DATA_DIR / "audit_key").write_text("key")
    (real.DATA_DIR / "audit_key").chmod(0o644)


@fault("file of another user", "belongs to another user")
def _(_: pytest.MonkeyPatch) -> None:
    (real.DATA_DIR / "secret_key").touch(0o600)
    os.chown(real.DATA_DIR / "secret_key", 12345, -1)


@fault("short secret", "SECRET_KEY is shorter than 32 characters")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "SECRET_KEY", "short")


@fault("missing audit key", "audit_key is not there")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_ABSENT_SECRETS", {"MEMORYHUB_AUDIT_KEY": "audit_key is not there, …"})


@fault("secret of another hub", "MEMORYHUB_AUDIT_KEY does not belong to this database")
def _(_: pytest.MonkeyPatch) -> None:
    with tampering():
        Installation.objects.update(audit_mark="0" * 64)


@fault("https without a trusted proxy", "TRUSTED_PROXIES is empty")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_URL", "https://hub.example.com")


@fault("wrong address", "MEMORYHUB_URL is not the address of a hub")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_URL", "hub.example.com")


@fault("address that does not answer", "does not answer")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("MEMORYHUB_URL", "http://127.0.0.1:9")
    patch.setattr(real, "MEMORYHUB_URL", "http://127.0.0.1:9")


@fault("full disk", "MB are free on the disk")
def _(patch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(total=10**12, used=10**12 - 10**9, free=10**9)
    patch.setattr("memoryhub.doctor.outside.shutil.disk_usage", lambda _: usage)


@fault("killed backup", "was left by a backup")
def _(_: pytest.MonkeyPatch) -> None:
    (real.DATA_DIR / "backup.new").mkdir()


@fault("newer schema", "migrated by a newer MemoryHub")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(databases, "known_migrations", lambda: databases.migrations()[:-1])


@fault("older schema", "migrations are not applied")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(databases, "known_migrations", lambda: [*databases.migrations(), "9999_future"])


@fault("read-only database", "takes no writes")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("memoryhub.doctor.inside.sql.is_writable", lambda: False)


@fault("settings that lose calls", "a power cut may lose the last acknowledged calls")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "SQLITE_SYNCHRONOUS", "NORMAL")
    patch.setattr(
        "memoryhub.doctor.inside.facts.setting", lambda name: "off" if "commit" in name else sound_setting(name)
    )


@fault("clock that was set back", "in the future")
def _(_: pytest.MonkeyPatch) -> None:
    runs.record(act(timezone.now() + timedelta(hours=1)), entries=1, wrong=[], checkpoints_complete=True)


@fault("failing work", "figures fails on")
def _(_: pytest.MonkeyPatch) -> None:
    background.note(Outcome("figures", timezone.now(), "The disk is full.", 3, timezone.now()))


@fault("dead worker", "has not reported since")
def _(_: pytest.MonkeyPatch) -> None:
    background.note(Outcome("figures", timezone.now() - timedelta(hours=2)))


@fault("no checkpoints", "There are no checkpoints")
def _(_: pytest.MonkeyPatch) -> None:
    real.MEMORYHUB_CHECKPOINT_FILE.unlink()


@fault("changed checkpoint", "checkpoints.jsonl")
def _(_: pytest.MonkeyPatch) -> None:
    file = real.MEMORYHUB_CHECKPOINT_FILE
    file.write_text(file.read_text().replace('"hub"', '"hug"'))


@fault("entries that were cut off", "it is missing; it was there")
def _(_: pytest.MonkeyPatch) -> None:
    with tampering():
        newest, before = AuditEntry.objects.of_chain(HUB).newest()[:2]
        AuditEntry.objects.filter(chain=HUB, seq=newest.seq).delete()
        AuditChain.objects.filter(pk=HUB).update(last_seq=before.seq, last_hash=before.hash)


@fault("no backups", "No backups are planned")
def _(_: pytest.MonkeyPatch) -> None:
    schedule.set_plan(schedule.Plan(), act())
    last()


@fault("old backup", "The last backup is of")
def _(_: pytest.MonkeyPatch) -> None:
    last(at=(timezone.now() - timedelta(days=5)).isoformat())


@fault("failed backup", "The last backup failed: /backups: No space left")
def _(_: pytest.MonkeyPatch) -> None:
    last(at=timezone.now().isoformat(), problem="/backups: No space left on device.")


@fault("unmounted disk of the backups", "is no directory")
def _(_: pytest.MonkeyPatch) -> None:
    Path(schedule.state().plan.target).rmdir()


@fault("backups without a key", "there is no key for them")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_BACKUP_PASSPHRASE", "")
    last()


@fault("failing backups without a key", "there is no key for them")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_BACKUP_PASSPHRASE", "")
    last(at=timezone.now().isoformat(), problem="A backup needs a passphrase.")


@fault("shell without the key of the hub's backups", "The last backup succeeded")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(real, "MEMORYHUB_BACKUP_PASSPHRASE", "")


@fault("changed entry", "was changed")
def _(_: pytest.MonkeyPatch) -> None:
    with tampering():
        AuditEntry.objects.filter(chain=HUB, command="set_backups").update(command="set_limits")


@fault("failed verification", "found something wrong")
def _(_: pytest.MonkeyPatch) -> None:
    runs.record(act(), entries=1, wrong=["hub"], checkpoints_complete=True)


@fault("old verification", "verify_audit has not run for 30 days")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(inside, "OLDEST_RUN", timedelta(0))


@fault("no administrator", "no active administrator")
def _(_: pytest.MonkeyPatch) -> None:
    with tampering():
        User.objects.update(is_superuser=False)


@pytest.mark.both_databases
def test_the_settings_and_the_clock_of_the_real_database_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.doctor.inside.facts.setting", real_setting)
    says = [one.says for one in inside.database(timezone.now())]
    assert all("journal" in one or "is off" in one for one in says), says  # a test's database is in memory or fast
    assert list(inside.clock(timezone.now())) == []


@pytest.mark.push
@pytest.mark.both_databases
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_with_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, says = FAULTS[name]
    plant(monkeypatch)
    those = [one for one in found() if says in one.says]
    assert those, [one.says for one in found()]
    assert all(one.do and "\n" not in one.do + one.says for one in those)


def test_a_shell_without_the_key_of_backups_that_succeed_is_only_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "MEMORYHUB_BACKUP_PASSPHRASE", "")
    assert [(one.check, one.level) for one in found()] == [("backups", WARNING)]
    last(at=(timezone.now() - timedelta(days=5)).isoformat())
    assert ERROR in {one.level for one in found()}


def test_at_least_twenty_faults_are_planted() -> None:
    assert len(FAULTS) >= 20


@contextmanager
def proxy(answers: dict[str, tuple[int, str]]) -> Iterator[str]:
    """A proxy that answers paths with (status, Location)."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            status, location = answers[self.path]
            self.send_response(status)
            self.send_header("Location", location.format(port=self.server.server_port))
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"/livez": (502, "")}, "answers 502"),
        ({"/livez": (200, ""), "/sign-in": (301, "http://127.0.0.1:{port}/sign-in")}, "redirects to itself"),
        ({"/livez": (200, ""), "/sign-in": (200, "")}, ""),
    ],
)
def test_a_proxy_that_does_not_do_its_part_is_found(
    answers: dict[str, tuple[int, str]], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(answers) as url:
        monkeypatch.setenv("MEMORYHUB_URL", url)
        monkeypatch.setattr(real, "MEMORYHUB_URL", url)
        told = [one.says for one in found()]
    assert len(told) == bool(says) and says in "".join(told)


@pytest.mark.both_databases
def test_the_command_exits_with_1_for_an_error_and_says_it_as_json(tmp_path: Path) -> None:
    def told(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
        own = {**os.environ, "MEMORYHUB_DATA_DIR": str(directory), "DATABASE_URL": ""}
        command = [sys.executable, "manage.py", "doctor", *options]
        return starts.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=False)

    nothing = told(tmp_path / "nothing")
    assert nothing.returncode == 1 and "There is no hub in" in nothing.stdout
    assert not (tmp_path / "nothing").exists()
    put_migrated(tmp_path / "hub")
    private_files_of(tmp_path / "hub")
    hub = told(tmp_path / "hub", "--json")
    assert hub.returncode == 0, hub.stdout + hub.stderr
    assert {one["check"] for one in json.loads(hub.stdout)} <= {"work", "backups", "audit", "people", "checkpoints"}
    assert ERROR not in {one["level"] for one in json.loads(hub.stdout)}


@pytest.mark.push
def test_an_output_that_is_full_or_read_no_further_is_no_traceback(tmp_path: Path) -> None:
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path / "nothing")}
    for shell, errors in (
        ('"$0" manage.py doctor | true; exit "${PIPESTATUS[0]}"', ""),
        ('"$0" manage.py doctor > /dev/full', "CommandError: The output: No space left on device\n"),
    ):
        command = ["bash", "-c", shell, sys.executable]
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, errors)


def private_files_of(directory: Path) -> None:
    directory.chmod(0o700)
    for path in directory.iterdir():
        if path.is_file():
            path.chmod(0o600)
