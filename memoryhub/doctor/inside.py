"""Checks in the database: its settings, migrations, secrets, clock, background work, backups, checkpoints and audit."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection

from memoryhub.actions.accounts import second_person
from memoryhub.actions.backups import databases, schedule
from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import keys
from memoryhub.actions.core.hub import background, installation
from memoryhub.actions.verification import checkpoints, newest, runs
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.database import facts
from memoryhub.doctor.findings import Finding, error, warning
from memoryhub.models import HUB, AuditEntry, User

OLDEST_RUN = timedelta(days=30)
"""The age from which the last run of `verify_audit` is reported as too old."""
SKEW = timedelta(seconds=30)
"""The most seconds by which two clocks may differ."""
PLACES = {"MEMORYHUB_AUDIT_KEY": "audit_key", "SECRET_KEY": "secret_key"}


def schema(_: datetime) -> Iterator[Finding]:
    """Report migrations that the program does not know, and migrations that the database lacks."""
    known, applied = set(databases.known_migrations()), set(databases.migrations())
    if unknown := sorted(applied - known):
        said = f"The database was migrated by a newer MemoryHub ({unknown[-1]})."
        yield error("migrations", said, "Start that version, or restore a backup from before.")
    if absent := sorted(known - applied):
        said = f"{len(absent)} migrations are not applied, the first is {absent[0]}."
        yield error("migrations", said, "Make a backup, then start `serve`, which migrates.")


def database(_: datetime) -> Iterator[Finding]:
    """Report a database that accepts no writes, is damaged, or may lose acknowledged writes."""
    if not sql.is_writable():
        do = "Name the primary in DATABASE_URL, or make the disk and the file writable."
        yield error("database", "The database takes no writes: it is a replica, or read-only.", do)
    if connection.vendor == "sqlite":
        yield from _sqlite()
    else:
        yield from _postgresql()


def _sqlite() -> Iterator[Finding]:
    if settings.SQLITE_SYNCHRONOUS == "NORMAL":
        said = "MEMORYHUB_SQLITE_SYNCHRONOUS is NORMAL: a power cut may lose the last acknowledged calls."
        yield warning("database", said, "Leave the variable out, unless speed matters more.")
    if (mode := facts.setting("journal_mode")) != "wal":
        yield error("database", f"The journal of SQLite is {mode}, not wal.", "Use a local disk, not a network one.")
    if damage := facts.quick_damage():
        yield error("database", f"SQLite's file is damaged: {damage}.", "Stop the hub and restore the last backup.")


def _postgresql() -> Iterator[Finding]:
    if int(facts.setting("server_version_num")) < 150_000:
        yield error("database", "PostgreSQL is older than 15.", "Upgrade the server.")
    for name, loss in (("fsync", "may be damaged by"), ("full_page_writes", "may be damaged by")):
        if facts.setting(name) == "off":
            yield error("database", f"{name} is off: the database {loss} a power cut.", f"Set {name} to on.")
    if facts.setting("synchronous_commit") == "off":
        said = "synchronous_commit is off: a power cut may lose the last acknowledged calls."
        yield warning("database", said, "Set it to on for the role of the hub.")
    if facts.setting("server_encoding") != "UTF8":
        yield error(
            "database", "The database is not in UTF8.", "Make a new database in UTF8 and restore a backup into it."
        )


def secrets(_: datetime) -> Iterator[Finding]:
    """Report secrets that do not belong to the database."""
    for name in installation.wrong_secrets():
        if name not in settings.MEMORYHUB_ABSENT_SECRETS:  # for which `outside.secrets` has a finding
            do = f"Put back the right secret, in {name} or in {settings.DATA_DIR / PLACES[name]}."
            yield error("secrets", f"{name} does not belong to this database.", do)
    if _has_audit_key() and not keys.known().is_complete:
        do = "Restore a backup, or put back each: manage.py rotate_audit_key --put-back FILE"
        yield error("secrets", "Older audit keys are missing from the database: their entries are not verified.", do)


def clock(now: datetime) -> Iterator[Finding]:
    """Report a clock that was set back, or that differs from the database server's."""
    do = "Set the clock, and keep it right with NTP (timedatectl set-ntp true)."
    last = AuditEntry.objects.of_chain(HUB).newest().values_list("at", flat=True).first()
    if last and last - now > SKEW:
        yield error("clock", f"The newest entry of the audit is of {last:%Y-%m-%d %H:%M} UTC, in the future.", do)
    if connection.vendor != "sqlite" and abs(facts.server_time() - now) > SKEW:
        yield error("clock", "The clocks of the hub and of the database server differ by more than 30 seconds.", do)


