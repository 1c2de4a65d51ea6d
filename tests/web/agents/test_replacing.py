"""A leaked key is replaced: a key with the same rights, and the way to revoke the old one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores.path_rules import of_store
from memoryhub.models import Access, Agent, Key, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.agents.pages import issue, text
from tests.web.path_rules.test_examples_and_questions import save

pytestmark = pytest.mark.django_db


def address(key: Key) -> str:
    return reverse("replace_key", args=[key.pk])


@pytest.mark.both_databases
def test_a_replacement_has_the_rights_of_the_old_key_and_leads_to_revoking_it(
    agent: Agent, store: MemoryStore, other: MemoryStore, superuser: User
) -> None:
    in_a_month = BY["at"] + timedelta(days=30)
    cases: list[dict[str, Any]] = [
        {"stores": [store, other], "access": Access.READ, "name": "Nightly"},
        {"all_stores": True, "access": Access.MANAGE, "expires_at": in_a_month},
    ]
    for case in cases:
        old, _ = keys_and_roles.issue_key(agent, **case, **BY)
        client = signed_in(superuser)
        assert f'href="{address(old)}"' in text(client.get(reverse("agent", args=[agent.pk])))
        asked = client.get(address(old))
        initial = asked.context["form"].initial
        assert initial == {"name": old.name, "expires_in": "30" if old.expires_at else "never"}
        shown = text(client.post(address(old), initial | {"form": asked.context["form_once"]}))
        new = Key.objects.newest()[0]
        assert new.pk != old.pk and f"…{old.hint}" not in shown and f"which ends with {old.hint}, still works" in shown
        for name in ("agent_id", "access", "all_stores", "name"):
            assert getattr(new, name) == getattr(old, name)
        assert set(MemoryStore.objects.filter(keys=new)) == set(MemoryStore.objects.filter(keys=old))
        assert (new.expires_at is None) == (old.expires_at is None)
        assert f'href="{reverse("revoke_key", args=[old.pk])}">Revoke the old key' in shown
        old.refresh_from_db()
        assert old.revoked_at is None


@pytest.mark.both_databases
def test_the_path_rules_that_name_the_old_key_name_the_new_one_too(
    agent: Agent, store: MemoryStore, alice: User
) -> None:
    old, rule = issue(agent, store), PathRule(Effect.REFUSE, "/c/")
    save(store, replace(rule, who=old.pk), rule)
    client = signed_in(alice)
    asked = client.get(address(old))
    assert (
        "Add the new key to the path rules that name the old key" in text(asked)
        and asked.context["form"]["rules"].value() is True
    )
    given = {"name": "", "expires_in": "90", "rules": "on", "form": asked.context["form_once"]}
    shown, new = text(client.post(address(old), given)), Key.objects.newest()[0]
    assert "name only the old key" not in shown
    assert of_store(MemoryStore.objects.get()) == (replace(rule, who=old.pk), replace(rule, who=new.pk), rule)
    shown = text(client.get(reverse("revoke_key", args=[old.pk])))
    assert f"The new key …{new.hint}, which has the same rights" in shown and "name only the old key" not in shown


@pytest.mark.both_databases
def test_a_rule_that_names_only_the_old_key_is_no_right_of_the_new_one(
    agent: Agent, store: MemoryStore, alice: User
) -> None:
    old = issue(agent, store)
    save(store, PathRule(Effect.REFUSE, "/d/"), PathRule(Effect.REFUSE, "/c/", who=old.pk))
    client = signed_in(alice)
    once = client.get(address(old)).context["form_once"]
    shown = [text(client.post(address(old), {"name": "", "expires_in": "90", "form": once}))]
    shown.append(text(client.get(reverse("revoke_key", args=[old.pk]))))
    for page in shown:
        assert "These path rules name only the old key" in page
        assert f'href="{reverse("path_rules", args=[store.pk])}#rule-2"' in page and "same rights" not in page
    rules = text(client.get(reverse("path_rules", args=[store.pk])))
    assert "the rule applies to no one" not in rules
    keys_and_roles.revoke_key(old, **BY)
    assert text(client.get(reverse("path_rules", args=[store.pk]))).count("the rule applies to no one") == 1


@pytest.mark.both_databases
def test_a_rule_for_an_agent_without_a_usable_key_says_so(agent: Agent, store: MemoryStore, alice: User) -> None:
    key, client = issue(agent, store), signed_in(alice)
    save(store, PathRule(Effect.REFUSE, "/c/", who=agent.pk))
    said = "All keys of the agent to this memory store are revoked or have expired."
    assert said not in text(client.get(reverse("path_rules", args=[store.pk])))
    keys_and_roles.revoke_key(key, **BY)
    assert said in text(client.get(reverse("path_rules", args=[store.pk])))


def test_only_who_may_issue_such_a_key_replaces_one(
    agent: Agent, store: MemoryStore, other: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    own, wide = issue(agent, store), issue(agent, store, other)
    given = {"name": "", "expires_in": "90"}
    for user, key, code in [(alice, wide, 403), (bob, own, 403), (charlie, own, 404)]:
        assert signed_in(user).get(address(key)).status_code == code
        assert signed_in(user).post(address(key), given).status_code == code
    issue(agent, all_stores=True)
    assert "only an administrator of the hub" in text(signed_in(alice).post(address(own), given))
    assert Key.objects.count() == 3
    assert signed_in(alice).put(address(own)).status_code == 405


@pytest.mark.parametrize("words", ["leaked key", "rotate key", "replace a key", "stolen key"])
def test_the_palette_finds_the_way(
    agent: Agent, store: MemoryStore, alice: User, superuser: User, bob: User, words: str
) -> None:
    issue(agent, store)
    for user, place in ((superuser, "/keys"), (alice, "/agents"), (bob, "")):
        found = text(signed_in(user).get(reverse("palette"), {"q": words}, headers={"HX-Request": "true"}))
        assert ("Replace" in found) == bool(place) and (not place or f'href="{place}"' in found)


@pytest.mark.both_databases
def test_who_revokes_the_old_key_reads_which_key_has_its_rights_now_and_whether_it_is_used(
    agent: Agent, store: MemoryStore, other: MemoryStore, superuser: User
) -> None:
    client, now = signed_in(superuser), BY["at"]
    before, old = (issue(agent, store, at=now + timedelta(minutes=minute)) for minute in (0, 1))
    later = BY | {"at": now + timedelta(minutes=2)}
    for unlike in ({"stores": [store, other]}, {"all_stores": True}, {"stores": [store], "access": Access.MANAGE}):
        keys_and_roles.issue_key(agent, **unlike, **later)
    page = text(client.get(reverse("revoke_key", args=[old.pk])))
    assert "First issue a key with the same rights" in page and "The new key" not in page
    assert f"…{before.hint}, " in page.partition('name="others"')[2], "only among those that can be revoked with it"
    assert before.hint not in page.partition('name="others"')[0]
    new, _ = keys_and_roles.issue_key(agent, stores=[store], access=Access(old.access), **later)
    page = text(client.get(reverse("revoke_key", args=[old.pk])))
    assert (
        f"The new key …{new.hint}, which has the same rights" in page and "The new key has not been used yet." in page
    )
    assert "First issue a key" not in page
    with tampering():
        Key.objects.filter(pk=new.pk).update(last_used_at=now + timedelta(minutes=3))
    page = text(client.get(reverse("revoke_key", args=[old.pk])))
    assert "The new key was last used <time" in page and "not been used" not in page
    keys_and_roles.revoke_key(new, **later)
    assert "First issue a key with" in text(client.get(reverse("revoke_key", args=[old.pk])))
