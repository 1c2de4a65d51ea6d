"""Django's `migrate`, which records each migration in the transaction that applies it, and checks what it changes."""

import os
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.management.commands import migrate
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration
from django.db.migrations.state import ProjectState


class Executor(MigrationExecutor):
    """Django records a migration that has deferred statements in a second transaction. A hub that was killed between
    both would never start again, because its next start would make the same tables."""

    def apply_migration(
        self, state: ProjectState, migration: Migration, fake: bool = False, fake_initial: bool = False
    ) -> ProjectState:
        applied = migration.apply

        def apply(
            project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
        ) -> ProjectState:
            after = applied(project_state, schema_editor, collect_sql)
            while schema_editor.deferred_sql:
                schema_editor.execute(schema_editor.deferred_sql.pop(0), None)
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


def _moves_rows(migration: Migration) -> bool:
    """Return whether a migration can change any row.

    After all other migrations, only the foreign keys of the tables that they change are checked: a check of the whole
    database takes seconds.
    """
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
        return super().execute(*args, **options)
