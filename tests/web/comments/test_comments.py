"""Comments as people write them: on a line, on a memory, replies, changes, and who may do what."""

import re
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.comments import comments
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Comment, Door, Memory, MemoryStore, Role, User
from memoryhub.web.comments import threads
from memoryhub.web.common.texts import lines as text_lines
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.history.versions import HOSTILE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def memory(caller: Caller) -> Memory:
    return caller.create("/a.md", "one\ntwo\nthree\nfour\n")


@pytest.fixture
def carla(store: MemoryStore) -> User:
    """A curator of the store."""
    user = new_person("Carla")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


def begin(user: User, memory: Memory, text: str = "Is this right?", lines: str = "", **more: str) -> Any:
    memory.refresh_from_db()
    data = {"version": memory.head_id, "lines": lines, "text": text, **more}
    return signed_in(user).post(reverse("comments", args=[memory.store_id, memory.pk]), data)


def answer(user: User, comment: Comment, do: str, text: str = "") -> Any:
    url = reverse("answer_comment", args=[comment.store_id, comment.pk])
    return signed_in(user).post(url, {"do": do, "text": text})


def page(user: User, memory: Memory, query: str = "") -> str:
    response = signed_in(user).get(reverse("memory", args=[memory.store_id, memory.pk]) + query)
    assert response.status_code == 200
    return str(response.content.decode())


def under(body: str, line: int) -> str:
    """What stands in the element of a line."""
    found = re.search(rf'<li id="L{line}">(.*?)(?=<li id="L{line + 1}">|</ol>\n</div>|\Z)', body, re.DOTALL)
    assert found
    return found[1]


def newest() -> Comment:
    return Comment.objects.order_by("-pk")[0]


def test_a_comment_stands_under_its_line_and_leads_back_to_it(memory: Memory, carla: User, bob: User) -> None:
    response = begin(carla, memory, lines="2-3")
    comment = newest()
    assert response.status_code == 303
    assert response.headers["Location"].endswith(f"{memory.pk}#{comment.pk}")
    assert (comment.number, comment.first, comment.last, comment.by_id) == (1, 2, 3, carla.pk)
    body = page(bob, memory)
    assert "Is this right?" in under(body, 3)
    assert "On lines 2 to 3" in body
    entry = AuditEntry.objects.of_chain(memory.store_id).newest()[0]
    assert (entry.command, entry.path, entry.memory) == ("comment", "/a.md", memory.pk)
    assert "right" not in str(entry.input)
    assert verify.verify(memory.store_id)[1] is None


def test_a_comment_moves_with_its_line_and_is_kept_when_the_line_is_gone(
    caller: Caller, memory: Memory, alice: User
) -> None:
    begin(alice, memory, lines="3")
    caller.replace("/a.md", "one\n", "zero\none\none and a half\n")
    assert "Is this right?" in under(page(alice, memory), 5)
    caller.replace("/a.md", "three\n", "")
    body = page(alice, memory)
    assert "On line 3 of version 1. This line was not found in the text shown here." in body
    conversation = signed_in(alice).get(reverse("comment", args=[memory.store_id, newest().pk])).content.decode()
    assert "As it was in version 1" in conversation
    assert "three" in conversation
    caller.replace("/a.md", "two\n", "two\nthree\n")
    assert "This line was not found" in page(alice, memory), "a line that is written again is another line"


def test_an_earlier_version_shows_only_what_was_written_by_then(caller: Caller, memory: Memory, alice: User) -> None:
    first = memory.head_id
    begin(alice, memory, "on the first", lines="1")
    caller.replace("/a.md", "one\n", "zero\none\n")
    begin(alice, memory, "on the second", lines="1")
    body = signed_in(alice).get(reverse("version", args=[memory.store_id, first])).content.decode()
    assert "on the first" in under(body, 1)
    assert "on the second" not in body


@pytest.mark.both_databases
def test_a_conversation_is_answered_resolved_folded_and_reopened(memory: Memory, carla: User, alice: User) -> None:
    begin(carla, memory, lines="1")
    first = newest()
    assert answer(alice, first, "reply", "It is.").status_code == 303
    assert newest().thread == first.pk
    answer(alice, newest(), "resolve")
    body = page(carla, memory)
    assert "Resolved conversation by Carla: 2 comments" in body
    assert "Resolved by Alice" in body
    answer(carla, first, "reopen")
    body = page(carla, memory)
    assert "Resolved conversation" not in body and '<h2 id="comments-title">Comments</h2>' in body
    commands = list(AuditEntry.objects.of_chain(memory.store_id).oldest().values_list("command", flat=True))
    assert commands[-4:] == ["comment", "reply", "resolve_comments", "reopen_comments"]
    assert verify.verify(memory.store_id)[1] is None


