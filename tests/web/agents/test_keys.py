"""The list of all keys of the hub, and what follows a revocation."""

from datetime import timedelta

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, MemoryStore, User
from tests.support.fixtures import BY, signed_in
from tests.web.agents.test_agents import issue, text


@pytest.mark.both_databases
def test_administrators_of_the_hub_see_all_keys(store: MemoryStore, agent: Agent, superuser: User, alice: User) -> None:
    other = stores.create_store(stores.StoreSettings(name="Salaries"), **BY)
    second = keys_and_roles.create_agent(name="importer", description="", **BY)
    first, key = issue(agent, store), issue(second, other, at=BY["at"] + timedelta(seconds=1))
    keys_and_roles.revoke_key(first, **BY)
    html = text(signed_in(superuser).get("/keys"))
    assert f"mh_…{first.hint}" in html and f"mh_…{key.hint}" in html and "revoked" in html and "Salaries" in html
    assert html.index(key.hint) < html.index(first.hint)
    for query in ("IMPORTER", f"mh_…{key.hint}"):
        html = text(signed_in(superuser).get("/keys", {"q": query}))
        assert f"mh_…{key.hint}" in html and f"mh_…{first.hint}" not in html
    html = text(signed_in(superuser).get("/keys", {"q": "salar"}))
    assert f"mh_…{key.hint}" in html and f"mh_…{first.hint}" not in html
    everywhere, _ = keys_and_roles.issue_key(agent, all_stores=True, **BY)
    html = text(signed_in(superuser).get("/keys", {"q": "All memory stores"}))
    assert f"mh_…{everywhere.hint}" in html and f"mh_…{key.hint}" not in html
    of_alice = issue(agent, store, created_by=alice)
    for query in (alice.name.upper(), alice.email):
        html = text(signed_in(superuser).get("/keys", {"q": query}))
        assert f"mh_…{of_alice.hint}" in html and f"mh_…{first.hint}" not in html
    assert f'<a href="{reverse("store", args=[other.pk])}">Salaries</a>' in text(signed_in(superuser).get("/keys"))
    assert "No key matches" in text(signed_in(superuser).get("/keys", {"q": "nobody"}))
    assert 'href="/keys"' in text(signed_in(superuser).get("/agents"))
    assert 'href="/keys"' not in text(signed_in(alice).get("/agents"))
    assert signed_in(alice).get("/keys").status_code == 403


def test_a_revocation_leads_to_what_was_done_with_the_key(store: MemoryStore, agent: Agent, superuser: User) -> None:
    key = issue(agent, store)
    html = text(signed_in(superuser).post(f"/keys/{key.pk}/revoke", {"name": agent.name}, follow=True))
    assert f'href="/audit?key={key.pk}"' in html and "See what was done with it" in html
