"""Directories and their counters, the trash, and the order of locks."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import sql, tree
from memoryhub.actions.core.sql import statements as running
from memoryhub.actions.core.transactions import is_open, writing
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import housekeeping
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import (
    HUB,
    AuditEntry,
    IdempotentCall,
    Memory,
    MemoryText,
    MemoryVersion,
    Role,
)
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.core.trees import ACT, directories, make, rename, root
from tests.api.harness import BY, Hub, contents
from tests.support.fixtures import new_person

# ------------------------------------------------------------------------------------------------ counters


def test_every_directory_above_counts_a_memory(filled: Hub) -> None:
    assert directories(filled.store) == {
        "/a": (3, 20),
        "/a/b": (2, 12),
        "/a/c": (1, 8),
        "/a/c/d": (1, 8),
        "/ab": (1, 5),
    }
    assert root(filled.store) == (6, 30, 6, 30)


def test_a_directory_that_moves_takes_its_counts_along(filled: Hub) -> None:
    assert rename(filled, "/a/b", "/ab/new/place") == "ok"
    assert directories(filled.store) == {
        "/a": (1, 8), "/a/c": (1, 8), "/a/c/d": (1, 8), "/ab": (3, 17), "/ab/new": (2, 12), "/ab/new/place": (2, 12),
    }  # fmt: skip
    assert root(filled.store) == (6, 30, 6, 30)
    assert contents(filled.store)["/memories/ab/new/place/1"] == "/a/b/1"


def test_names_that_begin_alike_are_left_alone(filled: Hub) -> None:
    assert rename(filled, "/a", "/z") == "ok"
    assert {"/memories/a0", "/memories/ab/4"} < contents(filled.store).keys()
    assert filled.call(command="delete", path="/memories/z")[0] == "ok"
    assert contents(filled.store).keys() == {"/memories/a0", "/memories/ab/4", "/memories/x"}
    assert directories(filled.store) == {"/ab": (1, 5)}


def test_case_is_kept_apart(hub: Hub) -> None:
    make(hub, "/foo/a", "/Foo/a", "/FOO/a")
    assert hub.call(command="delete", path="/memories/Foo")[0] == "ok"
    assert contents(hub.store).keys() == {"/memories/foo/a", "/memories/FOO/a"}


@pytest.mark.parametrize("wild", ["%", "_", "*", "[a]", "\N{GREEK CAPITAL LETTER SIGMA}"])
def test_signs_that_mean_something_to_sql_mean_nothing_in_a_path(hub: Hub, wild: str) -> None:
    make(hub, f"/{wild}/a", "/b/a", "/a/a")
    assert hub.call(command="delete", path=f"/memories/{wild}")[0] == "ok"
    assert contents(hub.store).keys() == {"/memories/b/a", "/memories/a/a"}


def test_a_directory_goes_with_its_last_memory(filled: Hub) -> None:
    assert filled.call(command="delete", path="/memories/a/c/d/3")[0] == "ok"
    assert directories(filled.store).keys() == {"/a", "/a/b", "/ab"}
    assert rename(filled, "/ab/4", "/4") == "ok"
    assert directories(filled.store).keys() == {"/a", "/a/b"}
    for path in ("/a", "/a0", "/x", "/4"):
        assert filled.call(command="delete", path=f"/memories{path}")[0] == "ok"
    assert directories(filled.store) == {} and root(filled.store) == (0, 0, 0, 0)


def test_a_directory_may_move_into_its_own_parent_s_name(filled: Hub) -> None:
    """/a/c/d becomes /a/cd: shared directories are neither lost nor counted twice."""
    assert rename(filled, "/a/c/d", "/a/cd") == "ok"
    assert directories(filled.store) == {"/a": (3, 20), "/a/b": (2, 12), "/a/cd": (1, 8), "/ab": (1, 5)}
    assert rename(filled, "/a/cd", "/cd") == "ok"
    assert rename(filled, "/cd", "/a/c/d") == "ok"
    assert directories(filled.store)["/a/c/d"] == (1, 8)
    assert verify.verify(filled.store.id)[1] is None


def test_a_directory_command_is_one_entry_with_a_version_for_each_memory(filled: Hub) -> None:
    rename(filled, "/a", "/z")
    entry = AuditEntry.objects.of_chain(filled.store.id).newest()[0]
    made = MemoryVersion.objects.of_entry(filled.store.id, entry.seq)
    assert {version.path for version in made} == {"/z/b/1", "/z/b/2", "/z/c/d/3"}
    assert (entry.path, entry.new_path, entry.memory, entry.version) == ("/a", "/z", None, None)


def test_versions_that_only_rename_share_their_text(filled: Hub) -> None:
    before = MemoryText.objects.count()
    rename(filled, "/a", "/z")
    rename(filled, "/x", "/y")
    assert MemoryText.objects.count() == before
    versions = MemoryVersion.objects.filter(store=filled.store, path__in=["/x", "/y"])
    assert len({version.text_id for version in versions}) == 1


@pytest.mark.both_databases
def test_the_id_of_a_memory_survives_its_renames(filled: Hub) -> None:
    before = Memory.objects.get(store=filled.store, path="/x")
    rename(filled, "/x", "/a/x")
    rename(filled, "/a", "/b")
    after = Memory.objects.get(pk=before.pk)
    assert (after.path, after.name, after.version_count) == ("/b/x", "x", 3)
    assert after.directory is not None and after.directory.path == "/b"


@pytest.mark.both_databases
def test_the_tree_after_each_entry_can_be_asked_for(filled: Hub) -> None:
    trees = {}
    for command in (
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z"},
        {"command": "delete", "path": "/memories/z/b"},
        {"command": "str_replace", "path": "/memories/x", "old_str": "x", "new_str": "y"},
        {"command": "create", "path": "/memories/z/b", "file_text": ""},
    ):
        filled.call(**command)
        seq = AuditEntry.objects.of_chain(filled.store.id).newest()[0].seq
        trees[seq] = contents(filled.store)
    for seq, tree_then in trees.items():
        then = MemoryVersion.objects.filter(store=filled.store).as_of(seq).select_related("text")
        assert {f"/memories{version.path}": version.content for version in then} == tree_then


# ------------------------------------------------------------------------------------------------ archived stores


def test_an_archived_store_is_read_and_emptied_but_not_changed(filled: Hub) -> None:
    stores.set_archived(filled.store, True, **BY)
    refused = ["err", "Error: this memory store is archived and cannot be changed"]
    assert filled.call(command="create", path="/memories/n", file_text="") == refused
    assert filled.call(command="str_replace", path="/memories/x", old_str="x", new_str="y") == refused
    assert filled.call(command="insert", path="/memories/x", insert_line=0, insert_text="") == refused
    assert filled.call(command="rename", old_path="/memories/x", new_path="/memories/y") == refused
    assert filled.call(command="view", path="/memories/x")[0] == "ok"
    assert filled.call(command="delete", path="/memories/x")[0] == "ok"
    memory = Memory.objects.get(store=filled.store, path="/a0")
    with pytest.raises(ToolError, match="archived"):
        curation.edit(filled.store.id, memory.id, "", memory.sha256, ACT)
    stores.set_archived(filled.store, False, **BY)
    assert filled.call(command="create", path="/memories/n", file_text="")[0] == "ok"


def test_archiving_twice_is_told_once(filled: Hub) -> None:
    for _ in range(2):
        stores.set_archived(filled.store, True, **BY)
    assert AuditEntry.objects.of_chain(filled.store.id).filter(command="archive_store").count() == 1


# ------------------------------------------------------------------------------------------------ transactions


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[sql.Statement]:
    """Every statement of the tool's path as it runs."""
    seen: list[sql.Statement] = []
    run = running._run

    def noted(statement: sql.Statement, values: Any, **options: bool) -> Any:
        seen.append(statement)
        return run(statement, values, **options)

    monkeypatch.setattr(running, "_run", noted)
    return seen


