"""Reverting several versions leaves out those whose memories may not change, and reverts the others."""

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.findings import rules
from memoryhub.actions.history import revert
from memoryhub.actions.verification import verify
from memoryhub.models import Door, HoldKind, Memory, MemoryStore, MemoryVersion, User
from tests.support.fixtures import AT
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def by(user: User) -> Act:
    return Act(Actor.person(user), Door.WEB, AT)


def states(memory: Memory) -> list[str | None]:
    versions = MemoryVersion.objects.filter(memory=memory).order_by("number")
    return list(versions.values_list("review_state", flat=True))


def is_right(store: MemoryStore) -> bool:
    return not verify.verify(store.id)[1]


@pytest.mark.both_databases
@pytest.mark.parametrize("freezes", [False, True])
def test_reverting_many_leaves_those_that_a_legal_hold_keeps(caller: Caller, alice: User, freezes: bool) -> None:
    held, other = caller.create("/held.md", "a\n"), caller.create("/b.md", "b\n")
    holds.place(
        caller.store.id, by(alice), kind=HoldKind.HOLD, path="/held.md", reason="a dispute", freezes=freezes
    )  # fmt: skip
    done, left = revert.revert_many(caller.store.id, [held.head_id, other.head_id], by(alice))
    assert done is not None
    assert (done.versions, left) == ((other.head_id,), revert.Skipped(forbidden=1))
    assert states(held) == ["unreviewed"] and Memory.objects.get(pk=held.pk).is_live
    assert is_right(caller.store)


def test_reverting_many_leaves_those_that_the_rules_for_sensitive_text_forbid(caller: Caller, alice: User) -> None:
    memory, other = caller.create("/a.md", "4111 1111 1111 1111\n"), caller.create("/b.md", "b\n")
    replaced = caller.replace("/a.md", "4111 1111 1111 1111", "gone")
    rules.save_rules(caller.store.id, {"card": "block"}, by(alice))
    done, left = revert.revert_many(caller.store.id, [replaced.pk, other.head_id], by(alice))
    assert done is not None
    assert (done.versions, left) == ((other.head_id,), revert.Skipped(forbidden=1))
    assert states(memory) == ["unreviewed"] * 2
    assert is_right(caller.store)
