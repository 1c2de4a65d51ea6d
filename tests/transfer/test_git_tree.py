"""The tree of a git export is that of the store, also where its history was imported or is not complete."""

from pathlib import Path

import pytest

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.models import MemoryStore, MemoryVersion
from memoryhub.pure.transfer.bundle import BundledVersion
from memoryhub.pure.transfer.git.tree import Tree
from memoryhub.pure.transfer.written import WrittenVersion
from tests.actions.history.histories import tree_now
from tests.api.harness import AT
from tests.support.long import some
from tests.transfer import trips
from tests.transfer.exported import Repository, grown

FORMS = ("zip", "jsonl", "git")


def repository(store: MemoryStore, place: Path) -> Repository:
    return Repository.of(trips.exported(store, "git"), place)


def exchanged() -> MemoryStore:
    """A store whose memories have paths that others had before; one of those is in the trash."""
    store = trips.new_store()
    for number, (old, new) in enumerate((("/a", "/b"), ("/c/d", "/e"), ("/f", "/g/h"))):
        curation.create(store.pk, old, f"first at {old}\n", trips.act(number))
        curation.rename(store.pk, old, new, trips.act(number + 0.5))
    curation.create(store.pk, "/i", "old\n", trips.act(5))
    curation.delete(store.pk, "/i", trips.act(6))
    for path in ("/a", "/c", "/f/x", "/i"):
        curation.create(store.pk, path, f"now at {path}\n", trips.act(7))
    return store


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_an_imported_history_removes_no_memory_from_the_tree(form: str, tmp_path: Path) -> None:
    source, target = exchanged(), trips.new_store("Target")
    trips.run(trips.prepared(target, trips.exported(source, form)))
    assert tree_now(target) == tree_now(source)
    copy = repository(target, tmp_path / "copy")
    assert {"/" + path: text for path, text in copy.tree().items()} == tree_now(target)
    copy.git("fsck", "--strict")


@pytest.mark.push
@pytest.mark.django_db
@pytest.mark.parametrize("seed", some(range(6), 3))
def test_random_histories_that_are_imported_into_one_store(seed: int, tmp_path: Path) -> None:
    target = trips.new_store("Target")
    for number, form in enumerate(FORMS):
        history = grown(seed * 10 + number, 40)
        trips.run(trips.prepared(target, trips.exported(history.store, form)), 41 + number)
    stream = trips.exported(target, "git")
    copy = Repository.of(stream, tmp_path / "copy")
    assert {"/" + path: text for path, text in copy.tree().items()} == tree_now(target)
    again = trips.new_store("Again")
    trips.run(trips.prepared(again, stream), 50)
    assert tree_now(again) == tree_now(target)
    versions = MemoryVersion.objects.order_by("created_at", "number", "path", "text_id")
    for_store = [list(versions.filter(store=store).values_list("number", "operation", "path", "text__content"))
                 for store in (target, again)]  # fmt: skip
    assert sorted(for_store[0], key=str) == sorted(for_store[1], key=str)
    back = repository(again, tmp_path / "back")
    assert back.tree() == copy.tree()


@pytest.mark.django_db
def test_a_rename_that_retention_removed_takes_no_path_from_another_memory(tmp_path: Path) -> None:
    store = trips.new_store()
    done = curation.create(store.pk, "/a", "first\n", trips.act(1))
    curation.rename(store.pk, "/a", "/b", trips.act(2))
    curation.create(store.pk, "/a", "second\n", trips.act(3))
    curation.rename(store.pk, "/b", "/c", trips.act(4))
    moved = MemoryVersion.objects.get(memory_id=done.memory, number=2)
    with tree.locked(store.pk, trips.act(5)) as locked:
        kept = removal.remove_versions(locked, str(done.memory), [moved.pk])
        tree.commit(locked, Record("purge", memory=done.memory, redactions=kept.redactions))
    assert repository(store, tmp_path / "copy").tree() == {"a": "second\n", "c": "first\n"}


def version(memory: str, path: str, old: str | None = None, *, is_past: bool = False) -> WrittenVersion:
    told = BundledVersion("memver_1", 1, "created", path, memory, AT, None)
    return WrittenVersion(told, memory, old_path=old, is_past=is_past)


def test_a_past_version_goes_aside_to_a_place_that_is_free() -> None:
    tree = Tree()
    for memory, path in (("A", "/x/y"), ("B", "/C/z"), ("D", "/C+")):
        assert tree.move(version(memory, path)) == (None, path)
    for path in ("/x/y", "/x", "/x/y/z"):
        assert tree.move(version("C", path, "/old", is_past=True))[1] == "/C++"
    assert tree.move(version("C", "/free", "/x/y/z", is_past=True)) == ("/C++", "/free")
    assert tree.move(version("C", "/end", "/free")) == ("/free", "/end")
    assert tree.move(version("A", "/x/yy", "/x/y")) == ("/x/y", "/x/yy")


def test_a_memory_that_comes_where_a_directory_was_replaces_what_leaves_it_at_once() -> None:
    tree = Tree()
    assert tree.move(version("A", "/x/y")) == (None, "/x/y")
    assert tree.move(version("B", "/z")) == (None, "/z")
    assert tree.move(version("B", "/x", "/z")) == ("/z", "/x")
    assert tree.move(version("A", "/z/y", "/x/y")) == (None, "/z/y")
    assert tree.move(version("B", "/z/y/x", "/x")) == ("/x", "/z/y/x")
    assert tree.move(version("A", "/x", "/z/y")) == (None, "/x")
