"""The page of a call that became part of a proposal calls it proposed, as the audit does."""

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back, proposes

pytestmark = pytest.mark.django_db


def test_a_call_that_waits_for_a_person_is_called_proposed(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key, session="run-1")
    holds_back(store)
    proposes(caller, "create", "/policies/b.md", file_text="two\n")
    client = signed_in(alice)
    page = client.get(reverse("entry", args=[store.pk, caller.last.seq])).content.decode()
    assert '<span class="badge badge-neutral">proposed</span>' in page and "badge-error" not in page
    caller.call("view", path="/memories/nowhere.md")
    page = client.get(reverse("entry", args=[store.pk, caller.last.seq])).content.decode()
    assert "badge-error" in page and ">proposed<" not in page
