"""The filter `is`: what must or must not be true of a memory, for example that it awaits review or is pinned."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from memoryhub.actions.core.rules.holds import Holds, holds_of
from memoryhub.actions.review.assignments import standing
from memoryhub.models import FindingState, HoldKind, Memory
from memoryhub.pure.text.filter_words import (
    FINDING,
    FLAGGED,
    HELD,
    MARKS,
    MINE,
    NOT,
    PINNED,
    SEVERAL_AGENTS,
    UNASSIGNED,
    UNREVIEWED,
)
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.marks import Marks, marks_of
from memoryhub.web.common.versions.writers import agents_of


@dataclass(frozen=True, slots=True)
class MarkFilter:
    """The marks that a memory must have, and those that it must not have.

    The mark MINE means that the review of the memory is assigned to the person with the id `user`.
    """

    has: frozenset[str] = frozenset()
    has_not: frozenset[str] = frozenset()
    user: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.has and not self.has_not

    @property
    def is_about_people(self) -> bool:
        """Return whether the filter has no other condition than MINE and UNASSIGNED, which are about the person to whom
        a review is assigned. Proposals can match only such a filter."""
        return {MINE, UNASSIGNED} >= self.has | self.has_not

    def without(self, mark: str) -> "MarkFilter":
        """Return the filter without the condition that a memory has `mark`."""
        return replace(self, has=self.has - {mark})

    def matching(self, store_id: str, memories: Iterable[str], at: datetime) -> set[str]:
        """Return the ids of those memories of a store that match the filter. The number of queries is bounded."""
        columns = ("store_id", "head_id", "path", "flagged")
        rows = list(Memory.objects.filter(store_id=store_id, pk__in=set(memories)).only(*columns))
        holds = holds_of(store_id, at)
        marks = marks_of(rows, at, {store_id: holds})
        to = self._assigned(store_id, rows)
        names = {row.pk: _names(marks[row.pk], holds, row) | self._of_person(to.get(row.pk)) for row in rows}
        for memory in self._by_several(store_id, rows):
            names[memory] |= {SEVERAL_AGENTS}
        return {row.pk for row in rows if self._allows(names[row.pk])}

    def _assigned(self, store_id: str, rows: Iterable[Memory]) -> dict[str, str]:
        """Return {memory: id of the assigned person}, or an empty dict if no condition needs it."""
        if not {MINE, UNASSIGNED} & (self.has | self.has_not):
            return {}
        found = standing(store_id).filter(memory_id__in=[row.pk for row in rows])
        return dict(found.values_list("memory_id", "to_id"))

    def _by_several(self, store_id: str, rows: Iterable[Memory]) -> list[str]:
        """Return the ids of the memories that several agents wrote; none if no condition needs them."""
        if SEVERAL_AGENTS not in self.has | self.has_not:
            return []
        found = agents_of(store_id, [row.pk for row in rows])
        return [memory for memory, agents in found.items() if len(agents) > 1]

    def _of_person(self, to: str | None) -> frozenset[str]:
        return frozenset((MINE,) if to and to == self.user else () if to else (UNASSIGNED,))

    def _allows(self, names: frozenset[str]) -> bool:
        return self.has <= names and not self.has_not & names


NO_MARKS = MarkFilter()


def mark_filter(values: Mapping[str, str], user: str = "") -> MarkFilter:
    """Return the MarkFilter with the values of the filter `is` and its opposite. Raise Malformed if one is unknown.

    `values` are the values of all filters by key. `user` is the id of the person who filters.
    """
    has, has_not = (frozenset(values.get(key, "").split(",")) - {""} for key in ("is", NOT + "is"))
    for unknown in sorted((has | has_not) - set(MARKS)):
        raise Malformed(
            _("The value “%(value)s” is not possible here. Write %(allowed)s.")
            % {"value": unknown, "allowed": ", ".join(f"is:{mark}" for mark in MARKS)}
        )
    return MarkFilter(has, has_not, user)


def _names(marks: Marks, holds: Holds, memory: Memory) -> frozenset[str]:
    """Return the values of the filter `is` that apply to a memory."""
    has = {
        UNREVIEWED: marks.waits,
        FLAGGED: marks.flagged,
        PINNED: holds.pin(memory.pk, memory.path) is not None,
        HELD: marks.kept == HoldKind.HOLD,
        FINDING: marks.found == FindingState.OPEN,
    }
    return frozenset(name for name, applies in has.items() if applies)
