"""The numbers of the overviews: each leads to exactly the entries that it counts."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, Door, MemoryStore, Proposal, User
from tests.api.harness import new_secret, new_store
from tests.support.fixtures import signed_in
from tests.web.dashboards.pages import MARK, cells, entries_at, section, text_of
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def today(store: MemoryStore, key: str) -> Caller:
    """An agent whose calls are of today, and of the last hour."""
    now = timezone.now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return Caller(store, key, at=max(now - timedelta(minutes=30), midnight))


@pytest.mark.both_databases
def test_each_kind_of_error_leads_to_its_entries(today: Caller, agent: Agent, alice: User) -> None:
    holds_back(today.store)
    for _ in range(2):  # sent twice: a repeated call ends as the first one
        today.call("create", id="toolu_held", path="/memories/policies/a.md", file_text="one\n")
        today.call("view", id="toolu_missing", path="/memories/nowhere.md")
    today.call("view", path="/elsewhere")
    today.call("sing")
    client = signed_in(alice)
    for counted in (False, True):
        if counted:
            figures.catch_up()
        text = text_of(client, "store_overview", "", today.store.id)
        rows = cells(text, "errors")
        assert {row[0][0]: row[1][0] for row in rows} == {
            "Path does not exist": "2", "Path refused": "1", "Call is invalid": "1",
        }  # fmt: skip
        for (_kind, url), (count, _none) in rows:
            assert not url or entries_at(client, url) == int(count)
        tile = re.search('<a href="([^"]*)">Errors since yesterday</a>', text)
        assert tile
        assert entries_at(client, tile[1]) == 4


@pytest.mark.push
@pytest.mark.both_databases
def test_writes_and_errors_lead_to_exactly_their_entries(today: Caller, superuser: User, agent: Agent) -> None:
    today.create("/a.md", "one\n")
    today.replace("/a.md", "one", "two")
    today.call("view", path="/memories/a.md")
    today.call("view", path="/memories/nowhere.md")
    holds_back(today.store)
    today.call("create", path="/memories/policies/a.md", file_text="one\n")
    now = timezone.now()
    by = Act(Actor.person(superuser), Door.WEB, now)
    proposal = Proposal.objects.get(store=today.store)
    decide.merge(today.store.pk, 1, {}, proposal_plan(proposal).digest, by)
    old = new_store()
    curation.create(old.pk, "/a.md", "one\n", by)
    stores.set_archived(old, True, actor=by.actor, door=by.door, at=now)
    calls.find_caller("mh_unknown", today.store.pk, now)
    client = signed_in(superuser)
    for counted in (False, True):
        if counted:
            figures.catch_up()
        for which, parts in (("store_overview", [today.store.id]), ("overview", [])):
            numbers_lead_to_their_entries(client, text_of(client, which, "?range=7", *parts), agent, superuser)


def numbers_lead_to_their_entries(client: Client, text: str, agent: Agent, superuser: User) -> None:
    for name in ("Writes", "Reads", "Errors"):
        tile = re.search(rf'<a href="([^"]*)">{name} since yesterday</a>.*?"num">(\d+)<', text, re.DOTALL)
        assert tile
        assert entries_at(client, tile[1]) == int(tile[2]), name
    for row in cells(text, "reads"):
        for shown, url in row[1:]:
            assert not url or entries_at(client, url) == int(shown)
    writes = {row[0][0]: row[1] for row in cells(text, "authors")}
    assert {who: count for who, (count, _url) in writes.items() if count != "0"} == {
        agent.name: "2",
        str(superuser): "1",
    }
    for count, url in writes.values():
        assert not url or entries_at(client, url) == int(count)


def test_the_tiles_of_a_chosen_agent_lead_to_its_entries_alone(today: Caller, agent: Agent, superuser: User) -> None:
    other = Caller(today.store, new_secret(today.store), at=today.at)
    for caller, path in ((today, "/a.md"), (other, "/b.md"), (other, "/c.md")):
        caller.create(path, "one\n")
        caller.call("view", path=f"/memories{path}")
        caller.call("view", path="/memories/nowhere.md")
    client = signed_in(superuser)
    for counted in (False, True):
        if counted:
            figures.catch_up()
        for which, parts in (("store_overview", [today.store.id]), ("overview", [])):
            text = text_of(client, which, f"?agent={agent.id}", *parts)
            for name in ("Writes", "Reads", "Errors"):
                tile = re.search(rf'<a href="([^"]*)">{name} since yesterday</a>.*?"num">(\d+)<', text, re.DOTALL)
                assert tile
                assert (int(tile[2]), entries_at(client, tile[1])) == (1, 1), (which, counted, name)


def test_the_commands_that_are_summed_up_lead_nowhere(today: Caller, alice: User) -> None:
    today.create("/a.md", "one\n")
    text = text_of(signed_in(alice), "store_overview", "?range=all", today.store.id)
    part = section(text, "operations")
    assert re.search("<title>[^<]*: 2 × others</title></rect>(?!</a>)", part)
    assert [name.split(" × ")[1] for _url, name in MARK.findall(part)] == ["created"]
    legend = re.findall("<li>(.*?)</li>", part.split('class="legend"')[1].split("</ul>")[0])
    linked = {re.sub("<[^>]*>", "", item): "href" in item for item in legend}
    assert linked == {"Created 1": True, "Others 2": False}
    rows = cells(text, "operations")
    assert [row[2] for row in rows if row[2][0] != "0"] == [("2", "")]
