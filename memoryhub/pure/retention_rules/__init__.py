"""Retention rules: which memories, versions and entries are due, from policies, facts about memories, and a clock.

Days are spans of 24 hours: a rule that counts from 12:00 UTC is due at 12:00 UTC, whatever local clocks did since then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from memoryhub.pure.retention_rules.patterns import BadPattern, Matcher, cleaned, matches

__all__ = [
    "DEFAULT_GRACE_DAYS", "ENTRIES", "GRACE", "OLDER", "TRASH", "UNCHANGED", "UNREAD", "VERSIONS", "BadPattern",
    "Candidate", "Chooser", "Cutoffs", "Due", "Facts", "Policy", "VersionFacts", "chosen", "cleaned", "due", "due_next",
    "earlier", "explained", "for_entries", "later", "matches", "pruned_since", "removable",
]  # fmt: skip

UNREAD, UNCHANGED, OLDER = "unread", "unchanged", "older"
GRACE, TRASH = "grace", "trash"
VERSIONS, ENTRIES = "versions", "entries"

DEFAULT_GRACE_DAYS = 30
"""The grace days of memories that a policy moved to the trash, but to which no policy applies any more."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How long memories whose path matches `pattern` are kept. A rule that is None does not apply.

    Without a `store`, the policy is the hub's. With `keeps_approved`, a memory does not expire if a person wrote or
    approved its newest version. With `expires_together`, a memory expires when all `expire_…` rules of the policy are
    due; without it, when the first of them is due.
    """

    id: str
    store: str | None
    pattern: str
    name: str = ""
    expire_unread_days: int | None = None
    expire_unchanged_days: int | None = None
    expire_older_days: int | None = None
    keep_versions: int | None = None
    keep_version_days: int | None = None
    keep_entry_days: int | None = None
    grace_days: int = DEFAULT_GRACE_DAYS
    trash_days: int | None = None
    keeps_approved: bool = False
    expires_together: bool = False
    paused: bool = False

    @property
    def expires(self) -> bool:
        """Return whether the policy moves memories to the trash."""
        return not self.paused and (self.expire_unread_days, self.expire_unchanged_days, self.expire_older_days) != (
            None,
            None,
            None,
        )

    @property
    def prunes(self) -> bool:
        """Return whether the policy removes old versions."""
        return not self.paused and (self.keep_versions, self.keep_version_days) != (None, None)

    def cutoffs(self, now: datetime) -> "Cutoffs | None":
        """Return the Cutoffs at `now`; None if the policy moves no memory to the trash."""
        if not self.expires:
            return None
        rules = (self.expire_unread_days, self.expire_unchanged_days, self.expire_older_days)
        unread, unchanged, older = (None if days is None else earlier(now, days) for days in rules)
        return Cutoffs(unread, unchanged, older, self.expires_together)

    @property
    def specificity(self) -> tuple[bool, int, int, str]:
        """Return a key that sorts the most specific policy first.

        A policy of a store comes before one of the hub, then the pattern with the longer text before its first `*`,
        then the pattern with more characters that are not `*`.
        """
        literal = self.pattern.replace("*", "")
        return self.store is None, -len(self.pattern.split("*", 1)[0]), -len(literal), self.pattern


class Cutoffs(NamedTuple):
    """Moments by which a policy decides whether a memory is due (None: the policy has no such rule).

    A memory is due if it was last read at or before `unread`, last changed at or before `unchanged`, or created at or
    before `older`. With `together`, a memory must fulfil each of these conditions that the policy has; otherwise one is
    enough.
    """

    unread: datetime | None
    unchanged: datetime | None
    older: datetime | None
    together: bool

    def is_due(
        self, created_at: datetime, updated_at: datetime, last_read_at: datetime | None, restored_at: datetime | None
    ) -> bool:
        """Return whether a memory is due. The result is the same as from `due`, which also returns the rule."""
        unread, unchanged, older, together = self
        begun = created_at if restored_at is None or restored_at < created_at else restored_at
        if together:
            changed = updated_at if restored_at is None or restored_at < updated_at else restored_at
            read = begun if last_read_at is None or last_read_at < begun else last_read_at
            sinces = zip((unread, unchanged, older), (read, changed, begun), strict=True)
            return all(limit is None or since <= limit for limit, since in sinces)
        if older is not None and begun <= older:
            return True
        if unread is not None and begun <= unread and (last_read_at is None or last_read_at <= unread):
            return True
        if unchanged is None or updated_at > unchanged:
            return False
        return restored_at is None or restored_at <= unchanged


class Facts(NamedTuple):
    """The facts about a memory. With `deleted_at`, the memory is in the trash; with `expired`, a retention run put it
    there.

    `approved`: a person wrote or approved its newest version. `approved` is used only for a memory that is not in the
    trash.
    """

    path: str
    created_at: datetime
    updated_at: datetime
    last_read_at: datetime | None = None
    restored_at: datetime | None = None
    deleted_at: datetime | None = None
    expired: bool = False
    approved: bool = False


class Due(NamedTuple):
    """When a memory or a version is due, and by which rule: `at` is `days` times 24 hours after `since`."""

    rule: str
    days: int
    since: datetime
    at: datetime


# ------------------------------------------------------------------------------------------------ which policy


@dataclass(slots=True)
class Chooser:
    """Chooses which of some policies applies to a path. For each directory, it remembers the policies that can match
    there."""

    policies: Sequence[Policy]
    _ready: list[tuple[Policy, Matcher]] = field(init=False)
    _known: dict[str, list[tuple[Policy, Matcher, int]]] = field(init=False, default_factory=dict)
    _sure: dict[str, Policy | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        ordered = sorted(self.policies, key=attrgetter("specificity"))
        self._ready = [(policy, Matcher(policy.pattern)) for policy in ordered]

    def of(self, path: str) -> Policy | None:
        """Return the only policy that applies to a path: the most specific one that matches, even if it is paused. None
        if none matches."""
        at = path.rfind("/")
        directory = path[:at]
        if directory in self._sure:
            return self._sure[directory]
        candidates = self._known.get(directory)
        if candidates is None:
            candidates = self._look_at(directory)
        name = path[at + 1 :]
        for policy, matcher, states in candidates:
            if matcher.accepts(states, name):
                return policy
        return None

    def _look_at(self, directory: str) -> list[tuple[Policy, Matcher, int]]:
        """Return (policy, matcher, positions) of each policy that can apply in a directory, the most specific first.

        The positions are those of the matcher when it has matched all names of the directory. A policy that matches
        every memory directly in the directory is the last one: less specific policies cannot apply there.
        """
        found: list[tuple[Policy, Matcher, int]] = []
        for policy, matcher in self._ready:
            states = matcher.in_directory(directory)
            if states:
                found.append((policy, matcher, states))
                if matcher.always(states):
                    break
        if not found or found[0][1].always(found[0][2]):
            self._sure[directory] = found[0][0] if found else None
        self._known[directory] = found
        return found


def chosen(policies: Iterable[Policy], path: str) -> Policy | None:
    """Return the only policy that applies to a path: the most specific one that matches, even if it is paused. None if
    none matches."""
    return Chooser(list(policies)).of(path)


def for_entries(policies: Iterable[Policy]) -> Policy | None:
    """Return the policy for audit entries: the policy without a pattern, of the store or else of the hub. None if there
    is neither."""
    whole = [policy for policy in policies if not policy.pattern]
    return min(whole, key=attrgetter("specificity"), default=None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy, whether it matches a path, whether it wins over all other policies, and why.

    `why` is `wins`, `paused` (the policy wins, but does nothing) or `no_match`. If the policy matches but does not win,
    `why` says why the winner comes first: `store` (the winner is a store's policy, this one is the hub's), `start` (the
    winner has the longer text before its first `*`), `literal` (the winner has more characters that are not `*`) or
    `order` (all these are equal, so alphabetical order decides).
    """

    policy: Policy
    matches: bool
    wins: bool
    why: str