def test_of_very_many_comments_a_page_shows_some_and_links_to_the_others(
    memory: Memory, carla: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MOST_SHOWN", 100)
    begin(carla, memory, "a" * 80, lines="1")
    begin(carla, memory, "b" * 80, lines="2")
    body = page(carla, memory)
    assert "a" * 80 in body
    assert "b" * 80 not in body
    assert "Conversation by Carla: 1 comment" in under(body, 2)
    alone = signed_in(carla).get(reverse("comment", args=[memory.store_id, newest().pk])).content.decode()
    assert "b" * 80 in alone


def test_an_open_conversation_is_marked_in_the_tree_and_in_lists(memory: Memory, carla: User, bob: User) -> None:
    def tree() -> str:
        return str(signed_in(bob).get(reverse("store", args=[memory.store_id])).content.decode())

    assert "open conversation" not in tree()
    begin(carla, memory, lines="1")
    assert "open conversation" in tree()
    answer(carla, newest(), "resolve")
    assert "open conversation" not in tree()
    begin(carla, memory)
    answer(carla, newest(), "delete")
    assert "open conversation" not in tree(), "nothing is left of it"


def test_only_the_author_changes_a_comment_and_an_admin_may_delete_it(memory: Memory, carla: User, alice: User) -> None:
    begin(carla, memory)
    comment = newest()
    response = answer(alice, comment, "edit", "changed by another")
    assert response.status_code == 200
    assert "Only the author of a comment can change it." in response.content.decode()
    assert answer(carla, comment, "edit", "Is it right now?").status_code == 303
    body = page(carla, memory)
    assert "Is it right now?" in body
    assert "edited" in body
    answer(carla, newest(), "reply", "a reply")
    answer(alice, comment, "delete")
    comment.refresh_from_db()
    assert comment.text == ""
    body = page(carla, memory)
    assert "This comment was deleted." in body
    assert "a reply" in body
    answer(carla, newest(), "delete")
    assert "This comment was deleted." not in page(carla, memory), "a conversation without comments is not shown"
    assert verify.verify(memory.store_id)[1] is None


def test_a_curator_does_not_delete_a_comment_of_another(memory: Memory, carla: User, alice: User) -> None:
    begin(alice, memory)
    answer(carla, newest(), "delete")
    assert newest().text == "Is this right?"


def test_a_viewer_reads_and_nobody_else_learns_of_it(memory: Memory, alice: User, bob: User, charlie: User) -> None:
    begin(alice, memory)
    comment = newest()
    assert "Is this right?" in page(bob, memory)
    assert begin(bob, memory).status_code == 403
    for do in ("reply", "edit", "delete", "resolve"):
        assert answer(bob, comment, do, "text").status_code == 403
    assert begin(charlie, memory).status_code == 404
    assert answer(charlie, comment, "reply", "text").status_code == 404
    url = reverse("comment", args=[memory.store_id, comment.pk])
    assert signed_in(charlie).get(url).status_code == 404
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    keys_and_roles.set_role(other, charlie, Role.ADMIN, **BY)
    assert signed_in(charlie).get(reverse("comment", args=[other.pk, comment.pk])).status_code == 404
    assert Comment.objects.count() == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"text": "  "}, "Write something first."),
        ({"text": "x" * 4_001}, "Use at most 4,000 characters."),
        ({"lines": "5"}, "The text does not have these lines."),
        ({"lines": "0"}, "These are not numbers of lines."),
        ({"lines": "two"}, "These are not numbers of lines."),
    ],
)
def test_what_is_wrong_is_said_and_the_text_is_kept(
    memory: Memory, alice: User, data: dict[str, str], said: str
) -> None:
    response = begin(alice, memory, **{"text": "my long thoughts", **data})
    body = response.content.decode()
    assert response.status_code == 200
    assert said in body
    assert data.get("text", "my long thoughts") in body
    assert not Comment.objects.exists()


def test_hostile_text_is_only_text(memory: Memory, alice: User) -> None:
    begin(alice, memory, HOSTILE + "\0", lines="1")
    for body in (page(alice, memory), signed_in(alice).get(reverse("comment", args=[memory.store_id, newest().pk]))):
        text = body if isinstance(body, str) else body.content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text


