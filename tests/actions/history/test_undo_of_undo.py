"""Undoing undos: whether versions are in force and await review again, memory by memory."""

from random import Random

import pytest

from memoryhub.actions.history import apply_plan
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from memoryhub.models.memories import ReviewState
from tests.actions.history.histories import PERSON, History, tree_now

pytestmark = pytest.mark.django_db

GONE, BACK = (False, ReviewState.REVERTED), (True, ReviewState.UNREVIEWED)


@pytest.fixture
def history() -> History:
    """The first session has made the memories /b and /c."""
    history = History(Random(1))
    for name in "bc":
        text = {"command": "create", "path": f"/memories/{name}", "file_text": f"{name}\n"}
        history.call(text, history.sessions[0])
    return history


def undo(history: History, versions: list[str]) -> int:
    """Undo versions; return the seq of the entry."""
    plan = apply_plan.undo_plan(history.store.id, versions)
    return apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON)).seq


def undo_session(history: History) -> int:
    return undo(history, apply_plan.session_versions(history.store.id, history.sessions[0].id))


def undo_entry(history: History, seq: int) -> int:
    return undo(history, apply_plan.entry_versions(history.store.id, seq))


def undo_newest_of(history: History, path: str) -> int:
    return undo(history, [str(Memory.objects.get(store=history.store, path=path).head_id)])


def here(history: History) -> list[tuple[bool, str | None]]:
    """Of each memory: whether it is there, and the state of the version that made it."""
    made = MemoryVersion.objects.filter(store=history.store, number=1).order_by("path")
    return [(version.path in tree_now(history.store), version.review_state) for version in made]


def test_an_undo_that_is_undone_a_second_time_lets_its_versions_await_review_again(history: History) -> None:
    first = undo_session(history)
    undo_entry(history, undo_entry(history, first))
    assert here(history) == [GONE, GONE]
    undo_entry(history, first)
    assert here(history) == [BACK, BACK]
    undo_session(history)
    assert here(history) == [GONE, GONE]
    assert verify.verify(history.store.id)[1] is None


def test_undoing_an_undo_in_one_memory_decides_nothing_about_the_others(history: History) -> None:
    undo_session(history)
    undo_newest_of(history, "/b")
    assert here(history) == [BACK, GONE]
    undo_newest_of(history, "/c")
    assert here(history) == [BACK, BACK]
    assert verify.verify(history.store.id)[1] is None


@pytest.mark.both_databases
def test_undoing_the_undo_of_an_undo_in_one_memory_decides_nothing_about_the_others(history: History) -> None:
    undo_entry(history, undo_session(history))
    assert here(history) == [BACK, BACK]
    undo_newest_of(history, "/c")
    assert here(history) == [BACK, GONE]
    assert verify.verify(history.store.id)[1] is None


@pytest.mark.both_databases
def test_a_flag_stays_where_the_undo_that_put_it_stays_in_force(history: History) -> None:
    versions = apply_plan.session_versions(history.store.id, history.sessions[0].id)
    plan = apply_plan.undo_plan(history.store.id, versions)
    apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON), flagged=versions)
    undo_newest_of(history, "/b")
    flagged = Memory.objects.filter(store=history.store, flagged=True)
    assert list(flagged.values_list("path", flat=True)) == ["/c"]
    assert AuditEntry.objects.of_chain(history.store.id).of_command("undo").count() == 2
    assert verify.verify(history.store.id)[1] is None