def explained(policies: Iterable[Policy], path: str) -> list[Candidate]:
    """Return a Candidate for each policy, for one path. The most specific policy comes first."""
    ordered = sorted(policies, key=attrgetter("specificity"))
    winner = next((policy for policy in ordered if matches(policy.pattern, path)), None)
    return [_candidate(policy, path, winner) for policy in ordered]


def _candidate(policy: Policy, path: str, winner: Policy | None) -> Candidate:
    if policy is winner:
        return Candidate(policy, True, True, "paused" if policy.paused else "wins")
    if winner is None or not matches(policy.pattern, path):
        return Candidate(policy, False, False, "no_match")
    pairs = zip(winner.specificity, policy.specificity, ("store", "start", "literal", "order"), strict=True)
    return Candidate(policy, True, False, next((why for one, other, why in pairs if one != other), "order"))


# ------------------------------------------------------------------------------------------------ what is due


def later(since: datetime, days: int) -> datetime | None:
    """Return the moment `days` times 24 hours later. None if it is after the last year of datetime."""
    try:
        return since.astimezone(UTC) + timedelta(days=days)
    except OverflowError:
        return None


def due_next(policy: Policy | None, facts: Facts) -> Due | None:
    """Return when, and by which rule, a memory will next be moved to the trash, or removed from the trash. None if
    never."""
    if facts.deleted_at is not None:
        return _purge(policy, facts, facts.deleted_at)
    if policy is None or not policy.expires or (policy.keeps_approved and facts.approved):
        return None
    given = [(rule, days, since) for rule, days, since in _rules(policy, facts) if days is not None]
    dues = [Due(rule, days, since, at) for rule, days, since in given if (at := later(since, days)) is not None]
    if policy.expires_together:
        return max(dues, key=attrgetter("at")) if len(dues) == len(given) else None
    return min(dues, key=attrgetter("at"), default=None)


