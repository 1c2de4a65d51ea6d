"""The preview of an undo says, on both rows, where two choices would want one path."""

import pytest
from django.urls import reverse

from memoryhub.models import MemoryStore, Session, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

SAID = "Only one of two memories can be at /a.md: this memory, or the memory at {}."


def test_two_rows_that_may_want_one_path_say_so_before_the_press(store: MemoryStore, key: str, alice: User) -> None:
    first, caller = Caller(store, key, session="first"), Caller(store, key, session="moves")
    one, other = (first.create(path, "1\n") for path in ("/a.md", "/b.md"))
    first.create("/c.md", "1\n")
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/elsewhere.md")
    caller.call("rename", old_path="/memories/b.md", new_path="/memories/a.md")
    caller.call("rename", old_path="/memories/c.md", new_path="/memories/d.md")
    session = Session.objects.get(name="moves")
    curator, address = signed_in(alice), reverse("undo_session", args=[store.pk, session.pk])

    page = curator.get(address)
    rivals = {row.change.memory: [rival.name for rival in row.rivals] for row in page.context["preview"].whole}
    assert [names for names in rivals.values() if names] == [["/elsewhere.md"], ["/a.md"]]
    assert rivals[one.pk] == ["/a.md"] and rivals[other.pk] == ["/elsewhere.md"]
    text = " ".join(page.content.decode().split())
    assert SAID.format("/elsewhere.md") in text and SAID.format("/a.md") in text

    form = {**form_with(page.content.decode(), "digest"), "leave_out": [other.pk]}
    assert curator.post(address, form).status_code == 200
    assert curator.post(address, form_with(page.content.decode(), "digest")).status_code == 303
