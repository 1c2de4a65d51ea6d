"""Undoing and restoring where a version was redacted: what it wrote is unknown, so nothing false is said of it."""

from random import Random

import pytest

from memoryhub.actions.core.plans import Choice, Plan, Problem
from memoryhub.actions.erasure import redaction
from memoryhub.actions.history import apply_plan, revert
from memoryhub.models import Memory, MemoryVersion
from memoryhub.models.memories import ReviewState
from tests.actions.history.histories import PERSON, History, tree_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def history() -> History:
    """Three lines at /a, then what two sessions do to them; version 2 is redacted."""
    history = History(Random(1))
    history.call({"command": "create", "path": "/memories/a", "file_text": "one\ntwo\nthree\n"}, None)
    return history


def insert(history: History, session: int | None, line: int, text: str) -> str:
    """The id of the version that inserts a line."""
    call = {"command": "insert", "path": "/memories/a", "insert_line": line, "insert_text": f"{text}\n"}
    history.call(call, None if session is None else history.sessions[session])
    return str(Memory.objects.at("/a").get(store=history.store).head_id)


def redact(history: History, version: str) -> None:
    redaction.redact_version(history.store.id, version, history.act(PERSON))


def only_kept(plan: Plan) -> bool:
    return [(one.problem, one.choices) for one in plan.changes] == [(Problem.REDACTED, (Choice.KEEP,))]


def test_a_line_of_a_redacted_version_that_is_still_there_is_not_called_undone(history: History) -> None:
    second = insert(history, 0, 1, "poison")
    insert(history, 1, 0, "zero")
    redact(history, second)
    assert only_kept(apply_plan.undo_plan(history.store.id, [second]))
    with pytest.raises(revert.NeedsChoice):
        revert.revert(history.store.id, second, history.act(PERSON))
    assert revert.revert_many(history.store.id, [second], history.act(PERSON)) == (None, revert.Skipped(overlapping=1))
    assert MemoryVersion.objects.get(store=history.store, pk=second).review_state == ReviewState.UNREVIEWED
    assert "poison" in tree_now(history.store)["/a"]


def test_what_others_wrote_in_a_redacted_version_stays_when_a_session_is_undone(history: History) -> None:
    second = insert(history, 0, 1, "poison")
    third = insert(history, 1, 0, "zero")
    insert(history, 1, 5, "end")
    redact(history, third)
    plan = apply_plan.undo_plan(history.store.id, [second])
    choices = {change.memory: Choice.APPLY for change in plan.changes}
    apply_plan.undo(history.store.id, [second], choices, plan.digest, history.act(PERSON))
    assert tree_now(history.store)["/a"] == "zero\none\ntwo\nthree\nend\n"


def test_a_session_that_wrote_all_of_a_memory_is_undone_although_a_version_is_redacted(history: History) -> None:
    first = str(Memory.objects.at("/a").get(store=history.store).head_id)
    second, third = insert(history, 0, 1, "poison"), insert(history, 0, 0, "zero")
    redact(history, second)
    plan = apply_plan.undo_plan(history.store.id, [first, second, third])
    apply_plan.undo(history.store.id, [first, second, third], {}, plan.digest, history.act(PERSON))
    assert tree_now(history.store) == {}


def test_a_moment_whose_only_text_was_redacted_is_not_how_things_are_now(history: History) -> None:
    memory = Memory.objects.at("/a").get(store=history.store)
    seq = history.store.versions.get(memory=memory).seq
    history.call({"command": "delete", "path": "/memories/a"}, None)
    redact(history, str(memory.head_id))
    assert only_kept(apply_plan.restore_plan(history.store.id, seq))
