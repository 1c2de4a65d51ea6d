"""Fixed statistics for SQLite's query planner, which say that the tables may be large.

Without statistics, the planner would read a whole store to find one memory. STATISTICS is the result of `ANALYZE` in a
hub with a store of 100,000 memories, 1,000,000 versions and 2,000,000 entries. The numbers of an index say how many
rows it has, then how many rows share the same first column, the same first two columns, and so on.
"""

from typing import Any

from django.db import connections

STATISTICS = {
    "memoryhub_auditentry": {
        "entry_by_author": "2000000 400000 50000 1",
        "entry_by_command": "2000000 400000 100000 1",
        "entry_by_door": "200000 50000 20000 1",
        "entry_by_error": "20000 20000 1",
        "entry_by_new_path": "20000 5000 2 1",
        "entry_by_path": "2000000 400000 15 1",
        "entry_by_session": "1900000 1900000 25 1",
        "entry_by_time": "2000000 400000 1 1",
        "entry_by_version": "100000 50000 3 1",
        "entry_of_replay": "2000 500 1",
        "sqlite_autoindex_memoryhub_auditentry_1": "2000000 400000 1",
    },
    "memoryhub_directory": {
        "directory_children": "5500 1400 10 1",
        "sqlite_autoindex_memoryhub_directory_1": "5500 1",
        "sqlite_autoindex_memoryhub_directory_2": "5500 1400 1",
    },
    "memoryhub_finding": {
        "finding_by_state": "20000 20000 5000 1",
        "finding_by_kind": "20000 20000 5000 1000 1",
        "finding_of_memory": "20000 20000 2 1 1",
        "finding_once": "20000 20000 2 1 1",
        "finding_unsettled": "2000 2000 1",
        "sqlite_autoindex_memoryhub_finding_1": "20000 1",
    },
    "memoryhub_idempotentcall": {
        "idempotent_call_by_time": "150000 1",
        "sqlite_autoindex_memoryhub_idempotentcall_1": "150000 150000 5000 1",
    },
    "memoryhub_memory": {
        "memory_in_directory": "108000 27000 23 1",
        "memory_in_trash": "8000 8000 1 1",
        "memory_live_path": "100000 25000 1",
        "sqlite_autoindex_memoryhub_memory_1": "108000 1",
    },
    "memoryhub_memorytext": {
        "sqlite_autoindex_memoryhub_memorytext_1": "960000 1",
        "text_of_memory": "960000 240000 9",
    },
    "memoryhub_memoryversion": {
        "sqlite_autoindex_memoryhub_memoryversion_1": "1000000 1",
        "sqlite_autoindex_memoryhub_memoryversion_2": "1000000 250000 10 1",
        "version_by_entry": "1000000 250000 1 1",
        "version_by_path": "1000000 250000 8 1",
        "version_imported": "100000 100000 1 1",
        "version_of_people": "300000 100000 2",
        "version_unreviewed": "100000 100000 1",
    },
    "memoryhub_redaction": {
        "redaction_by_entry": "1000000 250000 50 1",
        "redaction_of_entry": "1000000 250000 1",
        "redaction_of_memory": "1000000 250000 10 1",
        "redaction_of_version": "1000000 250000 1",
        "sqlite_autoindex_memoryhub_redaction_1": "1000000 1",
    },
    "memoryhub_review": {
        "review_by_entry": "50000 50000 1",
        "review_by_person": "50000 50000 5000 1",
        "review_by_time": "50000 50000 1",
        "review_of_memory": "50000 50000 2 1",
        "sqlite_autoindex_memoryhub_review_1": "50000 1",
    },
    "memoryhub_runitem": {
        "run_item_in_order": "100000 100 1",
        "sqlite_autoindex_memoryhub_runitem_1": "100000 100 50 1",
    },
    "memoryhub_session": {
        "session_by_agent": "75000 2500 1",
        "sqlite_autoindex_memoryhub_session_1": "75000 1",
        "sqlite_autoindex_memoryhub_session_2": "75000 2500 1",
    },
}


def write_statistics(using: str, **_: Any) -> None:
    """Write the statistics. This runs after each migration: a migration that rebuilds a table deletes the table's
    statistics."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        return
    tables = set(connection.introspection.table_names())
    rows = [
        (table, index, statistics) for table, indexes in STATISTICS.items() for index, statistics in indexes.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sqlite_schema")  # creates the table of statistics
        cursor.execute("DELETE FROM sqlite_stat1")
        cursor.executemany("INSERT INTO sqlite_stat1 VALUES (%s, %s, %s)", [row for row in rows if row[0] in tables])
        cursor.execute("ANALYZE sqlite_schema")  # loads them into this connection; others load them when they open
