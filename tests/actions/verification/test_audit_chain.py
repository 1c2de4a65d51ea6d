"""The audit against somebody who can write to the database: whatever is changed, `verify_audit` names the entry."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st
from pytest_django import DjangoDbBlocker

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import checkpoints, verify
from memoryhub.models import HUB, AuditChain, AuditEntry, Door, Memory, MemoryStore, MemoryText, MemoryVersion
from tests.api.harness import AT, BY, Hub, new_hub
from tests.support import older_entries
from tests.support.long import LONG, some, tried
from tests.support.tampering import Cell, cells, edited, undone


@pytest.fixture(scope="module")
def told_once(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> Hub:
    """A store with an entry of every kind. Each third is as older versions of the hub wrote it."""
    with django_db_blocker.unblock():
        return tell()


@pytest.fixture
def told(told_once: Hub, db: None) -> Hub:
    """That store, whose rows are as they were when the test ends."""
    return told_once


DERIVED = (
    "path", "name", "head_id", "text_id", "size", "sha256", "version_count", "read_count", "last_read_seq",
    "directory_id", "deleted_at",
)  # fmt: skip


ENTRIES = 17
"""Those of the calls and actions that are told, and that of the finding which is resolved when its text is edited."""


def tell() -> Hub:
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="one\ntwo\nthree\n")
    hub.send(hub.block(command="view", path="/memories/a.md", view_range=[1, 2]), memoryhub_session="run-1")
    hub.call(command="view", path="/memories")
    edit = hub.block(
        "toolu_edit", command="str_replace", path="/memories/a.md", old_str="two", new_str="2 \u202e\u00e9"
    )
    hub.send(edit)
    hub.send(edit)
    hub.call(command="insert", path="/memories/a.md", insert_line=0, insert_text="zero")
    hub.call(command="create", path="/memories/d/b.md", file_text="")
    hub.call(command="create", path="/memories/d/e/c.md", file_text="c")
    hub.call(command="rename", old_path="/memories/d", new_path="/memories/f")
    hub.call(command="delete", path="/memories/f/e")
    hub.call(command="create", path="/memories/\ud800", file_text="\0")
    hub.call(command="view", path="/memories/nothing")
    person = Act(Actor.system("Anna"), Door.WEB, AT, note="by hand")
    memory = Memory.objects.get(store=hub.store, path="/a.md")
    curation.edit(hub.store.id, memory.id, "anew\n", memory.sha256, person)
    first = MemoryVersion.objects.filter(store=hub.store, memory=memory).order_by("number")[0]
    curation.restore(hub.store.id, first.id, person)
    stores.set_archived(hub.store, True, **BY)
    older_entries.age(hub.store.id, range(1, ENTRIES, 3))
    return hub


def verified(chain: str) -> verify.Problem | None:
    return verify.verify(chain)[1]


def run_sql(text: str, *values: object) -> int:
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return int(cursor.rowcount)


def test_an_untouched_chain_is_right(told: Hub) -> None:
    assert verify.verify(told.store.id) == (ENTRIES, None)
    assert verified(HUB) is None


# ------------------------------------------------------------------------------------------------ every column


def edits(model: type[models.Model], column: str, step: int, **of: object) -> Iterator[Cell]:
    """Each cell of a column while it is edited: a bit, a byte less, a byte twice and a byte more in the long form; else
    some of the cells that have a value, by one of them, in turns."""
    found = [cell for cell in cells(model, **of) if cell.column == column]
    if not LONG:
        found = sorted(found, key=lambda cell: cell.read() is None)[::6]
    for number, cell in enumerate(found):
        for kind in range(4):
            with undone():
                if edited(cell, step * number, (number + kind) % 4):
                    yield cell
                    if not LONG:
                        break


@pytest.mark.parametrize("column", [field.column for field in AuditEntry._meta.concrete_fields if field.column])
def test_an_edited_entry_is_named(told: Hub, column: str) -> None:
    """Each entry in turn; where an entry takes another's place, it is the place that is named."""
    edited_cells = 0
    for cell in edits(AuditEntry, column, 7, chain=told.store.id):
        seq = dict(cell.key)["seq"]
        edited_cells += 1
        problem = verified(told.store.id)
        assert problem is not None, (cell, cell.read())
        assert problem.seq == seq or (column == "seq" and (problem.seq or 99) < seq), (cell, str(problem))
    assert edited_cells


@pytest.mark.parametrize("column", [field.column for field in MemoryVersion._meta.concrete_fields])
def test_an_edited_version_makes_its_entry_wrong(told: Hub, column: str) -> None:
    seqs = {str(id): seq for id, seq in MemoryVersion.objects.filter(store=told.store).values_list("pk", "seq")}
    for cell in edits(MemoryVersion, column, 7, store=told.store):
        seq = seqs[str(dict(cell.key)["id"])]
        problem = verified(told.store.id)
        assert problem is not None, (cell, cell.read())
        if column == "seq":
            assert problem.seq is not None and problem.seq <= seq
        else:
            assert problem.seq == seq, (cell, cell.read(), str(problem))


