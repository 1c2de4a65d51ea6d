"""The empty home page of a person who is new says where they have which role."""

from datetime import timedelta

from django.utils import timezone

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import page


def test_an_empty_today_names_the_stores_and_roles(store: MemoryStore, key: str, bob: User, superuser: User) -> None:
    html = page(signed_in(bob), "/")
    line = html.partition("Your memory stores:")[2].partition("</p>")[0]
    assert f"/stores/{store.pk}/" in line and "Support" in line and "Viewer" in line
    assert "Your memory stores:" not in page(signed_in(superuser), "/")
    caller = Caller(store, key, at=timezone.now() - timedelta(hours=1))
    caller.create("/a.md", "one\n")
    caller.delete("/a.md")
    assert "Your memory stores:" not in page(signed_in(bob), "/")
