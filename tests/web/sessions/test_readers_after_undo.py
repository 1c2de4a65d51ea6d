"""Lines that an undo took back: they keep their writer and their readers."""

import pytest
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.history import apply_plan, revert
from memoryhub.models import Door, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.sessions.test_readers import readers, seen, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


@pytest.mark.parametrize("of_session", [False, True], ids=["a revert", "the undo of a session"])
def test_a_line_that_an_undo_took_back_keeps_its_writer_and_its_readers(
    caller: Caller, store: MemoryStore, alice: User, bob: User, of_session: bool
) -> None:
    memory = caller.create("/a.md", "one\npoison\nthree\nfour\n")
    read = view(caller, "/a.md", "early")
    caller.session = "cleaner"
    caller.replace("/a.md", "poison\n", "")
    caller.session = "later"
    caller.replace("/a.md", "four", "five")
    act = Act(Actor.person(alice), Door.WEB, caller.at)
    if of_session:
        cleaner = Session.objects.get(name="cleaner").pk
        plan = apply_plan.undo_plan(store.pk, apply_plan.session_versions(store.pk, cleaner))
        apply_plan.undo(
            store.pk, apply_plan.session_versions(store.pk, cleaner), {}, plan.digest, act, told={"session": cleaner}
        )
    else:
        revert.revert(store.pk, MemoryVersion.objects.get(memory=memory, number=2).pk, act)
    memory.refresh_from_db()
    assert memory.text is not None and memory.text.content == "one\npoison\nthree\nfive\n"
    page = signed_in(bob).get(reverse("blame", args=[store.pk, memory.pk])).content.decode()
    assert "This line came with version 1." in page and "This line came with version 4." not in page
    assert (read, 1) in seen(bob, memory, version=4, line=2)
    followed = readers(bob, memory, version=4, line=2).context["followed"]
    assert followed.lines == {1: 2, 4: 2} and followed.now == 2