@pytest.mark.parametrize("column", [field.column for field in MemoryText._meta.concrete_fields])
def test_an_edited_text_makes_the_entry_of_its_first_version_wrong(told: Hub, column: str) -> None:
    versions = MemoryVersion.objects.filter(store=told.store).order_by("-seq")
    seqs = dict(versions.values_list("text_id", "seq"))
    for cell in edits(MemoryText, column, 3, store=told.store):
        problem = verified(told.store.id)
        assert problem is not None, (cell, cell.read())
        assert problem.seq == seqs[dict(cell.key)["id"]], (cell, str(problem))


@pytest.mark.parametrize("column", ["last_seq", "last_hash"])
@pytest.mark.both_databases
def test_an_edited_head_is_noticed(told: Hub, column: str) -> None:
    (cell,) = [cell for cell in cells(AuditChain, id=told.store.id) if cell.column == column]
    for kind in range(4):
        with undone():
            if edited(cell, 5, kind):
                assert verified(told.store.id) is not None


@pytest.mark.parametrize("column", DERIVED)
@pytest.mark.both_databases
def test_an_edited_memory_is_noticed(told: Hub, column: str) -> None:
    """What a memory repeats of its newest version is derived, and computed again."""
    values = Memory.objects.filter(store=told.store).order_by("id").values_list(column, flat=True)
    before, found = list(values), [cell for cell in cells(Memory, store=told.store) if cell.column == column]
    for kind in range(4):
        for number, cell in enumerate(found if LONG else found[kind::4]):
            with undone():
                if edited(cell, number, kind) and list(values.all()) != before:
                    assert verified(told.store.id) is not None, (cell, cell.read())


