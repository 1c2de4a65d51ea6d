"""What SQLite's planner is told: of every index that the large tables have, and again after each migration."""

import pytest
from django.core.management import call_command
from django.db import connection

from memoryhub.database.planner import STATISTICS

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL looks at its tables itself"),
]


def told() -> dict[str, dict[str, str]]:
    """The statistics of each index, by table and index."""
    found: dict[str, dict[str, str]] = {}
    with connection.cursor() as cursor:
        cursor.execute("select tbl, idx, stat from sqlite_stat1")
        for table, index, statistics in cursor.fetchall():
            found.setdefault(table, {})[index] = statistics
    return found


def test_every_index_of_a_large_table_has_its_statistics() -> None:
    with connection.cursor() as cursor:
        for table, indexes in STATISTICS.items():
            cursor.execute("select name from pragma_index_list(%s)", [table])
            assert {name for (name,) in cursor.fetchall()} == set(indexes), table


def test_each_tells_of_as_many_columns_as_the_index_has() -> None:
    with connection.cursor() as cursor:
        for indexes in STATISTICS.values():
            for index, statistics in indexes.items():
                cursor.execute("select count(*) from pragma_index_info(%s)", [index])
                assert len(statistics.split()) == cursor.fetchone()[0] + 1, index


def test_a_migrated_hub_has_told_its_planner() -> None:
    assert told() == STATISTICS


def test_what_was_forgotten_is_told_again() -> None:
    with connection.cursor() as cursor:
        cursor.execute("delete from sqlite_stat1")
    call_command("migrate", verbosity=0)
    assert told() == STATISTICS
