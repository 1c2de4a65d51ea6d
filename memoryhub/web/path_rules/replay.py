"""A replay of the agents' changes of the last 30 days, which shows the effect of other path rules."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryhub.models import AuditEntry, MemoryVersion, Operation
from memoryhub.models.audit import ActorKind
from memoryhub.pure.path_rules import Decision, Doer, Effect, PathRules, Verb
from memoryhub.pure.path_rules.many import ManyPaths, TooMuchWork
from memoryhub.pure.protocol import results
from memoryhub.web.common.versions import removed_history
from memoryhub.web.path_rules.openings import Openings
from memoryhub.web.path_rules.past import Entry, Made, Past

DAYS = timedelta(days=30)
MOST_ENTRIES = 20_000
"""The most entries of all kinds that are read: the newest ones."""
MOST_VERSIONS = 100_000
"""The most versions made by these entries that are read."""
MOST_EXAMPLES = 3
VIEW = "view"
ONE_PATH = {
    "create": Verb.CREATE, "str_replace": Verb.EDIT, "insert": Verb.EDIT, "edit": Verb.EDIT, "delete": Verb.DELETE,
    "rename": Verb.RENAME, "restore": Verb.EDIT,
}  # fmt: skip
"""{command that changes memories: the verb of a refused call with this command}"""
_FIELDS = ("seq", "author_id", "actor_id", "command", "path", "new_path", "ok", "message_start", "session", "at")


class Outcome(NamedTuple):
    """A decision that hides a path from a call, refuses the call or makes it a proposal.

    `is_over` means that the session of the call may open no further proposal.
    """

    decision: Decision
    path: str
    is_over: bool = False


@dataclass(slots=True)
class Group:
    """The calls of one agent that one rule would affect: it would refuse them, hold them back, or hide the memory from
    them."""

    number: int  # the number of the rule, from 1
    agent: str
    is_refusal: bool
    hides: bool = False
    is_over: bool = False  # the sessions of these calls may open no further proposal
    calls: int = 0
    examples: list[tuple[str, int]] = field(default_factory=list)  # (path, seq of the entry)
    more: bool = False  # there are other paths


@dataclass(frozen=True, slots=True)
class Replay:
    """What other path rules would have done with earlier calls of agents. `calls` is the number of these
    calls."""

    since: datetime
    calls: int
    is_cut: bool  # not all calls since `since` were read
    groups: Sequence[Group]
    more: int  # calls that were done, but would be refused or proposed
    fewer: int  # calls that were refused or proposed, but would be done
    opened: int  # proposals that would have been opened
    left_from: datetime | None = None  # entries before this time were removed (None: none since `since`)

    @property
    def refused(self) -> int:
        return sum(group.calls for group in self.groups if group.is_refusal and not group.hides)

    @property
    def hidden(self) -> int:
        """Return the number of calls about memories that the rules would have hidden from the agent."""
        return sum(group.calls for group in self.groups if group.hides)

    @property
    def proposed(self) -> int:
        return sum(group.calls for group in self.groups if not group.is_refusal)

    @property
    def daily(self) -> int:
        """Return how many changes per day would have waited for a person, on average; 0 for less than one."""
        return round(self.proposed / DAYS.days) if self.proposed >= DAYS.days else 0


def replay(store_id: str, rules: PathRules, now: datetime) -> Replay:
    """Return what these rules would have decided about the agents' changes of the last 30 days."""
    since = now - DAYS
    hides = any(rule.effect is Effect.HIDE for rule in rules.rules)
    entries, is_cut = _entries(store_id, since, {*ONE_PATH, VIEW} if hides else {*ONE_PATH})
    versions, cut_at = _versions(store_id, entries)
    past = Past(store_id, rules.conditions, entries, versions)
    decider, calls = ManyPaths(rules), 0
    sight = decider.sight if hides else None
    found: list[tuple[Entry, list[Outcome]]] = []
    for entry in entries:
        try:
            if entry.seq <= max(cut_at, past.cut_at):
                raise TooMuchWork
            found.append((entry, _decided(decider, sight, past, entry, versions.get(entry.seq, ()))))
        except TooMuchWork:
            is_cut = True
            break
    opened = 0
    if any(rule.effect is Effect.PROPOSE for rule in rules.rules):
        found, opened = _limited(store_id, found)
    groups: dict[tuple[int, str, bool], Group] = {}
    changed: Counter[tuple[bool, bool]] = Counter()
    for entry, outcomes in found:
        if entry.command == VIEW and not outcomes:
            continue
        calls += 1
        changed[not entry.ok, bool(outcomes)] += 1
        for decision, path, is_over in outcomes[:1]:
            number, is_refusal = decision.number, decision.is_refusal or is_over
            new = Group(number, entry.author_id, is_refusal, decision.hides, is_over)
            group = groups.setdefault((number, entry.author_id, is_over), new)
            group.calls += 1
            if path not in dict(group.examples):
                group.more = len(group.examples) == MOST_EXAMPLES
                if not group.more:
                    group.examples.append((path, entry.seq))
    ordered = sorted(groups.values(), key=lambda group: (group.number, -group.calls))
    left_from = _left_from(store_id, since)
    return Replay(since, calls, is_cut, ordered, changed[False, True], changed[True, False], opened, left_from)


