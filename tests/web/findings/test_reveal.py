"""Revealing the masked values of a version: who may, and what the page and the audit then have."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import AuditEntry, MemoryStore, Role, User
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.findings.flagged import CARD, has_no_digits, with_card
from tests.web.history.versions import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def reveals(store: MemoryStore) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(store.pk).of_command("reveal").oldest())


def test_a_curator_reveals_a_version_once_and_the_audit_tells_it(caller: Caller) -> None:
    curator, memory = new_person("Carla"), with_card(caller)
    keys_and_roles.set_role(caller.store, curator, Role.CURATOR, **BY)
    client, reveal = signed_in(curator), reverse("reveal", args=[caller.store.pk, memory.head_id])
    assert reveal in client.get(reverse("memory", args=[caller.store.pk, memory.pk])).content.decode()
    response = client.post(reveal)
    assert response.status_code == 200
    assert CARD in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    [entry] = reveals(caller.store)
    assert (entry.version, entry.memory, entry.actor_id) == (memory.head_id, memory.pk, curator.pk)
    assert CARD not in (entry.input or "")
    has_no_digits(client.get(reverse("memory", args=[caller.store.pk, memory.pk])))
    assert client.get(reveal).status_code == 405
    assert len(reveals(caller.store)) == 1


def test_who_may_reveal(caller: Caller, bob: User, charlie: User, alice: User) -> None:
    memory = with_card(caller)
    reveal = reverse("reveal", args=[caller.store.pk, memory.head_id])
    assert signed_in(bob).post(reveal).status_code == 403
    assert signed_in(charlie).post(reveal).status_code == 404
    nothing = reverse("reveal", args=[caller.store.pk, "memver_nothing"])
    assert signed_in(alice).post(nothing).status_code == 404
    assert Client().post(reveal).status_code == 302
    assert reveals(caller.store) == []
