"""What people tell agents: a comment that the agent that wrote the lines reads at its next view of the memory, once."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.comments.comments import LONGEST_NOTE, MOST_NOTES
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.sql import statements
from memoryhub.actions.erasure import erasure
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import Access, Agent, AuditEntry, Comment, Door, Memory, MemoryStore, Role, User
from tests.api.harness import Hub, assert_audit_is_right, new_hub, newest_entry
from tests.mcp.messages import call, text_of
from tests.support.fixtures import AT, BY, new_person, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

TEXT = "one\ntwo\nthree\n"
VIEW: dict[str, Any] = {"command": "view", "path": "/memories/a.md"}


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def memory(caller: Caller) -> Memory:
    return caller.create("/a.md", TEXT)


@pytest.fixture
def carla(store: MemoryStore) -> User:
    """A curator of the store."""
    user = new_person("Carla")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


@pytest.fixture
def other(store: MemoryStore) -> Caller:
    """Another agent of the store."""
    agent = keys_and_roles.create_agent("Sales bot", **BY)
    return Caller(store, keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1])


def tell(user: User, memory: Memory, agent: Agent, text: str = "Use euros.", lines: str = "2") -> Any:
    memory.refresh_from_db()
    data = {"version": memory.head_id, "lines": lines, "text": text, "tell": agent.pk}
    return signed_in(user).post(reverse("comments", args=[memory.store_id, memory.pk]), data)


def answer(user: User, comment: Comment, do: str, **more: str) -> Any:
    url = reverse("answer_comment", args=[comment.store_id, comment.pk])
    return signed_in(user).post(url, {"do": do, **more}, follow=True)


def page(user: User, memory: Memory, query: str = "") -> str:
    return str(signed_in(user).get(reverse("memory", args=[memory.store_id, memory.pk]) + query).content.decode())


def newest() -> Comment:
    return Comment.objects.order_by("-pk")[0]


def note(text: str, about: str = " about line 2") -> str:
    return f"\n[Not part of this memory, but a note of a reviewer to you{about}: {text}]"


def view(caller: Caller, **more: Any) -> str:
    return caller.call("view", path="/memories/a.md", **more).content


def test_the_agents_next_view_tells_it_once(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    plain = view(caller)
    assert tell(carla, memory, agent).status_code == 303
    assert "Support bot reads this when it next views the memory." in page(carla, memory)
    assert view(caller) == plain + note("Use euros.")
    entry = newest_entry(memory.store_id)
    assert (entry.command, entry.note) == ("view", note("Use euros.").strip())
    assert view(caller) == plain
    body = page(carla, memory)
    assert "Support bot read this" in body
    assert "in session" in body and "run-1" in body
    assert reverse("entry", args=[memory.store_id, entry.seq]) in body
    now = Memory.objects.get(pk=memory.pk)
    assert (now.size, now.sha256, now.head_id) == (memory.size, memory.sha256, memory.head_id)
    assert_audit_is_right(MemoryStore.objects.get(pk=memory.store_id))


def test_a_view_of_some_lines_tells_it_too(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    assert view(caller, view_range=[3, 3]).endswith("     3\tthree" + note("Use euros."))


def test_an_error_and_a_listing_tell_nothing(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    assert "euros" not in view(caller, view_range=[9, 9])
    assert "euros" not in caller.call("view", path="/memories").content
    assert "euros" in view(caller)


def test_a_call_that_is_sent_again_is_told_the_same(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    before = view(caller, id="toolu_before")
    tell(carla, memory, agent)
    assert view(caller, id="toolu_before") == before, "this call was answered before"
    first = view(caller, id="toolu_same")
    answer(carla, newest(), "edit", text="Use pounds.")
    tell(carla, memory, agent, "And round them.")
    assert view(caller, id="toolu_same") == first == before + note("Use euros.")
    assert view(caller) == before + note("And round them.")
    assert ", before the comment was edited" in page(carla, memory)
    assert verify.verify(memory.store_id)[1] is None


def test_only_the_agent_that_wrote_the_line_is_told(
    caller: Caller, other: Caller, memory: Memory, agent: Agent, carla: User
) -> None:
    other.replace("/a.md", "three\n", "three\nfour\n")
    assert "Tell the agent Support bot" in page(carla, memory, "?comment=2")
    assert "Tell the agent Sales bot" in page(carla, memory, "?comment=2-4"), "it wrote the newest of these lines"
    tell(carla, memory, agent)
    assert "euros" not in view(other)
    assert "euros" in view(caller)
    refused = tell(carla, memory, Agent.objects.get(name="Sales bot"))
    assert "one line of at most 500 visible characters" in refused.content.decode()
    assert Comment.objects.count() == 1


def test_the_note_names_the_line_as_it_is_now(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    tell(carla, memory, agent, "On the whole.", lines="")
    tell(carla, memory, agent, "On what goes.", lines="3")
    caller.replace("/a.md", "one\n", "zero\none\n")
    caller.replace("/a.md", "three\n", "")
    told = view(caller).split("\n[")
    assert told[1:] == [
        note("Use euros.", " about line 3")[2:],
        note("On the whole.", "")[2:],
        note("On what goes.", "")[2:],
    ]


def test_an_answer_in_a_conversation_can_be_told(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    view(caller)
    answer(carla, newest(), "reply", text="Not for you.")
    assert "Not for you" not in view(caller)
    answer(carla, newest(), "reply", text="Since May.", tell=agent.pk)
    assert view(caller).endswith(note("Since May."))


@pytest.mark.both_databases
def test_a_note_that_waits_is_edited_withdrawn_and_deleted(
    caller: Caller, memory: Memory, agent: Agent, carla: User, alice: User
) -> None:
    plain = view(caller)
    tell(carla, memory, agent)
    answer(carla, newest(), "edit", text="Use pounds.")
    assert view(caller) == plain + note("Use pounds.")
    tell(carla, memory, agent)
    assert "Do not tell Support bot" in page(alice, memory)
    answer(alice, newest(), "withdraw")
    tell(carla, memory, agent)
    answer(carla, newest(), "delete")
    assert view(caller) == plain
    assert newest_entry(memory.store_id).note is None
    commands = AuditEntry.objects.of_chain(memory.store_id).filter(actor_kind="user").oldest()
    assert list(commands.values_list("command", flat=True)) == [
        "comment", "edit_comment", "comment", "withdraw_note", "comment", "delete_comment"
    ]  # fmt: skip
    assert Memory.objects.get(pk=memory.pk).waiting_notes == 0
    assert verify.verify(memory.store_id)[1] is None


def test_a_curator_cannot_withdraw_the_note_of_a_colleague(
    caller: Caller, memory: Memory, agent: Agent, carla: User, alice: User
) -> None:
    tell(alice, memory, agent)
    assert "Do not tell" not in page(carla, memory)
    answer(carla, newest(), "withdraw")
    assert "euros" in view(caller)


@pytest.mark.both_databases
def test_an_erasure_reaches_notes_that_wait_and_those_that_were_told(
    caller: Caller, memory: Memory, agent: Agent, carla: User, alice: User
) -> None:
    tell(carla, memory, agent, "Jane Doe said so.")
    view(caller, id="toolu_told")
    tell(carla, memory, agent, "Jane Doe pays.")
    act = Act(Actor.person(alice), Door.WEB, AT + timedelta(days=1))
    found = erasure.search(memory.store_id, ["Jane Doe"], act.at)
    erasure.erase(memory.store_id, ["Jane Doe"], found.digest, act)
    assert view(caller).endswith(note("[redacted] pays."))
    assert view(caller, id="toolu_told").endswith(note("[redacted] said so."))
    assert "Jane" not in str(list(AuditEntry.objects.of_chain(memory.store_id).values_list("note", "input")))
    assert verify.verify(memory.store_id)[1] is None


def test_rules_for_sensitive_text_hold_for_notes(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    with tampering():
        MemoryStore.objects.filter(pk=memory.store_id).update(rules={"card": "mask"})
    tell(carla, memory, agent, "card 4111 1111 1111 1111")
    assert "4111" not in view(caller)


@pytest.mark.parametrize("text", ["two\nlines", "a" * (LONGEST_NOTE + 1), "a\u2028b", "a\x1bb", "a\u202eb"])
def test_a_note_is_one_visible_line(memory: Memory, agent: Agent, carla: User, text: str) -> None:
    response = tell(carla, memory, agent, text)
    assert "one line of at most 500 visible characters" in response.content.decode()
    assert f'value="{agent.pk}" checked' in response.content.decode()
    assert not Comment.objects.exists()


def test_an_edit_keeps_a_note_that_waits_one_line(memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    assert "one line of at most 500 visible characters" in answer(carla, newest(), "edit", text="a\nb").content.decode()
    assert newest().text == "Use euros."


def test_few_notes_wait_at_a_memory(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    for _ in range(MOST_NOTES):
        assert tell(carla, memory, agent).status_code == 303
    assert f"This memory already has {MOST_NOTES} notes" in tell(carla, memory, agent).content.decode()
    assert view(caller).count("note of a reviewer") == MOST_NOTES
    assert tell(carla, memory, agent).status_code == 303


def test_a_viewer_tells_nothing(memory: Memory, agent: Agent, bob: User) -> None:
    assert tell(bob, memory, agent).status_code == 403
    assert "Tell the agent" not in page(bob, memory, "?comment=2")


def test_a_memory_that_no_agent_wrote_has_nobody_to_tell(store: MemoryStore, agent: Agent, alice: User) -> None:
    curation.create(store.pk, "/b.md", "by a person\n", Act(Actor.person(alice), Door.WEB, AT))
    memory = Memory.objects.get(path="/b.md")
    assert "Agents do not see comments." in page(alice, memory, "?comment=1")
    assert tell(alice, memory, agent, lines="1").status_code == 200
    assert not Comment.objects.exists()


@pytest.mark.both_databases
def test_the_audit_says_what_was_told(caller: Caller, memory: Memory, agent: Agent, carla: User) -> None:
    tell(carla, memory, agent)
    browser = signed_in(carla)
    assert (
        "left a note for Support bot on /a.md"
        in browser.get(reverse("entry", args=[memory.store_id, newest_entry(memory.store_id).seq])).content.decode()
    )
    view(caller)
    entry = newest_entry(memory.store_id)
    body = browser.get(reverse("entry", args=[memory.store_id, entry.seq])).content.decode()
    assert "What the agent was told at the end of the answer" in body
    assert "a note of a reviewer to you about line 2: Use euros." in body
    assert "the agent received exactly this" in body
    assert reverse("comment", args=[memory.store_id, newest().pk]) in body
    assert "with a reviewer’s note" in browser.get(reverse("store_audit", args=[memory.store_id])).content.decode()
    assert "Use euros." in browser.get(reverse("session", args=[entry.session])).content.decode()


def test_a_view_without_notes_asks_for_none(
    caller: Caller, memory: Memory, agent: Agent, carla: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, sent = statements._run, list[str]()
    monkeypatch.setattr(statements, "_run", lambda *one, **options: sent.append(one[0].text) or run(*one, **options))
    view(caller)
    once = len(sent)
    tell(carla, memory, agent)
    view(caller)
    sent.clear()
    with CaptureQueriesContext(connection) as asked:
        view(caller)
    assert len(sent) == once
    assert not [one for one in asked.captured_queries if "comment" in one["sql"]]


@pytest.mark.both_databases
def test_a_note_or_its_count_that_was_changed_in_the_database_is_noticed(
    caller: Caller, memory: Memory, agent: Agent, carla: User
) -> None:
    tell(carla, memory, agent)
    for rows, value in ((Comment.objects.all(), {"tells": False}), (Memory.objects.all(), {"waiting_notes": 0})):
        kept = rows.values(*value)[0]
        with tampering():
            rows.update(**value)
        assert verify.verify(memory.store_id)[1] is not None
        with tampering():
            rows.update(**kept)
    view(caller)
    assert verify.verify(memory.store_id)[1] is None


def test_mcp_tells_it_and_the_api_does_not(alice: User) -> None:
    hub: Hub = new_hub()
    keys_and_roles.set_role(hub.store, alice, Role.ADMIN, **BY)
    hub.call(command="create", path="/memories/a.md", file_text=TEXT)
    memory = Memory.objects.get(store=hub.store)
    plain = text_of(call(hub, "memory", **VIEW))[1]
    assert "Tell the agent" in page(alice, memory, "?comment=2")
    tell(alice, memory, Agent.objects.get(keys__stores=hub.store))
    read = hub.send({}, method="GET", url=f"/v1/memory_stores/{hub.store.pk}/memories/{memory.pk}").value
    assert read["content"] == TEXT
    assert text_of(call(hub, "memory", **VIEW))[1] == plain + note("Use euros.")
    assert hub.call(**VIEW) == ["ok", plain]
    assert_audit_is_right(hub.store)
