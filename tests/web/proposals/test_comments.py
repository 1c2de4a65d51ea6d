"""Comments on a proposal: published alone or with the decision, answered, told to people and to the agent."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import erasure
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Comment, Door, MemoryStore, User
from tests.api.harness import Hub
from tests.mcp.messages import call
from tests.support.fixtures import AT, signed_in
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import begun, edit, newest, proposes, refuse, replaces, send, state, url_of

pytestmark = pytest.mark.django_db

REFUNDS = "/policies/refunds.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """An agent with an open proposal."""
    caller = begun(store, key, REFUNDS)
    replaces(caller, REFUNDS, "two", "2")
    return caller


@pytest.fixture
def curator(caller: Caller, alice: User) -> Client:
    return signed_in(alice)


def shown(client: Client, store: MemoryStore) -> str:
    return str(client.get(url_of(store)).content.decode())


def publish(client: Client, store: MemoryStore, text: str, **more: str) -> Any:
    fields = form_with(shown(client, store), "digest")
    return client.post(url_of(store), fields | {"decision": "comment", "comment": text} | more, follow=True)


def last() -> Comment:
    return Comment.objects.order_by("-pk")[0]


def answer(client: Client, comment: Comment, do: str, **more: str) -> Any:
    return client.post(reverse("answer_comment", args=[comment.store_id, comment.pk]), {"do": do, **more}, follow=True)


def conversation(client: Client, comment: Comment) -> str:
    return str(client.get(reverse("comment", args=[comment.store_id, comment.pk])).content.decode())


def test_a_comment_alone_leaves_the_proposal_open(curator: Client, store: MemoryStore, bob: User) -> None:
    assert "The comment is published." in publish(curator, store, "Is 2 a word?").content.decode()
    body = shown(signed_in(bob), store)
    assert "Is 2 a word?" in body
    assert "Comment on this proposal" not in body, "a viewer only reads"
    assert state(store) == ("open", "")
    entry = newest(store)
    assert (entry.command, entry.path) == ("comment", None)
    assert "word" not in str(entry.input)
    page = curator.get(reverse("entry", args=[store.pk, entry.seq])).content.decode()
    assert "commented on proposal #1" in page
    assert verify.verify(store.pk)[1] is None


def test_a_comment_is_published_with_the_decision_in_its_entry(curator: Client, store: MemoryStore) -> None:
    send(curator, store, comment="Thanks, well spotted.")
    assert state(store) == ("merged", "")
    assert newest(store).command == "merge_proposal"
    assert (last().seq, last().text) == (newest(store).seq, "Thanks, well spotted.")
    assert "Thanks, well spotted." in shown(curator, store)
    publish(curator, store, "One more thing.")
    assert "One more thing." in shown(curator, store), "a decided proposal can be talked about"
    assert verify.verify(store.pk)[1] is None


def test_a_refusal_publishes_comments_too(curator: Client, store: MemoryStore) -> None:
    refuse(curator, store, comment="Words only, please.", note="Style")
    assert state(store) == ("refused", "Style")
    assert last().seq == newest(store).seq
    assert verify.verify(store.pk)[1] is None


def test_what_was_typed_is_kept_if_nothing_is_done(caller: Caller, curator: Client, store: MemoryStore) -> None:
    fields = form_with(shown(curator, store), "digest")
    replaces(caller, REFUNDS, "three", "3")
    given = fields | {"decision": "merge", "comment": "Half typed", "tell": "yes"}
    body = curator.post(url_of(store), given).content.decode()
    assert "has changed since you opened this page" in body
    assert "Half typed</textarea>" in body
    assert not Comment.objects.exists()


def test_an_empty_comment_is_none(curator: Client, store: MemoryStore) -> None:
    assert "Write something first." in publish(curator, store, "  ").content.decode()
    send(curator, store, comment=" ")
    assert not Comment.objects.exists()


def test_a_conversation_goes_on_on_a_page_of_its_own(curator: Client, store: MemoryStore, alice: User) -> None:
    publish(curator, store, "Is 2 a word?")
    first = last()
    assert "Conversation about proposal #1" in conversation(curator, first)
    answer(curator, first, "reply", text="It is a number.")
    answer(curator, first, "edit", text="Is 2 one word?")
    answer(curator, first, "resolve")
    assert "Resolved conversation by Alice: 2 comments" in shown(curator, store)
    answer(curator, first, "reopen")
    answer(curator, last(), "delete")
    assert "This comment was deleted." in shown(curator, store)
    commands = AuditEntry.objects.of_chain(store.pk).filter(actor_kind="user").oldest()
    assert list(commands.values_list("command", flat=True))[-6:] == [
        "comment", "reply", "edit_comment", "resolve_comments", "reopen_comments", "delete_comment"
    ]  # fmt: skip
    words = [
        curator.get(reverse("entry", args=[store.pk, entry.seq])).content.decode() for entry in commands.order_by("seq")
    ]
    assert any("replied to a comment on proposal #1" in word for word in words)
    assert verify.verify(store.pk)[1] is None


@pytest.mark.both_databases
def test_whoever_is_named_finds_it_on_today(curator: Client, store: MemoryStore, bob: User, alice: User) -> None:
    publish(curator, store, "@Bob, is this right?")
    reader = signed_in(bob)
    today = reader.get(reverse("today")).content.decode()
    assert "Alice mentioned you on proposal #1" in today
    address = reverse("comment", args=[store.pk, last().pk])
    assert address in today
    assert "This conversation is for you." in reader.get(address).content.decode()
    answer(curator, last(), "delete")
    assert "mentioned you" not in reader.get(reverse("today")).content.decode()


def test_the_agent_reads_only_what_it_is_told(curator: Client, store: MemoryStore, key: str) -> None:
    publish(curator, store, "Between us.")
    publish(curator, store, "Write numbers as words.", tell="yes")
    assert "Support bot can read this with its proposal." in shown(curator, store)
    hub = Hub(store, key)
    one = f"/v1/memory_stores/{store.pk}/proposals/1"
    by_api = hub.send({}, method="GET", url=one).value["comments"]
    by_mcp = call(hub, "proposals")["structuredContent"]["data"][0]["comments"]
    for comments in (by_api, by_mcp):
        assert [told["text"] for told in comments] == ["Write numbers as words."]
    answer(curator, last(), "withdraw")
    assert hub.send({}, method="GET", url=one).value["comments"] == []
    assert (
        "withdrew a note to Support bot on proposal #1"
        in curator.get(
            reverse("entry", args=[store.pk, AuditEntry.objects.filter(command="withdraw_note").get().seq])
        ).content.decode()
    )
    assert verify.verify(store.pk)[1] is None


def test_what_the_agent_is_told_is_one_line(curator: Client, store: MemoryStore) -> None:
    body = publish(curator, store, "two\nlines", tell="yes").content.decode()
    assert "one line of at most 500 visible characters" in body
    assert "two\nlines</textarea>" in body
    assert not Comment.objects.exists()


def test_an_erasure_finds_and_masks_them(curator: Client, store: MemoryStore, alice: User) -> None:
    publish(curator, store, "Jane Doe asked for it.", tell="yes")
    act = Act(Actor.person(alice), Door.WEB, AT + timedelta(days=1))
    found = erasure.search(store.pk, ["Jane Doe"], act.at)
    assert [hit.kind for hit in found.hits] == ["comment"]
    preview = {"texts": "Jane Doe", "preview": "yes"}
    assert signed_in(alice).post(reverse("erase", args=[store.pk]), preview).status_code == 200
    erasure.erase(store.pk, ["Jane Doe"], found.digest, act)
    assert last().text == "[redacted] asked for it."
    assert verify.verify(store.pk)[1] is None


def test_a_comment_that_was_changed_in_the_database_is_noticed(curator: Client, store: MemoryStore) -> None:
    publish(curator, store, "Fine.")
    with tampering():
        Comment.objects.all().update(text="Not fine.")
    assert verify.verify(store.pk)[1] is not None


def of_line(client: Client, store: MemoryStore, label: str) -> str:
    """The name of a line's place, from the button with this label."""
    found = re.search(rf'name="draft" value="([^"]+)" aria-label="{label}"', shown(client, store))
    assert found, label
    return found[1]


