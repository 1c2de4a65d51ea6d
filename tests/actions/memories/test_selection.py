"""Selections moved, deleted, exported and restored: whole or not at all, counted right, one entry an act."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from memoryhub.actions.core.plans import TooMuch
from memoryhub.actions.memories import curation, selection
from memoryhub.actions.memories.selection import (
    Chosen,
    Done,
    NotDone,
    deletion,
    moves as selection_moves,
    restore as selection_restore,
)
from memoryhub.actions.memories.selection.moves import Obstacle, move_plan
from memoryhub.actions.memories.selection.restore import Thrown, return_plan
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import Wanted
from memoryhub.actions.verification.verify import verify
from memoryhub.models import AuditEntry, Directory, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.protocol.errors import ToolError
from tests.support.fixtures import AT
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, newest, text_of, write

pytestmark = pytest.mark.django_db


def tree_of(store: MemoryStore) -> dict[str, str]:
    """The live memories' ids by path; the directories' counters must fit them."""
    live = dict(Memory.objects.live().filter(store=store).values_list("path", "pk"))
    for directory in Directory.objects.filter(store=store):
        beneath = Memory.objects.filter(store=store).under(directory.path)
        assert directory.memory_count == len(beneath)
        assert directory.total_bytes == sum(memory.size for memory in beneath)
        assert directory.memory_count or not directory.path
    store.refresh_from_db()
    assert store.memory_count == len(live)
    return live


def directory(store: MemoryStore, path: str) -> str:
    return str(Directory.objects.get(store=store, path=path).pk)


def moved(store: MemoryStore, into: str, *ids: str) -> Done:
    chosen = Chosen(ids)
    return selection_moves.move(store.id, chosen, into, move_plan(store.id, chosen, into, AT).digest, act())


def deleted(store: MemoryStore, chosen: Chosen) -> Done:
    return deletion.delete(store.id, chosen, selection.selected(store.id, chosen).digest, act())


def restored(store: MemoryStore, thrown: Thrown, **places: str) -> Done:
    return selection_restore.restore(store.id, thrown, places, return_plan(store.id, thrown, AT).digest, act())


def refused(do: Callable[[], object], store: MemoryStore) -> NotDone:
    """What stood in the way; and nothing was written."""
    before = tree_of(store), AuditEntry.objects.count(), MemoryVersion.objects.count()
    with pytest.raises(NotDone) as raised:
        do()
    assert (tree_of(store), AuditEntry.objects.count(), MemoryVersion.objects.count()) == before
    return raised.value


class TestMove:
    @pytest.mark.both_databases
    def test_memories_and_directories_move_together_in_one_entry(self, store: MemoryStore) -> None:
        one = write(store, "/a/one.md", "1")
        two = write(store, "/a/deep/er/two.md", "22")
        write(store, "/b/stays.md", "333")
        done = moved(store, "/b/new", one.id, directory(store, "/a/deep"))
        assert set(tree_of(store)) == {"/b/new/one.md", "/b/new/deep/er/two.md", "/b/stays.md"}
        entry = newest(store)
        assert (entry.command, entry.seq, done.count) == ("move", done.seq, 2)
        told = json.loads(str(entry.input))
        assert told["paths"] == ["/a/deep/", "/a/one.md"] and told["into"] == "/b/new" and told["memories"] == 2
        made = MemoryVersion.objects.of_entry(store.id, done.seq)
        assert {version.memory_id for version in made} == {one.id, two.id}
        assert text_of(two) == "22"

    def test_one_memory_that_moves_is_named_by_its_entry(self, store: MemoryStore) -> None:
        one = write(store, "/a/one.md")
        moved(store, "", one.id)
        entry = newest(store)
        assert (entry.path, entry.new_path, entry.memory) == ("/a/one.md", "/one.md", one.id)
        assert entry.version == Memory.objects.get(pk=one.id).head_id

    def test_what_lies_in_a_selected_directory_goes_with_it(self, store: MemoryStore) -> None:
        one = write(store, "/a/b/one.md")
        moved(store, "/z", directory(store, "/a"), directory(store, "/a/b"), one.id)
        assert set(tree_of(store)) == {"/z/a/b/one.md"}

    def test_everything_in_a_directory_moves_into_a_new_one_in_it(self, store: MemoryStore) -> None:
        for path in ("/a/1.md", "/a/2.md", "/a/b/3.md"):
            write(store, path)
        chosen = Chosen(everything_in="/a")
        plan = move_plan(store.id, chosen, "/a/old", AT)
        selection_moves.move(store.id, chosen, "/a/old", plan.digest, act())
        assert set(tree_of(store)) == {"/a/old/1.md", "/a/old/2.md", "/a/old/b/3.md"}

    @pytest.mark.parametrize(
        ("into", "selected", "obstacle"),
        [
            ("/b", "/a/one.md", Obstacle.TAKEN),
            ("/b", "/a/dir", Obstacle.TAKEN),
            ("/a/dir/x", "/a/dir", Obstacle.INSIDE),
            ("/a/dir", "/a/dir", Obstacle.INSIDE),
            ("/" + "/".join("x" * 20), "/a/two.md", Obstacle.LONG),
            ("/" + "/".join("x" * 19), "/a/dir", Obstacle.LONG),
            ("/" + "/".join(["x" * 250] * 4), "/a/" + "y" * 50, Obstacle.LONG),
            ("/b..", "/a/two.md", Obstacle.LONG),
            ("/b..", "/a/dir", Obstacle.LONG),
        ],
    )
    def test_nothing_moves_where_one_of_them_cannot(
        self, store: MemoryStore, into: str, selected: str, obstacle: Obstacle
    ) -> None:
        for path in ("/a/one.md", "/a/two.md", "/a/dir/x.md", "/a/" + "y" * 50, "/b/one.md", "/b/dir"):
            write(store, path)
        found = Memory.objects.at(selected).filter(store=store).first()
        bad = found.pk if found else directory(store, selected)
        good = str(Memory.objects.at("/a/two.md").get(store=store).pk)
        error = refused(lambda: moved(store, into, bad, good), store)
        assert not error.changed
        assert obstacle in {one.obstacle for one in error.plan.blocked}

    def test_two_of_one_name_do_not_move_to_one_place(self, store: MemoryStore) -> None:
        one, other = write(store, "/a/x.md"), write(store, "/b/x.md")
        error = refused(lambda: moved(store, "/c", one.id, other.id), store)
        assert [one.obstacle for one in error.plan.moves] == [Obstacle.TWICE, Obstacle.TWICE]

    def test_nothing_moves_beneath_a_memory(self, store: MemoryStore) -> None:
        one, other = write(store, "/a.md"), write(store, "/b.md")
        for into in ("/b.md", "/b.md/deep/er"):
            assert refused(lambda into=into: moved(store, into, one.id), store).plan.above == other.path

    def test_what_is_there_already_stays_and_alone_is_nothing_to_do(self, store: MemoryStore) -> None:
        one, other = write(store, "/a/1.md"), write(store, "/b/2.md")
        assert moved(store, "/b", one.id, other.id).count == 1
        assert refused(lambda: moved(store, "/b", one.id, other.id), store).plan.staying

    def test_somebody_faster_is_told_and_nothing_moves(self, store: MemoryStore) -> None:
        one, other = write(store, "/a/1.md"), write(store, "/a/2.md")
        chosen = Chosen((one.id, other.id))
        digest = move_plan(store.id, chosen, "/b", AT).digest
        write(store, "/b/2.md")
        error = refused(lambda: selection_moves.move(store.id, chosen, "/b", digest, act()), store)
        assert error.changed and [one.to for one in error.plan.blocked] == ["/b/2.md"]

    def test_ids_that_are_gone_or_of_another_store_are_counted(self, store: MemoryStore) -> None:
        one, gone = write(store, "/a/1.md"), write(store, "/a/2.md")
        curation.delete(store.id, gone.path, act())
        plan = move_plan(store.id, Chosen((one.id, gone.id, "mem_" + "0" * 26, "?1", "x' or 1=1")), "/b", AT)
        assert (plan.selected.vanished, plan.count) == (4, 1)

    def test_an_archived_store_keeps_its_tree(self, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        with tampering():
            MemoryStore.objects.filter(pk=store.pk).update(archived_at=one.created_at)
        with pytest.raises(ToolError):
            moved(store, "/b", one.id)


class TestDelete:
    def test_all_goes_to_the_trash_in_one_entry(self, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        for path in ("/a/d/2.md", "/a/d/e/3.md", "/keep.md"):
            write(store, path)
        done = deleted(store, Chosen((one.id, directory(store, "/a/d"))))
        assert set(tree_of(store)) == {"/keep.md"}
        assert (done.count, newest(store).command, newest(store).seq) == (3, "delete", done.seq)

    @pytest.mark.both_databases
    def test_everything_in_the_root_is_the_whole_store(self, store: MemoryStore) -> None:
        for path in ("/a/1.md", "/2.md"):
            write(store, path)
        assert deleted(store, Chosen(everything_in="")).count == 2
        assert tree_of(store) == {}

    @pytest.mark.parametrize("change", ["edit", "delete", "add"])
    def test_what_was_written_since_it_was_shown_is_not_deleted(self, store: MemoryStore, change: str) -> None:
        one, other = write(store, "/a/1.md"), write(store, "/b/2.md")
        chosen = Chosen((directory(store, "/a"), other.id))
        digest = selection.selected(store.id, chosen).digest
        if change == "edit":
            curation.edit(store.id, other.id, "new", other.sha256, act())
        elif change == "delete":
            curation.delete(store.id, one.path, act())
        else:
            write(store, "/a/3.md")
        assert refused(lambda: deletion.delete(store.id, chosen, digest, act()), store).changed

    def test_more_than_one_act_may_change_is_refused(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        made = [write(store, f"/a/{number}.md") for number in range(4)]
        for chosen in (
            Chosen(everything_in="/a"),
            Chosen((directory(store, "/a"),)),
            Chosen(tuple(m.id for m in made)),
        ):
            with pytest.raises(TooMuch):
                selection.selected(store.id, chosen, most=3)
            assert selection.selected(store.id, chosen, most=4).count == 4


class TestRestore:
    def test_all_go_back_to_where_they_were(self, store: MemoryStore) -> None:
        one, other = write(store, "/a/1.md", "1"), write(store, "/b/c/2.md", "22")
        deleted(store, Chosen(everything_in=""))
        before = tree_of(store)
        done = selection_restore.restore(store.id, Thrown((one.id, other.id)), {}, None, act())
        assert (before, tree_of(store)) == ({}, {"/a/1.md": one.id, "/b/c/2.md": other.id})
        assert (done.count, newest(store).command) == (2, "restore")
        assert (text_of(one), text_of(other)) == ("1", "22")

    @pytest.mark.both_databases
    def test_those_that_went_in_one_entry_come_back_in_one(self, store: MemoryStore) -> None:
        for path in ("/a/1.md", "/a/b/2.md", "/other.md"):
            write(store, path)
        curation.delete(store.id, "/other.md", act())
        done = curation.delete(store.id, "/a", act())
        assert selection_restore.restore(store.id, Thrown(entry=done.seq), {}, None, act()).count == 2
        assert set(tree_of(store)) == {"/a/1.md", "/a/b/2.md"}
        assert not return_plan(store.id, Thrown(entry=done.seq), AT).returns

    def test_a_taken_path_is_said_and_another_one_offered(self, store: MemoryStore) -> None:
        one = write(store, "/a/1.md", "old")
        curation.delete(store.id, one.path, act())
        write(store, "/a/1.md", "new")
        refused(lambda: selection_restore.restore(store.id, Thrown((one.id,)), {}, None, act()), store)
        (blocked,) = return_plan(store.id, Thrown((one.id,)), AT).blocked
        assert (blocked.obstacle, blocked.offer) == (selection_restore.Obstacle.TAKEN, "/a/1-restored.md")
        restored(store, Thrown((one.id,)))
        assert tree_of(store)["/a/1-restored.md"] == one.id

    def test_another_path_can_be_chosen_and_must_be_free_too(self, store: MemoryStore) -> None:
        one = write(store, "/a/1.md", "old")
        curation.delete(store.id, one.path, act())
        write(store, "/a/1.md", "new")
        write(store, "/b", "memory")
        for place in ("/a/1.md", "/a", "/b", "/b/c"):
            refused(lambda place=place: restored(store, Thrown((one.id,)), **{one.id: place}), store)
        restored(store, Thrown((one.id,)), **{one.id: "/c/d.md"})
        assert tree_of(store)["/c/d.md"] == one.id

    def test_two_that_were_at_one_path_do_not_meet(self, store: MemoryStore) -> None:
        thrown = []
        for path in ("/a/x.md", "/a/x.md", "/a", "/a/y/z", "/a/y"):
            memory = write(store, path)
            curation.delete(store.id, path, act())
            thrown.append(memory.id)
        restored(store, Thrown(tuple(thrown)))
        live = tree_of(store)
        assert set(live.values()) == set(thrown)
        assert len(live) == 5 and {"/a", "/a-restored/x.md"} <= set(live)

    def test_a_memory_above_is_said(self, store: MemoryStore) -> None:
        one = write(store, "/a/b/c.md")
        curation.delete(store.id, "/a", act())
        write(store, "/a")
        (blocked,) = return_plan(store.id, Thrown((one.id,)), AT).blocked
        assert (blocked.obstacle, blocked.offer) == (selection_restore.Obstacle.ABOVE, "/a-restored/b/c.md")

    def test_an_offered_name_is_never_too_long(self, store: MemoryStore) -> None:
        path = "/a/" + "é" * 126 + ".md"
        one = write(store, path)
        curation.delete(store.id, path, act())
        write(store, path)
        restored(store, Thrown((one.id,)))
        assert len(Memory.objects.get(pk=one.id).name.encode()) <= 255

    @pytest.mark.both_databases
    def test_a_redacted_memory_stays_in_the_trash(self, store: MemoryStore) -> None:
        one, gone = write(store, "/a/1.md"), write(store, "/a/2.md")
        curation.delete(store.id, "/a", act())
        with tampering():
            Memory.objects.filter(pk=gone.pk).update(text=None)
        thrown = Thrown((one.id, gone.id))
        refused(lambda: selection_restore.restore(store.id, thrown, {}, None, act()), store)
        restored(store, thrown)
        assert tree_of(store) == {"/a/1.md": one.id}

    @pytest.mark.both_databases
    def test_a_limit_stops_all_of_it(self, store: MemoryStore) -> None:
        made = [write(store, f"/a/{number}.md") for number in range(3)]
        curation.delete(store.id, "/a", act())
        with tampering():
            MemoryStore.objects.filter(pk=store.pk).update(limit_memories=2)
        before = AuditEntry.objects.count()
        with pytest.raises(ToolError):
            restored(store, Thrown(tuple(memory.id for memory in made)))
        assert (tree_of(store), AuditEntry.objects.count()) == ({}, before)

    def test_one_that_somebody_restored_first_is_told(self, store: MemoryStore) -> None:
        one, other = write(store, "/a/1.md"), write(store, "/a/2.md")
        curation.delete(store.id, "/a", act())
        thrown = Thrown((one.id, other.id))
        digest = return_plan(store.id, thrown, AT).digest
        restored(store, Thrown((other.id,)))
        assert refused(lambda: selection_restore.restore(store.id, thrown, {}, None, act()), store).plan.vanished == 1
        assert refused(lambda: selection_restore.restore(store.id, thrown, {}, digest, act()), store).changed
        restored(store, thrown)
        assert set(tree_of(store)) == {"/a/1.md", "/a/2.md"}


@pytest.mark.both_databases
@pytest.mark.parametrize("text", ["two", "longer than before"])
def test_a_directory_in_which_somebody_wrote_meanwhile_is_not_deleted(store: MemoryStore, text: str) -> None:
    memory = write(store, "/notes/a.md", "one")
    chosen = Chosen((directory(store, "/notes"),))
    shown = selection.selected(store.id, chosen).digest
    curation.edit(store.id, memory.pk, text, memory.sha256, act()._replace(at=act().at + timedelta(seconds=1)))
    assert refused(lambda: deletion.delete(store.id, chosen, shown, act()), store).changed


def test_what_is_exported_is_told_before_it_leaves(store: MemoryStore) -> None:
    one = write(store, "/a/1.md", "1")
    write(store, "/b/2.md", "22")
    chosen = Chosen((one.id, directory(store, "/b")))
    exported = exporting.begin(store.id, Wanted("zip", chosen=chosen), act())
    assert (exported.scope.directories, exported.scope.memories) == (("/b",), (one.id,))
    told = json.loads(str(newest(store).input))
    assert (told["paths"], told["memories"], told["size"], told["format"]) == (["/a/1.md", "/b/"], 2, 3, "zip")
    assert newest(store).command == "export" and newest(store).seq == exported.scope.seq
    with pytest.raises(NotDone):
        exporting.begin(store.id, Wanted("zip", chosen=Chosen(("mem_" + "0" * 26,))), act())


def test_the_audit_still_verifies_after_all_of_it(store: MemoryStore) -> None:
    for path in ("/a/1.md", "/a/b/2.md", "/c/3.md"):
        write(store, path)
    moved(store, "/c", directory(store, "/a"))
    done = deleted(store, Chosen(everything_in="/c"))
    restored(store, Thrown(entry=done.seq))
    exporting.begin(store.id, Wanted("jsonl", chosen=Chosen(everything_in="")), act())
    assert verify(store.id)[1] is None
