"""What commands and `serve` say where something around them is wrong: one sentence, and a code that misleads nobody."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from memoryhub import settings as shipped
from tests.api.server import put_migrated, served
from tests.operating.test_starting import ROOT, change, code_of, manage, served_once

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="a data directory with a SQLite file is damaged")
NOTHING_ANSWERS = "postgres://hub:password@127.0.0.1:9/hub"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a hub that was stopped."""
    home = tmp_path_factory.mktemp("hub") / "data"
    home.mkdir(mode=0o700)
    with served(home) as server:
        server.new_store()
    return home


@pytest.fixture
def home(kept: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may damage."""
    return Path(shutil.copytree(kept, tmp_path / "data"))


def assert_refused(answer: subprocess.CompletedProcess[str], code: int, sentence: str) -> None:
    assert "Traceback" not in answer.stderr, answer.stderr
    assert sentence in answer.stderr
    assert answer.returncode == code


@pytest.mark.push
@pytest.mark.parametrize("command", [["create_store", "X"], ["verify_audit"], ["verify_receipt", "receipt.json"]])
def test_a_command_whose_database_does_not_answer_says_so_and_verifying_ends_with_code_2(
    command: list[str], tmp_path: Path
) -> None:
    answer = manage(tmp_path, *command, DATABASE_URL=NOTHING_ANSWERS)
    assert_refused(answer, code_of(command), "CommandError: The database does not answer, or refuses:")


@pytest.mark.parametrize("url", ["postgres//host", "postgres://host:port/name", "sqlite://:memory:"])
def test_such_an_address_is_none_of_a_database_that_the_hub_runs_on(url: str) -> None:
    assert shipped.database_of(url)["ENGINE"] == "django.db.backends.dummy"


@pytest.mark.push
def test_serve_says_that_the_directory_of_the_assets_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    put_migrated(tmp_path / "data")
    answer = served_once(tmp_path / "data", MEMORYHUB_STATIC_ROOT=str(tmp_path / "file" / "x"))
    assert_refused(answer, 1, f"The static assets cannot be collected in {tmp_path}/file/x: Not a directory. Set ")


@pytest.mark.push
def test_serve_and_commands_say_that_a_database_address_is_none_of_theirs(tmp_path: Path) -> None:
    said, url = "DATABASE_URL is not the address of a database that the hub runs on.", "mysql://host/name"
    assert_refused(served_once(tmp_path / "data", DATABASE_URL=url), 1, said)
    assert_refused(manage(tmp_path / "data", "verify_audit", DATABASE_URL=url), 2, said)


def test_a_command_on_a_file_of_the_database_address_that_is_not_there_names_that_file(tmp_path: Path) -> None:
    answer = manage(tmp_path, "create_store", "X", DATABASE_URL=f"sqlite:///{tmp_path}/other.sqlite3")
    assert_refused(answer, 1, f"the file that DATABASE_URL names, {tmp_path}/other.sqlite3; nothing was made.")


@pytest.mark.push
def test_without_the_audit_key_of_the_hub_nothing_is_verified_and_the_audit_is_not_called_wrong(home: Path) -> None:
    other = manage(home, "verify_audit", MEMORYHUB_AUDIT_KEY="x" * 64)
    assert_refused(other, 2, "MEMORYHUB_AUDIT_KEY is not the audit key of this database")
    key = (home / "audit_key").read_text()
    (home / "audit_key").unlink()
    (home / "receipt").write_text('{"receipt": {}, "signature": "x"}')
    for command in (["verify_audit"], ["verify_receipt", str(home / "receipt")]):
        absent = manage(home, *command)
        assert_refused(absent, 2, f"{home / 'audit_key'} is not there, and MEMORYHUB_AUDIT_KEY is not set.")
        assert absent.stdout == ""
    assert manage(home, "verify_audit", MEMORYHUB_AUDIT_KEY=key).returncode == 0


@pytest.mark.push
def test_a_new_secret_key_is_not_accepted_with_another_audit_key_nor_where_there_is_none(home: Path) -> None:
    wrong = manage(home, "accept_secret_key", SECRET_KEY="n" * 64, MEMORYHUB_AUDIT_KEY="x" * 64)
    assert_refused(wrong, 1, "MEMORYHUB_AUDIT_KEY is not the audit key of this database")
    (home / "secret_key").unlink()
    assert_refused(manage(home, "accept_secret_key"), 1, "There is no SECRET_KEY to accept")
    assert change(home, "select 1 from memoryhub_auditentry where command = 'accept_secret_key'") == []
    assert manage(home, "verify_audit").returncode == 0


@pytest.mark.parametrize("file", ["audit_key", "secret_key"])
def test_an_empty_file_of_a_secret_is_named_by_serve_and_commands(home: Path, file: str) -> None:
    (home / file).write_text("")
    said = f"{home / file} is empty: put it back from a backup"
    for answer in (served_once(home), manage(home, "create_store", "X")):
        assert_refused(answer, 1, said)
    assert said in manage(home, "doctor").stdout


@pytest.mark.parametrize(
    "damage", [lambda key: key.write_text(""), lambda key: (key.unlink(), key.mkdir())], ids=["empty", "unreadable"]
)
def test_a_secret_that_cannot_be_read_and_a_wrong_variable_are_no_verdict_about_the_audit(
    home: Path, damage: Callable[[Path], object]
) -> None:
    wrong = {"MEMORYHUB_LOG_LEVEL": "LOUD"}
    assert_refused(manage(home, "verify_audit", **wrong), 2, "MEMORYHUB_LOG_LEVEL is not a level")
    assert_refused(manage(home, "create_store", "X", **wrong), 1, "MEMORYHUB_LOG_LEVEL is not a level")
    assert_refused(manage(home, "verify_receipt", str(home / "no-receipt")), 2, "cannot be read")
    damage(home / "secret_key")
    assert manage(home, "verify_audit").returncode == 0  # it does not need this one
    damage(home / "audit_key")
    for command in (["verify_audit"], ["verify_receipt", str(home / "receipt")]):
        assert_refused(manage(home, *command), 2, f"{home / 'audit_key'} ")


@pytest.mark.push
def test_a_start_without_a_secret_of_the_hub_makes_no_other_one(home: Path) -> None:
    """`serve` made one, and then called it the wrong one; a restore took it for that of another hub."""
    for file in ("audit_key", "secret_key"):
        kept = (home / file).rename(home / "kept")
        for answer in (served_once(home), manage(home, "migrate")):
            assert_refused(answer, 1, f"{home / file} is not there, and ")
        assert not (home / file).exists()
        kept.rename(home / file)
    assert manage(home, "verify_audit").returncode == 0


@pytest.mark.push
def test_migrate_is_for_the_database_of_these_secrets_and_of_no_newer_program(home: Path) -> None:
    wrong = manage(home, "migrate", MEMORYHUB_AUDIT_KEY="x" * 64)
    assert_refused(wrong, 1, "MEMORYHUB_AUDIT_KEY is not the audit key of this database")
    change(home, "insert into django_migrations (app, name, applied) values ('memoryhub', '9999_later', '2030-01-01')")
    assert_refused(manage(home, "migrate"), 1, "migrated by a newer MemoryHub (9999_later)")


def test_a_refused_start_leaves_an_empty_file_of_a_database_empty(home: Path) -> None:
    for file in home.glob("memoryhub.sqlite3*"):
        file.unlink()
    (home / "memoryhub.sqlite3").write_bytes(b"")
    for answer in (served_once(home), manage(home, "migrate")):
        assert_refused(answer, 1, "The database is empty, but ")
    assert (home / "memoryhub.sqlite3").stat().st_size == 0


@pytest.mark.push
def test_a_first_start_after_a_command_of_django_makes_the_secrets(tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    assert manage(home, "showmigrations").returncode == 0
    assert (home / "memoryhub.sqlite3").exists()
    assert manage(home, "migrate", "--verbosity", "0").returncode == 0
    assert (home / "audit_key").exists()


@pytest.mark.push
def test_a_chain_that_was_never_there_is_not_called_wrong(home: Path) -> None:
    assert_refused(manage(home, "verify_audit", "--chain", "memstore_typo"), 2, "There is no chain memstore_typo")
    assert manage(home, "verify_audit", "--chain", "hub").returncode == 0


@pytest.mark.push
def test_verifying_without_any_checkpoint_says_what_it_cannot_show(home: Path) -> None:
    assert "checkpoints:" not in manage(home, "verify_audit").stdout
    (home / "checkpoints.jsonl").unlink()
    said = manage(home, "verify_audit").stdout
    assert f"there are none in {home}, so nothing shows whether the newest entries were cut off" in said


@pytest.mark.push
def test_an_output_that_is_full_closed_or_read_no_further_is_no_verdict_about_the_audit(home: Path) -> None:
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(home)}

    def verified(shell: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", shell, sys.executable], cwd=ROOT, env=own, capture_output=True, text=True, check=False
        )

    assert_refused(verified('"$0" manage.py verify_audit > /dev/full'), 2, "The output: No space left on device")
    unread = verified('"$0" manage.py verify_audit | true; exit "${PIPESTATUS[0]}"')
    assert (unread.returncode, unread.stderr) == (2, "")
    for closed in (">&-", "<&-"):
        answer = verified(f'"$0" manage.py verify_audit {closed}')
        assert (answer.returncode, answer.stderr) == (0, "")


def test_a_character_that_the_terminal_does_not_know_ends_no_command(home: Path, tmp_path: Path) -> None:
    store = manage(home, "create_store", "Caf\u00e9").stdout.strip().splitlines()[-1]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "\u8a18.md").write_text("x")
    answer = manage(home, "import_store", store, str(tmp_path / "notes"), PYTHONIOENCODING="latin-1")
    assert (answer.returncode, "1 taken" in answer.stdout, r"/\u8a18.md" in answer.stdout) == (0, True, True), answer


def test_serve_on_a_data_directory_that_takes_no_files_says_so(home: Path) -> None:
    (home / "lock").unlink()
    (home / "lock").mkdir()
    assert_refused(served_once(home), 1, f"The hub cannot write to its data directory: {home}/lock: Is a directory.")


def test_a_hub_that_cannot_write_its_last_checkpoint_stops_with_a_sentence(home: Path) -> None:
    (home / "checkpoints.jsonl").rename(home / "aside")
    (home / "checkpoints.jsonl").mkdir()
    with served(home) as server:
        server.process.terminate()
        assert server.process.wait(30) == 1
    said = (home / "log").read_text()
    assert "The hub has stopped without its last checkpoint." in said and "Traceback" not in said