def test_a_comment_on_a_line_is_drafted_and_published_with_the_decision(
    curator: Client, store: MemoryStore, bob: User
) -> None:
    new, old = of_line(curator, store, "Comment on line 2"), of_line(curator, store, "Comment on the removed line 2")
    fields = form_with(shown(curator, store), "digest")
    page = curator.post(url_of(store), fields | {"draft": new}).content.decode()
    assert f'name="line-{new}"' in page
    again = curator.post(url_of(store), fields | {"draft": old, f"line-{new}": "As a word?"}).content.decode()
    assert "As a word?</textarea>" in again
    assert f'name="line-{old}"' in again
    assert not Comment.objects.exists()
    send(curator, store, **{f"line-{new}": "As a word?", f"line-{old}": "", "comment": "Thanks."})
    assert state(store) == ("merged", "")
    comment = Comment.objects.get(text="As a word?")
    assert (comment.seq, comment.first, comment.is_old) == (newest(store).seq, 2, False)
    assert Comment.objects.count() == 2
    body = shown(signed_in(bob), store)
    assert re.search(r'<tr class="diff-added".*?</tr>\s*<tr class="diff-below">.*?As a word\?', body, re.DOTALL)
    assert "Comment on line" not in body, "a viewer only reads"
    assert verify.verify(store.pk)[1] is None


