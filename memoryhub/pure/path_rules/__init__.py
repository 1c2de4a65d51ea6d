"""Path rules: what agents may see and change in a memory store. The first rule that matches decides.

If no rule matches, everything is allowed.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from memoryhub.pure.retention_rules.patterns import BadPattern, Matcher, cleaned

MOST_RULES = 100
LONGEST_WHO = 40
"""The most characters of the id of an agent or a key."""
LONGEST_REASON = 300
"""The most characters of the reason that an agent gets when its change is refused or becomes a proposal."""
MOST_A_SESSION = 1_000
"""The largest number to which a rule can limit the proposals of a session."""
NO_RULES = "[]"
"""The stored form of an empty list of rules."""


class Verb(StrEnum):
    """A kind of change to one memory. A move is checked as RENAME at the old path and as CREATE at the new path."""

    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    RENAME = "rename"


class Effect(StrEnum):
    """What a rule does with a change. A proposed change waits until a person decides about it.

    HIDE is also about reading: for the agent, memories at such a path do not exist.
    """

    ALLOW = "allow"
    PROPOSE = "propose"
    REFUSE = "refuse"
    HIDE = "hide"


class Condition(StrEnum):
    """What must be true of a change, besides its path and its verb, for a rule to match it.

    REMOVES_LINES: lines of the text are changed or removed. BY_PERSON: a person wrote, imported or approved a version
    of the memory. HAS_FINDING: the memory has an open finding. NEW_AGENT: no person has merged a proposal of the agent
    in the memory store.
    """

    REMOVES_LINES = "removes_lines"
    BY_PERSON = "by_person"
    HAS_FINDING = "has_finding"
    NEW_AGENT = "new_agent"


class Lines(NamedTuple):
    """The condition that lines of a memory are changed, removed or separated, or that the memory is moved or deleted.

    The lines are `first` to `last`, from 1, of the version with the id `version`. They are followed through later
    versions. The pattern of a rule with this condition is the path of one memory.
    """

    version: str
    first: int
    last: int

    @property
    def value(self) -> str:
        """Return the stored form: `lines:VERSION:FIRST-LAST`."""
        return f"{LINES}:{self.version}:{self.first}-{self.last}"


LINES = "lines"
_LINES = re.compile(rf"{LINES}:([a-zA-Z0-9_]{{1,{LONGEST_WHO}}}):([1-9][0-9]{{0,8}})-([1-9][0-9]{{0,8}})")


def condition_of(text: str) -> Condition | Lines:
    """Return the condition with this stored form. Raise ValueError if there is none."""
    match = _LINES.fullmatch(text)
    if match is None:
        return Condition(text)
    lines = Lines(match[1], int(match[2]), int(match[3]))
    if lines.first > lines.last:
        raise ValueError(text)
    return lines


Met: TypeAlias = frozenset[Condition | Lines]
"""The conditions that a change meets."""
NONE_MET: Met = frozenset()


@dataclass(frozen=True, slots=True)
class PathRule:
    """A rule about the changes of agents to memories at some paths.

    `pattern` has the syntax of a retention policy's pattern; "" matches every path. `who` is the id of an agent or of a
    key; "" means every agent. The agent gets `reason` when its change is refused or becomes a proposal. A rule with
    `only_if` matches only changes that meet this condition. After the day `until` (UTC), the rule matches nothing. With
    `most`, each session can open at most `most` proposals in the store.
    """

    effect: Effect
    pattern: str = ""
    verbs: frozenset[Verb] = frozenset(Verb)
    who: str = ""
    reason: str = ""
    only_if: Condition | Lines | None = None
    until: date | None = None
    most: int | None = None

    @property
    def decides_sight(self) -> bool:
        """Return whether the rule can decide what an agent sees: it hides memories, or allows every change without a
        condition."""
        allows = self.effect is Effect.ALLOW and self.verbs == frozenset(Verb) and self.only_if is None
        return allows or self.effect is Effect.HIDE

    @property
    def is_about_everything(self) -> bool:
        """Return whether the rule applies to all changes of all agents: no later rule decides about a change then."""
        is_limited = self.who or self.pattern or self.only_if or self.until
        return not is_limited and self.verbs == frozenset(Verb)

    def is_about(self, doer: "Doer", verb: Verb) -> bool:
        """Return whether the rule applies to this agent or key and to this verb. Neither paths nor conditions are
        compared."""
        return verb in self.verbs and self.who in ("", doer.agent, doer.key)

    def as_json(self) -> dict[str, Any]:
        """Return the stored form of the rule. It has `only_if`, `until` and `most` only if they are set."""
        details = {
            "effect": self.effect.value,
            "pattern": self.pattern,
            "verbs": [verb.value for verb in Verb if verb in self.verbs],
            "who": self.who,
            "reason": self.reason,
        }
        details |= {"only_if": self.only_if.value} if self.only_if else {}
        details |= {"until": self.until.isoformat()} if self.until else {}
        return details | {"most": self.most} if self.most is not None else details

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "PathRule":
        verbs = frozenset(Verb(verb) for verb in value["verbs"])
        only_if = condition_of(value["only_if"]) if value.get("only_if") else None
        until = date.fromisoformat(value["until"]) if value.get("until") else None
        about = value["pattern"], verbs, value["who"], value["reason"], only_if, until, value.get("most")
        return cls(Effect(value["effect"]), *about)


class Doer(NamedTuple):
    """The id of the key that makes a change, and the id of the key's agent."""

    key: str
    agent: str


