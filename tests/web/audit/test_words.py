"""Plain words in the filter of the audit: verbs before an author, first names, and what is said of the hub's chain."""

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller, commands, listed

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("deleted by Support bot", ["delete"]),
        ("written by Support bot", ["delete", "create"]),
        ("changed by Support bot", ["delete", "create"]),
        ("by Support bot", ["delete", "view", "create"]),
    ],
)
def test_a_verb_before_an_author_narrows_to_such_commands(
    typed: str, found: list[str], bob: User, caller: Caller
) -> None:
    caller.create("/a.md", "a\n")
    caller.call("view", path="/memories")
    caller.delete("/a.md")
    client = signed_in(bob)
    shown = listed(client, caller.store, q=typed)
    assert commands(shown) == found
    for chip in shown.context["chips"]:
        rest = client.get(f"{reverse('store_audit', args=[caller.store.id])}?{chip.query_without}").context
        assert rest["problem"] == "" and chip.key not in rest["filter"].values


def test_what_filters_cannot_say_is_refused(bob: User, caller: Caller) -> None:
    assert listed(signed_in(bob), caller.store, q="not deleted by Support bot").context["problem"]


@pytest.mark.both_databases
def test_a_first_name_that_one_person_has_is_enough_and_a_guess_keeps_it(
    bob: User, alice: User, store: MemoryStore
) -> None:
    with tampering():
        User.objects.filter(pk=alice.pk).update(name="Mina Park")
    client = signed_in(bob)
    assert listed(client, store, q="by mina").context["filter"].values == {"person": alice.email}
    for typed in ("retention by mina", "by mina retention"):
        answer = listed(client, store, q=typed)
        first = answer.context["guesses"].filters[0]
        assert first.written == "command:set_policy"
        assert "understood <code>by mina</code>. For the other words, did you mean:" in answer.content.decode()
        followed = client.get(f"{reverse('store_audit', args=[store.id])}?{first.query}").context["filter"]
        assert followed.values == {"command": "set_policy", "person": alice.email}
    with tampering():
        User.objects.filter(pk=bob.pk).update(name="Mina Bo")
    assert listed(client, store, q="by mina").context["problem"], "two people have this first name"


def test_who_does_not_see_the_chain_of_the_hub_is_told(bob: User, superuser: User, store: MemoryStore) -> None:
    told = "The hub’s own entries, such as entries about keys"
    nothing = {"q": "command:revoke_key"}
    for address in (reverse("audit"), reverse("store_audit", args=[store.id])):
        assert signed_in(bob).get(address).content.decode().count(told) == 1, "above the list"
        assert signed_in(bob).get(address, nothing).content.decode().count(told) == 2, "also where nothing is found"
        assert told not in signed_in(superuser).get(address, nothing).content.decode()


@pytest.mark.both_databases
def test_commands_of_the_hub_are_offered_to_those_who_see_its_chain(bob: User, superuser: User) -> None:
    def offered(user: User) -> set[str]:
        return {guess.written for guess in listed(signed_in(user), q="revoked").context["guesses"].filters}

    assert "command:revoke_key" in offered(superuser)
    assert "command:revoke_key" not in offered(bob)


def test_commands_that_only_the_hub_has_are_listed_only_for_those_who_see_its_chain(
    bob: User, superuser: User, store: MemoryStore
) -> None:
    def listed_for(user: User, page: str) -> bool:
        return '<option value="revoke_key"' in signed_in(user).get(page).content.decode()

    def completed_for(user: User, **more: str) -> bool:
        asked = {"q": "command:revoke", "keys": "command", **more}
        return "command:revoke_key" in signed_in(user).get(reverse("completions"), asked).content.decode()

    of_store = reverse("store_audit", args=[store.id])
    assert listed_for(superuser, reverse("audit")) and completed_for(superuser)
    assert not listed_for(bob, reverse("audit")) and not completed_for(bob)
    assert not listed_for(superuser, of_store) and not completed_for(superuser, store=store.id)
    assert '<option value="set_role"' in signed_in(bob).get(of_store).content.decode()


def test_a_verb_that_the_search_cannot_filter_by_is_refused(bob: User, caller: Caller) -> None:
    caller.create("/a.md", "deleted\n")
    found = signed_in(bob).get(reverse("search"), {"q": "deleted by Support bot"}).content.decode()
    assert "cannot filter by what was “deleted”" in found
