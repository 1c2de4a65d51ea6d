"""Who approved a version: on the pages of versions, in their export, in the audit of the path, and on the entry."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, Session, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller, commands, listed
from tests.web.memories.test_tables import table

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def act(caller: Caller, who: User, note: str | None = None) -> Act:
    caller.at += timedelta(minutes=1)
    return Act(Actor.person(who), Door.WEB, caller.at, note=note)


def words_at(user: User, name: str, *args: object) -> str:
    answer = signed_in(user).get(reverse(name, args=args))
    assert answer.status_code == 200
    return " ".join(unescape(re.sub(r"<[^>]+>", "", answer.content.decode())).split())


@pytest.fixture
def approved(caller: Caller, alice: User) -> tuple[Memory, int]:
    """A memory whose version was approved together with that of another one, and the number of the entry."""
    memory, other = caller.create("/notes/a.md", "one\n"), caller.create("/notes/b.md", "one\n")
    versions = [str(memory.head_id), str(other.head_id)]
    done = decisions.approve_many(caller.store.id, versions, act(caller, alice, note="Both are right"))
    assert done is not None
    return memory, done.seq


def test_the_versions_say_who_approved_which_when_and_by_which_entry(approved: Any, caller: Caller, bob: User) -> None:
    memory, seq = approved
    caller.replace("/notes/a.md", "one", "two")
    said = re.compile(rf"Alice approved this version [^.]+ \(entry {seq}\): “Both are right”\.")
    timeline = words_at(bob, "versions", memory.store_id, memory.pk)
    assert len(said.findall(timeline)) == 1
    assert said.search(words_at(bob, "version", memory.store_id, memory.head_id))
    rows, objects = table(bob, reverse("export_versions", args=[memory.store_id, memory.pk]))
    assert [(row["review_state"], row["reviewed_by"], row["review_entry"]) for row in objects] == [
        ("unreviewed", None, None),
        ("approved", "Alice", seq),
    ]
    assert rows[0]["reviewed_at"] == "" and rows[1]["reviewed_at"]


@pytest.mark.both_databases
@pytest.mark.usefixtures("approved")
def test_the_audit_of_a_path_has_decisions_about_several_versions(caller: Caller, bob: User) -> None:
    client = signed_in(bob)
    every = len(listed(client, caller.store).context["rows"])
    assert commands(listed(client, caller.store, q="/notes/a.md")) == ["approve", "create"]
    newer = listed(client, caller.store, q="/notes/a.md", after=f"{caller.store.id}:1")
    assert commands(newer) == ["approve", "create"]
    assert commands(listed(client, caller.store, q="/notes/a.md command:approve")) == ["approve"]
    assert len(commands(listed(client, caller.store, q="-path:/notes/a.md"))) == every - 2


def test_a_decision_that_was_undone_is_in_the_audit_of_each_path(approved: Any, caller: Caller, alice: User) -> None:
    memory, seq = approved
    decisions.reopen(memory.store_id, seq, act(caller, alice))
    for path in ("/notes/a.md", "/notes/b.md"):
        assert commands(listed(signed_in(alice), caller.store, q=path)) == ["reopen", "approve", "create"]
    versions = words_at(alice, "versions", memory.store_id, memory.pk)
    assert "approved this version" not in versions


def test_a_decision_is_in_the_audit_of_the_path_that_its_version_had(approved: Any, caller: Caller, bob: User) -> None:
    curation.rename(caller.store.id, "/notes/a.md", "/notes/c.md", act(caller, bob))
    client = signed_in(bob)
    assert "approve" in commands(listed(client, caller.store, q="/notes/a.md"))
    assert "approve" not in commands(listed(client, caller.store, q="/notes/c.md"))


def test_many_decisions_about_one_path_are_found_page_by_page(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "0\n")
    for number in range(52):
        caller.replace("/a.md", str(number), str(number + 1))
        memory.refresh_from_db()
        decisions.approve_many(caller.store.id, [str(memory.head_id)], act(caller, alice))
    client = signed_in(alice)
    first = listed(client, caller.store, q="path:/a.md command:approve")
    place = parse_qs(first.context["older"])["before"][0]
    second = listed(client, caller.store, q="path:/a.md command:approve", before=place)
    assert commands(first) + commands(second) == ["approve"] * 52


def test_the_entry_of_a_decision_lists_versions_as_links(approved: Any, bob: User) -> None:
    memory, seq = approved
    answer = signed_in(bob).get(reverse("entry", args=[memory.store_id, seq])).content.decode()
    assert f'href="{reverse("version", args=[memory.store_id, memory.head_id])}">Version 1 of /notes/a.md</a>' in answer
    assert "Version 1 of /notes/b.md" in answer
    assert "What was read" not in answer


def test_the_entry_of_one_decision_does_not_say_that_it_read_the_version(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "one\n")
    done = decisions.approve(caller.store.id, str(memory.head_id), act(caller, alice), earlier=0)
    said = words_at(alice, "entry", caller.store.id, done.seq)
    assert "What was decided Approved Version 1 of /a.md" in said and "What was read" not in said


def test_the_entry_of_an_undo_names_what_it_left_as_it_was(caller: Caller, alice: User) -> None:
    caller.session = "bad"
    memory = caller.create("/a.md", "one\n")
    caller.create("/b.md", "one\n")
    client, session = signed_in(alice), Session.objects.get(name="bad")
    address = reverse("undo_session", args=[caller.store.id, session.pk])
    digest = client.get(address).context["plan"].digest
    client.post(address, {"digest": digest, f"choice-{memory.pk}": "keep"})
    undo = AuditEntry.objects.of_chain(caller.store.id).of_command("undo").get()
    assert "What was left unchanged /a.md" in words_at(alice, "entry", caller.store.id, undo.seq)
