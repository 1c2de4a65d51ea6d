"""A filter by an author who does not exist says so, instead of that nothing was found."""

import pytest

from memoryhub.models import Agent, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def page(person: User, address: str, **filters: str) -> str:
    response = signed_in(person).get(address, filters)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.mark.push
def test_search_and_audit_name_the_unknown_agent_and_a_similar_one(
    store: MemoryStore, agent: Agent, key: str, bob: User
) -> None:
    Caller(store, key).create("/a.md", "one\n")
    for address in ("/search", "/audit", f"/stores/{store.id}/audit"):
        for typed in ("supp", "bot", "suport bot"):
            found = page(bob, address, q=f'agent:"{typed}"')
            assert f"There is no agent called {typed} that has a key here" in found, (address, typed)
            assert "Did you mean Support bot?" in found, (address, typed)
        assert "Did you mean" not in page(bob, address, q="agent:zzzzzz")
        assert "There is no agent called" not in page(bob, address, q='agent:"support bot"')


@pytest.mark.both_databases
def test_people_too_and_only_those_whom_the_person_may_know(store: MemoryStore, bob: User, charlie: User) -> None:
    start = bob.email[:3]
    assert f"Did you mean {bob.email}?" in page(bob, "/search", q=f"person:{start}")
    assert charlie.email not in page(bob, "/search", q=f"person:{charlie.email[:5]}")


@pytest.mark.both_databases
def test_a_session_that_does_not_exist_is_named_with_a_similar_one(
    store: MemoryStore, agent: Agent, key: str, bob: User
) -> None:
    Caller(store, key, session="ticket-4478").create("/a.md", "one\n")
    for address in ("/audit", "/search"):
        found = page(bob, address, q=f'agent:"{agent.name}" session:ticket-447')
        assert "There is no session called ticket-447, or you may not see it." in found, address
        assert "Did you mean ticket-4478?" in found, address
        assert "There is no session called" in page(bob, address, q="session:sesn_0000"), address
        known = page(bob, address, q=f'agent:"{agent.name}" session:ticket-4478')
        assert "There is no session called" not in known, address
