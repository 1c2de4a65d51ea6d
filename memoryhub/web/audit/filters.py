"""The filters of the audit pages. Words `key:value` or query parameters become a search."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memoryhub.actions.accounts.keys_and_roles import fold_name
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.verification.entries import ANY_SESSION, READS, WRITES
from memoryhub.models import Agent, AuditEntry, Door, Key, MemoryStore, MemoryVersion, Session, User
from memoryhub.models.access import fold_email
from memoryhub.pure import ids
from memoryhub.pure.protocol.kinds import Kind
from memoryhub.pure.text.filter_words import NOT, READING, WRITING, Term
from memoryhub.pure.text.periods import WEEKDAYS, ago, is_date, period
from memoryhub.web.audit.queries import Search
from memoryhub.web.common.errors.kinds import WORDS as ERRORS
from memoryhub.web.common.filters import KeyValues, Malformed
from memoryhub.web.common.filters.keys import ACTIVE, base, shown
from memoryhub.web.common.typed_paths import below_root

KEYS = (
    "store", "agent", "key", "person", "session", "call", "command", "path", "outcome", "error", "door", "when", "from",
    "to",
)  # fmt: skip
GROUPS = {WRITING: WRITES, READING: READS}
"""{value of the filter `command`: the commands that it means}, for the values that mean several commands."""
OUTCOMES = ("ok", "error", "refused", "proposed")
CALL = "toolu_"
"""The prefix of the ids of calls that a model made."""

MOST_NAMED = 10
"""The most agents with the same name whose ids a message lists."""

_NAME = re.compile(r"[a-z_]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The audit filter that a person typed."""

    KEYS = KEYS
    ALIASES = {"on": "when", "date": "when", "day": "when", "since": "from", "until": "to"}
    EXAMPLE = "agent:%(word)s or session:%(word)s"
    TAKES_WORDS = False
    VERBS = {"written": ("command", WRITING), "changed": ("command", WRITING), "deleted": ("command", "delete")}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        if value.startswith("/"):
            return "path"
        if value in OUTCOMES:
            return "outcome"
        if value.casefold() in WEEKDAYS:
            return "when"
        if value.startswith(ids.KEY):
            return "key"
        if value.startswith((CALL, ids.REQUEST)):
            return "call"
        return "command" if value in GROUPS or value in COMMANDS else None

    @classmethod
    def meant(cls, term: Term) -> Term:
        """Return a filter as the audit pages mean it: a `path` means a directory, so its value gets a final slash."""
        return replace(term, value=term.value.rstrip("/") + "/") if base(term.key) == "path" else term


NO_FILTER = Filter({})


@dataclass(frozen=True, slots=True)
class Target:
    """What a filter asks for, after its names are resolved: `search` in `chains`."""

    chains: Sequence[str]
    search: Search


def resolved(wanted: Filter, chains: Sequence[str], *, now: datetime, zone: tzinfo) -> Target:
    """Return the chains and the search that a filter asks for. Times are computed from `now`.

    An unknown agent, person or session matches nothing. Raise Malformed for an unknown memory store or an invalid
    value.
    """
    values = wanted.values
    if "agent" in values and "person" in values:
        raise Malformed(_("An entry has only one author. Filter by an agent or by a person, not by both."))
    if values.get("session") == ANY_SESSION:
        raise Malformed(_("Write -session:any to find what was done without a session."))
    looked_at = _chains(values.get("store"), chains)
    if outside := values.get(NOT + "store"):
        left_out = _chains(outside, chains)
        looked_at = [chain for chain in looked_at if chain not in left_out]
    search = _search(values, looked_at, now, zone)
    if search.start and search.end and search.start >= search.end:
        raise Malformed(_("“from” must be before “to”."))
    excluded = [
        _search({base(key): value}, looked_at, now, zone)
        for key, value in values.items()
        if key.startswith(NOT) and key != NOT + "store"
    ]
    return Target(looked_at, replace(search, excluded=tuple(excluded)))


