"""Policies: what may be set, and that each change is told with what was before and after."""

import json

import pytest
from django.core.exceptions import ValidationError

from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import HUB, AuditEntry, MemoryStore, RetentionPolicy
from tests.actions.retention.stores import BEGIN, DAY, act, new_store

pytestmark = pytest.mark.django_db


@pytest.fixture
def garden(db: None) -> MemoryStore:
    return new_store()


def newest(chain: str) -> tuple[str | None, dict[str, object]]:
    entry = AuditEntry.objects.of_chain(chain).newest()[0]
    return entry.command, json.loads(entry.input or "{}")


def test_every_change_is_told_with_what_was_before_and_after(garden: MemoryStore) -> None:
    for store_id in (garden.pk, None):
        chain = store_id or HUB
        made = policies.save_policy(store_id, PolicySettings("Old", "/a/", expire_unread_days=90), act(BEGIN))
        command, told = newest(chain)
        assert command == "set_policy"
        assert (told["name"], told["expire_unread_days"], told["policy"]) == ([None, "Old"], [None, 90], made.pk)
        changed = PolicySettings("Old", "/a/", expire_unread_days=30, grace_days=5)
        again = policies.save_policy(store_id, changed, act(BEGIN + DAY), policy_id=made.pk)
        assert (again.pk, again.updated_at, again.created_at) == (made.pk, BEGIN + DAY, BEGIN)
        told = newest(chain)[1]
        assert (told["expire_unread_days"], told["grace_days"], "name" in told) == ([90, 30], [30, 5], False)
        count = AuditEntry.objects.count()
        policies.save_policy(store_id, changed, act(BEGIN), policy_id=made.pk)
        assert AuditEntry.objects.count() == count
        policies.delete_policy(made.pk, act(BEGIN))
        command, told = newest(chain)
        assert (command, told["expire_unread_days"]) == ("delete_policy", [30, None])
        assert not RetentionPolicy.objects.filter(pk=made.pk).exists()
    with pytest.raises(RetentionPolicy.DoesNotExist):
        policies.delete_policy(made.pk, act(BEGIN))


@pytest.mark.both_databases
def test_a_store_and_the_hub_have_a_limited_number_of_policies(
    garden: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "MOST", 2)
    for store_id in (garden.pk, None):
        made = [policies.save_policy(store_id, PolicySettings("A", f"/{name}/"), act(BEGIN)) for name in "ab"]
        with pytest.raises(ValidationError, match="There are already 2 policies"):
            policies.save_policy(store_id, PolicySettings("A", "/c/"), act(BEGIN))
        policies.save_policy(store_id, PolicySettings("B", "/b/"), act(BEGIN), policy_id=made[1].pk)


def test_a_pattern_has_one_policy_in_a_store_and_one_in_the_hub(garden: MemoryStore) -> None:
    for store_id in (garden.pk, None):
        policies.save_policy(store_id, PolicySettings("one", "/"), act(BEGIN))
        with pytest.raises(ValidationError) as raised:
            policies.save_policy(store_id, PolicySettings("two", ""), act(BEGIN))
        assert "pattern" in raised.value.message_dict
    with pytest.raises(RetentionPolicy.DoesNotExist):
        policies.save_policy(None, PolicySettings("x"), act(BEGIN), policy_id="policy_nowhere")


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (PolicySettings(" "), "name"), (PolicySettings("x" * 101), "name"), (PolicySettings("a\nb"), "name"),
        (PolicySettings("x", "a"), "pattern"), (PolicySettings("x", "/a**"), "pattern"),
        (PolicySettings("x", expire_unread_days=0), "expire_unread_days"),
        (PolicySettings("x", expire_older_days=-1), "expire_older_days"),
        (PolicySettings("x", keep_versions=10**7), "keep_versions"),
        (PolicySettings("x", keep_version_days=40_000), "keep_version_days"),
        (PolicySettings("x", grace_days=0), "grace_days"), (PolicySettings("x", trash_days=0), "trash_days"),
        (PolicySettings("x", "/a/", keep_entry_days=9), "keep_entry_days"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_by_field(garden: MemoryStore, settings: PolicySettings, field: str) -> None:
    with pytest.raises(ValidationError) as raised:
        policies.save_policy(garden.pk, settings, act(BEGIN))
    assert list(raised.value.message_dict) == [field]
    assert not RetentionPolicy.objects.exists()


def test_others_can_be_tried_in_the_place_of_what_is_saved(garden: MemoryStore) -> None:
    made = policies.save_policy(garden.pk, PolicySettings("one", "/a/", expire_older_days=3), act(BEGIN))
    saved = policies.concerning(garden.pk)
    assert saved == [policies.rules_of(made)] and policies.concerning(None) == []
    tried = PolicySettings("one", "/a/", expire_older_days=2).as_policy(garden.pk, made.pk)
    assert policies.instead_of(saved, tried) == [tried]
