"""The keys that the hub issues to itself, for Claude runs and evaluations: what the lists of keys say of them."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from memoryhub.models import Agent, Key, MemoryStore, User
from tests.claude_runs.claude_api import KEY
from tests.claude_runs.running import started
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.agents.pages import issue, text

pytestmark = pytest.mark.django_db

SAYS = "used only by Claude runs of this hub"


@pytest.fixture
def of_run(store: MemoryStore, alice: User, settings: Any) -> Key:
    settings.ANTHROPIC_API_KEY = KEY
    return Key.objects.get(pk=started(store, alice).key)


def evaluated(store: MemoryStore) -> Key:
    call_command("evaluate_memory", store.pk, stdout=io.StringIO())
    return Key.objects.get(name="Claude (evaluations)")


@pytest.mark.push
@pytest.mark.both_databases
def test_the_key_of_evaluations_reaches_no_memory_store(
    store: MemoryStore, other: MemoryStore, alice: User, superuser: User
) -> None:
    key = evaluated(store)
    assert not MemoryStore.objects.filter(keys=key).exists() and not key.all_stores
    assert evaluated(other) == key, "one key is enough for all memory stores"
    for page in (reverse("store_keys", args=[store.pk]), reverse("agents")):
        assert "Claude (evaluations)" not in text(signed_in(alice).get(page)), page
    assert signed_in(alice).get(reverse("agent", args=[key.agent_id])).status_code == 404
    client = signed_in(superuser)
    assert "which run on copies of memory stores" in text(client.get(reverse("agents")))
    shown = text(client.get(reverse("keys")))
    assert SAYS in shown and reverse("revoke_key", args=[key.pk]) in shown
    assert reverse("replace_key", args=[key.pk]) not in shown


def test_the_key_of_claude_runs_is_named_as_such_and_not_replaced(
    of_run: Key, store: MemoryStore, alice: User, superuser: User
) -> None:
    replace, revoke = (reverse(name, args=[of_run.pk]) for name in ("replace_key", "revoke_key"))
    pages = (reverse("store_keys", args=[store.pk]), reverse("agent", args=[of_run.agent_id]))
    for person, page in ((alice, pages[0]), (alice, pages[1]), (superuser, reverse("keys"))):
        shown = text(signed_in(person).get(page))
        assert SAYS in shown and f'href="{revoke}"' in shown and replace not in shown, page
        assert "issued by" not in shown, page
    for person in (alice, superuser):
        client = signed_in(person)
        assert client.get(replace).status_code == client.post(replace, {"expires_in": "90"}).status_code == 403
        asked = text(client.get(revoke))
        assert "For new runs and evaluations, the hub issues another key" in asked and replace not in asked
    assert Key.objects.count() == 1


def test_no_form_offers_a_key_to_the_agents_of_claude_runs(
    of_run: Key, agent: Agent, store: MemoryStore, alice: User, superuser: User
) -> None:
    issue(agent, store)
    evaluated(store)
    page, claude = reverse("store_keys", args=[store.pk]), [*Agent.objects.exclude(pk=agent.pk)]
    assert len(claude) == 2
    for person in (alice, superuser):
        shown = text(signed_in(person).get(page))
        assert f'<option value="{agent.pk}"' in shown
        assert not any(f'<option value="{one.pk}"' in shown for one in claude)
        assert "1 key that the hub issued to itself" in shown
    for one in claude:
        shown = text(signed_in(superuser).get(reverse("agent", args=[one.pk])))
        assert "Issue a key" not in shown and "YOUR-KEY" not in shown
    assert "Issue a key" in text(signed_in(superuser).get(reverse("agent", args=[agent.pk])))


def test_the_first_steps_do_not_take_claude_runs_for_an_agent(of_run: Key, superuser: User) -> None:
    with tampering():
        Key.objects.update(last_used_at=timezone.now())
    connects = signed_in(superuser).get("/").context["steps"][1]
    assert connects.act == "Issue a key" and not connects.is_done


def test_the_key_of_claude_runs_can_be_revoked(of_run: Key, alice: User) -> None:
    signed_in(alice).post(reverse("revoke_key", args=[of_run.pk]), {"name": of_run.agent.name})
    assert not Key.objects.usable(timezone.now()).exists()


def test_a_key_of_a_person_with_such_a_name_is_an_ordinary_one(agent: Agent, store: MemoryStore, alice: User) -> None:
    for name in ("Claude runs", "Claude (evaluations)"):
        assert not issue(agent, store, name=name, created_by=alice).is_of_hub
    assert SAYS not in text(signed_in(alice).get(reverse("store_keys", args=[store.pk])))
