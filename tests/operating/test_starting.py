"""Starting the hub and its commands: the right directory, the right secrets, files that only it can read."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection

from memoryhub.checks import OWN
from tests.api.server import put_migrated, served
from tests.support import starts

ROOT = Path(__file__).resolve().parent.parent.parent
COMMANDS = (
    ["create_store", "Notes"], ["issue_key", "agent", "--all-stores"], ["load_demo"], ["expire_memories"],
    ["verify_audit"], ["export_store", "memstore_x"], ["import_store", "memstore_x", "."], ["accept_secret_key"],
)  # fmt: skip


def code_of(command: list[str]) -> int:
    """With what a command ends that could not begin: 1 of `verify_audit` would say that the audit is wrong."""
    return 2 if command[0].startswith("verify_") else 1


def manage(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(directory), **environment}
    return starts.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=own, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


EACH = """
import contextlib, io, json, sys
import manage
answers = []
for arguments in json.loads(sys.argv[1]):
    sys.argv, said, code = ["manage.py", *arguments], io.StringIO(), 0
    with contextlib.redirect_stderr(said):
        try:
            manage.main()
        except SystemExit as error:
            code = error.code
    answers.append([code, said.getvalue()])
json.dump(answers, sys.stdout)
"""


def manage_each(directory: Path, commands: Sequence[list[str]]) -> list[subprocess.CompletedProcess[str]]:
    """What each of some commands that print nothing answers; one after the other in one process."""
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(directory)}
    done = starts.run(
        [sys.executable, "-c", EACH, json.dumps(commands)], cwd=ROOT, env=own, capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    answers = zip(commands, json.loads(done.stdout), strict=True)
    return [subprocess.CompletedProcess(command, code, "", said) for command, (code, said) in answers]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def served_once(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `serve` says where it refuses to start."""
    return manage(
        directory,
        "serve",
        "--port",
        str(free_port()),
        *arguments,
        **{"MEMORYHUB_STATIC_ROOT": str(directory / "s"), **environment},
    )


@pytest.mark.push
def test_a_command_without_the_data_directory_of_the_hub_says_so_in_a_sentence_and_makes_nothing(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "forgotten"
    for command, answer in zip(COMMANDS, manage_each(directory, COMMANDS), strict=True):
        assert answer.returncode == code_of(command) and "Traceback" not in answer.stderr, command
        assert f"There is no hub in {directory}, and nothing was made: MEMORYHUB_DATA_DIR is set to" in answer.stderr
        assert "If the hub uses PostgreSQL, set DATABASE_URL too." in answer.stderr
    assert not directory.exists()
    directory.mkdir()
    answers = manage_each(directory, COMMANDS)
    assert [answer.returncode for answer in answers] == [code_of(command) for command in COMMANDS]
    assert list(directory.iterdir()) == []


on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="a SQLite file is what is looked at")


