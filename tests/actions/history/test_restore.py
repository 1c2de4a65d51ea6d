"""A store as it was, and made so again: random histories against a dictionary that was told the same."""

from random import Random

import pytest
from django.db import connection

from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Choice, PlanChanged
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import Memory
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.history.histories import PERSON, History, ids_after, tree_after, tree_now
from tests.api.harness import BY
from tests.support.long import tried

pytestmark = pytest.mark.django_db


def restore_all(history: History, seq: int, **scope: str) -> apply_plan.Done:
    plan = apply_plan.restore_plan(history.store.id, seq, **scope)
    chosen = {change.memory: Choice.APPLY for change in plan.changes}
    return apply_plan.restore(history.store.id, seq, chosen, plan.digest, history.act(PERSON), **scope)


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(tried(300 if connection.vendor == "sqlite" else 100)))
def test_the_tree_at_every_entry_is_a_replay_and_restoring_to_it_makes_it_so_again(seed: int) -> None:
    history = History(Random(seed)).run(25)
    for seq, tree in history.trees.items():
        assert tree_after(history.store, seq) == tree
    for _ in range(3):
        seq = history.random.randint(1, history.seq)
        before = ids_after(history.store, seq)
        assert not apply_plan.restore_plan(history.store.id, seq).has_problems
        restore_all(history, seq)
        assert tree_now(history.store) == history.trees[seq]
        assert dict(Memory.objects.filter(store=history.store).live().values_list("pk", "path")) == before
        assert apply_plan.restore_plan(history.store.id, seq).is_empty
    for seq, tree in history.trees.items():
        assert tree_after(history.store, seq) == tree
    assert verify.verify(history.store.id)[1] is None


@pytest.mark.parametrize("seed", range(tried(60)))
def test_a_directory_becomes_what_it_was_and_the_rest_is_left_alone(seed: int) -> None:
    history = History(Random(1000 + seed)).run(30)
    seq, place = history.random.randint(1, history.seq), history.random.choice(["/d", "/d/e", "/f"])
    plan = apply_plan.restore_plan(history.store.id, seq, path=place)
    outside = {path: text for path, text in tree_now(history.store).items() if not path.startswith(place + "/")}
    concerned = {change.memory for change in plan.changes}
    untouched = dict(
        Memory.objects.filter(store=history.store).live().exclude(pk__in=concerned).values_list("path", "text__content")
    )
    restore_all(history, seq, path=place)
    now = tree_now(history.store)
    if not plan.has_problems:
        beneath = {path: text for path, text in now.items() if path.startswith(place + "/")}
        assert beneath == {p: text for p, text in history.trees[seq].items() if p.startswith(place + "/")}
    assert untouched.items() <= now.items()
    assert {path for path in outside if path not in now} <= {c.now.path for c in plan.changes}
    assert verify.verify(history.store.id)[1] is None


def test_one_entry_tells_a_restoration_with_all_its_versions() -> None:
    history = History(Random(3)).run(30)
    done = restore_all(history, 1)
    assert done.count > 1 and tree_now(history.store) == {}
    entry = history.store.id, done.seq
    assert len(apply_plan.entry_versions(*entry)) == done.count
    plan = apply_plan.undo_plan(history.store.id, apply_plan.entry_versions(*entry))
    apply_plan.undo(history.store.id, apply_plan.entry_versions(*entry), {}, plan.digest, history.act(PERSON))
    assert tree_now(history.store) == history.trees[history.seq]


def test_what_is_kept_stays_and_a_plan_that_changed_is_shown_again() -> None:
    history = History(Random(9)).run(30)
    plan = apply_plan.restore_plan(history.store.id, 1)
    kept = plan.changes[0]
    history.call({"command": "create", "path": "/memories/new", "file_text": "x"}, None)
    with pytest.raises(PlanChanged) as changed:
        apply_plan.restore(history.store.id, 1, {}, plan.digest, history.act(PERSON))
    assert len(changed.value.plan.changes) == len(plan.changes) + 1
    apply_plan.restore(history.store.id, 1, {kept.memory: Choice.KEEP}, changed.value.plan.digest, history.act(PERSON))
    assert list(tree_now(history.store)) == [kept.now.path]


