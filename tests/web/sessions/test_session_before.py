"""A session leads to what changed since the end of the same agent's session before it."""

from typing import Any

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, Session, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def page_of(user: User, name: str) -> Any:
    response = signed_in(user).get(reverse("session", args=[Session.objects.get(name=name).pk]))
    assert response.status_code == 200
    return response


def test_a_session_is_compared_with_the_one_before_it_in_the_store(store: MemoryStore, key: str, bob: User) -> None:
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    first = caller.last.seq
    caller.session = "run-2"
    caller.create("/b.md", "two\n")
    caller.session = None
    caller.create("/c.md", "by nobody's session\n")
    caller.session = "run-2"
    caller.call("view", path="/memories")
    (before,) = page_of(bob, "run-2").context["before"]
    address = f"{reverse('changes', args=[store.pk])}?from={first}&to={caller.last.seq}"
    assert (before.name, before.url) == ("run-1", address)
    body = page_of(bob, "run-2").content.decode()
    assert "What changed since the session run-1" in body and address.replace("&", "&amp;") in body
    changed = signed_in(bob).get(address).content.decode()
    assert "/b.md" in changed and "/c.md" in changed and "/a.md" not in changed


def test_the_first_session_has_none_before_it(store: MemoryStore, key: str, bob: User) -> None:
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    assert page_of(bob, "run-1").context["before"] == []
    assert "What changed since" not in page_of(bob, "run-1").content.decode()


def test_a_session_that_wrote_nothing_has_nothing_to_undo_and_a_version_names_its_session(
    store: MemoryStore, key: str, alice: User
) -> None:
    caller = Caller(store, key, session="writer")
    memory = caller.create("/a.md", "one\n")
    writer = Session.objects.get()
    caller.session = "reader"
    caller.call("view", path="/memories/a.md")
    caller.call("view", path="/memories/a.md")
    client = signed_in(alice)
    html = client.get(reverse("session", args=[Session.objects.exclude(pk=writer.pk).get().pk])).content.decode()
    assert "2 reads" in html and "Undo everything this session wrote" not in html
    assert "Undo everything this session wrote" in client.get(reverse("session", args=[writer.pk])).content.decode()
    version = client.get(reverse("version", args=[memory.store_id, memory.head_id])).content.decode()
    assert f'<dt>Session</dt><dd class="break-anywhere"><a href="{reverse("session", args=[writer.pk])}">' in version
