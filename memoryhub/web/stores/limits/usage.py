"""The usage of a memory store as meters against its limits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryhub.actions.core.rules import limits
from memoryhub.models import AuditChain, CallWindow, HubSettings, Key, MemoryStore, RefusedCalls
from memoryhub.models.stores import MemoryStoreQuerySet
from memoryhub.pure.limits import LIMITS
from memoryhub.templatetags.look import size

NEAR = 80
"""The percentage of a limit from which a meter warns."""

MOST_STORES, MOST_NEAR = 1_000, 6
"""The most stores whose meters are compared for a list of stores near their limits, and the most meters in that list.
"""

REFUSED_DAYS, MOST_REFUSED = 7, 50
"""The number of days whose refused calls are shown, and the most keys that are listed."""

_HELD = ("memories", "total_bytes", "audit_bytes")


@dataclass(frozen=True, slots=True)
class Meter:
    """A measured value and its limit (None: no limit)."""

    name: str
    value: int
    limit: int | None
    used: str  # the value as text
    most: str  # the limit as text
    warning: str
    who: str = ""  # the key that made the calls, for a meter of calls

    @property
    def percent(self) -> int:
        return self.value * 100 // self.limit if self.limit else 0

    @property
    def share(self) -> float:
        """Return the used part of the limit as a fraction; 0 without a limit."""
        return self.value / self.limit if self.limit else 0.0

    @property
    def filled(self) -> int:
        """Return the filled part of the bar in per cent: at least 1 if the value is not 0."""
        return min(100, max(self.percent, 1)) if self.value else 0

    @property
    def level(self) -> str:
        """Return `ok`, `near` or `full`."""
        if self.limit is None or self.percent < NEAR:
            return "ok"
        return "near" if self.value < self.limit else "full"

    @property
    def shown(self) -> int:
        """Return the value, but at most the limit."""
        return self.value if self.limit is None else min(self.value, self.limit)


def near(store: MemoryStore, hub: HubSettings) -> list[Meter]:
    """Return the meters for memories and bytes, and the meter for the audit if the audit is near its limit."""
    memories, total, recorded = (_meter(name, store, hub, _USED[name](store)) for name in _HELD)
    return [memories, total, *([recorded] if recorded.level != "ok" else [])]


def meters(store: MemoryStore, hub: HubSettings, now: datetime) -> list[Meter]:
    """Return all meters. The meter for the busiest key is among them only if calls are limited."""
    found = [_meter(name, store, hub, _USED[name](store)) for name in _HELD]
    calls = _limit(store, hub, "calls") is not None
    if not calls:
        return found
    made, key = _busiest(store, now)
    return [*found, replace(_meter("calls", store, hub, made), who=_name(_key(key)) if made else "")]


@dataclass(frozen=True, slots=True)
class Near:
    """A memory store that is near one of its limits, with the meter of this limit."""

    store: MemoryStore
    meter: Meter


def nearest(stores: MemoryStoreQuerySet, most: int = MOST_NEAR) -> list[Near]:
    """Return at most `most` meters near their limit, the fullest first. Only active stores are examined."""
    active = list(stores.active().by_name()[:MOST_STORES])
    found = [Near(store, meter) for store, meters in _held(active) for meter in meters if meter.level != "ok"]
    return sorted(found, key=lambda near: -near.meter.share)[:most]


def fullest(stores: Sequence[MemoryStore]) -> dict[str, Meter]:
    """Return {store id: the meter nearest to its limit}. Stores without limits are left out."""
    found = ((store.pk, [meter for meter in meters if meter.limit]) for store, meters in _held(stores))
    return {store: max(meters, key=lambda meter: meter.share) for store, meters in found if meters}


def _held(stores: Sequence[MemoryStore]) -> Iterator[tuple[MemoryStore, list[Meter]]]:
    """Yield each store with the meters of its memories, bytes and audit."""
    hub = HubSettings.current()
    recorded = dict(AuditChain.objects.filter(pk__in=[store.pk for store in stores]).values_list("pk", "bytes"))
    for store in stores:
        used = (store.memory_count, store.total_bytes, recorded.get(store.pk, 0))
        yield store, [_meter(name, store, hub, value) for name, value in zip(_HELD, used, strict=True)]


def _busiest(store: MemoryStore, now: datetime) -> tuple[int, str]:
    """Return the number of calls that the busiest key made in the last minute, and the id of that key."""
    windows: Iterable[Any] = CallWindow.objects.filter(store=store).values_list("seconds", "key")
    return max(((limits.calls_within(seconds, now), key) for seconds, key in windows), default=(0, ""))


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A key that made too many calls in a minute, so that the store refused some of them."""

    name: str  # empty if the key no longer exists
    agent: str
    today: int  # refused calls today
    calls: int  # refused calls in the last REFUSED_DAYS days
    last: datetime


def refused(store: MemoryStore, now: datetime) -> list[RefusedKey]:
    """Return the keys whose calls a store refused in the last REFUSED_DAYS days, the latest refusal first."""
    today = now.astimezone(UTC).date()
    rows = RefusedCalls.objects.of_stores([store.pk]).since(today - timedelta(days=REFUSED_DAYS - 1))
    found = list(rows.by_key(today)[:MOST_REFUSED])
    keys = Key.objects.select_related("agent").in_bulk([row["key"] for row in found])
    return [
        RefusedKey(
            _name(keys.get(row["key"])),
            keys[row["key"]].agent_id if row["key"] in keys else "",
            row["today"] or 0,
            row["calls"],
            row["last"],
        )
        for row in found
    ]


def _key(id: str) -> Key | None:
    return Key.objects.select_related("agent").filter(pk=id).first()


def _name(key: Key | None) -> str:
    """Return the name of the key's agent and the end of the key."""
    return f"{key.agent.name} · mh_…{key.hint}" if key else ""


_USED: dict[str, Callable[[MemoryStore], int]] = {
    "memories": lambda store: store.memory_count,
    "total_bytes": lambda store: store.total_bytes,
    "audit_bytes": lambda store: AuditChain.objects.filter(pk=store.pk).values_list("bytes", flat=True).first() or 0,
}


def _meter(name: str, store: MemoryStore, hub: HubSettings, used: int) -> Meter:
    limit, most = LIMITS[name], _limit(store, hub, name)
    shown = size if limit.is_bytes else _number
    return Meter(
        gettext(limit.meter), used, most, shown(used), "" if most is None else shown(most), gettext(limit.full)
    )


def _limit(store: MemoryStore, hub: HubSettings, name: str) -> int | None:
    own: int | None = getattr(store, f"limit_{name}")
    return hub.limit(name) if own is None else own


def _number(count: int) -> str:
    return number_format(count, use_l10n=True, force_grouping=True)
