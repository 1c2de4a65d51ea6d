"""What becomes of comments when versions, memories and stores are removed, and when a text is erased."""

from datetime import timedelta

import pytest

from memoryhub.actions.comments import anchors, comments
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import erasure
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import delete
from memoryhub.actions.verification import verify
from memoryhub.models import Comment, Door, Memory, MemoryStore, MemoryVersion, User
from tests.support.fixtures import AT
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def memory(caller: Caller) -> Memory:
    return caller.create("/a.md", "one\ntwo\nthree\n")


@pytest.fixture
def act(alice: User) -> Act:
    return Act(Actor.person(alice), Door.WEB, AT + timedelta(hours=1))


def write(memory: Memory, act: Act, lines: tuple[int, int] | None, text: str = "Jane Doe said so") -> Comment:
    memory.refresh_from_db()
    done = comments.write(memory.store_id, memory.pk, memory.head_id, lines, text, act)
    return Comment.objects.get(pk=done.comment)


def remove(memory: Memory, numbers: list[int], act: Act) -> None:
    ids = list(MemoryVersion.objects.of_memory(memory).filter(number__in=numbers).values_list("pk", flat=True))
    with tree.locked(memory.store_id, act) as store:
        gone = removal.remove_versions(store, memory.pk, ids)
        tree.commit(store, Record("prune_versions", path="/a.md", memory=memory.pk, redactions=gone.redactions))


def place(comment: Comment) -> tuple[int, int | None, int | None]:
    comment.refresh_from_db()
    return comment.number, comment.first, comment.last


@pytest.mark.both_databases
def test_a_comment_moves_to_the_next_version_when_retention_removes_its_own(
    caller: Caller, memory: Memory, act: Act
) -> None:
    living, dying = write(memory, act, (3, 3)), write(memory, act, (1, 1))
    caller.replace("/a.md", "one\n", "uno\ndue\n")
    caller.replace("/a.md", "two\n", "zwei\n")
    remove(memory, [1], act)
    assert place(living) == (2, 4, 4)
    assert place(dying) == (1, 1, 1), "none of its lines is left"
    memory.refresh_from_db()
    assert anchors.lines_in(memory, 3, [living, dying]) == {living.pk: (4, 4), dying.pk: None}
    assert verify.verify(memory.store_id)[1] is None


@pytest.mark.both_databases
def test_many_versions_are_passed_over_with_the_same_result(
    caller: Caller, memory: Memory, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    comment = write(memory, act, (2, 3))
    for number in range(6):
        caller.replace("/a.md", "one\n", f"line {number}\none\n")
    memory.refresh_from_db()
    step_by_step = anchors.lines_in(memory, 7, [comment])
    monkeypatch.setattr(anchors, "MOST_STEPS", 3)
    assert anchors.lines_in(memory, 7, [comment]) == step_by_step == {comment.pk: (8, 9)}


def test_a_purged_memory_takes_its_comments_along(memory: Memory, act: Act) -> None:
    write(memory, act, None)
    curation.delete(memory.store_id, "/a.md", act, memory_id=memory.pk)
    with tree.locked(memory.store_id, act) as store:
        gone = removal.purge(store, memory.pk)
        tree.commit(store, Record("purge", path="/a.md", memory=memory.pk, redactions=gone.redactions))
    assert not Comment.objects.exists()
    assert verify.verify(memory.store_id)[1] is None


@pytest.mark.both_databases
def test_a_deleted_store_takes_its_comments_along(memory: Memory, act: Act, store: MemoryStore) -> None:
    write(memory, act, None)
    delete.delete_store(store.pk, act=act)
    while delete.step(store.pk):
        pass
    assert not Comment.objects.exists()


def test_an_erasure_finds_and_masks_comments(memory: Memory, act: Act) -> None:
    comment = write(memory, act, (1, 2))
    found = erasure.search(memory.store_id, ["Jane Doe"], act.at)
    assert [hit.kind for hit in found.hits] == ["comment"]
    erasure.erase(memory.store_id, ["Jane Doe"], found.digest, act)
    comment.refresh_from_db()
    assert comment.text == "[redacted] said so"
    assert verify.verify(memory.store_id)[1] is None


def test_the_rules_for_sensitive_text_hold_for_comments(memory: Memory, act: Act, store: MemoryStore) -> None:
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(rules={"card": "mask"})
    assert "4111" not in write(memory, act, None, "card 4111 1111 1111 1111").text


@pytest.mark.both_databases
def test_a_comment_that_was_changed_in_the_database_is_noticed(memory: Memory, act: Act) -> None:
    comment = write(memory, act, None)
    with tampering():
        Comment.objects.filter(pk=comment.pk).update(text="I never said so")
    assert verify.verify(memory.store_id)[1] is not None


def test_comments_are_refused_where_they_cannot_be(memory: Memory, act: Act, store: MemoryStore) -> None:
    comment = write(memory, act, None)
    with pytest.raises(comments.NoSuchComment):
        comments.write(store.pk, memory.pk, "memver_none", None, "x", act)
    with pytest.raises(comments.NoSuchLines):
        comments.write(store.pk, memory.pk, memory.head_id, (3, 4), "x", act)
    comments.delete(store.pk, comment.pk, act, of_others=False)
    with pytest.raises(comments.NoSuchComment):
        comments.edit(store.pk, comment.pk, "x", act)
