"""Rules: what becomes of a kind is the store's rule, else the hub's, else the kind's default; each change is told."""

import json

import pytest

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules.ruling import ruling
from memoryhub.actions.findings.rules import UnknownRule, actions_of, save_rules
from memoryhub.models import HUB, AuditEntry, HubSettings, MemoryStore
from memoryhub.pure.sensitive import KINDS, Action
from tests.api.harness import BY, Hub, assert_audit_is_right, newest_entry

ACT = Act(**BY)


def test_a_stores_rule_comes_before_the_hubs_and_the_hubs_before_the_default() -> None:
    actions = actions_of('{"card":"mask"}', '{"card":"off","email":"block"}')
    assert (actions["card"], actions["email"], actions["jwt"]) == ("mask", "block", KINDS["jwt"].default)
    assert set(actions) == set(KINDS)


def test_rules_that_cannot_be_read_or_are_not_known_any_more_are_passed_over() -> None:
    defaults = {name: kind.default for name, kind in KINDS.items()}
    for text in (None, "", "null", "[]", "{", '{"card":"burn","ghost":"mask"}', '{"card":{}}', '{"card":[]}'):
        assert actions_of(text or "{}", text) == defaults


def test_what_is_masked_or_blocked_is_kept_out_and_what_is_flagged_is_not() -> None:
    rules = ruling(json.dumps(dict.fromkeys(KINDS, "off") | {"card": "mask", "jwt": "block", "email": "flag"}), None)
    assert (rules.kept_out, rules.flagged, rules.is_idle) == ({"card", "jwt"}, {"email"}, False)
    assert ruling(json.dumps(dict.fromkeys(KINDS, "off")), None).is_idle


@pytest.mark.django_db
def test_saving_a_stores_rules_says_what_they_were_and_are(hub: Hub) -> None:
    save_rules(hub.store.id, {"card": "mask", "email": ""}, ACT)
    save_rules(hub.store.id, {"card": "block", "iban": Action.FLAG}, ACT)
    entry = newest_entry(hub.store.id)
    assert (entry.command, json.loads(entry.input or "")) == (
        "edit_rules",
        {"before": {"card": "mask"}, "after": {"card": "block", "iban": "flag"}, "defaults": {"iban": "flag"}},
    )  # fmt: skip
    assert MemoryStore.objects.get(pk=hub.store.pk).rules == {"card": "block", "iban": "flag"}
    assert_audit_is_right(hub.store)


@pytest.mark.django_db
def test_saving_the_hubs_rules_is_told_in_its_own_chain_and_holds_in_every_store(hub: Hub) -> None:
    HubSettings.current()
    save_rules(None, {"card": "block"}, ACT)
    assert json.loads(newest_entry(HUB).input or "") == {
        "before": {}, "after": {"card": "block"}, "defaults": {"card": "flag"},
    }  # fmt: skip
    assert hub.call(command="create", path="/memories/x", file_text="4111 1111 1111 1111")[0] == "err"
    save_rules(hub.store.id, {"card": "flag"}, ACT)
    assert json.loads(newest_entry(hub.store.id).input or "")["defaults"] == {"card": "block"}
    assert hub.call(command="create", path="/memories/x", file_text="4111 1111 1111 1111")[0] == "ok"
    assert_audit_is_right(hub.store)


@pytest.mark.django_db
def test_rules_that_change_nothing_write_nothing_and_unknown_ones_are_refused(hub: Hub) -> None:
    save_rules(hub.store.id, {"card": "mask"}, ACT)
    count = AuditEntry.objects.count()
    save_rules(hub.store.id, {"card": "mask"}, ACT)
    save_rules(None, {}, ACT)
    for rules in ({"ghost": "mask"}, {"card": "burn"}):
        with pytest.raises(UnknownRule):
            save_rules(hub.store.id, rules, ACT)
    assert AuditEntry.objects.count() == count