def _search(values: Mapping[str, str], chains: Sequence[str], now: datetime, zone: tzinfo) -> Search:
    author = _author(values, chains)
    start, end = _period(values.get("when"), now, zone)
    first, last = _moment("from", values.get("from"), now, zone), _moment("to", values.get("to"), now, zone)
    command = _command(values.get("command"))
    key, outcome, error = _key(values.get("key")), _outcome(values.get("outcome")), _error(values.get("error"))
    return Search(
        author=author if key is None or author else _agent_of(key),
        key=key,
        session=_session(values.get("session"), author if "agent" in values else None, chains),
        command=command if command not in GROUPS else None,
        commands=GROUPS.get(command or ""),
        path=_path(values.get("path"), chains),
        door=_door(values.get("door")),
        ok=outcome == "ok" if outcome else None if error is None else False,
        error=error,
        token=_call(values.get("call")),
        proposed=None if outcome in (None, "ok") else outcome == "proposed",
        refused=True if outcome == "refused" else None,
        start=max(filter(None, (start, first)), default=None),
        end=min(filter(None, (end, last)), default=None),
    )


def is_excluded(
    excluded: Sequence[Search],
    at: datetime,
    path: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> bool:
    """Return whether one of the searches `excluded` matches an act with this time, path, author and session."""
    return any(
        (each.author is None or each.author == author)
        and (each.session in (None, session) or (each.session == ANY_SESSION and session is not None))
        and (each.path is None or is_at(path, each.path))
        and (each.start is None or at >= each.start)
        and (each.end is None or at < each.end)
        for each in excluded
    )


def is_at(path: str | None, place: str) -> bool:
    """Return whether a path is `place` or a path under it."""
    directory = place.removesuffix("/")
    return path is not None and (path == directory or path.startswith(directory + "/"))


def _chains(value: str | None, chains: Sequence[str]) -> Sequence[str]:
    if value is None:
        return chains
    if value in chains:
        return [value]
    if value == ACTIVE:
        return list(MemoryStore.objects.active().filter(pk__in=chains).order_by("pk").values_list("pk", flat=True))
    found = list(MemoryStore.objects.filter(name=value, pk__in=chains).values_list("id", flat=True)[:2])
    if len(found) == 2:
        raise Malformed(_("Several stores have the name “%(name)s”. Filter by the id of one store.") % {"name": value})
    if not found:
        raise Malformed(_("There is no store “%(name)s”, or you may not see it.") % {"name": value})
    return found


def _author(values: Mapping[str, str], chains: Sequence[str]) -> str | None:
    """Return the id of the agent or person in a filter. Return None if the filter has neither. Raises Malformed if
    several agents have the name."""
    if agent := values.get("agent"):
        return agent if agent.startswith("agent_") else _agent_named(agent, chains) or agent
    if person := values.get("person"):
        return person_id(person)
    return None


def person_id(person: str) -> str:
    """Return the id of a person, given by id or e-mail address. An unknown address is returned unchanged."""
    addressed_so = User.objects.filter(email=fold_email(person)).values_list("id", flat=True)
    return person if person.startswith("user_") else addressed_so.first() or person


def _agent_named(name: str, chains: Sequence[str]) -> str | None:
    """Return the id of the agent with this name in `chains`, or None. Raises Malformed if several agents have the
    name."""
    named_so = Agent.objects.named(fold_name(name)).known_in(chains).by_name()
    found = list(named_so.values_list("id", flat=True)[:MOST_NAMED])
    if len(found) > 1:
        several = _("Several agents have the name “%(name)s”. Give the id of one: %(ids)s.")
        raise Malformed(several % {"name": name, "ids": ", ".join(found)})
    return found[0] if found else None


def _key(value: str | None) -> str | None:
    if value is not None and not value.startswith(ids.KEY):
        raise Malformed(
            _("Filter by the id of a key (apikey_…). The page of an agent has links to the entries of its keys.")
        )
    return value


def _agent_of(key: str) -> str:
    """Return the id of the agent of a key, or the key's id if the key does not exist."""
    return Key.objects.filter(pk=key).values_list("agent_id", flat=True).first() or key


def _session(session: str | None, agent: str | None, chains: Sequence[str]) -> str | None:
    """Return the id of the session in a filter, or None if the filter has no session. Raises Malformed if sessions of
    several agents have the name."""
    if session in (None, ANY_SESSION) or session.startswith("sesn_"):
        return session
    if agent is not None:
        return Session.objects.filter(agent=agent, name=session).values_list("id", flat=True).first() or session
    agents = Agent.objects.known_in(chains).values("pk")
    found = list(
        Session.objects.filter(agent__in=agents, name=session).known_in(chains).values_list("id", flat=True)[:2]
    )
    if len(found) > 1:
        several = _("Sessions of several agents have the name “%(name)s”. Add agent:…, or give the id of one (sesn_…).")
        raise Malformed(several % {"name": session})
    return found[0] if found else session


def _command(value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise Malformed(_("“%(value)s” is not a command. “More filters” lists all commands.") % {"value": value})
    return value


def _path(value: str | None, chains: Sequence[str]) -> str | None:
    """Return the path of a filter, or None if it has none. Raises Malformed if the value is no path."""
    if value is not None and not value.startswith("/"):
        raise Malformed(
            _("A path must begin with “/”. If it also ends with “/”, it means that directory and everything under it.")
        )
    return place_of(below_root(value, chains), chains) if value else value


def place_of(path: str, chains: Sequence[str]) -> str:
    """Return `path` with a final slash if it was a directory in `chains`, and without one if it was a memory.

    If it was both or neither, return it unchanged.
    """
    name = path.rstrip("/")
    if not name:
        return path
    versions = MemoryVersion.objects.filter(store_id__in=chains)
    calls = AuditEntry.objects.filter(chain__in=chains).beneath(name)
    is_memory, is_directory = versions.at(name).exists(), versions.under(name).exists() or calls.exists()
    return path if is_memory == is_directory else name if is_memory else name + "/"


def _door(value: str | None) -> str | None:
    if value is not None and value not in Door.values:
        doors = ", ".join(Door.values)
        raise Malformed(_("“%(value)s” is not a door. The doors are %(doors)s.") % {"value": value, "doors": doors})
    return value


def _outcome(value: str | None) -> str | None:
    if value not in (None, *OUTCOMES):
        raise Malformed(
            _("The outcome of an entry is “ok”, “error”, “refused” or “proposed”, not “%(value)s”.") % {"value": value}
        )
    return value


def _call(value: str | None) -> str | None:
    if value is not None and value.startswith(ids.REQUEST):
        raise Malformed(
            _("Ids of requests (req_…) are in the hub’s log, not in the audit. The audit has ids of calls (toolu_…).")
        )
    return value


def _error(value: str | None) -> Kind | None:
    if value is None:
        return None
    if value not in list(ERRORS):
        kinds = ", ".join(ERRORS)
        raise Malformed(
            _("“%(value)s” is not a kind of error. The kinds are %(kinds)s.") % {"value": value, "kinds": kinds}
        )
    return Kind(value)


def _moment(key: str, value: str | None, now: datetime, zone: tzinfo) -> datetime | None:
    """Return the time in the filter `key`, or None if the filter has no value. Raises Malformed if the value is no
    time."""
    if value is None:
        return None
    try:
        if length := ago(value):
            return now - length
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        if key == "to" and is_date(value):
            moment += timedelta(days=1)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Malformed(
            _("“%(value)s” is not a time: write 30m, 24h, 7d, 2w, 2026-01-31 or 2026-01-31T14:30.") % {"value": value}
        ) from None


def _period(value: str | None, now: datetime, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """Return the start of a period and its end, which is not part of the period; (None, None) if `value` is empty."""
    if not value:
        return None, None
    try:
        found = period(value, now, zone)
        start, end = (moment and moment.astimezone(UTC) for moment in found or (None, None))
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise Malformed(
            _("“%(value)s” is not a period: write today, tuesday, last-week, 24h, 7d or 2026-01-31.") % {"value": value}
        )
    return start, end


def named(wanted: Filter, chains: Sequence[str]) -> dict[str, str]:
    """Return the filter's values with names in place of ids, for a person who may see `chains`."""
    words = {key: shown(base(key), value) for key, value in wanted.values.items()}
    words |= {
        key: place_of(below_root(value, chains), chains) for key, value in wanted.values.items() if base(key) == "path"
    }
    lookups: dict[str, QuerySet[Any, Any]] = {
        "store": MemoryStore.objects.filter(pk__in=chains),
        "agent": Agent.objects.known_in(chains),
        "key": Key.objects.filter(agent__in=Agent.objects.known_in(chains)).select_related("agent"),
        "person": User.objects.known_in(chains),
        "assigned": User.objects.known_in(chains),
        "session": Session.objects.known_in(chains).values_list("name", flat=True),
    }
    for key, value in wanted.values.items():
        if base(key) in lookups and (row := lookups[base(key)].filter(pk=value).first()):
            words[key] = str(row)
    return words
