"""Path rules decide as an evaluator decides that shares no code with them: by regular expressions, rule for rule."""

import json
import random
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import date

import pytest

from memoryhub.pure import path_rules
from memoryhub.pure.path_rules import Condition, Decision, Doer, Effect, Met, Mismatch, PathRule, PathRules, Verb, many
from tests.support.long import LONG

NAMES = ("a", "b", "ab", "policies", "note.md", "x*", "é")
PATTERNS = ("", "*", "**", "a*", "*.md", "*b*", "a", "ab", "policies", "note.md")
DOERS = (Doer("apikey_1", "agent_1"), Doer("apikey_2", "agent_1"), Doer("apikey_3", "agent_2"))
CHANGES = (Effect.ALLOW, Effect.PROPOSE, Effect.REFUSE)
"""The effects that are about changes alone."""
WHO = ("", "", "agent_1", "agent_2", "apikey_1", "apikey_2")


def expression(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression over the whole path."""
    if pattern in ("", "/"):
        return re.compile(".*", re.DOTALL)
    found, names, beneath = "", pattern.strip("/").split("/"), pattern.endswith("/")
    while names and names[-1] == "**":
        names.pop()
        beneath = True
    for name in names:
        found += "(/[^/]+)*" if name == "**" else "/" + re.escape(name).replace(r"\*", "[^/]*")
    return re.compile(found + ("(/[^/]+)+" if beneath else ""), re.DOTALL)


def decided(rules: list[PathRule], doer: Doer, verb: Verb, path: str, met: Collection[str] = ()) -> int:
    for number, rule in enumerate(rules, 1):
        by_who = not rule.who or rule.who == (doer.agent if rule.who.startswith("agent_") else doer.key)
        is_met = not rule.only_if or str(rule.only_if) in met
        if by_who and is_met and {verb} <= rule.verbs and expression(rule.pattern).fullmatch(path):
            return number
    return 0


def random_rule(chance: random.Random) -> PathRule:
    names = [chance.choice(PATTERNS[1:]) for _ in range(chance.randint(0, 4))]
    pattern = "".join(f"/{name}" for name in names) + ("/" if names and chance.random() < 0.5 else "")
    verbs = frozenset(chance.sample(list(Verb), chance.randint(1, 4)))
    only_if = chance.choice([None, None, *Condition])
    effect = chance.choice(CHANGES)
    most = chance.choice([None, 1, 2, 5]) if effect is Effect.PROPOSE else None
    return PathRule(effect, pattern, verbs, chance.choice(WHO), "no", only_if, most=most)


def random_conditions(chance: random.Random) -> Met:
    return frozenset(condition for condition in Condition if chance.random() < 0.5)


def test_random_lists_decide_as_regular_expressions_do() -> None:
    chance, numbers = random.Random(13), set()
    for _ in range(1_000 if LONG else 300):
        rules = [random_rule(chance) for _ in range(chance.randint(0, 12))]
        prepared = path_rules.of_text(json.dumps([rule.as_json() for rule in rules]))
        assert prepared.rules == tuple(rules)
        for _ in range(10):
            path = "".join(f"/{chance.choice(NAMES)}" for _ in range(chance.randint(1, 4)))
            doer, verb = chance.choice(DOERS), chance.choice(list(Verb))
            met = random_conditions(chance)
            found = prepared.decide(doer, verb, path, met)
            assert found.number == decided(rules, doer, verb, path, {str(one) for one in met}), (
                rules,
                doer,
                verb,
                path,
            )
            asked = prepared.conditions_for(doer, verb)
            assert prepared.decide(doer, verb, path, met & asked) == found, "no other condition is asked for"
            assert found.rule == (rules[found.number - 1] if found.number else None)
            matching = [n for n, why in enumerate(prepared.mismatches(doer, verb, path, met), 1) if why is None]
            assert matching[:1] == ([found.number] if found.number else [])
            numbers.add(found.number)
    assert numbers > set(range(6))


def test_the_first_rule_that_matches_decides_and_without_one_all_is_allowed() -> None:
    allow = PathRule(Effect.ALLOW, "/tickets/", who="agent_1")
    refuse = PathRule(Effect.REFUSE, "/tickets/", frozenset({Verb.DELETE}), reason="Tickets are kept.")
    rules = PathRules([allow, refuse])
    first, _, other = DOERS
    assert rules.decide(first, Verb.DELETE, "/tickets/1.md") == Decision(1, allow)
    assert rules.decide(other, Verb.DELETE, "/tickets/1.md") == Decision(2, refuse)
    assert rules.decide(other, Verb.DELETE, "/tickets/1.md").is_refusal
    assert rules.decide(other, Verb.EDIT, "/tickets/1.md") == Decision(0, None)
    assert not PathRules([]).decide(other, Verb.DELETE, "/tickets/1.md").is_refusal
    assert rules.mismatches(other, Verb.EDIT, "/notes/1.md") == [Mismatch.WHO, Mismatch.VERB]
    assert rules.mismatches(first, Verb.DELETE, "/notes/1.md") == [Mismatch.PATTERN, Mismatch.PATTERN]


def test_many_paths_are_decided_as_one_by_one() -> None:
    chance = random.Random(11)
    for _ in range(300):
        rules = PathRules(random_rule(chance) for _ in range(chance.randint(0, 6)))
        together = many.ManyPaths(rules)
        for _ in range(40):
            doer, verb = chance.choice(DOERS), chance.choice(list(Verb))
            path = "".join("/" + chance.choice(NAMES) for _ in range(chance.randint(1, 4)))
            met = random_conditions(chance)
            assert together.decide(doer, verb, path, met) == rules.decide(doer, verb, path, met), (rules.rules, path)
            assert together.sight(doer, path) == rules.sight(doer, path), (rules.rules, path)


def test_names_of_a_directory_are_compared_once_and_too_many_comparisons_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(many, "MOST_WORK", many.MOST_WORK // 5)
    rules = PathRules([PathRule(Effect.REFUSE, f"/**/secret{number}.md") for number in range(100)])
    together = many.ManyPaths(rules)
    for number in range(2 * many.MOST_WORK // 100):
        assert not together.decide(DOERS[0], Verb.DELETE, f"/customers/{number % 7}/{number}.md").is_refusal
    hostile = PathRules([PathRule(Effect.REFUSE, "/**/*a" * 9 + "/q")] * 100)
    apart, paths = many.ManyPaths(hostile), (f"/{number}a" * 18 for number in range(many.MOST_WORK))
    with pytest.raises(many.TooMuchWork):
        any(apart.decide(DOERS[0], Verb.DELETE, path).is_refusal for path in paths)


def test_random_lists_hide_as_regular_expressions_do() -> None:
    chance, seen = random.Random(17), set()
    for _ in range(1_000 if LONG else 300):
        rules = [
            PathRule(Effect.HIDE, rule.pattern, who=rule.who)
            if chance.random() < 0.3
            else replace(rule, verbs=frozenset(Verb), only_if=None)
            if chance.random() < 0.3
            else rule
            for rule in (random_rule(chance) for _ in range(chance.randint(0, 8)))
        ]
        prepared = path_rules.of_text(json.dumps([rule.as_json() for rule in rules]))
        for _ in range(10):
            path, doer = "".join(f"/{chance.choice(NAMES)}" for _ in range(chance.randint(1, 4))), chance.choice(DOERS)
            hidden = is_hidden(rules, doer, path)
            assert prepared.sight(doer, path).hides == hidden, (rules, doer, path)
            assert prepared.hides_from(doer) or not hidden
            seen.add(hidden)
    assert seen == {True, False}


def is_hidden(rules: list[PathRule], doer: Doer, path: str) -> bool:
    for rule in rules:
        by_who = not rule.who or rule.who == (doer.agent if rule.who.startswith("agent_") else doer.key)
        allows_all = rule.effect == "allow" and len(rule.verbs) == 4 and not rule.only_if
        if by_who and (rule.effect == "hide" or allows_all) and expression(rule.pattern).fullmatch(path):
            return rule.effect == "hide"
    return False


def test_a_rule_matches_until_its_last_day_and_nothing_afterwards() -> None:
    chance, day = random.Random(23), date(2026, 3, 1)
    ends = (None, date(2026, 2, 28), day, date(2026, 3, 2))
    for _ in range(300):
        rules = [replace(random_rule(chance), until=chance.choice(ends)) for _ in range(chance.randint(0, 8))]
        rules += [PathRule(Effect.HIDE, "/a/", until=chance.choice(ends))]
        prepared = path_rules.of_text(json.dumps([rule.as_json() for rule in rules]), day)
        assert prepared.rules == tuple(rules)
        standing = [rule for rule in rules if rule.until is None or rule.until >= day]
        together, doer, met = many.ManyPaths(prepared), chance.choice(DOERS), random_conditions(chance)
        for _ in range(5):
            path, verb = "".join(f"/{chance.choice(NAMES)}" for _ in range(2)), chance.choice(list(Verb))
            number = decided(standing, doer, verb, path, met)
            expected = standing[number - 1] if number else None
            assert (
                prepared.decide(doer, verb, path, met).rule == together.decide(doer, verb, path, met).rule == expected
            )
            hidden = is_hidden(standing, doer, path)
            assert prepared.sight(doer, path).hides == together.sight(doer, path).hides == hidden
            said = prepared.mismatches(doer, verb, path, met)
            assert [why is Mismatch.OVER for why in said] == [rule not in standing for rule in rules]


def test_patterns_of_many_stars_use_up_the_work_of_many_paths_sooner() -> None:
    def decided_of(pattern: str) -> int:
        apart = many.ManyPaths(PathRules([PathRule(Effect.REFUSE, pattern)] * 100), 100_000)
        for number in range(1_000):
            try:
                apart.decide(DOERS[0], Verb.EDIT, f"/{number}{'a' * 200}")
            except many.TooMuchWork:
                return number
        return 1_000

    assert decided_of("/" + "*a" * 450 + "*b") < 5
    assert 300 < decided_of("/*b") < 600
