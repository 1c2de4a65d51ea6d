"""The page of a second person's request that is about no memory store, or about one that is gone."""

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import second_person
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Door, MemoryStore, User
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db


def test_it_leads_to_no_memory_store_and_says_who_decides(store: MemoryStore, superuser: User, alice: User) -> None:
    kept = second_person.content([], [("Whom", "Bob")], "He asked for it")
    gone = "memstore_1"
    for act, place in (("set_administrator", None), ("redact_version", store.pk), ("redact_version", gone)):
        in_store = place == store.pk
        by = Act(Actor.person(superuser), Door.WEB, timezone.now())
        request = second_person.ask(act, "/somewhere", place, kept, by)
        page = signed_in(superuser).get(f"/acts/{request.pk}").content.decode()
        assert (f"/stores/{place}" in page) is in_store
        assert ("or another admin of the memory store, decides" in page) is in_store
        assert ("<dt>About</dt>" in page) is not in_store
