"""The filter of the review inbox, from words `key:value` or query parameters to conditions on versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from memoryhub import ids
from memoryhub.models import Memory
from memoryhub.web.audit import filters
from memoryhub.web.common.filters import KeyValues

KEYS = ("store", "agent", "session", "memory", "path", "before", "after")
SESSION, MEMORY = "session", "memory"
WORST, OLDEST, NEWEST = "worst", "oldest", "newest"


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The inbox filter that a person typed, and the layout of the inbox."""

    group: str = SESSION
    order: str = WORST

    KEYS = KEYS
    EXAMPLE = "agent:%(word)s or path:/%(word)s"

    @classmethod
    def layout(cls, parameters: Mapping[str, str]) -> dict[str, Any]:
        group = MEMORY if parameters.get("group") == MEMORY else SESSION
        order = parameters.get("order")
        return {"group": group, "order": order if order in (OLDEST, NEWEST) else WORST}

    def shown_layout(self) -> dict[str, str | None]:
        return {
            "group": self.group if self.group != SESSION else None,
            "order": self.order if self.order != WORST else None,
        }

    @classmethod
    def guessed(cls, value: str) -> str | None:
        starts = (("path", "/"), ("session", ids.SESSION), ("memory", ids.MEMORY), ("agent", ids.AGENT))
        return next((key for key, start in starts if value.startswith(start)), None)

    @property
    def is_newest(self) -> bool:
        return self.order == NEWEST


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions on versions; None means any. `path` includes everything under it; `without` are ids left out."""

    stores: Sequence[str]
    author: str | None = None
    session: str | None = None
    memory: str | None = None
    path: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    without: frozenset[str] = frozenset()

    @property
    def looks_at_rows(self) -> bool:
        """Return whether versions must be checked one by one to find those that match."""
        return any((self.author, self.path, self.start, self.end))

    @property
    def needs_entries(self) -> bool:
        """Return whether a condition concerns the versions' audit entries."""
        return self.author is not None or self.session is not None


def resolved(wanted: Filter, stores: Sequence[str], *, now: datetime, zone: tzinfo) -> Wanted:
    """Look up the names and compute the times of a filter, in the stores that a person may see. Raise Malformed."""
    values = dict(wanted.values)
    renamed = {"before": "to", "after": "from"}
    known = {renamed.get(key, key): value for key, value in values.items() if key != "memory"}
    target = filters.resolved(filters.Filter(known), stores, now=now, zone=zone)
    search, memory = target.search, values.get("memory")
    found = target.chains if memory is None else _store_of(memory, target.chains)
    path = None if search.path is None else search.path.removesuffix("/")
    return Wanted(found, search.author, search.session, memory, path, search.start, search.end)


def _store_of(memory: str, stores: Sequence[str]) -> list[str]:
    """Return the store of a memory if it is one of `stores`; an unknown memory matches nothing."""
    return list(Memory.objects.filter(pk=memory, store_id__in=stores).values_list("store_id", flat=True))


def named(wanted: Filter, stores: Sequence[str]) -> dict[str, str]:
    """Return the filter's values with names in place of ids, for a person who may see those stores."""
    shown = filters.named(filters.Filter(wanted.values), stores)
    if "memory" in shown:
        found = Memory.objects.filter(pk=shown["memory"], store_id__in=stores).values_list("path", flat=True).first()
        shown["memory"] = found or shown["memory"]
    return shown