class Mismatch(StrEnum):
    """Why a rule does not match a change."""

    WHO = "who"
    VERB = "verb"
    SIGHT = "sight"
    PATTERN = "pattern"
    CONDITION = "condition"
    OVER = "over"


def can_be_id(who: str) -> bool:
    """Return whether a text can be the id of an agent or a key, or is empty."""
    return not who or (len(who) <= LONGEST_WHO and who.isascii() and who.isidentifier())


def names_one_memory(pattern: str) -> bool:
    """Return whether a pattern is the path of one memory."""
    return bool(pattern) and "*" not in pattern and not pattern.endswith("/")


class Decision(NamedTuple):
    """The rule that decides about a change, and its number in the list, from 1. If no rule matches, `number` is 0 and
    `rule` None."""

    number: int
    rule: PathRule | None

    @property
    def is_refusal(self) -> bool:
        return self.rule is not None and self.rule.effect in (Effect.REFUSE, Effect.HIDE)

    @property
    def hides(self) -> bool:
        return self.rule is not None and self.rule.effect is Effect.HIDE

    @property
    def is_proposal(self) -> bool:
        return self.rule is not None and self.rule.effect is Effect.PROPOSE


class PathRules:
    """The rules of a store in their order, prepared for many decisions.

    `day` is the day of the decisions, in UTC. `over` are the positions, from 0, of the rules that ended before this
    day.
    """

    def __init__(self, rules: Iterable[PathRule], day: date | None = None) -> None:
        self.rules = tuple(rules)
        self.over = frozenset(at for at, one in enumerate(self.rules) if day and one.until and one.until < day)
        self.matchers = [Matcher(rule.pattern) for rule in self.rules]
        self._standing = [rule for at, rule in enumerate(self.rules) if at not in self.over]
        self._hiding = {rule.who for rule in self._standing if rule.effect is Effect.HIDE}
        self.conditions: Met = frozenset(rule.only_if for rule in self._standing if rule.only_if)
        self._lines: dict[str, list[Lines]] = {}
        for rule in self._standing:
            if isinstance(rule.only_if, Lines):
                self._lines.setdefault(rule.pattern, []).append(rule.only_if)
        self._prepared = [
            (at + 1, rule, rule.pattern.partition("*")[0], *_ends(matcher.names[-1]), matcher)
            for at, (rule, matcher) in enumerate(zip(self.rules, self.matchers, strict=True))
            if at not in self.over
        ]

    def hides_from(self, doer: Doer) -> bool:
        """Return whether a rule hides memories from this agent or key."""
        return any(who in ("", doer.agent, doer.key) for who in self._hiding)

    def sight(self, doer: Doer, path: str) -> Decision:
        """Return the rule that decides whether `doer` sees memories at a path.

        The memories are invisible only if this rule hides memories.
        """
        for number, rule, start, first, last, matcher in self._prepared:
            if (
                rule.decides_sight
                and rule.who in ("", doer.agent, doer.key)
                and _may_match(path, start, first, last)
                and matcher.matches(path)
            ):
                return Decision(number, rule)
        return Decision(0, None)

    def conditions_for(self, doer: Doer, verb: Verb) -> Met:
        """Return the conditions on which the decision about a change with this `verb` by this `doer` can depend."""
        if not self.conditions:
            return NONE_MET
        return frozenset(rule.only_if for rule in self._standing if rule.only_if and rule.is_about(doer, verb))

    def protected_lines(self, path: str) -> list[Lines]:
        """Return the lines that rules about any agent or key protect in the memory at a path."""
        return self._lines.get(path, [])

    def decide(self, doer: Doer, verb: Verb, path: str, met: Met = NONE_MET) -> Decision:
        """Return the decision about a change of the memory at `path`; the change meets the conditions `met`."""
        for number, rule, start, first, last, matcher in self._prepared:
            if (
                _may_match(path, start, first, last)
                and verb in rule.verbs
                and rule.who in ("", doer.agent, doer.key)
                and (rule.only_if is None or rule.only_if in met)
                and matcher.matches(path)
            ):
                return Decision(number, rule)
        return Decision(0, None)

    def unreachable(self) -> dict[int, int]:
        """Return {number of a rule that can never decide: number of an earlier rule that decides before it}.

        A rule is compared only with earlier rules about the same paths, about a directory above them, or about every
        path.
        """
        found: dict[int, int] = {}
        hiding = max((at for at, rule in enumerate(self.rules) if rule.effect is Effect.HIDE), default=-1)
        for later, rule in enumerate(self.rules):
            shows = rule.decides_sight and later <= hiding
            before = (at for at in range(later) if at not in self.over and _covers(self.rules[at], rule, shows=shows))
            if (first := next(before, None)) is not None:
                found[later + 1] = first + 1
        return found

    def mismatches(self, doer: Doer, verb: Verb | None, path: str, met: Met = NONE_MET) -> list[Mismatch | None]:
        """Return one value for each rule: why it does not match, or None if it matches.

        If `verb` is None, the question is whether the memory is seen.
        """
        pairs = enumerate(zip(self.rules, self.matchers, strict=True))
        return [
            Mismatch.OVER if at in self.over else _mismatch(rule, matcher, doer, verb, path, met)
            for at, (rule, matcher) in pairs
        ]

    def as_json(self) -> list[dict[str, Any]]:
        return [rule.as_json() for rule in self.rules]