def _left_from(store_id: str, since: datetime) -> datetime | None:
    """If entries from after `since` were removed, return the time of the oldest remaining entry; else None."""
    if removed_history.start_of(store_id) is None:
        return None
    first = AuditEntry.objects.of_chain(store_id).oldest().values_list("at", flat=True).first()
    return first if first is not None and first > since else None


def _entries(store_id: str, since: datetime, commands: Collection[str]) -> tuple[list[Entry], bool]:
    """Return the entries of agents' calls with these commands, newest first, and whether the scan was cut.

    A failed call is left out, unless a path rule refused it or made it a proposal. The scan is cut after MOST_ENTRIES
    entries of all kinds.
    """
    of_store = AuditEntry.objects.of_chain(store_id)
    low, high = of_store.seqs_near(since, None)
    newest = of_store.between(low, high).newest().in_brief()
    looked_at = list(newest.values_list("actor_kind", "replay_of", *_FIELDS)[: MOST_ENTRIES + 1])
    found = [
        entry
        for kind, replay_of, *rest in looked_at[:MOST_ENTRIES]
        for entry in [Entry(*rest)]
        if kind == ActorKind.KEY and entry.at >= since and replay_of is None and entry.command in commands
        if entry.ok or any(words in (entry.message_start or "") for words in (results.BY_RULE, results.PROPOSED))
    ]
    return found, len(looked_at) > MOST_ENTRIES


def _versions(store_id: str, entries: Sequence[Entry]) -> tuple[dict[int, list[Made]], int]:
    """Return {seq of an entry: its versions}, and the seq up to which versions may be missing (0: none are)."""
    found: dict[int, list[Made]] = {}
    if not entries:
        return found, 0
    low, high = entries[-1].seq, entries[0].seq
    by_agents = AuditEntry.objects.of_chain(store_id).filter(actor_kind=ActorKind.KEY, seq__gte=low, seq__lte=high)
    made = MemoryVersion.objects.filter(store_id=store_id, seq__in=by_agents.values("seq"), seq__gte=low, seq__lte=high)
    columns = ("seq", "operation", "path", "id", "memory")
    rows = list(made.order_by("-seq", "-path").values_list(*columns)[: MOST_VERSIONS + 1])
    for seq, operation, path, version, memory in reversed(rows):
        found.setdefault(seq, []).append(Made(operation, path or "", version, memory))
    return found, rows[-1][0] if len(rows) > MOST_VERSIONS else 0


def _decided(
    rules: ManyPaths,
    sight: Callable[[Doer, str], Decision] | None,
    past: Past,
    entry: Entry,
    made: Sequence[Made],
) -> list[Outcome]:
    """Return the outcomes of a call: none if it is allowed, several if several rules hold back parts of it."""
    doer = Doer(entry.actor_id, entry.author_id)
    if sight is not None:
        for path in dict.fromkeys([entry.path or "", *(version.path for version in made)]):
            if (decision := sight(doer, path)).hides:
                return [Outcome(decision, path)]
    if entry.command == VIEW:
        return []
    proposed: dict[int, Outcome] = {}
    for verb, path, version in _changes(entry, made):
        decision = rules.decide(doer, verb, path, past.met(entry, verb, path, version))
        if decision.is_refusal:
            return [Outcome(decision, path)]
        if decision.is_proposal:
            proposed.setdefault(decision.number, Outcome(decision, path))
    return [*proposed.values()]


def _limited(
    store_id: str, found: Sequence[tuple[Entry, list[Outcome]]]
) -> tuple[list[tuple[Entry, list[Outcome]]], int]:
    """Return the calls and their outcomes, newest call first, and the number of proposals that the calls open.
    `is_over` is set in an outcome if the session of the call may open no further proposal."""
    openings, limited = Openings(store_id, [entry for entry, _ in found]), list[tuple[Entry, list[Outcome]]]()
    for entry, outcomes in reversed(found):
        over: list[Outcome] = []
        if outcomes and outcomes[0].decision.is_proposal:
            opened = openings.before(entry)
            over = [one._replace(is_over=True) for one in outcomes if _allows_no_more(one.decision, opened)]
            if not over:
                openings.propose(entry)
        limited.append((entry, over or outcomes))
    return limited[::-1], openings.count


def _allows_no_more(decision: Decision, opened: int) -> bool:
    return decision.rule is not None and decision.rule.most is not None and opened >= decision.rule.most


def _changes(entry: Entry, made: Iterable[Made]) -> Iterator[tuple[Verb, str, Made | None]]:
    """Yield (verb, path, version) for each change that a call made or, if it was refused, tried to make."""
    if not entry.ok:
        yield ONE_PATH[entry.command], entry.path or "", None
        if entry.new_path is not None:
            yield Verb.CREATE, entry.new_path, None
        return
    for version in made:
        if version.operation == Operation.DELETED:
            yield Verb.DELETE, version.path, version
        elif version.operation == Operation.CREATED:
            yield Verb.CREATE, version.path, version
        elif entry.new_path is None:
            yield Verb.EDIT, version.path, version
        else:
            old = (entry.path or "") + version.path[len(entry.new_path) :]
            yield Verb.RENAME, old, version
            yield Verb.CREATE, version.path, version
            if entry.command == "edit":
                yield Verb.EDIT, old, version
