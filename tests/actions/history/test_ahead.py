"""An undo or a restore is planned and screened before the store is locked, and applied only if the plan still holds."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.findings import rules
from memoryhub.actions.history import ahead, apply_plan
from memoryhub.actions.history.apply_plan import Plan, PlanChanged
from memoryhub.actions.review import decisions
from memoryhub.actions.verification import verify
from memoryhub.models import Memory
from tests.actions.history.histories import PERSON, History, tree_now

pytestmark = pytest.mark.django_db

ADDRESS = "anna@garden-house.de"


@pytest.fixture
def history() -> History:
    return History(Random(1))


def create(history: History, path: str, session: int | None = 0, text: str = "1\n") -> None:
    chosen = None if session is None else history.sessions[session]
    history.call({"command": "create", "path": f"/memories{path}", "file_text": text}, chosen)


def session_of(history: History) -> list[str]:
    return apply_plan.session_versions(history.store.id, history.sessions[0].id)


def undo(history: History, versions: list[str], **told: Any) -> int:
    digest = apply_plan.undo_plan(history.store.id, versions).digest
    return apply_plan.undo(history.store.id, versions, {}, digest, history.act(PERSON), told=told).seq


def and_then(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> list[Plan]:
    """Let something happen between the plan and the lock. Return the list of the plans that are made from now on."""
    made, planned, plan_of = [], ahead.planned, apply_plan.undo_plan

    def afterwards(*given: Any) -> ahead.Ahead:
        found = planned(*given)
        happens()
        return found

    def counted(*given: Any) -> Plan:
        made.append(plan_of(*given))
        return made[-1]

    monkeypatch.setattr(apply_plan.ahead, "planned", afterwards)
    monkeypatch.setattr(apply_plan, "undo_plan", counted)
    return made


@pytest.mark.both_databases
def test_what_agents_write_elsewhere_does_not_let_the_plan_be_made_again_under_the_lock(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(history, "/a")
    versions, digest = session_of(history), apply_plan.undo_plan(history.store.id, session_of(history)).digest
    made = and_then(monkeypatch, lambda: create(history, "/b", session=1))

    apply_plan.undo(history.store.id, versions, {}, digest, history.act(PERSON))

    assert len(made) == 1 and tree_now(history.store) == {"/b": "1\n"}
    assert verify.verify(history.store.id)[1] is None


def test_a_change_of_a_memory_of_the_plan_refuses_what_was_shown(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(history, "/a")
    versions, digest = session_of(history), apply_plan.undo_plan(history.store.id, session_of(history)).digest
    edit = {"command": "str_replace", "path": "/memories/a", "old_str": "1", "new_str": "2"}
    made = and_then(monkeypatch, lambda: history.call(edit, history.sessions[1]))

    with pytest.raises(PlanChanged):
        apply_plan.undo(history.store.id, versions, {}, digest, history.act(PERSON))

    assert len(made) == 2 and tree_now(history.store) == {"/a": "2\n"}


def test_an_act_of_a_person_lets_the_plan_be_made_again(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    create(history, "/a")
    create(history, "/b", session=1)
    versions, digest = session_of(history), apply_plan.undo_plan(history.store.id, session_of(history)).digest
    others = apply_plan.session_versions(history.store.id, history.sessions[1].id)
    made = and_then(monkeypatch, lambda: decisions.approve(history.store.id, others[0], history.act(PERSON), earlier=0))

    apply_plan.undo(history.store.id, versions, {}, digest, history.act(PERSON))

    assert len(made) == 2 and tree_now(history.store) == {"/b": "1\n"}


def test_a_text_that_was_screened_by_other_rules_is_screened_again(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.save_rules(history.store.id, {"email": "off"}, history.act(PERSON))
    create(history, "/a", text=f"{ADDRESS}\n")
    seq = undo(history, session_of(history))
    versions = apply_plan.entry_versions(history.store.id, seq)
    digest = apply_plan.undo_plan(history.store.id, versions).digest
    and_then(monkeypatch, lambda: rules.save_rules(history.store.id, {"email": "mask"}, history.act(PERSON)))

    apply_plan.undo(history.store.id, versions, {}, digest, history.act(PERSON))

    assert ADDRESS not in Memory.objects.get().text.content


@pytest.mark.both_databases
def test_the_plan_of_an_undo_and_of_its_undo_ask_as_often_for_many_memories_as_for_few(history: History) -> None:
    counts = []
    for count in (3, 30):
        other = History(Random(count))
        for number in range(count):
            create(other, f"/{count}/{number}")
        with CaptureQueriesContext(connection) as first:
            apply_plan.undo_plan(other.store.id, session_of(other))
        seq = undo(other, session_of(other), session=other.sessions[0].id)
        again = undo(other, apply_plan.entry_versions(other.store.id, seq), entry=seq)
        with CaptureQueriesContext(connection) as second:
            apply_plan.undo_plan(other.store.id, apply_plan.entry_versions(other.store.id, again))
        with CaptureQueriesContext(connection) as third:
            apply_plan.undo_plan(other.store.id, session_of(other))
        counts.append([len(first), len(second), len(third)])
    assert counts[0] == counts[1]