def test_a_memory_has_a_limit_of_comments(memory: Memory, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MOST", 1)
    begin(alice, memory)
    assert "There are too many comments: the hub keeps at most" in begin(alice, memory, "another").content.decode()
    assert Comment.objects.count() == 1


def test_an_archived_store_shows_comments_and_takes_none(memory: Memory, alice: User, store: MemoryStore) -> None:
    begin(alice, memory)
    stores.set_archived(store, True, **BY)
    body = page(alice, memory)
    assert "Is this right?" in body
    assert "Reply…" not in body
    assert begin(alice, memory).status_code == 200
    assert Comment.objects.count() == 1


def test_without_scripts_a_comment_names_its_lines_in_the_address(memory: Memory, alice: User, bob: User) -> None:
    assert "Comment on lines 2 to 3" in under(page(alice, memory, "?comment=3-2"), 3)
    assert "Comment on line 2" in under(page(alice, memory, "?comment=2"), 2)
    for wrong in ("9", "0", "x", "1-99", "2" * 30):
        assert "line-threads" not in page(alice, memory, f"?comment={wrong}")
    assert "line-threads" not in page(bob, memory, "?comment=2")


def test_comments_stay_on_the_page_when_the_text_is_rendered_redacted_or_in_the_trash(
    caller: Caller, memory: Memory, alice: User
) -> None:
    begin(alice, memory, "on a line", lines="2")
    rendered = page(alice, memory, "?view=rendered")
    assert "on a line" in rendered
    assert "On line 2<" in rendered
    caller.delete("/a.md")
    assert "on a line" in under(page(alice, memory), 2)


def test_of_a_redacted_version_a_comment_says_only_what_is_known(caller: Caller, memory: Memory, alice: User) -> None:
    begin(alice, memory, lines="2")
    first = memory.head_id
    caller.replace("/a.md", "one\n", "zero\none\n")
    redaction.redact_version(memory.store_id, first, Act(Actor.person(alice), Door.WEB, caller.at))
    assert "On line 2 of version 1. This line was not found in the text shown here." in page(alice, memory)
    client = signed_in(alice)
    said = client.get(reverse("comment", args=[memory.store_id, newest().pk])).content.decode()
    assert "The text of version 1 was redacted or removed, so its lines cannot be shown." in said
    body = client.get(reverse("version", args=[memory.store_id, first])).content.decode()
    assert "Is this right?" in body


def test_a_comment_is_deleted_once(memory: Memory, alice: User) -> None:
    begin(alice, memory)
    answer(alice, newest(), "delete")
    entries = AuditEntry.objects.of_chain(memory.store_id).count()
    answer(alice, newest(), "delete")
    assert AuditEntry.objects.of_chain(memory.store_id).count() == entries


def test_a_line_that_is_not_on_this_part_of_the_page_has_its_comment_under_the_text(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "LINES", 3)
    memory = caller.create("/long.md", "a\nb\nc\nd\ne\n")
    begin(alice, memory, "far away", lines="5")
    assert "On line 5<" in page(alice, memory)
    assert "far away" in under(page(alice, memory, "?from=4"), 5)
    assert "line-threads" not in page(alice, memory, "?comment=5")


def test_the_page_of_the_entry_says_what_was_done(memory: Memory, alice: User) -> None:
    begin(alice, memory, lines="2")
    seq = newest().seq
    said = signed_in(alice).get(reverse("entry", args=[memory.store_id, seq])).content.decode()
    assert "commented on" in said
    assert signed_in(alice).get(reverse("undo_entry", args=[memory.store_id, seq])).status_code == 200


@pytest.mark.parametrize("do", ["reply", "edit"])
def test_a_second_try_leads_back_to_the_page_of_the_first(memory: Memory, carla: User, do: str) -> None:
    begin(carla, memory)
    comment, client = newest(), signed_in(carla)
    url, here = (reverse(name, args=[memory.store_id, comment.pk]) for name in ("answer_comment", "comment"))
    body = client.post(url, {"do": do, "text": "", "next": here}).content.decode()
    assert "Write something first." in body
    assert set(re.findall(r'name="next" value="([^"]*)"', body)) == {here}, "also that of the theme"
    again = client.post(url, {"do": do, "text": "Better now.", "next": here}, follow=True)
    assert again.status_code == 200 and "Better now." in again.content.decode()


def test_a_first_comment_that_was_refused_leads_back_too(memory: Memory, carla: User) -> None:
    version = reverse("version", args=[memory.store_id, memory.head_id])
    body = begin(carla, memory, text="", next=version).content.decode()
    form = body[body.index('class="form"') :]
    assert f'name="next" value="{version}"' in form and f'href="{version}">Cancel' in form
    assert begin(carla, memory, next=version).headers["Location"] == f"{version}#{newest().pk}"


def test_a_form_that_could_not_be_accepted_leads_back_to_its_page(memory: Memory, carla: User) -> None:
    begin(carla, memory)
    url, here = (reverse(name, args=[memory.store_id, newest().pk]) for name in ("answer_comment", "comment"))
    client = signed_in(carla)
    client.handler.enforce_csrf_checks = True
    body = client.post(url, {"do": "reply", "next": here}).content.decode()
    assert "could not be accepted" in body and f'href="{here}"' in body and url not in body
