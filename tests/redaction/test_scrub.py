"""What was redacted is taken from SQLite's file once, however long a reader keeps the log."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from memoryhub.actions import database_remains, sql
from memoryhub.actions.transactions import writing
from memoryhub.models import HubSettings
from tests.api.harness import AT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of the database; nothing waits between two tries."""
    done: list[str] = []
    monkeypatch.setattr(sql, "rewrite", lambda: done.append("rewrite"))
    monkeypatch.setattr(database_remains.time, "sleep", lambda _: None)
    yield done
    with writing():
        HubSettings.objects.all().delete()


def is_due() -> bool:
    return HubSettings.objects.filter(scrub_since__isnull=False).exists()


def test_a_log_that_a_reader_keeps_is_tried_again_without_writing_the_file_again(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing():
        database_remains.note(AT)
    monkeypatch.setattr(sql, "empty_log", lambda: False)
    assert not database_remains.scrub() and is_due()
    assert not database_remains.scrub() and did == ["rewrite"]
    monkeypatch.setattr(sql, "empty_log", lambda: True)
    assert database_remains.scrub() and not is_due()
    assert did == ["rewrite"]


def test_each_redaction_has_the_file_written_anew(did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "empty_log", lambda: True)
    assert database_remains.scrub() and did == []
    for at in (AT, AT, AT + timedelta(days=1)):
        with writing():
            database_remains.note(at)
        assert database_remains.scrub()
    assert did == ["rewrite"] * 3


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such log")
def test_the_log_is_empty_afterwards() -> None:
    with writing():
        database_remains.note(AT)
    sql.connect()
    assert database_remains.scrub()
    assert sql.empty_log()
