"""A migration and its record are one transaction; the command makes a file for its owner only."""

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations import CreateModel, Migration, RunPython
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.backups import databases
from memoryhub.management.commands.migrate import Executor
from memoryhub.models import Memory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="a file is the new database"),
]


def test_a_migration_that_ends_before_it_is_recorded_leaves_nothing_and_is_applied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose index is made last, which Django would record in a second transaction."""
    migration = Migration("0001_tried", "memoryhub")
    name = models.CharField(max_length=9, db_index=True)
    migration.operations = [CreateModel("Tried", [("id", models.BigAutoField(primary_key=True)), ("name", name)])]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with databases.on_file(tmp_path / "new.sqlite3"):
        executor = Executor(connection)
        executor.recorder.ensure_schema()
        with monkeypatch.context() as patch:
            patch.setattr(executor.recorder, "record_applied", killed)
            with pytest.raises(KeyboardInterrupt):
                executor.apply_migration(ProjectState(), migration)
        assert connection.introspection.table_names() == ["django_migrations"]
        executor.apply_migration(ProjectState(), migration)
        assert connection.introspection.table_names() == ["django_migrations", "memoryhub_tried"]
        assert list(executor.recorder.applied_migrations()) == [("memoryhub", "0001_tried")]
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "memoryhub_tried").values()
        assert ["name"] in [one["columns"] for one in found if one["index"]]


def test_a_first_start_that_ends_early_leaves_nothing_and_the_next_one_makes_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[str] = []

    def killed(_: object, app: str, name: str) -> None:
        recorded.append(name)
        if app == "sessions":
            raise KeyboardInterrupt

    with databases.on_file(tmp_path / "new.sqlite3"):
        with monkeypatch.context() as patch:
            patch.setattr(MigrationRecorder, "record_applied", killed)
            with pytest.raises(KeyboardInterrupt):
                call_command("migrate", verbosity=0)
        assert recorded and connection.introspection.table_names() == ["django_migrations"]
        call_command("migrate", verbosity=0)
        assert databases.is_current() and Memory.objects.count() == 0


def test_only_a_migration_that_moves_rows_checks_the_foreign_keys_of_the_whole_database(tmp_path: Path) -> None:
    """In a large hub that takes seconds for each migration; the others check the tables that they change."""
    made, moved = Migration("0001_tried", "memoryhub"), Migration("0002_tried", "memoryhub")
    made.operations = [CreateModel("Tried", [("id", models.BigAutoField(primary_key=True))])]
    moved.operations = [RunPython(RunPython.noop)]

    def checks(migration: Migration) -> list[str]:
        with CaptureQueriesContext(connection) as sent:
            Executor(connection).apply_migration(ProjectState(), migration)
        return [query["sql"] for query in sent if query["sql"].startswith("PRAGMA foreign_key_check")]

    with databases.on_file(tmp_path / "new.sqlite3"):
        Executor(connection).recorder.ensure_schema()
        assert checks(made) == ['PRAGMA foreign_key_check("memoryhub_tried")']
        assert checks(moved) == ["PRAGMA foreign_key_check"]


def test_the_file_of_a_new_database_is_for_its_owner_only(tmp_path: Path) -> None:
    file, before = tmp_path / "new.sqlite3", os.umask(0o022)
    try:
        with databases.on_file(file):
            call_command("migrate", "memoryhub", "0001", verbosity=0)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o077 == 0
