"""The page of sessions counts the calls that named none, and says what to do."""

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def test_calls_without_a_session_are_counted_with_what_to_do(store: MemoryStore, key: str, bob: User) -> None:
    address = reverse("store_sessions", args=[store.pk])
    assert "without a session" not in signed_in(bob).get(address).content.decode()
    caller = Caller(store, key)
    for name in "ab":
        caller.create(f"/{name}.md", "x")
    shown = " ".join(signed_in(bob).get(address).content.decode().split())
    assert "2 are calls without a session" in shown and "#before-you-start" in shown
