"""Copies of the database for backups: SQLite's file as of one moment, and the name of a snapshot of PostgreSQL's
database."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


def copy_into(path: str) -> None:
    """Write a copy of SQLite's database, as of now, into a new file. Writers do not wait."""
    own: Any = connections[DEFAULT_DB_ALIAS].copy()
    try:
        own.ensure_connection()
        with own.wrap_database_errors:
            for statement in ("PRAGMA temp_store=FILE", "PRAGMA cache_size=-16384"):
                own.connection.execute(statement)  # else the copy would be in memory until it is complete
            own.connection.execute("VACUUM INTO ?", [path])
    finally:
        own.close()


def bytes_in_use() -> int:
    """Return the bytes of the used pages of SQLite's file, which is the size of a copy of the file."""
    size, count, free = (_value(f"PRAGMA {name}") for name in ("page_size", "page_count", "freelist_count"))
    return size * (count - free)


def damage() -> str:
    """Return what is wrong with the structure of SQLite's file; "" if nothing is wrong."""
    found = str(_value("PRAGMA integrity_check(1)"))
    return "" if found == "ok" else found


def shared_snapshot() -> str:
    """Return the name of the snapshot of PostgreSQL's open transaction.

    With this name, other connections can see the same data.
    """
    return str(_value("select pg_export_snapshot()"))


def _value(statement: str) -> Any:
    own: Any = connections[DEFAULT_DB_ALIAS]
    own.ensure_connection()
    with own.wrap_database_errors:
        return own.connection.execute(statement).fetchone()[0]
