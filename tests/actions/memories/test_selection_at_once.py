"""Selections of several people at the very same moment: each memory goes one way, and nothing is counted twice."""

from collections.abc import Callable

import pytest

from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import Chosen, NotDone, deletion, moves, restore as selection_restore
from memoryhub.actions.memories.selection.moves import move_plan
from memoryhub.actions.memories.selection.restore import Thrown
from memoryhub.actions.search import saved_views
from memoryhub.actions.verification.verify import verify
from memoryhub.models import AuditEntry, Memory, MemoryStore, SavedView
from tests.actions.memories.test_selection import tree_of
from tests.actions.test_two_at_once import tried
from tests.api.harness import new_store
from tests.api.test_concurrency import together
from tests.support.fixtures import AT, new_person
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.django_db(transaction=True)


def entries(store: MemoryStore, command: str) -> int:
    return AuditEntry.objects.of_chain(store.id).of_command(command).count()


def winners(works: list[Callable[[], object]]) -> int:
    """How many of these were done, each in a thread of its own."""
    return together(lambda who: tried(works[who], NotDone), clients=len(works)).count(True)


def test_of_several_who_delete_or_move_the_same_one_is_first() -> None:
    store = new_store()
    chosen = Chosen(tuple(write(store, f"/a/{number}.md").id for number in range(5)))
    shown = selection.selected(store.id, chosen).digest
    plans = {into: move_plan(store.id, chosen, into, AT).digest for into in ("/b", "/c")}
    works: list[Callable[[], object]] = [lambda: deletion.delete(store.id, chosen, shown, act()) for _ in range(2)]
    works += [
        lambda into=into: moves.move(store.id, chosen, into, plans[into], act())  # type: ignore[misc]
        for into in plans
    ]
    assert winners(works) == 1
    assert entries(store, "move") + entries(store, "delete") == 1
    assert len(tree_of(store)) in (0, 5) and verify(store.id)[1] is None


def test_of_several_who_restore_the_same_one_is_first() -> None:
    store = new_store()
    ids = tuple(write(store, f"/a/{number}.md").id for number in range(5))
    deletion.delete(store.id, Chosen(ids), selection.selected(store.id, Chosen(ids)).digest, act())
    works: list[Callable[[], object]] = [
        lambda: selection_restore.restore(store.id, Thrown(ids), {}, None, act()) for _ in range(4)
    ]
    assert winners(works) == 1
    assert set(tree_of(store).values()) == set(ids) and entries(store, "restore") == 1
    assert not Memory.objects.in_trash().filter(store=store).exists()


def test_of_views_of_one_name_saved_at_once_one_is_kept() -> None:
    store, owner = new_store(), new_person("Dora")

    def keep() -> None:
        saved_views.save(owner, store, "audit", "Errors", "outcome=error", act(owner), is_shared=True)

    assert together(lambda _: tried(keep, saved_views.NameTaken), clients=4).count(True) == 1
    assert SavedView.objects.count() == entries(store, "share_view") == 1
