"""What a memory store uses of its limits, as meters."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from memoryhub.actions.core import limits
from memoryhub.models import AuditChain, CallWindow, HubSettings, MemoryStore
from memoryhub.templatetags.look import size

NEAR = 80
"""Per cent of a limit from which a meter warns."""


@dataclass(frozen=True, slots=True)
class Meter:
    """One measure against its limit (null: there is none); `used` and `most` are the figures as people read them."""

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
        """How much of the bar is filled, in per cent: something where there is anything."""
        return min(100, max(self.percent, 1)) if self.value else 0

    @property
    def level(self) -> str:
        """`ok`, `near` or `full`."""
        if self.limit is None or self.percent < NEAR:
            return "ok"
        return "near" if self.value < self.limit else "full"

    @property
    def shown(self) -> int:
        """The value as far as the meter goes."""
        return self.value if self.limit is None else min(self.value, self.limit)


def audit(store: MemoryStore, hub: HubSettings) -> Meter:
    """The bytes of a store's audit."""
    limit = _limit(store, hub, "audit_bytes")
    used = AuditChain.objects.filter(pk=store.pk).values_list("bytes", flat=True).first() or 0
    warning = _(
        "At the limit every call of a key is refused, because each must be recorded. Raise the limit, or let a"
        " retention policy remove the oldest audit entries."
    )
    return Meter(_("Audit"), used, limit, size(used), "" if limit is None else size(limit), warning)


def meters(store: MemoryStore, hub: HubSettings) -> list[Meter]:
    """The memories of a store and their bytes; those of its audit where they come near their limit."""
    memories, total = _limit(store, hub, "memories"), _limit(store, hub, "total_bytes")
    recorded = audit(store, hub)
    return [
        Meter(
            _("Memories"),
            store.memory_count,
            memories,
            _number(store.memory_count),
            _number(memories),
            _("No memory can be created until some are deleted or merged."),
        ),
        Meter(
            _("Bytes"),
            store.total_bytes,
            total,
            size(store.total_bytes),
            "" if total is None else size(total),
            _("No memory can grow until some are deleted or shortened."),
        ),
        *([recorded] if recorded.level != "ok" else []),
    ]


def busiest_key(store: MemoryStore, hub: HubSettings, now: datetime) -> Meter | None:
    """The calls of the last minute of the key that made the most; null where they are not limited."""
    limit = _limit(store, hub, "calls")
    if limit is None:
        return None
    windows: Iterable[Any] = CallWindow.objects.filter(store=store).values_list("seconds", flat=True)
    calls = max((limits.calls_within(window, now) for window in windows), default=0)
    warning = _("That key is refused until its calls are a minute old.")
    return Meter(_("Calls a minute, busiest key"), calls, limit, _number(calls), _number(limit), warning)


def _limit(store: MemoryStore, hub: HubSettings, name: str) -> int | None:
    own: int | None = getattr(store, f"limit_{name}")
    return hub.limit(name) if own is None else own


def _number(count: int | None) -> str:
    return "" if count is None else number_format(count, use_l10n=True, force_grouping=True)