def _covers(one: PathRule, other: PathRule, *, shows: bool) -> bool:
    """Return whether the rule `one` surely matches everything that the rule `other` matches.

    With `shows`, `other` also decides what agents see: it hides memories, or it keeps a later rule from hiding them.
    Then return False if `one` does not decide that too.
    """
    is_wider = one.pattern in ("", other.pattern) or (
        one.pattern.endswith("/") and "*" not in one.pattern and other.pattern.startswith(one.pattern)
    )
    if not is_wider or one.who not in ("", other.who) or one.only_if is not None:
        return False
    return one.decides_sight if shows else one.verbs >= other.verbs


def _may_match(path: str, start: str, first: str, last: str) -> bool:
    """Return whether a path begins with `start`, and its last name begins with `first` and ends with `last`.

    This is faster than to compare the whole path with a pattern.
    """
    name = path.rpartition("/")[2]
    return path.startswith(start) and name.startswith(first) and name.endswith(last)


def _ends(wanted: str) -> tuple[str, str]:
    """Return two texts: how every name that matches `wanted` begins, and how it ends.

    They are the text before the first `*` of `wanted`, and the text after its last `*`.
    """
    return wanted.partition("*")[0], wanted.rpartition("*")[2]


def _mismatch(rule: PathRule, matcher: Matcher, doer: Doer, verb: Verb | None, path: str, met: Met) -> Mismatch | None:
    if rule.who not in ("", doer.agent, doer.key):
        return Mismatch.WHO
    if verb is None and not rule.decides_sight:
        return Mismatch.SIGHT
    if verb is not None and verb not in rule.verbs:
        return Mismatch.VERB
    if not matcher.matches(path):
        return Mismatch.PATTERN
    return None if rule.only_if is None or rule.only_if in met else Mismatch.CONDITION


def without_proposals(rules: Iterable[PathRule]) -> list[PathRule]:
    """Return the rules, with rules of the effect ALLOW in place of those of the effect PROPOSE.

    A rule that allows every verb would also decide what is seen. So a rule about CREATE and other verbs becomes two
    rules: neither allows every verb.
    """
    found: list[PathRule] = []
    for rule in rules:
        if rule.effect is not Effect.PROPOSE:
            found.append(rule)
            continue
        parts = (rule.verbs & {Verb.CREATE}, rule.verbs - {Verb.CREATE})
        found += [replace(rule, effect=Effect.ALLOW, verbs=verbs, reason="", most=None) for verbs in parts if verbs]
    return found


class BadRule(ValueError):
    """A list of rules that cannot be stored: it is too long, or a pattern, reason, list of verbs or limit is not
    valid."""


def require_valid(rules: Sequence[PathRule]) -> None:
    """Raise BadRule if a store cannot have these rules."""
    if len(rules) > MOST_RULES:
        raise BadRule(f"{len(rules)} rules; {MOST_RULES} are the most")
    for number, rule in enumerate(rules, 1):
        try:
            clean = cleaned(rule.pattern)
        except BadPattern as error:
            raise BadRule(f"rule {number}: pattern {error.code}") from None
        if isinstance(rule.only_if, Lines) and not names_one_memory(rule.pattern):
            raise BadRule(f"rule {number}: lines of several memories")
        is_whole = bool(rule.verbs) and can_be_id(rule.who)
        if clean != rule.pattern or not is_whole or len(rule.reason) > LONGEST_REASON:
            raise BadRule(f"rule {number}")
        if rule.effect is Effect.HIDE and (rule.verbs != frozenset(Verb) or rule.only_if):
            raise BadRule(f"rule {number}: hides for some changes only")
        if rule.most is not None and (rule.effect is not Effect.PROPOSE or not 1 <= rule.most <= MOST_A_SESSION):
            raise BadRule(f"rule {number}: limit of a session")
        if rule.reason != " ".join(rule.reason.split()) or not rule.reason.isprintable():
            raise BadRule(f"rule {number}: reason")


def of_json(rules: Sequence[Mapping[str, Any]], day: date | None = None) -> PathRules:
    """Return the PathRules of a JSON list that is parsed already."""
    return PathRules((PathRule.of_json(rule) for rule in rules), day)


@lru_cache(maxsize=256)
def of_text(text: str, day: date | None = None) -> PathRules:
    """Return the PathRules of a JSON text, the form in which a store keeps its rules."""
    return of_json(json.loads(text), day)
