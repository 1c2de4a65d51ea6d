"""How often a tool call waits for PostgreSQL: what it sends is counted in the trace of libpq."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from django.db import connection
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Access, Agent, MemoryStore
from tests.support.fixtures import BY

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no server"),
]

NOTE = "/memories/notes/a.md"
ONE = [
    {"command": "create", "path": NOTE, "file_text": "One\nTwo\n"},
    {"command": "create", "path": "/memories/new/directories/b.md", "file_text": "One\nTwo\n"},
    {"command": "create", "path": NOTE, "file_text": "There is one"},
    {"command": "view", "path": NOTE},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/notes"},
    {"command": "view", "path": "/memories/missing.md"},
    {"command": "str_replace", "path": NOTE, "old_str": "One", "new_str": "Uno"},
    {"command": "str_replace", "path": NOTE, "old_str": "not there", "new_str": "Two"},
    {"command": "insert", "path": NOTE, "insert_line": 1, "insert_text": "More\n"},
    {"command": "rename", "old_path": NOTE, "new_path": "/memories/further/c.md"},
    {"command": "delete", "path": "/memories/further/c.md"},
    {"command": "create", "path": "/memories", "file_text": "The root"},
    {"command": "rename", "old_path": "/memories/new/directories/b.md", "new_path": "/memories"},
    {"command": "no command"},
]
"""Calls about one memory or one directory: their reads are known before the call runs."""
MANY = [
    {"command": "rename", "old_path": "/memories/new", "new_path": "/memories/old"},
    {"command": "delete", "path": "/memories/old"},
]
"""Calls about several memories, with statements of the ORM."""


class Trace:
    """What all connections of the pool have sent and received since `begin`."""

    def __init__(self, file: IO[str], connections: int) -> None:
        self.file, self.connections = file, connections

    def begin(self) -> None:
        self.file.seek(0)
        self.file.truncate()

    def round_trips(self) -> int:
        """How often the hub sent something after the server had answered."""
        self.file.seek(0)
        directions = [line[0] for line in self.file if line[0] in "FB"]
        return sum(one == "F" and before != "F" for before, one in zip(["", *directions], directions, strict=False))


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    from psycopg import pq

    with (tmp_path / "trace").open("a+") as file:
        traced: list[Any] = []
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # threads of earlier tests may still have its connections
        connection.ensure_connection()
        while len(traced) < connection.pool.get_stats()["pool_size"]:  # type: ignore[attr-defined]
            connection.close()
            connection.ensure_connection()
            if connection.connection.pgconn not in traced:
                traced.append(connection.connection.pgconn)
                traced[-1].trace(file.fileno())
                traced[-1].set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        yield Trace(file, len(traced))
        for one in traced:
            one.untrace()


def test_a_call_waits_for_the_server_at_most_three_times_also_for_the_test_of_its_connection(
    store: MemoryStore, agent: Agent, trace: Trace, settings: Any
) -> None:
    settings.MEMORYHUB_LIMITS = settings.MEMORYHUB_LIMITS | {"calls": 1_000}
    secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1]
    program = Client(headers={"Authorization": f"Bearer {secret}", "Memoryhub-Session": "one"})

    def waits(id: str, input: dict[str, object]) -> int:
        connection.close()  # as after each request: the next one takes a connection from the pool, and tests it
        trace.begin()
        block = {"type": "tool_use", "id": id, "name": "memory", "input": input}
        answer = program.post(f"/v1/memory_stores/{store.pk}/tool_calls", block, content_type="application/json")
        assert answer.status_code == 200
        return trace.round_trips()

    for number in range(7 * trace.connections):  # the session gets its row, and all prepare the read of the key
        waits(f"toolu_first_{number}", {"command": "view", "path": "/memories"})
    found = {str(input): waits(f"toolu_{number}", input) for number, input in enumerate(ONE)}
    assert {input: count for input, count in found.items() if count > 3} == {}
    assert [waits(f"toolu_many_{number}", input) for number, input in enumerate(MANY)] == [4, 4]
    assert waits("toolu_0", ONE[0]) <= 5  # again: the answer and the input of the first call are read
