"""Django's `migrate`, which records each migration in the transaction that applies it."""

from django.core.management.commands import migrate
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
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
            return after

        migration.apply = apply  # type: ignore[method-assign]
        return super().apply_migration(state, migration, fake, fake_initial)


migrate.MigrationExecutor = Executor  # type: ignore[attr-defined]


class Command(migrate.Command):
    help = "Brings the database to the schema of this program. `serve` does so at its start."
