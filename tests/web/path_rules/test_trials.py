"""What the form says that other path rules would have done, where not all of the audit was looked at."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.models import MemoryStore, User
from memoryhub.web.path_rules import replay
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.path_rules.test_path_rules import form, row

pytestmark = pytest.mark.django_db


def test_what_was_not_looked_at_is_not_called_unchanged(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "MOST_ENTRIES", 2)
    caller = Caller(store, key, at=timezone.now() - timedelta(days=1))
    caller.create("/a.md", "text\n")
    for _ in range(3):
        caller.call("view", path="/memories/a.md")
    shown = form(signed_in(alice), store, "try", row("/")).content.decode()
    assert "Agents have changed nothing here" not in shown
    assert "None of the newest entries that were checked is a change by an agent." in shown
