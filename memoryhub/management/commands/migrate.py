"""Django's `migrate`, with each migration recorded in the transaction that applies it.

After each migration, foreign keys are checked on SQLite: in all tables if the migration runs Python or SQL, which may
change rows; otherwise only in its own tables. In an empty database, all tables are made at once.
"""

import os
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.management.commands import migrate
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from memoryhub.operating import starting

Plan = list[tuple[Migration, bool]]
RECORDS = MigrationRecorder.Migration._meta.db_table
"""The table with the names of the migrations that were applied."""


class Executor(MigrationExecutor):
    """Applies and records each migration in one transaction, and makes the tables of an empty database at once.

    Django may record a migration in a second transaction. A hub that was killed between the two could never start
    again.
    """

    def _migrate_all_forwards(
        self, state: ProjectState, plan: Plan, full_plan: Plan, fake: bool, fake_initial: bool
    ) -> ProjectState:
        if fake or plan != full_plan or set(self.connection.introspection.table_names()) != {RECORDS}:
            done: ProjectState = super()._migrate_all_forwards(state, plan, full_plan, fake, fake_initial)  # type: ignore[misc]
            return done
        return self._make_tables([migration for migration, _ in plan])

    def _make_tables(self, migrations: list[Migration]) -> ProjectState:
        """Make all tables of an empty database as they are after these migrations, and record the migrations."""
        state: ProjectState = self._create_project_state()  # type: ignore[attr-defined]
        for migration in migrations:
            migration.mutate_state(state, preserve=False)
        with self.connection.schema_editor() as editor:
            for model in state.apps.get_models():
                if model._meta.can_migrate(self.connection):
                    editor.create_model(model)
            _send_deferred(editor)
            for migration in migrations:
                self.record_migration(migration)  # type: ignore[call-arg, arg-type]  # as in Django 5.2
        return state

    def apply_migration(
        self, state: ProjectState, migration: Migration, fake: bool = False, fake_initial: bool = False
    ) -> ProjectState:
        applied = migration.apply

        def apply(
            project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
        ) -> ProjectState:
            after = applied(project_state, schema_editor, collect_sql)
            _send_deferred(schema_editor)
            if self.connection.vendor == "sqlite" and not _moves_rows(migration):
                there = self.connection.introspection.table_names()
                tables = [table for table in _tables(migration, after) if table in there]
                checked = partial(self.connection.check_constraints, table_names=tables)
                self.connection.check_constraints = checked  # type: ignore[method-assign]
            return after

        migration.apply = apply  # type: ignore[method-assign]
        try:
            return super().apply_migration(state, migration, fake, fake_initial)
        finally:
            with suppress(AttributeError):
                del self.connection.check_constraints


def _send_deferred(editor: BaseDatabaseSchemaEditor) -> None:
    """Run the deferred statements of `editor` now; Django would run them at the end of the transaction."""
    while editor.deferred_sql:
        editor.execute(editor.deferred_sql.pop(0), None)


def _moves_rows(migration: Migration) -> bool:
    """Return whether a migration can change any row. If not, only its own tables are checked afterwards."""
    return any(isinstance(operation, RunPython | RunSQL) for operation in migration.operations)


def _tables(migration: Migration, state: ProjectState) -> list[str]:
    """Return the tables that a migration changes."""
    names = {getattr(one, "model_name", getattr(one, "name", "")).lower() for one in migration.operations}
    models = {name: model for (app, name), model in state.models.items() if app == migration.app_label}
    return [
        models[name].options.get("db_table") or f"{migration.app_label}_{name}" for name in sorted(names & set(models))
    ]


migrate.MigrationExecutor = Executor  # type: ignore[attr-defined]


class Command(migrate.Command):
    help = "Brings the database to the schema of this program. `serve` does so at its start."

    def execute(self, *args: Any, **options: Any) -> str | None:
        os.umask(0o077)  # the file of a new database is for its owner only
        # `serve` and `restore`, which call this too, have checked the secrets.
        if not getattr(self, "_called_from_command_line", False):
            return super().execute(*args, **options)
        with starting.explained(1):
            starting.require_address()
            starting.require_no_lost_database()
            starting.require_migratable()
            return super().execute(*args, **options)
