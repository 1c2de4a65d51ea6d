"""The usage of a memory store as meters against its limits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryhub.actions.core import limits
from memoryhub.limits import LIMITS
from memoryhub.models import AuditChain, CallWindow, HubSettings, MemoryStore, User
from memoryhub.templatetags.look import size

NEAR = 80
"""The usage in per cent of a limit from which a meter warns."""

MOST_STORES, MOST_NEAR = 1_000, 6
"""The most stores that are checked, and the most meters that are shown, in the list of stores."""

_HELD = ("memories", "total_bytes", "audit_bytes")


@dataclass(frozen=True, slots=True)
class Meter:
    """One measure and its limit (None: no limit); `used` and `most` are the figures as text."""

    name: str
    value: int
    limit: int | None
    used: str
    most: str
    warning: str

    @property
    def percent(self) -> int:
        return self.value * 100 // self.limit if self.limit else 0

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
        """Return the value, cut at the limit."""
        return self.value if self.limit is None else min(self.value, self.limit)


def near(store: MemoryStore, hub: HubSettings) -> list[Meter]:
    """Return the meters for memories and bytes, and the meter for the audit if that is near its limit or full."""
    memories, total, recorded = (_meter(name, store, hub, _USED[name](store)) for name in _HELD)
    return [memories, total, *([recorded] if recorded.level != "ok" else [])]


def meters(store: MemoryStore, hub: HubSettings, now: datetime) -> list[Meter]:
    """Return all meters; the one for the calls of the busiest key only if calls are limited."""
    found = [_meter(name, store, hub, _USED[name](store)) for name in _HELD]
    calls = _limit(store, hub, "calls") is not None
    return [*found, *([_meter("calls", store, hub, _busiest(store, now))] if calls else [])]


@dataclass(frozen=True, slots=True)
class Near:
    """A memory store that is near one of its limits."""

    store: MemoryStore
    meter: Meter


def nearest(user: User, most: int = MOST_NEAR) -> list[Near]:
    """Return the active stores of a person that are near a limit or have reached it, the fullest first."""
    hub = HubSettings.current()
    stores = list(MemoryStore.objects.visible_to(user).active().by_name()[:MOST_STORES])
    recorded = dict(AuditChain.objects.filter(pk__in=[store.pk for store in stores]).values_list("pk", "bytes"))
    found = [
        Near(store, meter)
        for store in stores
        for name, used in zip(_HELD, (store.memory_count, store.total_bytes, recorded.get(store.pk, 0)), strict=True)
        if (meter := _meter(name, store, hub, used)).level != "ok"
    ]
    return sorted(found, key=lambda near: -near.meter.value / (near.meter.limit or 1))[:most]


def _busiest(store: MemoryStore, now: datetime) -> int:
    """Return the number of calls in the last minute by the key with the most."""
    windows: Iterable[Any] = CallWindow.objects.filter(store=store).values_list("seconds", flat=True)
    return max((limits.calls_within(window, now) for window in windows), default=0)


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
