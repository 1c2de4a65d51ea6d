"""What people do: the trash, restoring, and edits over somebody else's."""

from collections.abc import Callable
from typing import Any

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Door, Memory, MemoryVersion, Operation
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.core.trees import ACT, directories, make, rename
from tests.api.harness import AT, Hub, contents, new_store
from tests.support.fixtures import new_person

# ------------------------------------------------------------------------------------------------ trash


def trashed(hub: Hub, path: str) -> Memory:
    hub.call(command="delete", path=f"/memories{path}")
    return Memory.objects.in_trash().filter(store=hub.store, path=path).order_by("-deleted_at", "-id")[0]


def last_text(memory: Memory) -> MemoryVersion:
    return MemoryVersion.objects.of_memory(memory).exclude(operation=Operation.DELETED).newest()[0]


@pytest.mark.both_databases
def test_a_deleted_memory_lies_in_the_trash_and_is_counted_nowhere(filled: Hub) -> None:
    memory = trashed(filled, "/a/b/1")
    assert (memory.directory_id, memory.version_count, memory.is_live) == (None, 2, False)
    head = MemoryVersion.objects.get(pk=memory.head_id)
    assert (head.operation, head.text_id, head.size, head.sha256) == ("deleted", None, None, None)
    assert directories(filled.store)["/a/b"] == (1, 6)


def test_a_memory_comes_out_of_the_trash_with_its_id(filled: Hub) -> None:
    memory = trashed(filled, "/a/b/1")
    done = curation.restore(filled.store.id, last_text(memory).id, ACT)
    assert done.memory == memory.id
    assert contents(filled.store)["/memories/a/b/1"] == "/a/b/1"
    version = MemoryVersion.objects.get(pk=done.version)
    assert (version.operation, version.number, version.review_state) == ("created", 3, None)
    assert directories(filled.store)["/a/b"] == (2, 12)
    assert verify.verify(filled.store.id)[1] is None


def test_a_new_memory_at_a_trashed_path_is_another_one(filled: Hub) -> None:
    memory = trashed(filled, "/x")
    make(filled, "/x")
    assert Memory.objects.at("/x").get(store=filled.store).id != memory.id
    with pytest.raises(ToolError, match="already exists"):
        curation.restore(filled.store.id, last_text(memory).id, ACT)
    curation.restore(filled.store.id, last_text(memory).id, ACT, path="/old/x")
    assert contents(filled.store)["/memories/old/x"] == "/x"
    assert verify.verify(filled.store.id)[1] is None


@pytest.mark.both_databases
def test_a_memory_does_not_come_back_beneath_a_memory(filled: Hub) -> None:
    memory = trashed(filled, "/ab/4")
    make(filled, "/ab")
    with pytest.raises(ToolError, match="is a file, not a directory"):
        curation.restore(filled.store.id, last_text(memory).id, ACT)
    with pytest.raises(ToolError, match="already exists"):
        curation.restore(filled.store.id, last_text(memory).id, ACT, path="/a")


def test_a_deletion_has_nothing_to_restore(filled: Hub) -> None:
    memory = trashed(filled, "/x")
    for version in (memory.head_id, "memver_unknown", ""):
        with pytest.raises(ToolError, match="no text that could be restored"):
            curation.restore(filled.store.id, version, ACT)


def test_a_version_of_another_store_is_not_restored(filled: Hub) -> None:
    version = Memory.objects.get(store=filled.store, path="/x").head_id
    with pytest.raises(ToolError, match="no text that could be restored"):
        curation.restore(new_store().id, version, ACT)


def test_an_earlier_text_of_a_live_memory_becomes_the_newest(filled: Hub) -> None:
    first = Memory.objects.get(store=filled.store, path="/x").head_id
    filled.call(command="str_replace", path="/memories/x", old_str="/x", new_str="changed")
    curation.restore(filled.store.id, first, ACT)
    memory = Memory.objects.get(store=filled.store, path="/x")
    assert (contents(filled.store)["/memories/x"], memory.version_count) == ("/x", 3)
    curation.restore(filled.store.id, first, ACT)
    memory.refresh_from_db()
    assert memory.version_count == 3
    assert verify.verify(filled.store.id)[1] is None


# ------------------------------------------------------------------------------------------------ conflicts


def test_an_edit_over_somebody_elses_edit_is_a_conflict_and_loses_nothing(filled: Hub) -> None:
    memory = Memory.objects.get(store=filled.store, path="/x")
    filled.call(command="str_replace", path="/memories/x", old_str="/x", new_str="theirs")
    with pytest.raises(curation.Conflict) as conflict:
        curation.edit(filled.store.id, memory.id, "mine", memory.sha256, ACT)
    assert conflict.value.current is not None and conflict.value.current.content == "theirs"
    assert contents(filled.store)["/memories/x"] == "theirs"


def test_an_edit_to_the_same_text_is_no_conflict(filled: Hub) -> None:
    memory = Memory.objects.get(store=filled.store, path="/x")
    filled.call(command="str_replace", path="/memories/x", old_str="/x", new_str="same")
    done = curation.edit(filled.store.id, memory.id, "same", memory.sha256, ACT)
    assert done.version == Memory.objects.get(pk=memory.pk).head_id
    assert Memory.objects.get(pk=memory.pk).version_count == 2


def test_an_edit_follows_a_memory_that_was_renamed(filled: Hub) -> None:
    memory = Memory.objects.get(store=filled.store, path="/x")
    rename(filled, "/x", "/y/x")
    curation.edit(filled.store.id, memory.id, "mine", memory.sha256, ACT)
    assert contents(filled.store)["/memories/y/x"] == "mine"


def test_an_edit_of_a_deleted_memory_is_a_conflict_with_nothing(filled: Hub) -> None:
    memory = trashed(filled, "/x")
    with pytest.raises(curation.Conflict) as conflict:
        curation.edit(filled.store.id, memory.id, "mine", memory.sha256, ACT)
    assert conflict.value.current is None


def test_what_people_refuse_or_fail_at_leaves_no_entry(filled: Hub) -> None:
    before = AuditEntry.objects.of_chain(filled.store.id).count()
    memory = Memory.objects.get(store=filled.store, path="/x")
    tries: list[Callable[[], Any]] = [
        lambda: curation.create(filled.store.id, "/x", "", ACT),
        lambda: curation.rename(filled.store.id, "/x", "/a", ACT),
        lambda: curation.delete(filled.store.id, "/nothing", ACT),
        lambda: curation.edit(filled.store.id, memory.id, "mine", "other", ACT),
    ]
    for trying in tries:
        with pytest.raises((ToolError, curation.Conflict)):
            trying()
    assert AuditEntry.objects.of_chain(filled.store.id).count() == before


def test_an_entry_of_a_person_names_the_person_and_the_note(filled: Hub) -> None:
    anna = new_person("Anna")
    act = Act(Actor.person(anna), Door.WEB, AT, note="too long")
    done = curation.delete(filled.store.id, "/x", act)
    entry = AuditEntry.objects.get(chain=filled.store.id, seq=done.seq)
    assert (entry.actor_kind, entry.actor_id, entry.label, entry.note) == ("user", anna.id, "Anna", "too long")
