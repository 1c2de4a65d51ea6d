"""The machines' door when the database does not answer."""

import json
import sqlite3
from typing import Any

import pytest
from django.db import connection

from memoryhub.actions.core import sql
from memoryhub.models import HUB, AuditEntry
from tests.api.harness import Hub


def test_a_database_that_fails_at_the_key_is_503_and_asks_to_come_again(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    error: Any = sqlite3.OperationalError("disk I/O error")
    if connection.vendor == "postgresql":
        import psycopg

        error = psycopg.OperationalError("server closed the connection unexpectedly")

    def gone(*_: object) -> None:
        raise error

    monkeypatch.setattr(sql, "one", gone)
    answer = hub.send(hub.block(command="view", path="/memories"))
    assert (answer.status, answer.value["error"]["type"]) == (503, "overloaded_error")
    assert answer.headers["retry-after"] == "1"


def test_of_a_long_id_that_is_not_there_the_audit_keeps_the_beginning(hub: Hub) -> None:
    answer = hub.send(hub.block(command="view", path="/memories"), url=f"/v1/memory_stores/{'x' * 5000}/tool_calls")
    assert answer.status == 404
    told = AuditEntry.objects.of_chain(HUB).newest()[0].input
    assert json.loads(told or "")["memory_store"] == "x" * 128
