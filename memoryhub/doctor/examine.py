"""Runs all checks. If a check cannot read what it needs, this is a finding, and the other checks go on."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from django.db import DatabaseError, InterfaceError, connection

from memoryhub.database import pooled
from memoryhub.doctor import inside, outside
from memoryhub.doctor.findings import ERROR, Finding, error
from memoryhub.operating.starting import NotStarted, require_hub

Check = Callable[[datetime], Iterator[Finding]]

OUTSIDE: Sequence[Check] = (
    outside.environment, outside.owners, outside.leftovers, outside.disk, outside.secrets, outside.address,
)  # fmt: skip
INSIDE: Sequence[Check] = (
    inside.database, inside.secrets, inside.clock, inside.work, inside.written, inside.backups, inside.audit,
    inside.people,
)  # fmt: skip
NO_ADDRESS = "django.db.backends.dummy"
ADDRESS = "Correct DATABASE_URL, or start the database."
CERTIFICATE = "Renew the certificate of the database server, or correct sslmode and sslrootcert in DATABASE_URL."


def examine(now: datetime) -> list[Finding]:
    """Return all findings, errors first."""
    found = [one for check in OUTSIDE for one in _of(check, now)]
    if connection.settings_dict["ENGINE"] != NO_ADDRESS:  # which a check of the settings reports
        blocked = list(_database()) or _of(inside.schema, now)
        found += blocked
        if not any(one.level == ERROR for one in blocked):  # the other checks need the tables of this program
            found += [one for check in INSIDE for one in _of(check, now)]
    return sorted(found, key=lambda one: one.level)


def _database() -> Iterator[Finding]:
    """Report a database that is missing or does not answer.

    A missing file of SQLite is not opened, because that would create it.
    """
    try:
        require_hub()
        connection.ensure_connection()
    except NotStarted as problem:
        yield error("database", str(problem), "Set MEMORYHUB_DATA_DIR and DATABASE_URL as for `serve`.")
    except (DatabaseError, InterfaceError) as problem:
        said = _line(problem)
        do = CERTIFICATE if "certificate" in said or "SSL" in said else ADDRESS
        yield error("database", f"The database does not answer: {said}.", do)


def _of(check: Check, now: datetime) -> list[Finding]:
    try:
        return list(check(now))
    except (DatabaseError, InterfaceError) as problem:
        return [error("database", f"The database refuses: {_line(problem)}.", "Start the hub, which names the cause.")]
    except OSError as problem:
        said = f"{problem.filename or 'A file'}: {problem.strerror or problem}."
        return [error("files", said, "Run doctor as the user who runs the hub.")]


def _line(problem: Exception) -> str:
    return pooled.reason_of(problem).rstrip(".")
