"""Open proposals of an archived memory store: no one can decide about them, and the pages say so."""

import pytest
from django.urls import reverse

from memoryhub.actions.stores import stores
from memoryhub.models import MemoryStore, User
from tests.support.fixtures import BY, signed_in
from tests.web.proposals.proposing import begun, replaces, url_of

pytestmark = pytest.mark.django_db


def test_what_becomes_of_open_proposals_is_said(store: MemoryStore, key: str, alice: User) -> None:
    replaces(begun(store, key, "/policies/a.md"), "/policies/a.md", "two", "2")
    client, archive = signed_in(alice), reverse("archive_store", args=[store.pk])
    assert "1 proposal is open. While the store is archived, no one can merge or refuse it" in (
        client.get(archive).content.decode()
    )
    stores.set_archived(MemoryStore.objects.get(pk=store.pk), True, **BY)
    assert url_of(store, 1) not in client.get("/review").content.decode()
    listed = client.get(reverse("proposals", args=[store.pk])).content.decode()
    assert url_of(store, 1) in listed and "the inbox does not list them" in listed
    assert "1 proposal is open: the inbox lists it again." in client.get(archive).content.decode()
    stores.set_archived(MemoryStore.objects.get(pk=store.pk), False, **BY)
    assert url_of(store, 1) in client.get("/review").content.decode()
