"""Acts of two people at the same moment: one of them is told, nothing is lost, and the audit tells what happened."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.actions.accounts import keys_and_roles, passwords, people, withdrawals
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HUB, Agent, AuditEntry, Invitation, MemoryStore, User
from tests.api.harness import AT, BY, new_store
from tests.api.test_concurrency import together


def tried(act: Callable[[], Any], refusal: type[Exception]) -> bool:
    """Whether an act in a thread of its own was not refused."""
    try:
        act()
    except refusal:
        return False
    finally:
        connection.close()
    return True


@pytest.mark.django_db(transaction=True)
def test_of_agents_of_one_name_made_at_once_one_is_made() -> None:
    done = together(
        lambda _: tried(lambda: keys_and_roles.create_agent("Scout", **BY), keys_and_roles.NameTaken), clients=8
    )
    assert done.count(True) == 1
    assert Agent.objects.filter(folded_name="scout").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_people_of_one_address_made_at_once_one_is_made() -> None:
    def make() -> None:
        people.create_user("a@example.com", name="A", password="twelve letters", **BY)

    done = together(lambda _: tried(make, people.EmailTaken), clients=passwords.AT_ONCE + passwords.MOST_WAITING)
    assert done.count(True) == 1
    assert User.objects.filter(email="a@example.com").count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_invitation_is_used_or_withdrawn_but_never_both() -> None:
    store = new_store()
    for number in range(6):
        invitation, token = people.invite(email=f"{number}@example.com", store=store, **BY)

        def work(who: int, invitation: Invitation = invitation, token: str = token) -> bool:
            if who:
                return tried(lambda: withdrawals.withdraw(invitation, **BY), LookupError)
            return tried(
                lambda: people.accept(token, email="", name="N", password="twelve letters", at=AT),
                people.InvitationSpent,
            )

        accepted = together(work, clients=2)[0]
        withdrawn = AuditEntry.objects.filter(
            chain=store.id, command="withdraw_invitation", input__contains=invitation.id
        )
        assert withdrawn.exists() != accepted


@pytest.mark.django_db(transaction=True)
def test_the_link_of_the_first_administrator_is_one_and_ends_the_earlier_ones_with_an_entry() -> None:
    first = people.first_administrator_link(at=AT)
    later = AT + timedelta(minutes=1)
    together(lambda _: tried(lambda: people.first_administrator_link(at=later), LookupError), clients=4)
    assert first is not None and people.find_invitation(first, later) is None
    assert Invitation.objects.open(later).count() == 1
    told = AuditEntry.objects.filter(chain=HUB, command="withdraw_invitation").values_list("input", flat=True)
    ended = Invitation.objects.exclude(used_at=None).values_list("id", flat=True)
    assert sorted(json.loads(input)["invitation"] for input in told) == sorted(ended)


@pytest.mark.django_db
def test_the_entry_of_an_edited_store_tells_what_changed_and_not_what_the_person_saw() -> None:
    seen = new_store()
    name = seen.name
    stores.edit_store(MemoryStore.objects.get(pk=seen.pk), StoreSettings("Other"), **BY)
    stores.edit_store(seen, StoreSettings(name, description="Mine"), **BY)
    told = json.loads(AuditEntry.objects.of_chain(seen.id).newest()[0].input)
    assert told == {"name": ["Other", name], "description": ["", "Mine"]}


@pytest.mark.django_db
def test_the_entry_of_an_edited_agent_tells_what_changed_and_not_what_the_person_saw() -> None:
    seen = keys_and_roles.create_agent("Scout", **BY)
    keys_and_roles.edit_agent(Agent.objects.get(pk=seen.pk), name="Other", description="", **BY)
    keys_and_roles.edit_agent(seen, name=" Scout ", description="", **BY)
    told = json.loads(AuditEntry.objects.of_chain(HUB).newest()[0].input)
    assert told["name"] == ["Other", "Scout"]
