"""Where the page of an entry leads: to what was at its path then, to the rule that refused it, to what was undone."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.stores import path_rules
from memoryhub.models import Access, AuditEntry, HoldKind, Key, Memory, MemoryStore, Session, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def rule(store: MemoryStore, *rules: PathRule) -> None:
    before = path_rules.of_store(MemoryStore.objects.get(pk=store.pk))
    path_rules.save(store.pk, rules, path_rules.digest(before), Act(**BY))


def entry_page(client: Client, entry: AuditEntry) -> str:
    answer = client.get(reverse("entry", args=[entry.chain, entry.seq]))
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def leads(html: str, words: str) -> str:
    found = re.search(rf'<a [^>]*href="([^"]+)"[^>]*>{re.escape(words)}</a>', html)
    assert found, words
    return found[1]


@pytest.mark.both_databases
def test_a_failed_call_leads_to_the_memory_as_it_was_then(caller: Caller, bob: User) -> None:
    memory = caller.create("/notes/a.md", "one\n")
    caller.call("str_replace", path="/memories/notes/a.md", old_str="two", new_str="three")
    failed = caller.last
    caller.replace("/notes/a.md", "one", "two")
    client = signed_in(bob)
    html = entry_page(client, failed)
    assert "/memories/notes/a.md in the call" in html
    then = client.get(leads(html, "What was at this path then"), follow=True)
    assert (then.context["memory"], then.context["version"].number) == (memory, 1)
    caller.call("view", path="/memories")
    html = entry_page(client, caller.last)
    assert leads(html, "What was at this path then") == reverse("moment", args=[caller.store.pk, caller.last.seq])


def test_a_refused_call_leads_to_the_rule_that_refuses_it(caller: Caller, bob: User) -> None:
    caller.create("/notes/a.md", "one\n")
    refuses = PathRule(Effect.REFUSE, "/notes/", reason="Ask: first")
    rule(caller.store, PathRule(Effect.ALLOW, "/free/"), refuses)
    client = signed_in(bob)
    for command, input, verb, path in (
        ("str_replace", {"path": "/memories/notes/a.md", "old_str": "one", "new_str": "1"}, "edit", "/notes/a.md"),
        ("delete", {"path": "/memories/notes"}, "delete", "/notes/a.md"),
        ("create", {"path": "/memories/notes/b.md", "file_text": "b"}, "create", "/notes/b.md"),
    ):
        assert caller.call(command, **input).is_error
        html = entry_page(client, caller.last)
        assert "As the rules are now, rule 2 refuses this call." in html
        asked = client.get(leads(html, "Which rule decides?"))
        assert (asked.context["asked"].verb, asked.context["asked"].path) == (verb, path)
        assert asked.context["decision"].number == 2
    refused = caller.last
    rule(caller.store)
    assert "The rules have changed since then: they allow this call now." in entry_page(client, refused)


def test_a_call_that_became_a_proposal_leads_to_its_rule(caller: Caller, bob: User) -> None:
    holds_back(caller.store)
    caller.call("create", path="/memories/policies/a.md", file_text="a")
    assert "As the rules are now, a person decides about this change, because of rule 1." in entry_page(
        signed_in(bob), caller.last
    )


def test_a_person_learns_that_a_rule_hid_what_the_agent_asked_for(caller: Caller, bob: User) -> None:
    caller.create("/team/a.md", "one\n")
    rule(caller.store, PathRule(Effect.HIDE, "/team/"))
    client = signed_in(bob)
    for path, is_hidden in (("/team/a.md", True), ("/nothing.md", False)):
        assert caller.call("view", path=f"/memories{path}").is_error
        html = entry_page(client, caller.last)
        assert ("As the rules are now, rule 1 hides this path from the agent." in html) == is_hidden
    html = entry_page(client, AuditEntry.objects.of_chain(caller.store.pk).get(seq=caller.last.seq - 1))
    assert client.get(leads(html, "Which rule decides?")).context["asked"].verb == "see"


@pytest.mark.both_databases
def test_a_refused_call_says_what_helps(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    caller.create("/notes/a.md", "one\n")
    memory = Memory.objects.get().pk
    hold = holds.place(store.pk, Act(**BY), kind=HoldKind.HOLD, reason="Dispute", memory=memory)
    client = signed_in(alice)

    def then(command: str, **input: str) -> str:
        assert caller.call(command, **input).is_error
        return entry_page(client, caller.last)

    held = then("delete", path="/memories/notes/a.md")
    url = reverse("holds", args=[store.pk])
    assert leads(held, "Pins and legal holds of this memory store") == f"{url}#{hold.pk}"
    assert f'<tr id="{hold.pk}"' in client.get(url).content.decode()
    assert "copy the old text exactly" in then("str_replace", path="/memories/notes/a.md", old_str="x", new_str="y")
    taken = then("create", path="/memories/notes/a.md", file_text="two")
    assert leads(taken, "Overwrite on create") == reverse("edit_store", args=[store.pk])
    assert "Overwrite on create" not in entry_page(signed_in(bob), caller.last), "who may not open it gets no link"
    wrong = then("view", path="/etc/passwd")
    assert client.get(leads(wrong, "Connect an agent")).status_code == 200
    with tampering():
        Key.objects.update(access=Access.READ)
    refused = then("create", path="/memories/notes/b.md", file_text="b")
    assert "The key has the access Read." in refused
    assert leads(refused, "Keys of this agent") == reverse("agent", args=[caller.last.author_id])
    assert "The key has the access Read." not in entry_page(client, AuditEntry.objects.of_chain(store.pk).oldest()[0])


def test_the_entry_of_an_undo_leads_to_the_session(caller: Caller, alice: User) -> None:
    caller.create("/a.md", "one\n")
    client, session = signed_in(alice), Session.objects.get()
    address = reverse("undo_session", args=[caller.store.pk, session.pk])
    client.post(address, {"digest": client.get(address).context["plan"].digest})
    undo = AuditEntry.objects.of_chain(caller.store.pk).of_command("undo").get()
    assert leads(entry_page(client, undo), "run-1") == reverse("session", args=[session.pk])