def test_a_path_that_is_taken_is_said_and_another_one_is_offered() -> None:
    history = History(Random(6))
    history.call({"command": "create", "path": "/memories/notes/todo.md", "file_text": "old"}, None)
    old = Memory.objects.get(store=history.store)
    history.call({"command": "delete", "path": "/memories/notes/todo.md"}, None)
    history.call({"command": "create", "path": "/memories/notes/todo.md", "file_text": "new"}, None)
    plan = apply_plan.restore_plan(history.store.id, 2, memory=old.id)
    (change,) = plan.changes
    assert (change.problem, change.choices[0], change.then.path) == ("taken", Choice.KEEP, "/notes/todo-restored.md")
    with pytest.raises(ToolError):
        apply_plan.restore(history.store.id, 2, {}, plan.digest, history.act(PERSON), memory=old.id)
    chosen = {old.id: Choice.APPLY}
    apply_plan.restore(history.store.id, 2, chosen, plan.digest, history.act(PERSON), memory=old.id)
    assert tree_now(history.store) == {"/notes/todo.md": "new", "/notes/todo-restored.md": "old"}


def test_memories_that_changed_places_change_them_back() -> None:
    history = History(Random(7))
    for path in ("a", "b"):
        history.call({"command": "create", "path": f"/memories/{path}", "file_text": path}, None)
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        history.call({"command": "rename", "old_path": f"/memories/{old}", "new_path": f"/memories/{new}"}, None)
    assert tree_now(history.store) == {"/a": "b", "/b": "a"}
    restore_all(history, 3)
    assert tree_now(history.store) == {"/a": "a", "/b": "b"}


def test_an_archived_store_is_left_as_it_is() -> None:
    history = History(Random(8)).run(10)
    plan = apply_plan.restore_plan(history.store.id, 1)
    stores.set_archived(history.store, True, **BY)
    with pytest.raises(ToolError):
        apply_plan.restore(history.store.id, 1, {}, plan.digest, history.act(PERSON))


def history_of(*paths: str) -> History:
    """Memories at some paths, one entry each after the store's first."""
    history = History(Random(1))
    for path in paths:
        history.call({"command": "create", "path": f"/memories{path}", "file_text": "then"}, None)
    return history


def applied(history: History, seq: int, **scope: str) -> dict[str, str]:
    """The tree after everything was restored, also to other paths."""
    plan = apply_plan.restore_plan(history.store.id, seq, **scope)
    assert [change.problem for change in plan.changes] == ["taken"]
    chosen = {change.memory: Choice.APPLY for change in plan.changes}
    apply_plan.restore(history.store.id, seq, chosen, plan.digest, history.act(PERSON), **scope)
    return tree_now(history.store)


def test_a_directory_where_a_memory_stands_now_comes_back_beside_it() -> None:
    history = history_of("/a/b")
    history.call({"command": "delete", "path": "/memories/a"}, None)
    history.call({"command": "create", "path": "/memories/a", "file_text": "now"}, None)
    assert applied(history, 2, path="/a") == {"/a": "now", "/a-restored/b": "then"}


@pytest.mark.both_databases
def test_the_path_that_is_offered_is_no_directory_and_no_longer_than_a_path_can_be() -> None:
    name = "n" * 255
    history = history_of(f"/{name}", "/m")
    for path in (f"/{name}", "/m"):
        history.call({"command": "delete", "path": f"/memories{path}"}, None)
        history.call({"command": "create", "path": f"/memories{path}", "file_text": "now"}, None)
    history.call({"command": "create", "path": "/memories/m-restored/x", "file_text": "now"}, None)
    memories = dict(Memory.objects.filter(store=history.store, deleted_at__isnull=False).values_list("path", "pk"))
    assert applied(history, 3, memory=memories["/m"])["/m-restored2"] == "then"
    tree = applied(history, 3, memory=memories[f"/{name}"])
    assert tree["/" + "n" * 246 + "-restored"] == "then"
