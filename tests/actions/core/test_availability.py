"""Which errors of PostgreSQL mean that the database does not answer for a while."""

import time
from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.actions.core.hub import availability

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def other() -> Iterator[BaseDatabaseWrapper]:
    """A second connection to the same database, which the server may end."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite ends no session")
    wrapper = connections.create_connection("default")
    wrapper.settings_dict = {**wrapper.settings_dict, "NAME": connection.settings_dict["NAME"]}
    yield wrapper
    wrapper.close()


def test_a_session_that_ended_because_its_transaction_was_idle(other: BaseDatabaseWrapper) -> None:
    with other.cursor() as cursor:
        cursor.execute("set idle_in_transaction_session_timeout = '10ms'")
        cursor.execute("begin")
        time.sleep(0.2)
        with pytest.raises(DatabaseError) as ended:
            cursor.execute("select 1")
    assert availability.is_unavailable(ended.value)


def test_a_session_that_ended_while_a_query_set_was_read_in_pieces(other: BaseDatabaseWrapper) -> None:
    """Django closes the cursor, and lets the driver's own error through."""
    other.set_autocommit(False)
    cursor = other.chunked_cursor()
    cursor.execute("select pg_backend_pid() from generate_series(1, 100000)")
    (backend,) = cursor.fetchone()
    with connection.cursor() as own:
        own.execute("select pg_terminate_backend(%s)", [backend])
    with pytest.raises(connection.Database.OperationalError) as ended:
        cursor.close()
    assert availability.is_unavailable(ended.value)
