"""What the database server says of itself, for diagnoses: its settings, its clock, and whether its file is sound."""

from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


def setting(name: str) -> str:
    """Return a setting of PostgreSQL, or a pragma of SQLite."""
    own: Any = connections[DEFAULT_DB_ALIAS]
    text = f"PRAGMA {name}" if own.vendor == "sqlite" else f"select current_setting('{name}')"
    return str(_value(text))


def server_time() -> datetime:
    """Return the current time by the clock of PostgreSQL's machine."""
    found: datetime = _value("select clock_timestamp()")
    return found


def quick_damage() -> str:
    """Return what is wrong with the structure of SQLite's file; "" if nothing is wrong. Indexes are not checked."""
    found = str(_value("PRAGMA quick_check(1)"))
    return "" if found == "ok" else found


_FOREIGN_SQLITE = "select type || ' ' || name from sqlite_master where type in ('trigger', 'view') limit 1"
_FOREIGN_POSTGRESQL = """
select 'trigger ' || tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
where not tgisinternal and pg_table_is_visible(pg_class.oid) and starts_with(relname::text, 'memoryhub_')
union all
select 'rule ' || rulename from pg_rules
where schemaname = any (current_schemas(false)) and starts_with(tablename::text, 'memoryhub_')
union all
select case relkind when 'r' then 'row security of ' else 'view ' end || relname from pg_class
where pg_table_is_visible(oid) and starts_with(relname::text, 'memoryhub_')
  and (relkind in ('v', 'm', 'f') or relrowsecurity)
limit 1"""


def foreign_program() -> str:
    """Return the kind and the name of a trigger, a view or the like in the database; "" if there is none.

    The hub itself never creates such a program. A foreign program may change what the hub reads or writes.
    """
    own: Any = connections[DEFAULT_DB_ALIAS]
    return str(_value(_FOREIGN_SQLITE if own.vendor == "sqlite" else _FOREIGN_POSTGRESQL) or "")


def _value(statement: str) -> Any:
    own: Any = connections[DEFAULT_DB_ALIAS]
    own.ensure_connection()
    with own.wrap_database_errors:
        row = own.connection.execute(statement).fetchone()
    return None if row is None else row[0]