def work(now: datetime) -> Iterator[Finding]:
    """Report background work that fails, or that has not reported for too long."""
    states = background.states()
    if not states:
        yield warning("work", "No background work was ever recorded.", "Start the hub: `serve` does the work.")
    for row in states:
        if row.failures:
            do = "Remove the cause; the hub tries again by itself. The log of the hub has the details."
            yield error("work", f"{row.name} fails on {row.node}: {row.problem}", do)
        elif background.hangs(row, now):
            do = (
                "Start the hub there, or restart it if it runs. A node that is gone for good is forgotten after 7 days."
            )
            yield error("work", f"{row.name} on {row.node} has not reported since {_last(row.succeeded_at)}.", do)


def _last(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "its start"


def _has_audit_key() -> bool:
    """Return whether this process has the hub's audit key."""
    name = "MEMORYHUB_AUDIT_KEY"
    return name not in settings.MEMORYHUB_ABSENT_SECRETS and name not in installation.wrong_secrets()


def written(_: datetime) -> Iterator[Finding]:
    """Report missing and wrong checkpoints, and the entries that the checkpoints name but the database does not
    have."""
    if not _has_audit_key():
        return
    file: Path = settings.MEMORYHUB_CHECKPOINT_FILE
    if not file.exists() and not checkpoints.segments(file):
        do = "If no one moved them, someone removed them: find out who had access. The hub writes new checkpoints."
        yield warning("checkpoints", f"There are no checkpoints in {file.parent}.", do)
        return
    found = checkpoint_check.check(file)
    for problem in found.files:
        yield error(
            "checkpoints", f"{problem}.", "Compare the checkpoints with your copy, and find out who changed them."
        )
    for chain, (seq, what) in found.problems.items():
        do = 'If a backup was restored, run: manage.py verify_audit --accept-missing "why"'
        yield error("checkpoints", f"{chain} entry {seq}: {what}.", do)


def backups(now: datetime) -> Iterator[Finding]:
    """Report backups that are not planned, fail, are too old, or cannot be made."""
    there = schedule.state()
    if not there.plan.target and (there.at is None or now - there.at > timedelta(days=2)):
        do = "Plan backups under Settings of the hub, Backups, or run `manage.py backup` each day."
        yield warning("backups", "No backups are planned, and there is none of the last two days.", do)
    if there.plan.target and not schedule.keys().is_there:
        yield _without_key(there)
    if there.problem:
        yield error("backups", f"The last backup failed: {there.problem}", "Remove the cause; the hub tries again.")
    if there.is_old(now):
        do = "See under Background work why no backup was made."
        yield error("backups", f"The last backup is of {_last(there.at or there.begun_at)}.", do)
    target = there.plan.target
    if target and not target.startswith("s3://") and not Path(target).is_dir():
        yield error("backups", f"{target}, where backups go, is no directory.", "Mount the disk, or change the plan.")


def _without_key(there: schedule.State) -> Finding:
    """Return the finding that this process has no key for the planned backups.

    The server may have one: if the last backup succeeded, the finding is only a warning.
    """
    if there.at is None or there.problem:
        says = "Backups are planned, none has succeeded since, and there is no key for them here."
        return error("backups", says, str(schedule.NO_KEYS))
    says = f"The last backup succeeded ({_last(there.at)}), but here is no key for backups."
    do = "If only this shell has none, set MEMORYHUB_BACKUP_PASSPHRASE or MEMORYHUB_BACKUP_RECIPIENT as for the server."
    return warning("backups", says, do)


def audit(now: datetime) -> Iterator[Finding]:
    """Report if the newest entries were changed, or if the last run of `verify_audit` failed or is long ago."""
    for problem in newest.problems() if _has_audit_key() else ():
        yield error("audit", f"In the audit, {problem}.", "Run manage.py verify_audit, and find out who changed it.")
    last = runs.last()
    if last is None or now - last.at > OLDEST_RUN:
        said = "verify_audit has not run for 30 days." if last else "verify_audit has never run."
        yield warning("audit", said, "Run manage.py verify_audit each week.")
    elif not last.ok:
        do = "Run manage.py verify_audit: it names what is wrong."
        yield error("audit", f"verify_audit of {_last(last.at)} found something wrong.", do)


def people(_: datetime) -> Iterator[Finding]:
    """Report a hub without an active administrator, or with fewer than two if acts need a second person."""
    if not User.objects.filter(is_superuser=True, is_active=True).exists():
        do = "Open the link that `serve` prints at its start, which makes the first administrator."
        yield warning("people", "The hub has no active administrator.", do)
    if second_person.is_on() and second_person.administrators() < 2:
        do = "Invite another administrator, or run manage.py unset_second_person."
        yield warning("people", "Acts need a second person, and only one administrator can sign in.", do)