@pytest.mark.both_databases
def test_a_comment_on_a_line_alone_is_answered_on_its_page(curator: Client, store: MemoryStore) -> None:
    old = of_line(curator, store, "Comment on the removed line 2")
    publish(curator, store, "", **{f"line-{old}": "Why not two?"})
    assert re.search(
        r'<tr class="diff-removed".*?</tr>\s*<tr class="diff-below">.*?Why not two', shown(curator, store), re.DOTALL
    )
    page = conversation(curator, last())
    assert "On line 2 of the text before the change" in page
    assert REFUNDS in page
    answer(curator, last(), "reply", text="It was one.")
    assert "It was one." in shown(curator, store)
    assert verify.verify(store.pk)[1] is None


def test_a_comment_on_a_text_that_has_changed_since_stands_beside_the_change(
    caller: Caller, curator: Client, store: MemoryStore, alice: User
) -> None:
    new = of_line(curator, store, "Comment on line 2")
    publish(curator, store, "", **{f"line-{new}": "As a word?"})
    edit(store, REFUNDS, "seven\n", "seven\neight\n", alice)
    body = shown(curator, store)
    assert "diff-below" not in body
    assert "On line 2 of the proposed text, as it was when the comment was written" in body
    draft = curator.post(url_of(store), form_with(body, "digest") | {f"line-{new}": "Typed", "draft": new})
    assert "Comment on line 2, as the line was when you wrote the comment" in draft.content.decode()
    replaces(caller, REFUNDS, "three", "3")
    assert "On line 2 of the proposed text, as it was when the comment was written" in shown(curator, store)


def test_an_editor_leaves_no_lines_to_comment_on(curator: Client, store: MemoryStore) -> None:
    new = of_line(curator, store, "Comment on line 2")
    memory = new.partition(":")[0]
    fields = form_with(shown(curator, store), "digest") | {f"line-{new}": "Typed"}
    page = curator.post(url_of(store), fields | {"edit": memory}).content.decode()
    assert 'name="draft"' not in page
    assert "Typed</textarea>" in page


def test_the_agent_is_told_the_line_of_its_text(
    caller: Caller, curator: Client, store: MemoryStore, key: str, alice: User
) -> None:
    new = of_line(curator, store, "Comment on line 2")
    publish(curator, store, "", **{f"line-{new}": "As a word.", "tell-line": new})
    hub = Hub(store, key)
    one = f"/v1/memory_stores/{store.pk}/proposals/1"
    (told,) = hub.send({}, method="GET", url=one).value["comments"]
    assert (told["text"], told["path"], told["line"], told["of"]) == ("As a word.", REFUNDS, 2, "proposed")
    (by_mcp,) = call(hub, "proposals")["structuredContent"]["data"][0]["comments"]
    assert (by_mcp["path"], by_mcp["line"]) == (f"/memories{REFUNDS}", 2)
    edit(store, REFUNDS, "seven\n", "seven\neight\n", alice)
    again = of_line(curator, store, "Comment on line 2")
    publish(curator, store, "", **{f"line-{again}": "In words.", "tell-line": again})
    lines = [told["line"] for told in hub.send({}, method="GET", url=one).value["comments"]]
    assert lines == [2, None], "this line is one of a text that the agent has not seen"


@pytest.mark.parametrize(
    "wrong", ["{memory}:{base}:1:new:0", "{memory}:{base}:9:new:1", "{memory}::1:new:1", "mem_0:{base}:1:new:1"]
)
def test_a_line_that_is_none_publishes_nothing(curator: Client, store: MemoryStore, wrong: str) -> None:
    memory, base = of_line(curator, store, "Comment on line 2").split(":")[:2]
    name = wrong.format(memory=memory, base=base)
    body = publish(curator, store, "Both", **{f"line-{name}": "x"}).content.decode()
    assert "the proposal has no such line" in body
    assert not Comment.objects.exists()


def test_a_proposed_new_memory_has_lines_too(caller: Caller, curator: Client, store: MemoryStore) -> None:
    proposes(caller, "create", "/policies/new.md", file_text="brand new\n")
    new = of_line(curator, store, "Comment on line 1")
    publish(curator, store, "", **{f"line-{new}": "Why new?"})
    assert "Why new?" in shown(curator, store)
    refuse(curator, store)
    assert re.search(r'<tr class="diff-below">.*?Why new\?', shown(curator, store), re.DOTALL)
