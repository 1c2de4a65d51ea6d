"""The form of path rules helps with examples and counts; a question knows what is seen and what a key may do."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.stores import path_rules
from memoryhub.models import Access, Agent, Key, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule, Verb
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import write

pytestmark = pytest.mark.django_db


def save(store: MemoryStore, *rules: PathRule) -> None:
    path_rules.save(store.pk, rules, path_rules.digest(path_rules.of_store(store)), Act(**BY))


def ask(client: Client, store: MemoryStore, who: str, verb: str, path: str) -> str:
    query = {"who": who, "verb": verb, "path": path}
    return client.get(reverse("path_rules", args=[store.pk]), query).content.decode()


def new_key(agent: Agent, store: MemoryStore, name: str, access: Access) -> Key:
    issued, _secret = keys_and_roles.issue_key(
        agent, name=name, access=access, stores=[store], all_stores=False, expires_at=None, created_by=None, **BY
    )
    return issued


def add(client: Client, store: MemoryStore, act: str) -> Any:
    data = {"form-TOTAL_FORMS": 0, "form-INITIAL_FORMS": 0, "act": act}
    return client.post(reverse("edit_path_rules", args=[store.pk]), data)


def test_a_ready_example_adds_its_rules_and_says_how_many_memories_they_match(store: MemoryStore, alice: User) -> None:
    for path in ("/team/a.md", "/team/deep/b.md", "/teams.md"):
        write(store, path)
    client = signed_in(alice)
    page = client.get(reverse("edit_path_rules", args=[store.pk])).content.decode()
    assert "Show an agent only /team/" in page
    assert "The agent then sees this directory, because the added rule allows every change there." in page
    added = add(client, store, "example-see-only")
    rows = [(row["effect"].value(), row["pattern"].value()) for row, _ in added.context["rows"]]
    assert rows == [("allow", "/team/"), ("hide", "/")]
    html = added.content.decode()
    assert "2 memories match now." in html and "3 memories match now." in html
    assert [row["pattern"].value() for row, _ in add(client, store, "example-nothing").context["rows"]] == []


def test_a_ready_example_lets_agents_only_propose(store: MemoryStore, alice: User) -> None:
    client, address = signed_in(alice), reverse("edit_path_rules", args=[store.pk])
    assert "Let agents only propose in /policies/" in client.get(address).content.decode()
    ((row, _about),) = add(client, store, "example-propose").context["rows"]
    assert [row[name].value() for name in ("effect", "verbs", "pattern", "who", "only_if")] == [
        "propose", [verb.value for verb in Verb], "/policies/", "", None,
    ]  # fmt: skip


def test_typing_a_pattern_says_how_many_memories_it_matches(store: MemoryStore, alice: User) -> None:
    for path in ("/team/a.md", "/team/b.txt", "/c.md"):
        write(store, path)
    address = reverse("retention_pattern", args=[store.pk])
    client, expected = signed_in(alice), {"/team/": 2, "/": 3, "/**/*.md": 2, "/c.md": 1, "/none/": 0}
    for pattern, count in expected.items():
        html = client.get(address, {"brief": 1, "form-7-pattern": pattern}).content.decode()
        assert f"{count} memor" in html and "<li" not in html, pattern


def test_a_question_is_about_seeing_too(store: MemoryStore, agent: Agent, key: str, alice: User) -> None:
    save(
        store,
        PathRule(Effect.ALLOW, "/team/", frozenset({Verb.CREATE})),
        PathRule(Effect.ALLOW, "/shared/"),
        PathRule(Effect.HIDE, "", who=agent.pk),
    )
    client = signed_in(alice)
    assert "Rule 2 shows the memory, because the rule allows every change there." in ask(
        client, store, agent.pk, "see", "/shared/a"
    )
    html = ask(client, store, agent.pk, "see", "/team/a.md")
    assert (
        "Rule 3 hides the memory" in html
        and "This rule is only about changes, so it does not show or hide anything." in html
    )
    assert "No rule hides the memory, so the agent sees it." in ask(client, store, "", "see", "/team/a.md")


@pytest.mark.both_databases
def test_a_question_knows_what_the_key_may_do(store: MemoryStore, agent: Agent, alice: User) -> None:
    save(store, PathRule(Effect.PROPOSE, "/policies/"))
    reading = new_key(agent, store, "Dashboard", Access.READ)
    client = signed_in(alice)
    html = ask(client, store, reading.pk, "edit", "/policies/a.md")
    assert "This key may only read." in html and "So the agent cannot change anything here." in html
    assert f"with the key Dashboard (…{reading.hint})" in html
    assert "The keys of this agent may only read here." in ask(client, store, agent.pk, "edit", "/policies/a.md")
    assert "only read" not in ask(client, store, reading.pk, "see", "/policies/a.md")
    writing = new_key(agent, store, "", Access.WRITE)
    assert "only read" not in ask(client, store, agent.pk, "edit", "/policies/a.md")
    for one in (reading, writing):
        keys_and_roles.revoke_key(one, **BY)
    assert "This key does not work any more." in ask(client, store, writing.pk, "edit", "/policies/a.md")
    assert "No key of this agent works here now." in ask(client, store, agent.pk, "see", "/policies/a.md")


@pytest.mark.both_databases
def test_the_pages_of_an_agent_and_of_a_key_lead_to_the_rules_that_name_them(
    store: MemoryStore, agent: Agent, alice: User, charlie: User
) -> None:
    issued = new_key(agent, store, "Nightly", Access.WRITE)
    page, revoke = reverse("agent", args=[agent.pk]), reverse("revoke_key", args=[issued.pk])
    client = signed_in(alice)
    assert '<p class="muted">None.</p>' in client.get(page).content.decode()
    assert "Path rules that name this key" not in client.get(revoke).content.decode()
    save(
        store,
        PathRule(Effect.REFUSE, "/a/", reason=f"not for {issued.pk}"),
        PathRule(Effect.REFUSE, "/b/", who=agent.pk),
        PathRule(Effect.REFUSE, "/c/", who=issued.pk),
    )
    html = client.get(page).content.decode()
    assert f'href="{reverse("path_rules", args=[store.pk])}#rule-2">Support, rule 2' in html
    assert "rule 2" in html and "rule 3" in html and "rule 1" not in html and "any memory under /b/" in html
    html = client.get(revoke).content.decode()
    assert "rule 3" in html and "rule 2" not in html
