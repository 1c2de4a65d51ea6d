"""A migration is quick, however large the hub is: it rewrites no table that grows with the calls and moves no rows, but
for the exceptions here, which were measured. Rows are moved by a task in the background, in batches."""

from collections.abc import Iterator

from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

GROWING = {
    "activity", "auditentry", "delivery", "directory", "finding", "idempotentcall", "memory", "memorytext",
    "memoryversion", "redaction", "review", "seal", "session",
}  # fmt: skip
MOVES = (migrations.RunPython, migrations.RunSQL)
REWRITES = (
    migrations.AlterField, migrations.RemoveField, migrations.AddConstraint, migrations.RemoveConstraint,
    migrations.AlterUniqueTogether,
)  # fmt: skip
"""What SQLite does by copying the table, or PostgreSQL by reading all of it under a lock."""
MEASURED = {
    "0003_retention": "gives each memory the number of its removed versions",
    "0006_bounds_of_the_audit": "adds up the bytes of the entries, in one statement for each chain",
    "0007_seals": "seals the rows that govern, of which only findings are many",
    "0009_password_tries": "hashes the keys of the sign-ins that have not expired",
    "0010_settled_findings": "marks the findings that the background work checks again, in one statement",
    "0028_notes_to_agents": "gives each memory the number of its waiting notes",
    "0064_proofs_of_entries": "moves nothing; only the way back writes entries anew",
    "0067_inputs_without_their_texts": "moves nothing; only the way back writes inputs anew",
}
"""The exceptions; docs/operations.md says how long they take."""


def slow_parts(operations: list[Operation]) -> Iterator[str]:
    """What the operations of one migration do to rows that may be many."""
    made = {operation.name_lower for operation in operations if isinstance(operation, migrations.CreateModel)}
    for operation in operations:
        table = getattr(operation, "model_name", "").lower()
        if isinstance(operation, MOVES):
            yield type(operation).__name__
        elif table in GROWING - made and (isinstance(operation, REWRITES) or _fills_a_column(operation)):
            yield f"{type(operation).__name__} of {table}"


def _fills_a_column(operation: Operation) -> bool:
    """A column that may be null and has no default is added without touching a row."""
    if not isinstance(operation, migrations.AddField):
        return False
    field = operation.field
    return not field.null or field.has_default() or field.has_db_default()


def test_no_migration_rewrites_a_table_that_grows_or_moves_rows() -> None:
    ours = {name: found for (app, name), found in MigrationLoader(None).disk_migrations.items() if app == "memoryhub"}
    assert len(ours) > 60
    slow = {name: list(slow_parts(found.operations)) for name, found in ours.items()}
    assert {name for name, parts in slow.items() if parts} == set(MEASURED), slow


def test_the_check_finds_what_is_slow_and_allows_what_is_quick() -> None:
    number, text = models.BigIntegerField(default=0), models.TextField(null=True)
    made = migrations.CreateModel("Seal", [("id", models.BigAutoField(primary_key=True))])
    assert list(slow_parts([migrations.RunPython(migrations.RunPython.noop), migrations.RunSQL("select 1")])) == [
        "RunPython", "RunSQL",
    ]  # fmt: skip
    assert list(slow_parts([migrations.AddField("Seal", "more", number)])) == ["AddField of seal"]
    assert list(slow_parts([migrations.AlterField("Seal", "more", number)])) == ["AlterField of seal"]
    assert not list(slow_parts([made, migrations.AddField("Seal", "more", number)]))
    assert not list(
        slow_parts([migrations.AddField("Seal", "more", text), migrations.AddField("Hold", "more", number)])
    )
