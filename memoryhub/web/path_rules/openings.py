"""For a replay of past calls: how many proposals the session of a call would have opened before the call."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, datetime

from django.db.models import OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from memoryhub.actions.core.rules.path_rules import MOST_AT_ONCE
from memoryhub.actions.core.rules.sight import day_of
from memoryhub.models import Proposal, ProposedChange
from memoryhub.web.path_rules.past import Entry

MOST_PROPOSALS = 20_000
"""The most proposals that one query reads: the newest ones. Each query is about at most MOST_AT_ONCE agents."""


class Openings:
    """Counts the proposals that past calls would have opened, from the oldest call to the newest.

    People are assumed to have decided about proposals at the same times as they really did. Calls without a session
    are counted by key and day. `count` is the number of opened proposals.
    """

    def __init__(self, store_id: str, entries: Sequence[Entry]) -> None:
        self.count = 0
        self._opened: Counter[tuple[Hashable, date | None]] = Counter()
        self._open: set[Hashable] = set()
        self._ends: list[tuple[int, Hashable]] = []
        start = min((entry.seq for entry in entries), default=0)
        for key, agent, session, at, first, end in _proposals(store_id, {entry.author_id for entry in entries}):
            whose = _whose(key, agent, session)
            if first < start:
                self._opened[whose, _day(session, at)] += 1
            if first < start and (end is None or end > start):
                self._open.add(whose)
            if end is not None and end > start:
                self._ends.append((end, whose))
        self._ends.sort(key=lambda one: -one[0])

    def before(self, entry: Entry) -> int:
        """Return how many proposals the session of a call would have opened before the call.

        Return 0 if one of them would still be open, because the call would become part of that proposal.
        """
        while self._ends and self._ends[-1][0] < entry.seq:
            self._open.discard(self._ends.pop()[1])
        whose = _whose(entry.actor_id, entry.author_id, entry.session)
        return 0 if whose in self._open else self._opened[whose, _day(entry.session, entry.at)]

    def propose(self, entry: Entry) -> None:
        """Record that a call becomes part of the open proposal of its session, or of a new proposal."""
        whose = _whose(entry.actor_id, entry.author_id, entry.session)
        if whose not in self._open:
            self.count += 1
            self._opened[whose, _day(entry.session, entry.at)] += 1
            self._open.add(whose)


def _whose(key: str, agent: str, session: str | None) -> Hashable:
    return (agent, session) if session is not None else key


def _day(session: str | None, at: datetime) -> date | None:
    return day_of(at) if session is None else None


_Row = tuple[str, str, str | None, datetime, int, int | None]


def _proposals(store_id: str, agents: Iterable[str]) -> Iterable[_Row]:
    """Yield (key, agent, session, time opened, seq of the first change, seq of the decision) of proposals."""
    wanted = sorted(agents)
    first = ProposedChange.objects.filter(store_id=store_id, proposal=OuterRef("pk"), number=1).values("seq")[:1]
    rows = Proposal.objects.of_store(store_id).annotate(first=Coalesce(Subquery(first), Value(0))).order_by("-number")
    columns = ("key", "agent", "session", "opened_at", "first", "seq")
    for at in range(0, len(wanted), MOST_AT_ONCE):
        yield from rows.filter(agent__in=wanted[at : at + MOST_AT_ONCE]).values_list(*columns)[:MOST_PROPOSALS]
