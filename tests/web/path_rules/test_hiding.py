"""The pages of path rules that hide: the form, the sentence, a question, and what they would have hidden."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.core.audit import Act
from memoryhub.actions.stores import path_rules
from memoryhub.models import Agent, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule, PathRules, Verb
from memoryhub.web.path_rules import sentences
from memoryhub.web.path_rules.replay import replay
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in
from tests.web.path_rules.test_path_rules import form, listed, row, rules_of, tried_and_saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    return Hub(store, key)


def test_a_rule_that_hides_needs_no_verbs_and_has_neither_condition_nor_sentence(
    store: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    given = row("/team/", effect="hide", verbs=[], only_if="by_person", reason="never said")
    assert tried_and_saved(client, store, given).status_code == 303
    assert rules_of(store) == [PathRule(Effect.HIDE, "/team/").as_json()]
    page = client.get(listed(store)).content.decode()
    assert "Agents cannot see any memory under /team/." in page and ">hides<" in page
    everything = form(client, store, "try", row("/", effect="hide")).content.decode()
    assert "if the agent should only read in that directory" in everything.lower()
    assert sentences.sentence(PathRule(Effect.HIDE), {}).startswith("Agents cannot see any memory, except where a rule")
    refused = form(client, store, "try", row("/team/", effect="refuse", verbs=[])).content.decode()
    assert "Tick at least one." in refused


def test_a_question_says_that_a_rule_hides_whatever_else_matches(store: MemoryStore, alice: User) -> None:
    rules = [
        PathRule(Effect.PROPOSE, "/a/", frozenset({Verb.EDIT})),
        PathRule(Effect.HIDE, "/a/"),
        PathRule(Effect.ALLOW),
    ]
    path_rules.save(store.pk, rules, path_rules.digest([]), Act(**BY))
    asked = signed_in(alice).get(listed(store), {"path": "/a/b.md", "verb": "edit"})
    assert "Rule 2 hides the memory: for the agent there is no memory at this path" in asked.content.decode()
    assert [one.why for one in asked.context["rules"]] == [
        "This rule matches too, but rule 2 hides the memory.", "This rule decides.",
        "This rule matches too, but rule 2 comes first.",
    ]  # fmt: skip


def test_a_replay_counts_the_calls_that_would_have_found_nothing(hub: Hub, alice: User) -> None:
    for input in (
        {"command": "create", "path": "/memories/a/1.md", "file_text": "1"},
        {"command": "create", "path": "/memories/b.md", "file_text": "1"},
        {"command": "view", "path": "/memories/a/1.md"},
        {"command": "view", "path": "/memories/b.md"},
        {"command": "delete", "path": "/memories/b.md"},
    ):
        assert hub.call(**input)[0] == "ok"
    agent = Agent.objects.get()
    rules = PathRules([PathRule(Effect.HIDE, "/a/", who=agent.pk), PathRule(Effect.REFUSE, "/b.md")])
    found = replay(hub.store.pk, rules, timezone.now())
    assert (found.hidden, found.refused, found.proposed) == (2, 2, 0)
    assert [(group.number, group.hides, group.calls) for group in found.groups] == [(1, True, 2), (2, False, 2)]
    shown = form(signed_in(alice), hub.store, "try", row("/a/", effect="hide")).content.decode()
    assert "2 calls were about memories that the agents would not have seen." in shown
    assert "2 calls about memories that rule 1 hides" in shown


def test_a_rule_ends_with_its_last_day(hub: Hub, alice: User) -> None:
    client, today = signed_in(alice), timezone.now().date()
    for days, answer, badge in ((-1, "ok", ">rule ended<"), (1, "err", ">refuses<")):
        given = row("/notes/", until=(today + timedelta(days)).isoformat())
        assert tried_and_saved(client, hub.store, given).status_code == 303
        assert rules_of(hub.store)[0]["until"] == given["until"]
        assert hub.call(command="create", path=f"/memories/notes/{days}.md", file_text="x")[0] == answer
        asked = client.get(listed(hub.store), {"path": "/notes/a.md", "verb": "edit"})
        assert badge in client.get(listed(hub.store)).content.decode()
        assert asked.context["decision"].number == (0 if days < 0 else 1)
        assert [one.why for one in asked.context["rules"]] == [
            "The last day of this rule is over." if days < 0 else "This rule decides."
        ]
    saying = "No agent may create, change, delete or rename any memory under /notes/ until "
    assert saying in client.get(listed(hub.store)).content.decode()
    wrong = form(client, hub.store, "try", row("/a/", until="31.31.2026")).content.decode()
    assert "Enter a valid date." in wrong
