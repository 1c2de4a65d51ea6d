"""After a merge, an administrator can let the agent do the same without asking, with one press and a look."""

from html import unescape
from re import findall

import pytest
from django.urls import reverse

from memoryhub.models import Agent, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.path_rules.test_path_rules import form
from tests.web.proposals.proposing import begun, moves, proposes, refuse, replaces, send, url_of

pytestmark = pytest.mark.django_db


def offered(html: str) -> list[str]:
    return [unescape(link) for link in findall(r'href="([^"]*/path-rules/edit\?[^"]*)"', html)]


def test_a_merged_proposal_leads_an_administrator_to_a_rule_that_allows_the_same(
    store: MemoryStore, key: str, alice: User, bob: User
) -> None:
    caller = begun(store, key, "/policies/a/one.md")
    replaces(caller, "/policies/a/one.md", "two", "2")
    proposes(caller, "create", "/policies/a/deep/new.md", file_text="x")
    client = signed_in(alice)
    assert offered(client.get(url_of(store)).content.decode()) == [], "not before it is decided"
    send(client, store)
    html = client.get(url_of(store)).content.decode()
    assert "do this at /policies/a/ without asking?" in html
    (link,) = offered(html)
    assert offered(signed_in(bob).get(url_of(store)).content.decode()) == [], "a curator cannot write rules"
    opened = client.get(link)
    first = {name: opened.context["form"][0][name].value() for name in ("effect", "who", "verbs", "pattern")}
    agent = Agent.objects.get().pk
    assert first == {"effect": "allow", "who": agent, "verbs": ["create", "edit"], "pattern": "/policies/a/"}
    rows = [{name: one[name].value() or "" for name in one.fields} for one in opened.context["form"]]
    assert "outcome" in opened.context, "it shows what the rule would have done, so one press saves it"
    form(client, store, "save", *rows, seen=opened.context["seen"], opened=opened.context["opened"])
    assert not caller.call("str_replace", path="/memories/policies/a/one.md", old_str="three", new_str="3").is_error
    assert offered(client.get(url_of(store)).content.decode()) == [], "the rule is there"
    replaces_elsewhere = caller.call("create", path="/memories/policies/b.md", file_text="x")
    assert "proposal #2" in replaces_elsewhere.content


def test_memories_in_several_directories_get_a_rule_each(store: MemoryStore, key: str, alice: User) -> None:
    caller, client = begun(store, key, "/policies/a.md"), signed_in(alice)
    moves(caller, "/policies/a.md", "/a.md")
    proposes(caller, "create", "/policies/deep/new.md", file_text="x")
    send(client, store)
    html = client.get(url_of(store)).content.decode()
    assert "do this at /a.md, /policies/ without asking?" in html
    rows = list(client.get(offered(html)[0]).context["form"])[:2]
    assert [row["pattern"].value() for row in rows] == ["/a.md", "/policies/"]
    assert {tuple(row["verbs"].value()) for row in rows} == {("create", "rename")}


def test_nothing_is_offered_for_a_refused_proposal_or_for_too_many_places(
    store: MemoryStore, key: str, alice: User
) -> None:
    caller, client = begun(store, key, "/policies/one.md", *(f"/policies/{n}.md" for n in range(4))), signed_in(alice)
    replaces(caller, "/policies/one.md", "two", "2")
    refuse(client, store)
    assert offered(client.get(url_of(store)).content.decode()) == []
    for number in range(4):
        moves(caller, f"/policies/{number}.md", f"/{number}.md")
    send(client, store, 2)
    assert offered(client.get(url_of(store, 2)).content.decode()) == []


def test_the_rule_of_one_memory_is_about_that_memory(store: MemoryStore, key: str, alice: User) -> None:
    caller, client = begun(store, key, "/policies/one & two.md"), signed_in(alice)
    proposes(caller, "delete", "/policies/one & two.md")
    send(client, store)
    (link,) = offered(client.get(url_of(store)).content.decode())
    row = client.get(link).context["form"][0]
    assert (row["pattern"].value(), row["verbs"].value()) == ("/policies/one & two.md", ["delete"])


def test_no_rule_is_offered_for_a_name_that_would_allow_more(store: MemoryStore, key: str, alice: User) -> None:
    caller, client = begun(store, key, "/policies/one.md"), signed_in(alice)
    for number, path in enumerate(("/policies/**", "/policies/*/one.md"), start=1):
        proposes(caller, "create", path, file_text="x")
        send(client, store, number)
        assert offered(client.get(url_of(store, number)).content.decode()) == []


def test_a_hostile_query_opens_the_form(store: MemoryStore, alice: User) -> None:
    client, page = signed_in(alice), reverse("edit_path_rules", args=[store.pk])
    for query in ({"allow": "x"}, {"allow": "/\u202e", "who": "é" * 90, "verb": "burn"}, {"allow": "/" + "x" * 9000}):
        assert client.get(page, query).status_code == 200