@on_sqlite
class TestAHubThatIsThere:
    """The same hub all along: it is migrated once."""

    @pytest.fixture(scope="class")
    @staticmethod
    def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
        home = tmp_path_factory.mktemp("hub") / "data"
        home.mkdir(mode=0o755)
        with served(home, address="") as server:
            server.command("create_store", "First")
            file = home / "memoryhub.sqlite3"
            for private in (file, Path(f"{file}-wal"), home / "secret_key", home / "audit_key", home / "lock"):
                assert private.stat().st_mode & 0o777 == 0o600, private
            assert home.stat().st_mode & 0o777 == 0o700
            said = (home / "log").read_text()
            assert f"export MEMORYHUB_DATA_DIR={home}" in said
            second = served_once(home)
            assert second.returncode == 1 and "Another hub is running on the data directory" in second.stderr
        return home

    def test_its_files_are_its_owners_alone_and_a_second_hub_is_refused(self, home: Path) -> None:
        assert (home / "memoryhub.sqlite3").is_file()

    @pytest.mark.push
    def test_files_that_others_may_read_are_tightened_and_said_where_they_cannot_be(self, home: Path) -> None:
        file = home / "memoryhub.sqlite3"
        file.chmod(0o644)
        answer = manage(home, "check", "--tag", OWN)
        assert "memoryhub.W001" in answer.stderr and "chmod" in answer.stderr
        file.chmod(0o600)
        assert "memoryhub.W001" not in manage(home, "check", "--tag", OWN).stderr

    @pytest.mark.push
    @pytest.mark.parametrize(("name", "file"), [("MEMORYHUB_AUDIT_KEY", "audit_key"), ("SECRET_KEY", "secret_key")])
    def test_a_node_with_another_secret_is_refused_with_the_name_of_it(self, home: Path, name: str, file: str) -> None:
        for answer in (served_once(home, **{name: "x" * 64}), manage(home, "create_store", "X", **{name: "x" * 64})):
            assert answer.returncode == 1 and "Traceback" not in answer.stderr
            assert f"{name} is not the" in answer.stderr
        kept = (home / file).read_text()
        (home / file).write_text("y" * 64)
        answer = served_once(home)
        (home / file).write_text(kept)
        assert answer.returncode == 1 and f"{home / file} is not the" in answer.stderr
        assert manage(home, "verify_audit").returncode == 0

    @pytest.mark.push
    def test_without_a_mark_the_newest_entry_shows_another_audit_key(self, home: Path) -> None:
        change(home, "update memoryhub_installation set audit_mark = null")
        answer = served_once(home, MEMORYHUB_AUDIT_KEY="x" * 64)
        assert answer.returncode == 1 and "MEMORYHUB_AUDIT_KEY is not the audit key" in answer.stderr

    @pytest.mark.push
    def test_a_secret_key_that_was_changed_on_purpose_is_accepted_by_an_audited_act(self, home: Path) -> None:
        new = {"SECRET_KEY": "n" * 64}
        assert "was accepted" in manage(home, "accept_secret_key", **new).stdout
        assert manage(home, "create_store", "X", **new).returncode == 0
        assert manage(home, "create_store", "X").returncode == 1
        assert "was accepted" in manage(home, "accept_secret_key").stdout
        rows = change(home, "select command from memoryhub_auditentry where command = 'accept_secret_key'")
        assert len(rows) == 2
        assert manage(home, "verify_audit").returncode == 0

    @pytest.mark.push
    def test_an_older_program_on_a_newer_database_is_refused(self, home: Path) -> None:
        change(
            home, "insert into django_migrations (app, name, applied) values ('memoryhub', '9999_later', '2030-01-01')"
        )
        for answer in (served_once(home), manage(home, "create_store", "X")):
            assert answer.returncode == 1 and "migrated by a newer MemoryHub (9999_later)" in answer.stderr
        change(home, "delete from django_migrations where name = '9999_later'")
        assert manage(home, "create_store", "X").returncode == 0

    def test_a_command_on_a_database_of_an_older_program_says_what_migrates_it(self, home: Path) -> None:
        """A backup from before an upgrade, put back: `verify_audit` said that the database refused to answer."""
        newest = "app = 'memoryhub' and name = (select max(name) from django_migrations where app = 'memoryhub')"
        [(name, applied)] = change(home, f"select name, applied from django_migrations where {newest}")
        change(home, f"delete from django_migrations where {newest}")
        answers = manage_each(home, COMMANDS)
        change(home, f"insert into django_migrations (app, name, applied) values ('memoryhub', '{name}', '{applied}')")
        for command, answer in zip(COMMANDS, answers, strict=True):
            assert answer.returncode == code_of(command), command
            assert "left by an older MemoryHub. Start `serve` once" in answer.stderr, command

    def test_a_command_beside_a_serve_that_still_migrates_says_that_it_is_being_prepared(self, home: Path) -> None:
        newest = "app = 'memoryhub' and name = (select max(name) from django_migrations where app = 'memoryhub')"
        [(name, applied)] = change(home, f"select name, applied from django_migrations where {newest}")
        change(home, f"delete from django_migrations where {newest}")
        with (home / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = manage(home, "create_store", "X")
        change(home, f"insert into django_migrations (app, name, applied) values ('memoryhub', '{name}', '{applied}')")
        assert answer.returncode == 1 and "`serve` is preparing the database" in answer.stderr


@pytest.mark.push
@on_sqlite
def test_a_database_file_that_was_cut_off_or_is_another_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    put_migrated(tmp_path)
    file = tmp_path / "memoryhub.sqlite3"
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no database at all\n" * 500):
        file.write_bytes(damaged)
        answer = served_once(tmp_path)
        assert answer.returncode == 1 and "Traceback" not in answer.stderr
        assert "is damaged, or is not a database" in answer.stderr and "Put a backup in its place" in answer.stderr
        assert file.read_bytes() == damaged


@on_sqlite
def test_a_hub_whose_database_is_lost_does_not_begin_again_without_a_word(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints.jsonl"
    checkpoints.write_text('{"of": "another database"}\n')
    answer = served_once(tmp_path)
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    assert f"The database is empty, but {checkpoints} was written for another one." in answer.stderr
    assert checkpoints.read_text() == '{"of": "another database"}\n'
    file = tmp_path / "memoryhub.sqlite3"
    assert not file.exists() or not change(tmp_path, "select name from sqlite_master"), "nothing was begun"


@on_sqlite
def test_a_new_database_that_was_migrated_by_hand_is_no_way_around(tmp_path: Path) -> None:
    put_migrated(tmp_path)
    checkpoints = tmp_path / "checkpoints.jsonl"
    checkpoints.write_text('{"of": "another database"}\n')
    refused = f"The database is empty, but {checkpoints} was written for another one."
    answer = served_once(tmp_path)
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    assert refused in answer.stderr
    assert change(tmp_path, "select count(*) from memoryhub_auditentry") == [(0,)]


def change(home: Path, text: str) -> list[tuple[object, ...]]:
    import sqlite3

    with sqlite3.connect(home / "memoryhub.sqlite3") as database:
        return database.execute(text).fetchall()


def test_documents_name_one_python() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if "manage.py " in line and "python" in line:
                assert ".venv/bin/python manage.py" in line, f"{page.name}:{number}: {line}"


def test_a_command_loads_nothing_of_the_api(tmp_path: Path) -> None:
    """Ninja and pydantic would be a third of the time in which a command begins."""
    loaded = "import sys, django; django.setup(); print(*sys.modules)"
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "memoryhub.settings"}
    done = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "memoryhub.models" in modules
    assert not modules & {"ninja", "pydantic"}