@pytest.mark.django_db
@hypothesis_settings(
    max_examples=tried(300), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
@pytest.mark.both_databases
def test_any_edit_of_any_row_is_noticed(data: st.DataObject) -> None:
    hub = _shared()
    model = data.draw(st.sampled_from([AuditEntry, AuditEntry, MemoryVersion, MemoryText]))
    of = {"chain": hub.store.id} if model is AuditEntry else {"store": hub.store}
    cell = data.draw(st.sampled_from(list(cells(model, **of))))
    with undone():
        if edited(cell, data.draw(st.integers(0, 2000)), data.draw(st.integers(0, 10))):
            problem = verified(hub.store.id)
            assert problem is not None and problem.seq is not None, (cell, cell.read())


_hubs: dict[str, Hub] = {}


def _shared() -> Hub:
    """One told store for all examples of a test, which put everything back."""
    hub = _hubs.get("told")
    if hub is None or not MemoryStore.objects.filter(pk=hub.store.pk).exists():
        hub = _hubs["told"] = tell()
    return hub


SPELLINGS = {
    "salts": lambda text: text.replace(",", ", "),
    "commitments": lambda text: text.replace(":", ": ", 1),
    "at": lambda text: text + "000",
    "ok": lambda text: "true",
    "message": lambda text: text.replace("e", "\\u0065", 1),
    "input": lambda text: text.replace("/", "\\/"),
    "hash": str.upper,
    "previous_hash": str.upper,
    "digest": str.upper,
}


@pytest.mark.parametrize("column", SPELLINGS)
@pytest.mark.both_databases
def test_another_spelling_of_the_same_value_is_another_value(told: Hub, column: str) -> None:
    """Most matters on SQLite, where times, flags and JSON are what stands in the column."""
    if connection.vendor != "sqlite" and column in ("at", "ok"):
        return
    change: Callable[[str], str] = SPELLINGS[column]
    found = [c for c in cells(AuditEntry, chain=told.store.id) if c.column == column and c.read() is not None]
    found = some(found, 4)
    tried = 0
    for cell in found:
        before = cell.read()
        text = before.decode() if isinstance(before, bytes) else str(before)
        with undone():
            if change(text) == text:
                continue
            cell.write(change(text).encode() if connection.vendor == "sqlite" else change(text))
            if cell.read() == before:
                continue
            tried += 1
            problem = verified(told.store.id)
            assert problem is not None and problem.seq == dict(cell.key)["seq"], cell
    assert tried


# ------------------------------------------------------------------------------------------------ whole entries


@pytest.mark.parametrize("seq", [1, 2, 8, 15])
@pytest.mark.both_databases
def test_a_removed_entry_is_named(told: Hub, seq: int) -> None:
    run_sql("delete from memoryhub_auditentry where chain = %s and seq = %s", told.store.id, seq)
    problem = verified(told.store.id)
    assert problem is not None and (problem.seq, problem.what) == (seq, "the entry is missing")


@pytest.mark.both_databases
def test_a_removed_last_entry_is_named(told: Hub) -> None:
    run_sql("delete from memoryhub_auditentry where chain = %s and seq = 16", told.store.id)
    problem = verified(told.store.id)
    assert problem is not None and problem.seq == 16


@pytest.mark.both_databases
def test_a_missing_head_and_a_missing_chain_are_called_so(told: Hub) -> None:
    with undone():
        run_sql("delete from memoryhub_auditchain where id = %s", told.store.id)
        assert verified(told.store.id) == verify.Problem(told.store.id, None, "the chain's head is missing")
    assert verified("memstore_gone") == verify.Problem("memstore_gone", None, "the chain is missing")


def test_entries_in_another_order_are_noticed(told: Hub) -> None:
    for old, new in ((5, 1005), (6, 5), (1005, 6)):
        run_sql("update memoryhub_auditentry set seq = %s where chain = %s and seq = %s", new, told.store.id, old)
    problem = verified(told.store.id)
    assert problem is not None and problem.seq == 5


def test_an_inserted_entry_is_named(told: Hub) -> None:
    names = [f'"{field.column}"' for field in AuditEntry._meta.concrete_fields if field.column]
    kept = ", ".join(name for name in names if name != '"seq"')
    text = f'insert into memoryhub_auditentry ("seq", {kept}) select {ENTRIES + 1}, {kept} from memoryhub_auditentry'
    run_sql(text + " where chain = %s and seq = 3", told.store.id)
    run_sql("update memoryhub_auditchain set last_seq = %s where id = %s", ENTRIES + 1, told.store.id)
    problem = verified(told.store.id)
    assert problem is not None and problem.seq == ENTRIES + 1


def test_an_entry_of_another_store_in_the_place_of_one_is_named(told: Hub) -> None:
    other = tell()
    run_sql("delete from memoryhub_auditentry where chain = %s and seq = 4", told.store.id)
    run_sql("update memoryhub_auditentry set chain = %s where chain = %s and seq = 4", told.store.id, other.store.id)
    problem = verified(told.store.id)
    assert problem is not None and problem.seq == 4


@pytest.mark.parametrize("table", ["memoryhub_memoryversion", "memoryhub_memorytext"])
@pytest.mark.both_databases
def test_a_removed_version_or_text_is_noticed(told: Hub, table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"select id from {table} where store_id = %s", [told.store.id])
        ids = [row[0] for row in cursor.fetchall()]
    for id in ids:
        with undone():
            run_sql(f"delete from {table} where id = %s", id)
            problem = verified(told.store.id)
            assert problem is not None and problem.seq is not None


@pytest.mark.both_databases
def test_an_added_version_is_noticed(told: Hub) -> None:
    names = [f'"{field.column}"' for field in MemoryVersion._meta.concrete_fields]
    for seq in (2, 16, 99):
        with undone():
            values = {'"id"': "'memver_X'", '"number"': "77", '"seq"': str(seq)}
            chosen = ", ".join(values.get(name, name) for name in names)
            text = f"insert into memoryhub_memoryversion ({', '.join(names)}) select {chosen}"
            run_sql(text + " from memoryhub_memoryversion where store_id = %s and seq = 2", told.store.id)
            problem = verified(told.store.id)
            assert problem is not None and problem.seq == seq


def test_another_audit_key_does_not_verify(told: Hub, settings: Any) -> None:
    settings.MEMORYHUB_AUDIT_KEY = b"another key that is long enough to be one"
    problem = verified(told.store.id)
    assert problem is not None and problem.seq == 1


# ------------------------------------------------------------------------------------------------ the command


def test_the_command_says_that_all_is_right(
    told: Hub, own_checkpoints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints.append(own_checkpoints, AT)
    entries = ENTRIES + AuditEntry.objects.of_chain(HUB).count()
    call_command("verify_audit")
    lines = capsys.readouterr().out.splitlines()
    assert f"{told.store.id}: {ENTRIES} entries" in lines
    assert lines[-1] == f"All {entries} entries are right."


@pytest.mark.both_databases
def test_the_command_names_the_entry_and_fails(told: Hub, own_checkpoints: Path) -> None:
    for seq, what in ((4, "its path was changed"), (3, "it was changed: its hash does not fit")):
        run_sql("update memoryhub_auditentry set path = '/b.md' where chain = %s and seq = %s", told.store.id, seq)
        with pytest.raises(CommandError) as failed:
            call_command("verify_audit")
        assert str(failed.value) == f"{told.store.id} entry {seq}: {what}"
        assert failed.value.returncode == 1
    call_command("verify_audit", "--chain", HUB)


def test_the_command_names_a_checkpoint_that_was_changed(told: Hub, own_checkpoints: Path) -> None:
    checkpoints.append(own_checkpoints, AT)
    own_checkpoints.write_bytes(own_checkpoints.read_bytes().replace(b'"seq": %d' % ENTRIES, b'"seq": 15'))
    with pytest.raises(CommandError, match="line 2 was changed"):
        call_command("verify_audit")
