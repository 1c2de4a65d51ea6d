"""The filter `is`: memories that await review, are flagged, pinned or under a legal hold, or have open findings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from memoryhub.actions.core.holds import Holds, holds_of
from memoryhub.models import FindingState, HoldKind, Memory
from memoryhub.text.filter_words import FINDING, FLAGGED, HELD, MARKS, NOT, PINNED, UNREVIEWED
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.marks import Marks, marks_of


@dataclass(frozen=True, slots=True)
class MarkFilter:
    """The filter `is`: marks that a memory must have, and marks that it must not have."""

    has: frozenset[str] = frozenset()
    has_not: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not self.has and not self.has_not

    def without(self, mark: str) -> "MarkFilter":
        """Return the filter without the condition that a memory has this mark."""
        return MarkFilter(self.has - {mark}, self.has_not)

    def matching(self, store_id: str, memories: Iterable[str], at: datetime) -> set[str]:
        """Return those of a store's memories that have the marks, with a bounded number of queries."""
        columns = ("store_id", "head_id", "path", "flagged")
        rows = list(Memory.objects.filter(store_id=store_id, pk__in=set(memories)).only(*columns))
        holds = holds_of(store_id, at)
        marks = marks_of(rows, at, {store_id: holds})
        return {row.pk for row in rows if self._allows(_names(marks[row.pk], holds, row))}

    def _allows(self, names: frozenset[str]) -> bool:
        return self.has <= names and not self.has_not & names


NO_MARKS = MarkFilter()


def mark_filter(values: Mapping[str, str]) -> MarkFilter:
    """Return the filter `is` among a filter's values. Raise Malformed for a value that does not exist."""
    has, has_not = (frozenset(values.get(key, "").split(",")) - {""} for key in ("is", NOT + "is"))
    for unknown in sorted((has | has_not) - set(MARKS)):
        raise Malformed(
            _("The value “%(value)s” is not possible here. Write %(allowed)s.")
            % {"value": unknown, "allowed": ", ".join(f"is:{mark}" for mark in MARKS)}
        )
    return MarkFilter(has, has_not)


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
