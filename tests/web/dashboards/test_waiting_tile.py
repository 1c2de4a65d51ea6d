"""The tile of what awaits review says how many proposals wait too, which the number in the bar counts."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.support.write_guard import arranging
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


def waiting(user: User) -> tuple[str, str]:
    tile = signed_in(user).get(reverse("overview")).context["tiles"][0]
    return tile.shown, str(tile.meta)


def test_open_proposals_are_named_beside_the_versions(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    assert waiting(alice) == ("1", "")
    holds_back(store)
    caller.call("create", path="/memories/policies/b.md", file_text="two\n")
    assert waiting(alice) == ("1", "and 1 proposal")
    page = signed_in(alice).get(reverse("overview")).content.decode()
    assert "· and 1 proposal</span>" in page


def test_what_waits_in_an_archived_store_is_counted_as_in_the_inbox(store: MemoryStore, key: str, alice: User) -> None:
    Caller(store, key, session="run-1").create("/a.md", "one\n")
    with arranging():
        MemoryStore.objects.filter(pk=store.pk).update(archived_at=timezone.now())
    assert waiting(alice) == ("1", "")
    response = signed_in(alice).get(reverse("overview"))
    [backlog] = [picture for picture in response.context["pictures"] if picture.name == "ages"]
    assert not backlog.empty
