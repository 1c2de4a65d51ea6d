"""Who flagged a memory finds on Today what others decided about it, and puts it away."""

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Memory, MemoryStore, Notice, Role, User
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.comments.test_comments import begin
from tests.web.comments.test_notices import put_away, today
from tests.web.history.versions import Caller
from tests.web.review.reviewing import decide, two

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla(store: MemoryStore) -> User:
    """A curator of the store."""
    user = new_person("Carla")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


@pytest.fixture
def memory(store: MemoryStore, key: str) -> Memory:
    return two(Caller(store, key))[0]


def flag(user: User, memory: Memory, act: str = "flag", note: str = "Is this so?") -> None:
    url = reverse("flag", args=[memory.store_id, memory.pk])
    assert signed_in(user).post(url, {"act": act, "note": note}).status_code == 303


@pytest.mark.both_databases
def test_who_flagged_a_memory_is_told_of_the_newest_decision_of_another_person(
    memory: Memory, carla: User, alice: User
) -> None:
    flag(carla, memory)
    assert "For you" not in today(carla)
    decide(signed_in(alice), memory.head, "approve", note="Yes, <b>it is</b>.", earlier=1)
    body = today(carla)
    assert "Alice approved what you flagged at /a.md" in body
    assert "Yes, &lt;b&gt;it is&lt;/b&gt;." in body
    assert "notice for you" in body
    assert "For you" not in today(alice)
    flag(alice, memory, "unflag", "Settled.")
    body = today(carla)
    assert "Alice removed your flag at /a.md" in body and "approved what you" not in body
    assert Notice.objects.count() == 1
    assert put_away(carla, memory, Notice.objects.get().thread) == 303
    assert "For you" not in today(carla)


def test_own_decisions_and_those_after_the_flag_is_removed_are_not_told(
    memory: Memory, carla: User, alice: User
) -> None:
    flag(carla, memory)
    flag(carla, memory, "unflag")
    decide(signed_in(alice), memory.head, "approve", earlier=1)
    assert not Notice.objects.exists()
    flag(carla, memory)
    flag(alice, memory)
    flag(alice, memory, "unflag")
    assert [one.to for one in Notice.objects.all()] == [carla]


@pytest.mark.parametrize(("decision", "words"), [("revert", "reverted"), ("edit", "edited")])
def test_what_becomes_of_it_is_said(memory: Memory, carla: User, alice: User, decision: str, words: str) -> None:
    flag(carla, memory)
    if decision == "edit":
        head = memory.head_id
        fields = {"newlines": "lf", "note": "", "sha256": memory.sha256, "version": head, "review": head, "text": "3\n"}
        signed_in(alice).post(reverse("edit_memory", args=[memory.store_id, memory.pk]), fields)
    else:
        decide(signed_in(alice), memory.head, decision)
    assert f"Alice {words} what you flagged at /a.md" in today(carla)


def test_decisions_and_comments_are_in_one_list_by_their_times(memory: Memory, carla: User, alice: User) -> None:
    flag(carla, memory)
    decide(signed_in(alice), memory.head, "approve", earlier=1)
    begin(alice, memory, "@Carla, see here.")
    body = today(carla)
    assert body.index("Alice mentioned you on /a.md") < body.index("Alice approved what you flagged")


def test_a_person_without_a_role_is_shown_nothing_any_more(
    memory: Memory, carla: User, alice: User, store: MemoryStore
) -> None:
    flag(carla, memory)
    decide(signed_in(alice), memory.head, "approve", earlier=1)
    keys_and_roles.set_role(store, carla, None, **BY)
    assert "For you" not in today(carla)
