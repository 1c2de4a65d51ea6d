"""What the form says that other path rules would have done, also where not all of the audit was looked at."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules, stores
from memoryhub.models import AuditEntry, MemoryStore, User
from memoryhub.pure.path_rules import Condition, Effect, PathRule, Verb, many
from memoryhub.web.path_rules import replay
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.path_rules.test_path_rules import form, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    return Hub(store, key)


def test_what_was_not_looked_at_is_not_called_unchanged(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "MOST_ENTRIES", 2)
    caller = Caller(store, key, at=timezone.now() - timedelta(days=1))
    caller.create("/a.md", "text\n")
    for _ in range(3):
        caller.call("view", path="/memories/a.md")
    shown = form(signed_in(alice), store, "try", row("/")).content.decode()
    assert "Agents have changed nothing here" not in shown
    assert "None of the newest entries that were checked is a change by an agent." in shown


def test_a_replay_agrees_with_what_then_happens_call_by_call(hub: Hub, alice: User) -> None:
    calls: list[dict[str, object]] = [
        {"command": "create", "path": "/memories/a/1.md", "file_text": "1"},
        {"command": "create", "path": "/memories/a/2.md", "file_text": "2"},
        {"command": "create", "path": "/memories/b.md", "file_text": "3"},
        {"command": "insert", "path": "/memories/a/1.md", "insert_line": 0, "insert_text": "x"},
        {"command": "str_replace", "path": "/memories/a/1.md", "old_str": "1", "new_str": "2"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c"},
        {"command": "rename", "old_path": "/memories/c", "new_path": "/memories/a"},
        {"command": "delete", "path": "/memories/a"},
        {"command": "view", "path": "/memories/b.md"},
    ]
    for input in calls:
        assert hub.call(**input)[0] == "ok"
    for number, rule in enumerate((
        PathRule(Effect.REFUSE, "/a/", frozenset({Verb.CREATE})), PathRule(Effect.REFUSE, "/c/*"),
        PathRule(Effect.REFUSE, "/a/", frozenset({Verb.DELETE})), PathRule(Effect.REFUSE, "/a/1.md"),
        PathRule(Effect.PROPOSE, "/a/"), PathRule(Effect.PROPOSE, "/a/", only_if=Condition.REMOVES_LINES),
        PathRule(Effect.REFUSE, only_if=Condition.NEW_AGENT),
    )):  # fmt: skip
        fresh = stores.create_store(stores.StoreSettings(f"Replayed {number}"), **BY)
        agent = keys_and_roles.create_agent(f"Bot {number}", **BY)
        secret = keys_and_roles.issue_key(agent, stores=[fresh], access="write", **BY)[1]
        newest = AuditEntry.objects.of_chain(hub.store.pk).newest()[0]
        outcome = replay.replay(hub.store.pk, replay.PathRules([rule]), newest.at)
        refused, other = 0, Hub(fresh, secret)
        path_rules.save(fresh.pk, [rule], path_rules.digest([]), Act(**BY))
        for input in calls:
            if other.call(**input)[1].startswith(("Error: A path rule", "Not written")):
                refused += 1
                path_rules.save(fresh.pk, [], path_rules.digest([rule]), Act(**BY))
                assert other.call(**input)[0] == "ok"
                path_rules.save(fresh.pk, [rule], path_rules.digest([]), Act(**BY))
        assert (outcome.proposed if rule.effect is Effect.PROPOSE else outcome.refused) == refused > 0, rule


def test_a_replay_is_bounded_and_says_so(hub: Hub, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        hub.call(command="create", path=f"/memories/{number}.md", file_text="")
    monkeypatch.setattr(replay, "MOST_ENTRIES", 3)
    response = form(signed_in(alice), hub.store, "try", row("/"))
    assert response.context["outcome"].calls == 3 and "Older changes were not checked" in response.content.decode()


def test_a_replay_of_more_than_it_looks_at_says_so(hub: Hub, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        hub.call(command="create", path=f"/memories/a{number}/b.md", file_text="x")
    hub.call(command="rename", old_path="/memories/a0", new_path="/memories/c")
    curation.create(hub.store.pk, "/by a person.md", "x", Act(**BY))
    client, rules = signed_in(alice), [row("/**/b*")]
    whole = form(client, hub.store, "try", *rules).context["outcome"]
    assert (whole.calls, whole.refused, whole.is_cut) == (7, 7, False)
    monkeypatch.setattr(replay, "MOST_VERSIONS", 3)
    few = form(client, hub.store, "try", *rules).context["outcome"]
    assert (few.calls, few.refused, few.is_cut) == (3, 3, True)
    monkeypatch.undo()
    monkeypatch.setattr(many, "MOST_WORK", 20)
    short = form(client, hub.store, "try", *rules).context["outcome"]
    assert short.is_cut and 0 < short.calls == short.refused < 7
