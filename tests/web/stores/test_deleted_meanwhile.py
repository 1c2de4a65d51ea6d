"""A memory store that is deleted while an act waits for it: other stores get theirs, and pages say that it is gone."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, AuditEntry, Finding, Memory, MemoryStore, User
from tests.support.fixtures import BY, signed_in
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller
from tests.web.retention.pages import policy, ran
from tests.web.review.reviewing import state

pytestmark = pytest.mark.django_db

SAID = "The memory store was deleted."


@pytest.fixture
def other(alice: User) -> MemoryStore:
    return stores.create_store(stores.StoreSettings(name="Other"), admin=alice, **BY)


@pytest.fixture
def made(store: MemoryStore, other: MemoryStore, key: str, agent: Agent) -> list[Memory]:
    """A memory with a finding in each of two stores."""
    beside = keys_and_roles.issue_key(agent, stores=[other], access=Access.WRITE, **BY)[1]
    return [Caller(place, secret).create("/a.md", POISON) for place, secret in ((store, key), (other, beside))]


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def gone(other: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Called, it deletes the other store at the moment at which an act has waited for it."""
    lock = tree.lock

    def locked(store_id: str, act: Act) -> tree.Tree:
        if store_id == other.pk:
            raise tree.NoSuchStore(store_id)
        return lock(store_id, act)

    return lambda: monkeypatch.setattr(tree, "lock", locked)


@pytest.mark.parametrize("chosen", ["ticked", "all"])
def test_the_versions_of_the_other_store_are_decided(
    client: Client, made: list[Memory], gone: Any, chosen: str
) -> None:
    gone()
    named: dict[str, Any] = {"decision": "approve", "version": [memory.head_id for memory in made]}
    form = named if chosen == "ticked" else {"all": "approve", "q": ""}
    answer = client.post(reverse("decide_many"), {**form, "confirmed": "1", "next": "/review"}, follow=True)
    assert answer.status_code == 200 and SAID in answer.content.decode()
    assert [state(memory.head) for memory in made] == ["approved", "unreviewed"]


def test_the_decisions_in_the_other_store_are_undone(client: Client, made: list[Memory], gone: Any) -> None:
    named = [memory.head_id for memory in made]
    client.post(reverse("decide_many"), {"decision": "approve", "version": named, "confirmed": "1"})
    approved = AuditEntry.objects.filter(command="approve").values_list("chain", "seq")
    gone()
    entries = ",".join(f"{chain}:{seq}" for chain, seq in approved)
    answer = client.post(reverse("undo_decisions"), {"entries": entries}, follow=True)
    assert answer.status_code == 200 and SAID in answer.content.decode()
    assert [state(memory.head) for memory in made] == ["unreviewed", "approved"]


def test_the_findings_of_the_other_store_are_dismissed(client: Client, made: list[Memory], gone: Any) -> None:
    gone()
    every = {"decision": "dismiss", "finding": [finding.pk for finding in Finding.objects.all()], "note": "Known."}
    answer = client.post(reverse("decide_all_findings"), every, follow=True)
    assert answer.status_code == 200 and SAID in answer.content.decode()
    states = {one.store_id: one.state for one in Finding.objects.all()}
    assert [states[memory.store_id] for memory in made] == ["dismissed", "open"]


def test_an_act_on_the_store_alone_says_that_it_is_not_there(
    client: Client, other: MemoryStore, made: list[Memory], gone: Any
) -> None:
    kept, run = policy(other, expire_unread_days=1), ran(other)
    assert not Memory.objects.get(pk=made[1].pk).is_live
    gone()
    for name, args, given in (
        ("delete_policy", [kept.pk], {}),
        ("undo_run", [run.pk], {}),
        ("export_audit", [], {"format": "csv", "store": other.pk}),
    ):
        assert client.post(reverse(name, args=args), given).status_code == 404, name
