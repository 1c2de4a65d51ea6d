"""The filter of the review inbox. Words `key:value` or query parameters become conditions on versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.models import Memory
from memoryhub.pure import ids
from memoryhub.pure.text.filter_words import MINE, NOT, UNASSIGNED, UNREVIEWED
from memoryhub.web.audit import filters
from memoryhub.web.audit.queries import Search
from memoryhub.web.common.filters import KeyValues, Malformed
from memoryhub.web.common.filters.keys import PROPOSAL, VERSION
from memoryhub.web.common.filters.marks import NO_MARKS, MarkFilter, mark_filter

KEYS = ("store", "agent", "session", "memory", "path", "what", "is", "assigned", "when", "from", "to")
SESSION, MEMORY = "session", "memory"
WORST, OLDEST, NEWEST = "worst", "oldest", "newest"


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The inbox filter that a person typed, and the layout of the inbox."""

    group: str = SESSION
    order: str = WORST

    KEYS = KEYS
    ALIASES = {"after": "from", "before": "to"}

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        marks = mark_filter(values)
        if "assigned" in values and {MINE, UNASSIGNED} & (marks.has | marks.has_not):
            raise Malformed(_("“assigned:” names one person. Leave out “is:mine” and “is:unassigned”."))
        if values.get("what") not in (None, VERSION, PROPOSAL):
            raise Malformed(_("The filter “what” can be %(choices)s.") % {"choices": f"{VERSION}, {PROPOSAL}"})

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
    """Conditions on versions; None means any."""

    stores: Sequence[str]
    stores_of_proposals: Sequence[str] = ()  # the stores to search for proposals, too
    author: str | None = None
    session: str | None = None
    memory: str | None = None
    path: str | None = None  # a memory, or a directory with everything in it
    start: datetime | None = None
    end: datetime | None = None
    without: frozenset[str] = frozenset()  # ids of versions to leave out
    words: Sequence[str] = ()  # all must occur in the path
    marks: MarkFilter = NO_MARKS
    excluded: Sequence[Search] = ()  # searches that must not match
    other_memories: frozenset[str] = frozenset()  # memories to leave out

    @property
    def looks_at_rows(self) -> bool:
        """Return whether each version must be checked to find those that match."""
        excludes = self.excluded or self.other_memories
        return any((self.author, self.path, self.start, self.end, self.words, not self.marks.is_empty, excludes))

    @property
    def needs_entries(self) -> bool:
        """Return whether a condition that is checked for each version needs the version's audit entry."""
        return self.author is not None or any(each.author or each.session for each in self.excluded)


def resolved(wanted: Filter, stores: Sequence[str], *, now: datetime, zone: tzinfo, user: str) -> Wanted:
    """Look up the names in a filter, and compute its times. Raise Malformed if the filter is invalid.

    `stores` are the ids of the stores to search, `user` is the id of the person.
    """
    values = wanted.values
    known = {
        key: value for key, value in values.items() if key.removeprefix(NOT) not in ("assigned", "memory", "is", "what")
    }
    target = filters.resolved(filters.Filter(known), stores, now=now, zone=zone)
    search, memory = target.search, values.get("memory")
    found = target.chains if memory is None else _store_of(memory, target.chains)
    marks = mark_filter(values, user)
    if to := values.get("assigned"):
        marks = replace(marks, has=marks.has | {MINE}, user=filters.person_id(to))
    return Wanted(
        stores=found if values.get("what") != PROPOSAL else (),
        stores_of_proposals=found if values.get("what") != VERSION and marks.is_about_people else (),
        author=search.author,
        session=search.session,
        memory=memory,
        path=None if search.path is None else search.path.removesuffix("/"),
        start=search.start,
        end=search.end,
        words=wanted.folded,
        marks=marks.without(UNREVIEWED),  # all versions of the inbox await review
        excluded=search.excluded,
        other_memories=frozenset(filter(None, [values.get(NOT + "memory")])),
    )


def _store_of(memory: str, stores: Sequence[str]) -> list[str]:
    """Return [the store of a memory], or [] if that store is not one of `stores`."""
    return list(Memory.objects.filter(pk=memory, store_id__in=stores).values_list("store_id", flat=True))


def named(wanted: Filter, stores: Sequence[str]) -> dict[str, str]:
    """Return the filter's values with names instead of ids. `stores` are the ids of stores that the person may see."""
    words = filters.named(filters.Filter(wanted.values), stores)
    for key in ("memory", NOT + "memory"):
        if key in words:
            found = Memory.objects.filter(pk=words[key], store_id__in=stores).values_list("path", flat=True).first()
            words[key] = found or words[key]
    return words
