"""Parsing the moment that a person requested: an entry, a date in the person's time zone, or a shortcut."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Session
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.moment_addresses import Scope
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import removed_history
from memoryhub.web.history.moments import past

RECENT = 300
"""The number of newest entries that are scanned for sessions. The page offers to go back to the moment before each
session."""

MOST_SESSIONS = 5
MOST_ENTRIES = 20
MOST_VERSIONS = 400
_YEARS = range(1970, 9999)


@dataclass(frozen=True, slots=True)
class Asked:
    """The requested moment, as the seq of an entry or None."""

    seq: int | None
    sentence: str = ""  # why the request is invalid, or why another moment is used


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A suggested moment; `seq` is the last entry at or before it."""

    name: str
    seq: int


def number(value: str) -> int | None:
    """Parse a whole number from a URL; return None for anything else."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None


def moment(value: str) -> datetime | None:
    """Parse a date and time, which is in the current time zone if the text names no other. Return None for an invalid
    text."""
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if found.year not in _YEARS:
        return None
    return timezone.make_aware(found) if timezone.is_naive(found) else found.astimezone(UTC)


def in_field(value: str) -> str:
    """Return a date from a URL in the format of a date-and-time field, or "" if it is no date."""
    found = moment(value)
    return timezone.localtime(found).strftime("%Y-%m-%dT%H:%M") if found else ""


def scope_of(store: MemoryStore, given: QueryDict) -> Scope:
    """Return the scope of the memory or directory in the query. Invalid values are ignored."""
    memory, path = given.get("memory", ""), given.get("path", "")
    if memory and Memory.objects.filter(store=store, pk=memory).exists():
        return Scope(memory=memory)
    return Scope(path=path if is_path(path) else "")


def is_path(path: str) -> bool:
    """Return whether a memory or a directory can be at a path; the root does not count."""
    try:
        return bool(path) and paths.from_tool(paths.ROOT + path) == path
    except ToolError:
        return False


def asked(store_id: str, last: int, given: QueryDict, *, seq: str = "seq", at: str = "at") -> Asked:
    """Return the entry that the query names by its number or by a date.

    `seq` is the name of the query parameter with the number, `at` the name of the parameter with the date.
    `last` is the seq of the newest entry. A moment before the first or after the last existing entry becomes that
    entry.
    """
    if written := given.get(seq, ""):
        return _by_number(written, last, removed_history.start_of(store_id))
    if not (written := given.get(at, "")):
        return Asked(None)
    when = moment(written)
    if when is None:
        return Asked(None, _("This is not a date and time. Write it like 2026-03-31 14:02."))
    if when > timezone.now():
        return Asked(last, _("That moment is in the future, so this is the newest entry."))
    found = past.seq_at(store_id, when)
    return Asked(min(found, last)) if found else _before_all(removed_history.start_of(store_id))


def _before_all(start: removed_history.Start | None) -> Asked:
    if start:
        return Asked(start.first, removed_history.starts_at(start))
    return Asked(1, _("The store did not exist yet at that moment, so this is its first entry."))


def _by_number(value: str, last: int, start: removed_history.Start | None) -> Asked:
    found = number(value)
    if found is None:
        return Asked(None, _("This is not the number of an entry. Type a number such as 120."))
    if start and found <= start.seq:
        return Asked(start.first, removed_history.starts_at(start))
    if found < 1:
        return Asked(1, _("The entries of a store start at number 1, so this is the first one."))
    if found > last:
        return Asked(last, _("No entry has this number yet, so this is the newest one."))
    return Asked(found)


def shortcuts(request: Request, store: MemoryStore, last: int) -> list[Shortcut]:
    """Return the shortcuts to an hour, a day, a week, two weeks and 30 days ago. `last` is the seq of the newest entry.

    A shortcut is left out if its moment is before the first entry, or if no entry was written since then.
    """
    now = timezone.now()
    names = (
        (_("An hour ago"), timedelta(hours=1)),
        (_("Yesterday at this time"), timedelta(days=1)),
        (_("A week ago"), timedelta(days=7)),
        (_("Two weeks ago"), timedelta(days=14)),
        (_("30 days ago"), timedelta(days=30)),
    )
    found = [Shortcut(name, past.seq_at(store.id, now - ago)) for name, ago in names]
    return [shortcut for shortcut in found if 0 < shortcut.seq < last]


def before_sessions(store_id: str) -> list[tuple[Session, Shortcut]]:
    """Return the latest sessions, each with the moment before its first call."""
    newest = AuditEntry.objects.of_chain(store_id).newest().values_list("session", flat=True)[:RECENT]
    ids = list(dict.fromkeys(session for session in newest if session))[:MOST_SESSIONS]
    sessions = Session.objects.select_related("agent").in_bulk(ids)
    found, first_left = [], removed_history.first_seq(store_id)
    for session in (sessions[pk] for pk in ids if pk in sessions):
        first = AuditEntry.objects.of_chain(store_id).of_session(session.pk).order_by("seq")
        seq = first.values_list("seq", flat=True)[0]
        if seq > first_left:
            found.append((session, Shortcut(session.name, seq - 1)))
    return found


def recent_changes(store_id: str) -> list[tuple[AuditEntry, Sequence[MemoryVersion]]]:
    """Return the newest entries that made versions, with these versions; at most MOST_ENTRIES entries and MOST_VERSIONS
    versions."""
    versions = MemoryVersion.objects.filter(store_id=store_id).order_by("-seq")[:MOST_VERSIONS]
    by_seq: dict[int, list[MemoryVersion]] = {}
    for version in versions:
        by_seq.setdefault(version.seq, []).append(version)
    seqs = list(by_seq)[:MOST_ENTRIES]
    entries = AuditEntry.objects.of_chain(store_id).in_brief().of_seqs(seqs).newest()
    return [(entry, by_seq[entry.seq]) for entry in entries]