def test_locks_are_taken_in_the_order_store_chain_hub(filled: Hub, statements: list[sql.Statement]) -> None:
    anna = new_person("Anna")
    acts: list[Callable[[], Any]] = [
        lambda: filled.call(command="view", path="/memories"),
        lambda: curation.delete(filled.store.id, "/x", ACT),
        lambda: stores.set_archived(filled.store, True, **BY),
        lambda: keys_and_roles.set_role(filled.store, anna, Role.VIEWER, **BY),
    ]
    for act in acts:
        statements.clear()
        act()
        locks = [statement for statement in statements if statement in (sql.STORE, sql.CHAIN)]
        assert locks[0] is sql.STORE and sql.STORE not in locks[1:]
        writes = [s for s in statements if not s.text.startswith(("select", "insert into memoryhub_auditchain"))]
        assert all(statements.index(sql.STORE) < statements.index(write) for write in writes)


def test_locks_are_for_postgresql_alone() -> None:
    for statement in (sql.STORE, sql.CHAIN):
        assert (" for update" in statement.text) == (connection.vendor == "postgresql")


def test_an_act_that_cannot_be_audited_does_not_happen(filled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("no room")

    before = contents(filled.store), AuditEntry.objects.count(), IdempotentCall.objects.count()
    with monkeypatch.context() as patched:
        patched.setattr(tree.audit, "append", broken)
        answer = filled.send(filled.block(command="delete", path="/memories"))
        refused = filled.send(filled.block(command="delete", path="/memories/a"))
        with pytest.raises(RuntimeError):
            curation.delete(filled.store.id, "/a", ACT)
    assert (answer.status, refused.status) == (500, 500)
    assert answer.value["error"]["type"] == "api_error" and "no room" not in str(answer.value)
    assert (contents(filled.store), AuditEntry.objects.count(), IdempotentCall.objects.count()) == before
    assert verify.verify(filled.store.id)[1] is None


def test_writing_is_open_only_inside() -> None:
    assert not is_open()


@pytest.mark.django_db
def test_writing_may_be_nested() -> None:
    with writing():
        with writing():
            assert is_open()
        assert is_open()
    assert not is_open()


def test_a_store_that_is_gone_is_not_there(db: None) -> None:
    with pytest.raises(tree.NoSuchStore), tree.locked("memstore_gone", ACT):
        pass


def test_calls_are_forgotten_after_a_week_and_many_entries_and_not_before(
    filled: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = IdempotentCall.objects.count()
    now = timezone.now()
    assert housekeeping.forget_calls(now + timedelta(days=89)) == 0
    monkeypatch.setattr(housekeeping, "KEPT_ENTRIES", 0)
    assert housekeeping.forget_calls(now + timedelta(days=6, hours=23)) == 0
    assert housekeeping.forget_calls(now + timedelta(days=7, hours=1), most=2) == 2
    assert housekeeping.forget_calls(now + timedelta(days=7, hours=1)) == made - 2
    assert IdempotentCall.objects.count() == 0
    assert verify.verify(HUB)[1] is None


@pytest.mark.both_databases
def test_calls_of_a_quiet_store_are_forgotten_after_three_months(filled: Hub) -> None:
    assert housekeeping.forget_calls(timezone.now() + timedelta(days=91)) > 0
