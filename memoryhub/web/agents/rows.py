"""Agents and keys as rows of lists, limited to memory stores that the person may see."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Max, OuterRef, Subquery

from memoryhub.models import HUB, Agent, AuditEntry, Key, KeyStore, MemoryStore, RefusedCalls, Session, User

NAMED_STORES = 5
LOOKED_AT = 100
"""The most keys of an agent that are searched for one with the same rights."""
MOST_REFUSED = 200
"""The most entries of an agent in the hub's audit, the newest ones, that are searched for requests with keys that
ended."""
REFUSED_DAYS, MOST_STORES = 7, 1_000
"""The number of days whose refused calls are counted, and the most stores in which they are counted."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The memory stores that a key can access."""

    every: bool  # all stores
    stores: tuple[MemoryStore, ...]  # the stores that are listed
    more: int  # how many further stores the person may see
    has_others: bool  # the key can also access stores that the person may not see


@dataclass(frozen=True, slots=True)
class Refused:
    """The calls of a key that were refused because there were too many in a minute."""

    calls: int
    store_id: str
    last: datetime


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key; `status` is usable, expired or revoked."""

    key: Key
    scope: Scope
    status: str
    may_revoke: bool
    refused: Refused | None = None  # calls of the last REFUSED_DAYS days
    tried: datetime | None = None  # the time of the newest request after the key had ended


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent, with the number of its usable keys and the stores that these keys can access."""

    agent: Agent
    keys: int
    scope: Scope
    last_used: datetime | None
    last_session: datetime | None
    short_id: str = ""  # only if another visible agent has the same name


def key_rows(keys: Iterable[Key], user: User, at: datetime) -> list[KeyRow]:
    """Return one row for each key, in the given order; a row names only stores that the person may see."""
    keys = list(keys)
    stores = _stores_of(keys)
    known, refused = _known(user), _refused(keys, user, at)
    governed = set(Key.objects.governed_by(user).filter(pk__in=[key.pk for key in keys]).values_list("pk", flat=True))
    return [
        KeyRow(
            key,
            _scope([key], stores, known),
            status(key, at),
            key.revoked_at is None and key.pk in governed,
            refused.get(key.pk),
        )
        for key in keys
    ]


def with_tries(rows: Iterable[KeyRow], agent: Agent) -> list[KeyRow]:
    """Return the rows of the agent's keys, with `tried`: the time of the newest refused request after the key's end.

    The times are from the hub's audit, so only administrators of the hub may see them.
    """
    entries = AuditEntry.objects.of_chain(HUB).by_author(agent.pk).newest()
    newest = entries.values_list("actor_id", "command", "at")[:MOST_REFUSED]
    tried = {key: at for key, command, at in reversed(newest) if command == "refused"}
    return [replace(row, tried=_after_end(row.key, tried.get(row.key.pk))) for row in rows]


def _after_end(key: Key, at: datetime | None) -> datetime | None:
    """Return a moment if it is after the end of a key, else None."""
    ends = [end for end in (key.revoked_at, key.expires_at) if end]
    return at if at and ends and at >= min(ends) else None


def newer_like(key: Key, at: datetime) -> Key | None:
    """Return the newest usable key that was issued after `key` to the same agent with the same rights, or None."""
    issued = Key.objects.usable(at).filter(
        agent=key.agent_id, access=key.access, all_stores=key.all_stores, created_at__gte=key.created_at
    )
    newer = list(issued.exclude(pk=key.pk).newest()[:LOOKED_AT])
    reaches: dict[str, set[str]] = defaultdict(set)
    for key_id, store_id in KeyStore.objects.filter(key__in=[key, *newer]).values_list("key", "store"):
        reaches[key_id].add(store_id)
    return next((one for one in newer if reaches[one.pk] == reaches[key.pk]), None)


def agent_rows(agents: Iterable[Agent], user: User, at: datetime) -> list[AgentRow]:
    """Return one row for each agent, in the given order. A row covers only keys and stores that the person may see."""
    agents = list(agents)
    visible = Key.objects.visible_to(user).filter(agent__in=agents)
    keys: dict[str, list[Key]] = defaultdict(list)
    for key in visible.usable(at):
        keys[key.agent_id].append(key)
    stores = _stores_of([key for own in keys.values() for key in own])
    known = _known(user)
    used = dict(visible.values("agent").annotate(latest=Max("last_used_at")).values_list("agent", "latest"))
    sessions = Session.objects.visible_to(user).latest_of(OuterRef(OuterRef("pk"))).values("last_seen_at")
    named = Agent.objects.filter(pk__in=[agent.pk for agent in agents]).annotate(seen=Subquery(sessions[:1]))
    seen = dict(named.values_list("pk", "seen"))
    twice = names_twice(agents, user)
    return [
        AgentRow(
            agent,
            len(own := keys[agent.pk]),
            _scope(own, stores, known),
            used.get(agent.pk),
            seen.get(agent.pk),
            short_id(agent) if agent.folded_name in twice else "",
        )
        for agent in agents
    ]


def names_twice(agents: Iterable[Agent], user: User) -> set[str]:
    """Return those folded names of `agents` that are not unique among the agents that `user` may see."""
    same = Agent.objects.visible_to(user).filter(folded_name__in={agent.folded_name for agent in agents})
    often = Counter(same.values_list("folded_name", flat=True))
    return {name for name, count in often.items() if count > 1}


def short_id(agent: Agent) -> str:
    """Return the end of an agent's id. This end is random."""
    return f"…{agent.pk[-6:]}"


def status(key: Key, at: datetime) -> str:
    """Return whether a key is usable, expired or revoked at a moment."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= at else "usable"


def _refused(keys: list[Key], user: User, at: datetime) -> dict[str, Refused]:
    """Return {key id: its calls in the last REFUSED_DAYS days that were refused because there were too many in a
    minute}."""
    today = at.astimezone(UTC).date()
    stores = list(MemoryStore.objects.visible_to(user).by_name().values_list("pk", flat=True)[:MOST_STORES])
    rows = RefusedCalls.objects.of_stores(stores).since(today - timedelta(days=REFUSED_DAYS - 1))
    refused: dict[str, Refused] = {}
    for row in rows.filter(key__in=[key.pk for key in keys]).by_key(today):
        before = refused.get(row["key"]) or Refused(0, row["store_id"], row["last"])
        refused[row["key"]] = replace(before, calls=before.calls + row["calls"])
    return refused


def _stores_of(keys: list[Key]) -> dict[str, list[MemoryStore]]:
    """Return the stores listed for each key, sorted by name."""
    stores: dict[str, list[MemoryStore]] = defaultdict(list)
    links = KeyStore.objects.filter(key__in=keys).select_related("store")
    for link in links.order_by("store__name", "store_id"):
        stores[link.key_id].append(link.store)
    return stores


def _known(user: User) -> set[str] | None:
    """Return the ids of the stores in which the person has a role; None for a superuser, who sees all."""
    return None if user.is_superuser else set(user.memberships.values_list("store_id", flat=True))


def _scope(keys: list[Key], stores: dict[str, list[MemoryStore]], known: set[str] | None) -> Scope:
    named = {store.pk: store for key in keys for store in stores[key.pk]}
    shown = [store for store in named.values() if known is None or store.pk in known]
    every = any(key.all_stores for key in keys)
    rest = max(0, len(shown) - NAMED_STORES)
    return Scope(every, tuple(shown[:NAMED_STORES]), rest, not every and len(shown) < len(named))
