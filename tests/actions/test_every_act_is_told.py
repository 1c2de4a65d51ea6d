"""What governs a store is told in its audit: what it was before, and what it is after."""

import json
from datetime import timedelta
from typing import Any

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import settings as hub_settings
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.findings import findings, rules
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HUB, AuditEntry, Door, Finding, FindingState, HoldKind, Memory, MemoryStore, User
from memoryhub.pure.limits import COLUMNS
from tests.api.harness import AT, assert_audit_is_right, new_store

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 1111"


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


@pytest.fixture
def act(alice: User) -> Act:
    return Act(Actor.person(alice), Door.WEB, AT + timedelta(days=1), note="because")


@pytest.fixture
def memory(store: MemoryStore, act: Act) -> Memory:
    done = curation.create(store.id, "/a.md", f"card {CARD}\n", act, override="a test card")
    return Memory.objects.get(pk=done.memory)


def told(chain: str, command: str) -> dict[str, Any]:
    """The input of the newest entry, which is of this command and names the person and the note."""
    entry = AuditEntry.objects.of_chain(chain).newest()[0]
    assert (entry.command, entry.ok, entry.actor_kind) == (command, True, "user")
    assert CARD not in str(entry.input)
    value: dict[str, Any] = json.loads(entry.input or "null")
    return value


@pytest.mark.both_databases
def test_a_policy_is_told_when_it_is_made_changed_and_deleted(store: MemoryStore, act: Act) -> None:
    for chain, owner in ((store.id, store.id), (HUB, None)):
        policy = policies.save_policy(owner, PolicySettings("Old", expire_older_days=9), act)
        assert told(chain, "set_policy")["expire_older_days"] == [None, 9]
        policies.save_policy(owner, PolicySettings("Old", expire_older_days=8), act, policy_id=policy.pk)
        assert told(chain, "set_policy")["expire_older_days"] == [9, 8]
        policies.delete_policy(policy.pk, act)
        assert told(chain, "delete_policy")["expire_older_days"] == [8, None]


@pytest.mark.both_databases
def test_a_limit_is_told_for_a_store_and_for_the_hub(store: MemoryStore, act: Act) -> None:
    settings = StoreSettings(name=store.name, limits={"limit_memories": 5})
    stores.edit_store(store, settings, actor=act.actor, door=act.door, at=act.at)
    assert told(store.id, "edit_store") == {"limit_memories": [None, 5]}
    hub_settings.set_limits(dict.fromkeys(COLUMNS) | {"limit_memories": 7}, act)
    assert told(HUB, "set_limits") == {"limit_memories": [None, 7]}


def test_a_rule_is_told_for_a_store_and_for_the_hub(store: MemoryStore, act: Act) -> None:
    rules.save_rules(store.id, {"card": "mask"}, act)
    assert "mask" in str(told(store.id, "edit_rules"))
    rules.save_rules(None, {"card": "block"}, act)
    assert "block" in str(told(HUB, "edit_rules"))


def test_a_hold_is_told_when_it_is_placed_and_released(store: MemoryStore, act: Act) -> None:
    hold = holds.place(store.id, act, kind=HoldKind.HOLD, path="/x", reason="a dispute")
    assert told(store.id, "hold")["reason"] == [None, "a dispute"]
    holds.release(store.id, hold.pk, act)
    assert told(store.id, "release")["reason"] == ["a dispute", None]


@pytest.mark.both_databases
def test_deciding_about_a_finding_and_revealing_are_told(store: MemoryStore, memory: Memory, act: Act) -> None:
    finding = Finding.objects.get(memory_id=memory.id)
    findings.decide(store.id, [finding.pk], FindingState.OPEN, "", act)
    value = told(store.id, "reopen_finding")
    assert (value["before"], value["after"]) == ({"dismissed": [finding.pk]}, "open")
    findings.decide(store.id, [finding.pk], FindingState.DISMISSED, "a test card", act)
    value = told(store.id, "dismiss_finding")
    assert (value["before"], value["after"]) == ({"open": [finding.pk]}, "dismissed")
    assert findings.reveal(store.id, memory.head_id, act) == f"card {CARD}\n"
    assert told(store.id, "reveal") == {"version": memory.head_id, "state": ["masked", "shown"]}


def test_redacting_and_erasing_are_told(store: MemoryStore, memory: Memory, act: Act) -> None:
    found = erasure.search(store.id, [CARD], act.at)
    erasure.erase(store.id, [CARD], found.digest, act)
    newest = Memory.objects.get(pk=memory.id).head_id
    assert told(store.id, "erase")["newest"] == [[memory.head_id, newest]]
    redaction.redact_version(store.id, memory.head_id, act)
    assert told(store.id, "redact")["state"] == ["passages redacted", "redacted"]
    assert_audit_is_right(store)
