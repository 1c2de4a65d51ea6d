"""Agents: their list, their pages, and what each person sees of them and their keys."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Agent, AuditEntry, Key, MemoryStore, Session, User
from memoryhub.web.agents import agents
from memoryhub.web.agents.urls import urlpatterns
from tests.support.fixtures import BY, signed_in
from tests.web.agents.pages import call, issue, newest, text

HOSTILE = "<script>alert(1)</script>"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


def addresses(agent: Agent, key: Key) -> list[str]:
    return [
        "/agents", "/agents/new", f"/agents/{agent.id}", f"/agents/{agent.id}/edit", f"/agents/{agent.id}/keys/new",
        f"/keys/{key.id}/revoke", f"/keys/{key.id}/replace", f"/keys/{key.id}/first-call", "/keys",
    ]  # fmt: skip


def test_every_address_of_agents_is_in_these_tests(agent: Agent, store: MemoryStore) -> None:
    mine = [pattern for pattern in urlpatterns if str(pattern.pattern).startswith(("agents", "keys"))]
    assert len(mine) == len(addresses(agent, issue(agent, store)))


@pytest.mark.both_databases
def test_who_may(agent: Agent, store: MemoryStore, alice: User, bob: User, charlie: User, superuser: User) -> None:
    key = issue(agent, store)
    expected = {
        superuser: [200, 200, 200, 200, 200, 200, 200, 302, 200],
        alice: [200, 403, 200, 403, 403, 200, 200, 302, 403],
        bob: [200, 403, 200, 403, 403, 403, 403, 302, 403],
        charlie: [200, 403, 404, 403, 403, 404, 404, 404, 403],
    }
    for user, codes in expected.items():
        assert [signed_in(user).get(address).status_code for address in addresses(agent, key)] == codes
    assert {Client().get(address).status_code for address in addresses(agent, key)} == {302}


def test_wrong_methods_are_refused(agent: Agent, store: MemoryStore, superuser: User) -> None:
    client = signed_in(superuser)
    for address in addresses(agent, issue(agent, store)):
        assert client.put(address).status_code == 405
    assert client.post("/agents").status_code == client.post(f"/agents/{agent.id}").status_code == 405


def test_looking_writes_nothing(agent: Agent, store: MemoryStore, superuser: User) -> None:
    key = issue(agent, store)
    before = AuditEntry.objects.count()
    for address in addresses(agent, key):
        signed_in(superuser).get(address)
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize(
    "address",
    ["/agents/x", "/agents/x/edit", "/agents/x/keys/new", "/keys/x/revoke", "/agents/%00", "/keys/%00/revoke"],
)
def test_what_is_not_there_is_404(superuser: User, address: str) -> None:
    assert signed_in(superuser).get(address).status_code == 404


def test_a_person_sees_agents_of_their_own_stores_alone(
    agent: Agent, store: MemoryStore, other: MemoryStore, bob: User, charlie: User, superuser: User
) -> None:
    foreign = keys_and_roles.create_agent("Payroll", **BY)
    issue(agent, store)
    issue(agent, other, name="secret purpose")
    issue(foreign, other)
    seen = text(signed_in(bob).get("/agents"))
    assert "Support bot" in seen and "Payroll" not in seen and "Salaries" not in seen
    page = text(signed_in(bob).get(f"/agents/{agent.id}"))
    assert "Support" in page and "Salaries" not in page and "secret purpose" not in page
    assert signed_in(bob).get(f"/agents/{foreign.id}").status_code == 404
    assert "No agents here" in text(signed_in(charlie).get("/agents"))
    assert "Payroll" in text(signed_in(superuser).get("/agents"))


def test_a_key_to_all_stores_is_seen_by_those_with_a_role(agent: Agent, bob: User, charlie: User) -> None:
    issue(agent, all_stores=True)
    assert "all memory stores" in text(signed_in(bob).get(f"/agents/{agent.id}"))
    assert signed_in(charlie).get(f"/agents/{agent.id}").status_code == 404


def test_a_shared_key_names_no_store_that_the_person_has_no_role_in(
    agent: Agent, store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    key = issue(agent, store, other)
    page = text(signed_in(alice).get(f"/agents/{agent.id}"))
    assert "others, in which you have no role" in page and "Salaries" not in page
    assert signed_in(alice).get(f"/keys/{key.id}/revoke").status_code == 403


def test_sessions_in_other_stores_are_not_shown(
    agent: Agent, store: MemoryStore, other: MemoryStore, bob: User, superuser: User
) -> None:
    _, secret = keys_and_roles.issue_key(agent, stores=[store, other], **BY)
    assert call(store, secret, memoryhub_session="run-here") == 200
    assert call(other, secret, memoryhub_session="run-there") == 200
    assert Session.objects.count() == 2
    theirs = text(signed_in(bob).get(f"/agents/{agent.id}"))
    assert "run-here" in theirs and "run-there" not in theirs
    everything = text(signed_in(superuser).get(f"/agents/{agent.id}"))
    assert "run-here" in everything and "run-there" in everything
    assert f"/sessions/{Session.objects.get(name='run-here').id}" in theirs
    assert f"/audit?agent={agent.id}" in theirs
    assert (
        theirs.index("Recent sessions")
        < theirs.index("Path rules that name this agent")
        < theirs.index("Connect a client")
    )
    assert f'href="/audit?agent={agent.id}&outcome=error">Its failed calls</a>' in theirs


def test_the_store_of_a_key_leads_to_what_agents_may_change_there(
    agent: Agent, store: MemoryStore, key: str, bob: User
) -> None:
    page = signed_in(bob).get(f"/agents/{agent.pk}").content.decode()
    assert f'<a href="/stores/{store.pk}/path-rules"' in page
    assert "See how many calls a minute each of its keys may make, in:" in page
    assert f'<a href="/stores/{store.pk}/limits"' in page


def test_the_links_of_an_agent_lead_to_its_entries(agent: Agent, store: MemoryStore, bob: User) -> None:
    _, secret = keys_and_roles.issue_key(agent, stores=[store], **BY)
    call(store, secret, memoryhub_session="run-1")
    for query in (f"agent={agent.id}", f"session={Session.objects.get().id}"):
        assert text(signed_in(bob).get(f"/audit?{query}")).count(f"/audit/{store.id}/") == 1
    assert f'href="/overview?agent={agent.id}"' in text(signed_in(bob).get(f"/agents/{agent.id}"))


@pytest.mark.both_databases
def test_the_list_is_found_by_name_and_goes_on(superuser: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "ROWS", 10)
    for number in range(15):
        keys_and_roles.create_agent(f"bot {number:03}", **BY)
    client = signed_in(superuser)
    html = text(client.get("/agents"))
    assert "bot 000" in html and "bot 014" not in html
    rest = text(client.get(f"/agents?after={Agent.objects.get(name='bot 009').pk}"))
    assert "bot 014" in rest and "bot 009" not in rest
    found = text(client.get("/agents?q=BOT+012"))
    assert "bot 012" in found and "bot 011" not in found
    assert "No agent has this name" in text(client.get("/agents?q=zzz"))
    assert client.get("/agents?q=%00&after=%00").status_code < 500


def test_a_list_of_agents_asks_a_fixed_number_of_questions(
    superuser: User, store: MemoryStore, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        issue(keys_and_roles.create_agent(f"bot {number:03}", **BY), store)
    client = signed_in(superuser)
    with django_assert_max_num_queries(9):
        client.get("/agents")


def test_an_agent_is_made_and_its_first_key_is_next(superuser: User) -> None:
    response = signed_in(superuser).post("/agents/new", {"name": " Triage bot ", "description": "Sorts tickets."})
    made = Agent.objects.get()
    assert response.headers["Location"] == f"/agents/{made.id}/keys/new"
    assert made.name == "Triage bot" and newest("create_agent").actor_id == superuser.id


@pytest.mark.push
@pytest.mark.both_databases
@pytest.mark.parametrize(
    "name",
    ["", " ", "x" * 101, "a\x00b", "a\nb", "evil\u202etob", "zero\u200bwidth", "support bot", "ＳＵＰＰＯＲＴ BOT"],
)
def test_a_malformed_or_taken_name_makes_no_agent(agent: Agent, superuser: User, name: str) -> None:
    response = signed_in(superuser).post("/agents/new", {"name": name})
    assert response.status_code == 200 and "errorlist" in text(response)
    assert Agent.objects.count() == 1


def test_a_hostile_name_is_shown_and_not_run(superuser: User, store: MemoryStore) -> None:
    client = signed_in(superuser)
    client.post("/agents/new", {"name": HOSTILE, "description": HOSTILE + "\u202e"})
    made = Agent.objects.get()
    key = issue(made, store, name=HOSTILE)
    for address in addresses(made, key):
        html = client.get(address).content.decode()
        assert HOSTILE not in html
        assert "\u202e" not in html or "textarea" in html
    assert "&lt;script&gt;" in client.get(f"/agents/{made.id}").content.decode()


def test_an_agent_gets_another_name(agent: Agent, superuser: User) -> None:
    keys_and_roles.create_agent("Taken", **BY)
    client, address = signed_in(superuser), f"/agents/{agent.id}/edit"
    assert "Another agent has this name" in text(client.post(address, {"name": "TAKEN"}))
    assert client.post(address, {"name": "SUPPORT bot", "description": "Answers."}).status_code == 303
    agent.refresh_from_db()
    assert (agent.name, agent.description) == ("SUPPORT bot", "Answers.")
    assert newest("edit_agent").actor_id == superuser.id
    client.post(address, {"name": "SUPPORT bot", "description": "Answers."})
    assert AuditEntry.objects.filter(command="edit_agent").count() == 1


def test_an_agent_whose_name_another_one_has_keeps_it_with_another_description(
    agent: Agent, charlie: User, superuser: User
) -> None:
    twin = keys_and_roles.create_agent(agent.name, seen_by=charlie, **BY)
    given = {"name": twin.name, "description": "The second one."}
    assert signed_in(superuser).post(f"/agents/{twin.id}/edit", given).status_code == 303
    twin.refresh_from_db()
    assert twin.description == "The second one."


def test_expired_and_revoked_keys_are_told_apart_and_not_counted(
    agent: Agent, store: MemoryStore, superuser: User
) -> None:
    issue(agent, store)
    issue(agent, store, expires_at=timezone.now() - timedelta(days=1))
    keys_and_roles.revoke_key(issue(agent, store), **BY)
    page = text(signed_in(superuser).get(f"/agents/{agent.id}"))
    assert ">expired<" in page and ">revoked<" in page
    assert '<td class="num">1</td>' in text(signed_in(superuser).get("/agents"))


def test_the_last_use_is_shown(agent: Agent, store: MemoryStore, superuser: User) -> None:
    _, secret = keys_and_roles.issue_key(agent, stores=[store], **BY)
    assert "Not used yet" in text(signed_in(superuser).get(f"/agents/{agent.id}"))
    call(store, secret, memoryhub_session="run")
    page = text(signed_in(superuser).get(f"/agents/{agent.id}"))
    assert "Not used yet" not in page and "just now" in page
    assert text(signed_in(superuser).get("/agents")).count("just now") == 2


def test_the_name_of_a_new_agent_is_never_called_optional(store: MemoryStore, agent: Agent, alice: User) -> None:
    def label(end: str = "</label>") -> str:
        page = text(signed_in(alice).get(f"/stores/{store.id}/keys"))
        start = page.index("Name of the new agent")
        return page[start : page.index(end, start)]

    assert "optional" not in label()
    keys_and_roles.issue_key(agent, stores=[store], **BY)
    assert "optional" not in label() and "Only for a new agent." in label("</div>")
