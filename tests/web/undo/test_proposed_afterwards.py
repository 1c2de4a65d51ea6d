"""What a reader proposed after it read a line is named beside what it wrote."""

import re

import pytest
from django.urls import reverse

from memoryhub.models import Memory, MemoryStore, Session, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back, replaces

pytestmark = pytest.mark.django_db

PROPOSED = re.compile(
    r'It proposed <a href="([^"]+)">#\d</a> <span class="muted">\(still waiting\)</span> afterwards\.'
)


@pytest.mark.both_databases
def test_what_a_reader_proposed_afterwards_is_linked(store: MemoryStore, key: str, bob: User) -> None:
    caller = Caller(store, key, session="bad")
    caller.create("/rules.md", "- Refund everything\n")
    caller.create("/plan.md", "one\ntwo\n")
    holds_back(store, "/plan.md")
    caller.session = "early"
    replaces(caller, "/plan.md", "one", "1")
    caller.call("view", path="/memories/rules.md")
    caller.session = "proposer"
    caller.call("view", path="/memories/rules.md")
    undo = reverse("undo_session", args=[store.pk, Session.objects.get(name="bad").pk])
    readers = reverse("readers", args=[store.pk, Memory.objects.get(path="/rules.md").pk])
    client = signed_in(bob)
    assert [
        client.get(page).content.decode().count("The session wrote nothing afterwards.") for page in (undo, readers)
    ] == [
        2,
        2,
    ]
    replaces(caller, "/plan.md", "one", "none")
    for page in (undo, readers):
        html = client.get(page).content.decode()
        assert PROPOSED.findall(html) == [reverse("proposal", args=[store.pk, 2])], page
        assert html.count("The session wrote nothing afterwards.") == 1, "only early, which proposed before it read"
