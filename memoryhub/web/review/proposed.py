"""Open proposals in the inbox, beside the versions that await review, with bounded work."""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from memoryhub.models import MemoryStore, Proposal, ProposalState, ProposedChange, User
from memoryhub.models.proposals import ProposalQuerySet
from memoryhub.pure import ids
from memoryhub.web.audit.filters import is_at, is_excluded
from memoryhub.web.common.filters import has_words
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.proposals.assigned import assigned_as
from memoryhub.web.proposals.rows import Row as Heading, rows_of
from memoryhub.web.review.filters import Wanted
from memoryhub.web.review.queries import Row

CHUNK = 50
WALK = 200
"""The most proposals whose paths are compared with a filter for one page."""

_PLACE = re.compile(r"\w{26}", re.ASCII)
_SEPARATOR = "~"
"""The separator in the text of a place: before it are the places of the versions, after it the id of the last proposal.
"""


class Place(NamedTuple):
    """Where a page begins: its place among the versions (see `queries.page`), and the id of the last proposal that
    earlier pages have passed ("" if there is none)."""

    versions: str
    proposal: str

    @classmethod
    def of(cls, written: str) -> "Place":
        """Parse a place, the parameter `at` in the URL. Raise BadPlace if it is invalid."""
        versions, _separator, proposal = written.partition(_SEPARATOR)
        if proposal and not _PLACE.fullmatch(proposal):
            raise BadPlace(written)
        return cls(versions, ids.PROPOSAL + proposal if proposal else "")

    def __str__(self) -> str:
        proposal = self.proposal.removeprefix(ids.PROPOSAL)
        return f"{self.versions}{_SEPARATOR}{proposal}" if proposal else self.versions


def where_decided(user: User) -> QuerySet[MemoryStore]:
    """Return the active stores in which a person may decide about proposals."""
    return MemoryStore.objects.active().reviewed_by(user)


class Proposals:
    """The open proposals that match a filter, oldest first; with `newest`, newest first.

    `passed` is the id of a proposal. All proposals up to this one were taken or do not match, so the next page begins
    after it.
    """

    def __init__(self, wanted: Wanted, user: User, passed: str = "", *, newest: bool = False) -> None:
        self.wanted, self.newest, self.passed, self.read = wanted, newest, passed, passed
        decided = set(where_decided(user).values_list("pk", flat=True)) if wanted.stores_of_proposals else set()
        self.stores = [store for store in wanted.stores_of_proposals if store in decided]
        self.rows: deque[Row] = deque()
        self.is_done, self.left = not self.stores, WALK

    @property
    def stopped(self) -> bool:
        return not self.rows and not self.is_done and self.left <= 0

    @property
    def has_more(self) -> bool:
        return bool(self.rows) or not self.is_done

    def first(self) -> Row | None:
        while not self.rows and not self.is_done and self.left > 0:
            self._fill()
        return self.rows[0] if self.rows else None

    def take(self) -> Row:
        row = self.rows.popleft()
        self.passed = row.id if self.rows else self.read
        return row

    def about(self, store: str, memories: Collection[str]) -> list[tuple[Row, set[str]]]:
        """Return the oldest matching proposals that change one of `memories`, each with the ids of all memories that it
        changes. At most CHUNK proposals are read."""
        if store not in self.stores or not memories:
            return []
        changes = ProposedChange.objects.filter(store_id=store, memory__in=memories)
        found = self._asked().filter(store_id=store, pk__in=changes.values("proposal")).order_by("pk")
        proposals = self._matching(list(found[:CHUNK]))
        named = _changes(proposals)
        return [(_row(one), {memory for memory, _, _ in named.get(one.pk, ()) if memory}) for one in proposals]

    def _fill(self) -> None:
        """Read the next chunk."""
        found = self._asked()
        if self.read:
            found = found.filter(**{"pk__lt" if self.newest else "pk__gt": self.read})
        proposals = list(found.order_by("-pk" if self.newest else "pk")[:CHUNK])  # ids begin with the time
        self.is_done = len(proposals) < CHUNK
        self.read = proposals[-1].pk if proposals else self.read
        self.rows.extend(_row(one) for one in self._matching(proposals))
        if not self.rows:
            self.passed = self.read

    def _asked(self) -> ProposalQuerySet:
        """Return the open proposals that match the conditions on a proposal. The conditions on its changes, such as the
        path, are checked later."""
        wanted = self.wanted
        found = Proposal.objects.filter(store_id__in=self.stores).of_state(ProposalState.OPEN)
        for name, value in (("agent", wanted.author), ("session", wanted.session)):
            found = found if value is None else found.filter(**{name: value})
        found = found if wanted.start is None else found.filter(opened_at__gte=wanted.start)
        found = found if wanted.end is None else found.filter(opened_at__lt=wanted.end)
        return assigned_as(found, self.stores, wanted.marks)

    def _matching(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        wanted = self.wanted
        proposals = [one for one in proposals if one.pk not in wanted.without]
        if not (wanted.path is not None or wanted.words or wanted.memory or wanted.excluded or wanted.other_memories):
            return proposals
        self.left -= len(proposals)
        changes = _changes(proposals)
        return [one for one in proposals if any(_matches(wanted, one, *change) for change in changes.get(one.pk, ()))]


def _row(proposal: Proposal) -> Row:
    return Row(proposal.store_id, proposal.number, proposal.pk, "", None, proposal.opened_at)


Change = tuple[str | None, str, str | None]
"""The memory, the path and the new path of a change."""


def _changes(proposals: Iterable[Proposal]) -> Mapping[str, list[Change]]:
    by_id = {one.pk: one.store_id for one in proposals}
    rows = ProposedChange.objects.filter(store_id__in=set(by_id.values()), proposal__in=by_id)
    found: dict[str, list[Change]] = defaultdict(list)
    for change in rows.only("proposal", "memory", "path", "new_path"):
        found[change.proposal].append((change.memory, change.path, change.new_path))
    return found


def _matches(wanted: Wanted, proposal: Proposal, memory: str | None, path: str, new_path: str | None) -> bool:
    """Return whether one change of `proposal` matches the filter. The last three arguments describe the change."""
    paths = [path, *([new_path] if new_path else [])]
    if wanted.memory not in (None, memory) or memory in wanted.other_memories:
        return False
    if wanted.path is not None and not any(is_at(one, wanted.path) for one in paths):
        return False
    if not any(has_words(one, wanted.words) for one in paths):
        return False
    return not is_excluded(wanted.excluded, proposal.opened_at, path, proposal.agent, proposal.session)


def oldest_open(user: User, most: int) -> list[Heading]:
    """Return the `most` oldest open proposals that the person may decide about, with their memories and stores."""
    found = Proposal.objects.filter(store_id__in=list(where_decided(user).values_list("pk", flat=True)))
    return rows_of(list(found.of_state(ProposalState.OPEN).select_related("store").order_by("pk")[:most]))


def headings(rows: Iterable[Row], user: User) -> dict[str, Heading]:
    """Return {id: proposal} of the proposals in `rows`, with their memories and stores."""
    by_id = {row.id: row.store for row in rows if row.id.startswith(ids.PROPOSAL)}
    if not by_id:
        return {}
    proposals = Proposal.objects.filter(store_id__in=set(by_id.values()), pk__in=by_id).select_related("store")
    return {one.proposal.pk: one for one in rows_of(list(proposals), user)}