def due(policy: Policy | None, facts: Facts, now: datetime) -> Due | None:
    """Return the result of `due_next` if it is due by `now`, otherwise None."""
    found = due_next(policy, facts)
    return found if found is not None and found.at <= now else None


def _rules(policy: Policy, facts: Facts) -> Iterator[tuple[str, int | None, datetime]]:
    begun = facts.created_at if facts.restored_at is None else max(facts.created_at, facts.restored_at)
    read = begun if facts.last_read_at is None else max(begun, facts.last_read_at)
    changed = facts.updated_at if facts.restored_at is None else max(facts.updated_at, facts.restored_at)
    yield UNREAD, policy.expire_unread_days, read
    yield UNCHANGED, policy.expire_unchanged_days, changed
    yield OLDER, policy.expire_older_days, begun


def _purge(policy: Policy | None, facts: Facts, deleted_at: datetime) -> Due | None:
    if policy is not None and policy.paused:
        return None
    days = None if policy is None else policy.trash_days
    if facts.expired:
        days = DEFAULT_GRACE_DAYS if policy is None else policy.grace_days
    at = None if days is None else later(deleted_at, days)
    return None if days is None or at is None else Due(GRACE if facts.expired else TRASH, days, deleted_at, at)


class VersionFacts(NamedTuple):
    """The facts about a memory version. `awaits_review`: the version awaits review, or an open proposal is based on
    it."""

    id: str
    number: int
    created_at: datetime
    awaits_review: bool


def removable(policy: Policy, versions: Sequence[VersionFacts], now: datetime) -> list[VersionFacts]:
    """Return the versions of a memory that a policy removes.

    The newest version, versions that await review and versions made after `now` are not removed. Nor are the newest
    `keep_versions`, and versions younger than `keep_version_days`.
    """
    head = max((version.number for version in versions if version.created_at <= now), default=0)
    if not policy.prunes or not head:
        return []
    last, before = version_bounds(policy, head, now)
    return [
        version
        for version in versions
        if version.number <= last and not version.awaits_review and (before is None or version.created_at <= before)
    ]


def pruned_since(policy: Policy, newest: VersionFacts, moments: Mapping[int, datetime]) -> tuple[datetime, datetime]:
    """Return (since, due) for `newest`, the newest of the versions that the policy removes.

    `since` is the moment from which the policy counts, `due` the moment from which `newest` may be removed. `moments`
    is {version number: when the version was made}.
    """
    superseded = moments.get(newest.number + (policy.keep_versions or 1), newest.created_at)
    if policy.keep_version_days is None:
        return superseded, superseded
    aged = later(newest.created_at, policy.keep_version_days) or newest.created_at
    return newest.created_at, max(aged, superseded) if policy.keep_versions is not None else aged


def version_bounds(policy: Policy, head: int, now: datetime) -> tuple[int, datetime | None]:
    """Return the highest number that a removable version may have, and the latest moment when it may have been made
    (None: any).

    `head` is the number of the newest version.
    """
    last = head - max(1, policy.keep_versions or 1)
    return last, None if policy.keep_version_days is None else earlier(now, policy.keep_version_days)


def earlier(now: datetime, days: int) -> datetime:
    """Return the moment `days` times 24 hours earlier. If datetime has no such moment, return the first that it has."""
    try:
        return now.astimezone(UTC) - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
