"""The filter of the review inbox: words `key:value` and the parameters of an address, to what is looked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from memoryhub import ids
from memoryhub.models import Memory
from memoryhub.web.audit import filters
from memoryhub.web.audit.filters import LONGEST, Malformed, as_words, unknown_key, words_in

KEYS = ("store", "agent", "session", "memory", "path", "before", "after")
SESSION, MEMORY = "session", "memory"
OLDEST, NEWEST = "oldest", "newest"


@dataclass(frozen=True, slots=True)
class Filter:
    """What a person typed for some of KEYS, and how the inbox is laid out."""

    values: Mapping[str, str]
    group: str = SESSION
    order: str = OLDEST

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "Filter":
        """From the parameters of an address; the words of the filter bar (`q`) come first. Raises Malformed."""
        values = _words(parameters.get("q", ""))
        values |= {key: parameters[key].strip() for key in KEYS if parameters.get(key, "").strip()}
        for key, value in values.items():
            if len(value) > LONGEST or "\0" in value:
                raise Malformed(_("The value of “%(key)s” cannot be looked for.") % {"key": key})
        return cls({key: values[key] for key in KEYS if key in values}, *_layout(parameters))

    @classmethod
    def as_typed(cls, parameters: Mapping[str, str]) -> "Filter":
        """What the page shows for an address whose filter may be malformed."""
        return cls({key: parameters[key] for key in KEYS if parameters.get(key)}, *_layout(parameters))

    def query(self, **changes: str | None) -> str:
        """As the query of an address, without the question mark; a change to null leaves that part out."""
        layout = {
            "group": self.group if self.group != SESSION else None,
            "order": self.order if self.is_newest else None,
        }
        parts = {**self.values, **layout, **changes}
        return urlencode({key: value for key, value in parts.items() if value})

    def with_value(self, key: str, value: str) -> "Filter":
        return Filter({**self.values, key: value}, self.group, self.order)

    @property
    def words(self) -> str:
        """As one writes it in the filter bar."""
        return as_words(self.values)

    @property
    def is_newest(self) -> bool:
        return self.order == NEWEST


def _layout(parameters: Mapping[str, str]) -> tuple[str, str]:
    group = MEMORY if parameters.get("group") == MEMORY else SESSION
    return group, NEWEST if parameters.get("order") == NEWEST else OLDEST


def _words(written: str) -> dict[str, str]:
    values = {}
    for key, value in words_in(written):
        if key is not None and key not in KEYS:
            raise Malformed(unknown_key(key, KEYS))
        values[key or _guessed(value)] = value
    return values


def _guessed(value: str) -> str:
    for key, start in (("path", "/"), ("session", ids.SESSION), ("memory", ids.MEMORY), ("agent", ids.AGENT)):
        if value.startswith(start):
            return key
    if ":" in value:
        raise Malformed(unknown_key(value.partition(":")[0], KEYS))
    raise Malformed(_("“%(word)s” needs a key, as in agent:%(word)s or path:/%(word)s.") % {"word": value})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the versions must be; null is anything. `path` stands for itself and for everything beneath it."""

    stores: Sequence[str]
    author: str | None = None
    session: str | None = None
    memory: str | None = None
    path: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def looks_at_rows(self) -> bool:
        """Whether versions have to be looked at one by one to find those that match."""
        return any((self.author, self.path, self.start, self.end))

    @property
    def needs_entries(self) -> bool:
        """Whether what is looked for stands in the entries of the versions."""
        return self.author is not None or self.session is not None


def resolved(wanted: Filter, stores: Sequence[str], *, now: datetime, zone: tzinfo) -> Wanted:
    """Names looked up and times worked out, among the stores that a person may see; raises Malformed."""
    values = dict(wanted.values)
    renamed = {"before": "to", "after": "from"}
    known = {renamed.get(key, key): value for key, value in values.items() if key != "memory"}
    target = filters.resolved(filters.Filter(known), stores, now=now, zone=zone)
    search, memory = target.search, values.get("memory")
    found = target.chains if memory is None else _store_of(memory, target.chains)
    path = None if search.path is None else search.path.removesuffix("/")
    return Wanted(found, search.author, search.session, memory, path, search.start, search.end)


def _store_of(memory: str, stores: Sequence[str]) -> list[str]:
    """The store of a memory, if it is one of those; a memory that nobody has finds nothing."""
    return list(Memory.objects.filter(pk=memory, store_id__in=stores).values_list("store_id", flat=True))


def named(wanted: Filter, stores: Sequence[str]) -> dict[str, str]:
    """What to show a person, who may see those stores, for the ids in a filter."""
    shown = filters.named(filters.Filter(wanted.values), stores)
    if "memory" in shown:
        found = Memory.objects.filter(pk=shown["memory"], store_id__in=stores).values_list("path", flat=True).first()
        shown["memory"] = found or shown["memory"]
    return shown
