"""What the database server says of itself: its settings, its clock, and whether its file is sound. For diagnoses."""

from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


def setting(name: str) -> str:
    """Return a setting of PostgreSQL, or a pragma of SQLite."""
    own: Any = connections[DEFAULT_DB_ALIAS]
    text = f"PRAGMA {name}" if own.vendor == "sqlite" else f"select current_setting('{name}')"
    return str(_value(text))


def server_time() -> datetime:
    """Return the moment by the clock of PostgreSQL's machine."""
    found: datetime = _value("select clock_timestamp()")
    return found


def quick_damage() -> str:
    """Return what is wrong with the structure of SQLite's file, "" if nothing is. Indexes are not compared."""
    found = str(_value("PRAGMA quick_check(1)"))
    return "" if found == "ok" else found


def _value(statement: str) -> Any:
    own: Any = connections[DEFAULT_DB_ALIAS]
    own.ensure_connection()
    with own.wrap_database_errors:
        return own.connection.execute(statement).fetchone()[0]
