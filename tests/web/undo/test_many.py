"""An undo of very many memories may take longer than another request."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.database import watch
from memoryhub.database.watch import Watch
from memoryhub.models import Memory, MemoryStore, Session, User
from memoryhub.web.undo import undo
from tests.serving.watching import busy
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def slow(work: Callable[..., Any]) -> Callable[..., Any]:
    def slowly(*given: Any, **named: Any) -> Any:
        busy(time.thread_time() + 0.6)
        return work(*given, **named)

    return slowly


@pytest.mark.push
def test_a_preview_and_an_undo_get_the_time_that_their_memories_need(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, curator = Caller(store, key, session="many"), signed_in(alice)
    caller.create("/one.md", "1\n")
    caller.create("/two.md", "2\n")
    address = reverse("undo_session", args=[store.pk, Session.objects.get().pk])
    curator.get(address)  # loads the templates
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(undo, "SECONDS_EACH", 20.0)
    monkeypatch.setattr(undo, "shown", slow(undo.shown))
    monkeypatch.setattr(undo, "_problem", slow(undo._problem))
    watched = Watch()
    watched.start()

    preview = watched.run(lambda: curator.get(address), 0.4)
    answer = watched.run(lambda: curator.post(address, form_with(preview.content.decode(), "digest")), 0.4)

    assert answer.status_code == 303 and not Memory.objects.filter(deleted_at=None).exists()
