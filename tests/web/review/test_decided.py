"""The tab of a person's own decisions: what was decided, and undoing all of one press at once."""

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, Memory, MemoryStore, Role, User
from memoryhub.web.review import decided
from tests.api.harness import assert_audit_is_right
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.review.reviewing import decide, state

pytestmark = pytest.mark.django_db

ADDRESS = "/review/decided"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def two_stores(caller: Caller, agent: Agent, alice: User) -> list[Memory]:
    other = stores.create_store(stores.StoreSettings(name="Other"), admin=alice, **BY)
    beside = Caller(other, keys_and_roles.issue_key(agent, stores=[other], access=Access.WRITE, **BY)[1])
    return [caller.create("/a.md", "a\n"), beside.create("/a.md", "a\n")]


def test_ones_own_decisions_are_listed_and_undone(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    made = [caller.create(f"/{name}.md", "one\n") for name in "abc"]
    client = signed_in(alice)
    decide(client, made[0].head, "approve")
    decide(client, made[1].head, "revert", note="Nobody asked for it")
    decide(signed_in(bob), made[2].head, "approve")
    page = client.get(ADDRESS).content.decode()
    assert page.index("/b.md</a>") < page.index("/a.md</a>") and "/c.md" not in page
    assert f'href="/audit?person={alice.pk}"' in page
    assert "“Nobody asked for it”" in page
    assert 'href="/audit?command=approve"' in page and "/c.md" in client.get("/audit?command=approve").content.decode()
    rows = client.get(ADDRESS).context["decided"]
    answer = client.post(reverse("undo_decisions"), {"entries": rows[0].entries, "next": ADDRESS}, follow=True)
    assert "The decision was undone." in answer.content.decode()
    assert [state(memory.head) for memory in made] == ["approved", "unreviewed", "approved"]
    assert [row.is_undone for row in answer.context["decided"]] == [True, False]
    again = client.post(reverse("undo_decisions"), {"entries": rows[0].entries}, follow=True)
    assert "Nothing was undone" in again.content.decode()


@pytest.mark.both_databases
def test_one_press_in_several_stores_is_undone_as_one(caller: Caller, agent: Agent, alice: User) -> None:
    made = two_stores(caller, agent, alice)
    client = signed_in(alice)
    chosen = {"decision": "approve", "version": [memory.head_id for memory in made]}
    told = client.post(reverse("decide_many"), chosen, follow=True).content.decode()
    assert "Undo all" in told and reverse("undo_decisions") in told
    (row,) = client.get(ADDRESS).context["decided"]
    assert len(row.rows) == 2
    asked = client.get(reverse("undo_decisions"), {"entries": row.entries}).content.decode()
    assert "Undo these decisions?" in asked and "Other" in asked
    client.post(reverse("undo_decisions"), {"entries": row.entries})
    assert [state(memory.head) for memory in made] == ["unreviewed", "unreviewed"]


def test_who_may_not_decide_in_a_store_undoes_nothing_there(
    caller: Caller, store: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    memory = caller.create("/a.md", "a\n")
    decide(signed_in(alice), memory.head, "approve")
    (row,) = signed_in(alice).get(ADDRESS).context["decided"]
    for user in (bob, charlie):
        client = signed_in(user)
        assert client.post(reverse("undo_decisions"), {"entries": row.entries}).status_code == 403
        assert "No decisions to show" in client.get(ADDRESS).content.decode()
    assert state(memory.head) == "approved"
    for strange in ("", "x", "a:b", f"{store.pk}:{'9' * 30}"):
        assert signed_in(alice).post(reverse("undo_decisions"), {"entries": strange}).status_code == 400
    assert "out of date" in signed_in(alice).get(ADDRESS, {"before": "x"}).content.decode()


def test_the_pages_together_are_every_decision_once(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decided, "SIZE", 2)
    monkeypatch.setattr(decided, "PART", 2)
    client, made = signed_in(alice), [caller.create(f"/{number}.md", "a\n") for number in range(5)]
    for memory in made:
        decide(client, memory.head, "approve")
    found, before = [], {}
    for _ in range(9):
        context = client.get(ADDRESS, before).context
        found += [row.first.path for row in context["decided"]]
        if not context["older"]:
            break
        before = {"before": context["older"]}
    assert found == [memory.path for memory in reversed(made)]


@pytest.mark.parametrize("verb", ["approve", "revert"])
def test_one_decision_of_several_is_undone_alone(caller: Caller, store: MemoryStore, alice: User, verb: str) -> None:
    made = [caller.create(f"/{name}.md", "one\n") for name in "abc"]
    client = signed_in(alice)
    chosen = {"decision": verb, "version": [memory.head_id for memory in made]}
    client.post(reverse("decide_many"), chosen)
    (row,) = client.get(ADDRESS).context["decided"]
    page = reverse("entry", args=[store.pk, row.first.seq])
    assert f"{page}#decided" in client.get(ADDRESS).content.decode()
    undo = reverse("undo_decision", args=[store.pk, row.first.seq])
    decided = "approved" if verb == "approve" else "reverted"
    for number, memory in enumerate(made, 1):
        buttons = client.get(page).content.decode().count('name="only"')
        assert buttons == 4 - number
        client.post(undo, {"only": memory.head_id, "next": page})
        states = ["unreviewed"] * number + [decided] * (3 - number)
        assert [state(one.head) for one in made] == states
        assert Memory.objects.get(pk=memory.pk).is_live, "what a revert removed is back"
        (row,) = [one for one in client.get(ADDRESS).context["decided"] if one.verb and one.verb.name == verb]
        assert row.is_undone == (number == 3)
    assert_audit_is_right(store)
