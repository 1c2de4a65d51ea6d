"""The pure rules of retention: which policy applies to a path, and what is due when."""

import random
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product

import pytest

from memoryhub.pure import retention_rules as rules
from memoryhub.pure.retention_rules import BadPattern, Chooser, Facts, Policy, VersionFacts, matches, weeks
from memoryhub.pure.retention_rules.weeks import History
from tests.support.durations import is_within

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def policy(pattern: str = "", store: str | None = "s", **rules_of: object) -> Policy:
    return Policy(f"{store}:{pattern}", store, pattern, **rules_of)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ patterns


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("", "/a /a/b", ""),
        ("/customers/", "/customers/x /customers/x/y.md", "/customers /customers2/x /x/customers/y"),
        ("/customers/**", "/customers/x /customers/x/y.md", "/customers /customers2/x"),
        ("/a/b.md", "/a/b.md", "/a/b.md/c /a/b /a/bxmd"),
        ("/a/*.md", "/a/b.md /a/.md /a/b.c.md", "/a/b/c.md /a/b.mdx /b/a.md"),
        ("/*/old/", "/a/old/x /b/old/c/d", "/old/x /a/b/old/x /a/old"),
        ("/**/old.md", "/old.md /a/old.md /a/b/c/old.md", "/a/old.mdx /old.md/a"),
        ("/a/**/z/", "/a/z/1 /a/b/z/1 /a/b/c/z/1/2", "/a/z /a/b/1 /z/1"),
        ("/*", "/a /b.md", "/a/b"),
        ("/n*t*s/x", "/notes/x /nts/x", "/not/x /notes/y"),
        ("/ä*/日本", "/ärger/日本", "/arger/日本"),
    ],
)
def test_a_pattern_matches_names_as_it_says(pattern: str, inside: str, outside: str) -> None:
    assert rules.cleaned(pattern) == pattern
    assert [path for path in inside.split() if not matches(pattern, path)] == []
    assert [path for path in outside.split() if matches(pattern, path)] == []


def plainly_matches(pattern: str, path: str) -> bool:
    """The same by trying everything."""
    beneath = pattern.endswith(("/", "/**"))
    wanted, names = pattern.strip("/").split("/"), path[1:].split("/")
    if beneath and wanted[-1] == "**":
        wanted.pop()

    @cache
    def name_fits(i: int, j: int, a: int, b: int) -> bool:
        if a == len(wanted[i]):
            return b == len(names[j])
        if wanted[i][a] == "*":
            return any(name_fits(i, j, a + 1, rest) for rest in range(b, len(names[j]) + 1))
        return b < len(names[j]) and wanted[i][a] == names[j][b] and name_fits(i, j, a + 1, b + 1)

    @cache
    def fits(i: int, j: int) -> bool:
        if i == len(wanted):
            return j < len(names) if beneath else j == len(names)
        if wanted[i] == "**":
            return any(fits(i + 1, rest) for rest in range(j, len(names) + 1))
        return j < len(names) and name_fits(i, j, 0, 0) and fits(i + 1, j + 1)

    return fits(0, 0)


def test_matching_is_what_trying_everything_finds() -> None:
    dice = random.Random(7)
    names = ["a", "b", "ab", "a*", "*b", "*", "**", "*a*b*", "ba"]
    paths = ["/" + "/".join(parts) for count in (1, 2, 3, 4) for parts in product(["a", "ab", "ba"], repeat=count)]
    for _ in range(400):
        pattern = "/" + "/".join(dice.choices(names, k=dice.randint(1, 4))) + dice.choice(["", "", "/"])
        for path in dice.sample(paths, 25):
            assert matches(pattern, path) == plainly_matches(pattern, path), (pattern, path)


def test_hostile_patterns_take_no_longer_than_plain_ones() -> None:
    hostile = ["/" + "a*" * 500 + "b", "/" + "/".join(["**"] * 19) + "/b", "/" + "/".join(["*a*a*a*"] * 20)]
    path = "/" + "/".join(["a" * 255] * 4)
    deep = "/" + "/".join(["aaaaaaaa"] * 19 + ["c"])

    def match_all() -> None:
        for pattern in hostile:
            for _ in range(50):
                assert not matches(pattern, path)
                matches(pattern, deep)

    assert is_within(2, match_all)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("customers/", "start"), ("*", "start"), ("/a//b", "empty"), ("//", "empty"), ("/a/b**", "stars"),
        ("/***/x", "stars"), ("/a/../b", "dots"), ("/./b", "dots"), ("/a\nb", "unseen"), ("/a\u202eb", "unseen"),
        ("/" + "é" * 600, "long"), ("/a" * 21, "deep"), ("/a\ud800", "unseen"), ("/" + "*a" * 21, "many"),
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_meant_is_refused(pattern: str, code: str) -> None:
    with pytest.raises(BadPattern) as raised:
        rules.cleaned(pattern)
    assert raised.value.code == code


def test_a_pattern_is_composed_as_every_path_is() -> None:
    assert rules.cleaned("/Cafe\u0301/*.md") == "/Caf\u00e9/*.md"


def test_blanks_and_a_slash_alone_are_every_path() -> None:
    assert [rules.cleaned(pattern) for pattern in ("", "  ", "/", " /a/ ")] == ["", "", "", "/a/"]


# ------------------------------------------------------------------------------------------------ which policy


def test_the_most_specific_policy_wins_wholly() -> None:
    all_of_hub, hub_notes = policy(store=None), policy("/notes/very/long/", store=None)
    store, notes, wild = policy(), policy("/notes/"), policy("/notes/*.md")
    everything = [all_of_hub, hub_notes, store, notes, wild]
    assert rules.chosen(everything, "/x") is store
    assert rules.chosen(everything, "/notes/a") is notes
    assert rules.chosen(everything, "/notes/a.md") is wild
    assert rules.chosen(everything, "/notes/very/long/a") is notes
    assert rules.chosen([all_of_hub, hub_notes], "/notes/very/long/a") is hub_notes
    assert rules.chosen([notes], "/x") is None


def test_a_paused_policy_wins_and_does_nothing() -> None:
    paused = policy("/notes/", expire_older_days=1, paused=True)
    found = rules.chosen([policy(expire_older_days=1), paused], "/notes/a")
    assert found is paused
    assert rules.due(found, Facts("/notes/a", AT, AT), AT + 900 * DAY) is None
    assert rules.due(found, Facts("/notes/a", AT, AT, deleted_at=AT, expired=True), AT + 900 * DAY) is None


def test_a_chooser_that_remembers_directories_chooses_the_same() -> None:
    dice = random.Random(3)
    patterns = ["", "/a/", "/a/*.md", "/*/b/", "/**/c.md", "/a/**/x", "/*", "/a/b/c.md", "/**/b/*"]
    for _ in range(200):
        policies = [policy(pattern, dice.choice(["s", None])) for pattern in dice.sample(patterns, dice.randint(1, 6))]
        chooser = Chooser(policies)
        for _ in range(20):
            path = "/" + "/".join(dice.choices(["a", "b", "c.md", "x", "d.md"], k=dice.randint(1, 4)))
            ordered = sorted(policies, key=lambda one: one.specificity)
            first = next((one for one in ordered if plainly_matches(one.pattern, path) or not one.pattern), None)
            assert chooser.of(path) is first, path
            told = rules.explained(policies, path)
            assert [one.policy for one in told if one.wins] == ([first] if first else [])


def test_every_policy_says_why_it_does_not_apply() -> None:
    given = [
        policy("/a/b/"), policy("/a/"), policy("/a/b/*.md", paused=True), policy("/z/"), policy(store=None),
        policy("/a/b/*d", paused=True),
    ]  # fmt: skip
    told = {one.policy.pattern + str(one.policy.store): one.why for one in rules.explained(given, "/a/b/c.md")}
    assert told == {
        "/a/b/*.mds": "paused", "/a/b/*ds": "literal", "/a/b/s": "literal", "/a/s": "start", "/z/s": "no_match",
        "None": "store",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ what is due


def test_a_rule_is_due_exactly_so_many_times_24_hours_later() -> None:
    facts = Facts("/a", AT, AT + DAY, AT + 2 * DAY)
    for rule, days, since in (("unread", 30, AT + 2 * DAY), ("unchanged", 31, AT + DAY), ("older", 1, AT)):
        one = policy(**{f"expire_{rule}_days": days})
        moment = since + days * DAY
        assert rules.due(one, facts, moment - MOMENT) is None
        assert rules.due(one, facts, moment) == (rule, days, since, moment)
        cutoffs = [one.cutoffs(moment - MOMENT), one.cutoffs(moment)]
        assert [bool(cut and cut.is_due(*facts[1:5])) for cut in cutoffs] == [False, True]


def test_the_earliest_rule_that_is_due_is_the_reason() -> None:
    one = policy(expire_unread_days=10, expire_unchanged_days=5, expire_older_days=7)
    found = rules.due(one, Facts("/a", AT, AT + DAY, AT + DAY), AT + 365 * DAY)
    assert found is not None
    assert (found.rule, found.at) == ("unchanged", AT + 6 * DAY)


def test_coming_back_from_the_trash_begins_anew() -> None:
    back = AT + 100 * DAY
    facts = Facts("/a", AT, AT, AT, restored_at=back)
    for name in ("unread", "unchanged", "older"):
        found = rules.due_next(policy(**{f"expire_{name}_days": 10}), facts)
        assert found is not None and found.at == back + 10 * DAY


def test_daylight_saving_plays_no_role() -> None:
    """Clocks went forward on 29 March 2026 at 1:00 UTC; a local day had 23 hours."""
    local = datetime(2026, 3, 28, 12, 0, tzinfo=BERLIN)
    found = rules.due_next(policy(expire_older_days=1), Facts("/a", local, local))
    assert found is not None and found.at == datetime(2026, 3, 29, 11, 0, tzinfo=UTC)
    assert found.at.astimezone(BERLIN).hour == 13
    back = datetime(2026, 10, 24, 12, 0, tzinfo=BERLIN)
    again = rules.due_next(policy(expire_older_days=1), Facts("/a", back, back))
    assert again is not None and again.at.astimezone(BERLIN).hour == 11


def test_the_trash_is_for_what_a_policy_expired_unless_the_policy_says_more() -> None:
    expired, deleted = Facts("/a", AT, AT, deleted_at=AT, expired=True), Facts("/a", AT, AT, deleted_at=AT)
    assert rules.due_next(policy(grace_days=3), expired) == ("grace", 3, AT, AT + 3 * DAY)
    assert rules.due_next(None, expired) == ("grace", 30, AT, AT + 30 * DAY)
    assert rules.due_next(policy(grace_days=3), deleted) is None
    assert rules.due_next(None, deleted) is None
    assert rules.due_next(policy(trash_days=9), deleted) == ("trash", 9, AT, AT + 9 * DAY)


def test_what_a_person_approved_stays_where_the_policy_says_so() -> None:
    approved = Facts("/a", AT, AT, approved=True)
    keeping = policy(expire_older_days=1, keeps_approved=True)
    assert rules.due_next(keeping, approved) is None and rules.due_next(policy(expire_older_days=1), approved)
    assert rules.due_next(keeping, Facts("/a", AT, AT))
    assert rules.due_next(keeping, approved._replace(deleted_at=AT, expired=True))
    history = History("/a", 5, AT - 9 * DAY)
    assert weeks.first_due(keeping, history) and not weeks.first_due(keeping, history._replace(approved=True))


def test_more_days_than_the_calendar_has_are_never_over() -> None:
    one = policy(expire_older_days=10**9)
    assert rules.due_next(one, Facts("/a", AT, AT)) is None
    cutoffs = one.cutoffs(AT)
    assert cutoffs is not None and not cutoffs.is_due(AT, AT, None, None)


def test_a_memory_expires_when_all_of_the_rules_are_due_where_the_policy_says_so() -> None:
    both = policy(expire_unread_days=60, expire_unchanged_days=60, expires_together=True)
    made = AT - 100 * DAY
    assert rules.due(both, Facts("/a", made, made), AT)
    assert not rules.due(both, Facts("/changed", made, AT - 9 * DAY), AT)
    assert not rules.due(both, Facts("/read", made, made, AT - 9 * DAY), AT)
    found = rules.due_next(both, Facts("/read", made, AT - 20 * DAY, AT - 9 * DAY))
    assert found and (found.rule, found.at) == (rules.UNREAD, AT + 51 * DAY)
    assert rules.due_next(policy(expires_together=True), Facts("/a", made, made)) is None
    history = History("/a", 5, made, changes=[made + 30 * DAY], reads=[made + 10 * DAY])
    found = weeks.first_due(both, history)
    assert found and found.at == made + 90 * DAY


def test_the_quick_comparison_says_what_the_rules_say() -> None:
    dice = random.Random(11)

    def moment() -> datetime:
        return AT + timedelta(hours=12 * dice.randint(-60, 60))

    for _ in range(3000):
        names = ("expire_unread_days", "expire_unchanged_days", "expire_older_days")
        together = {"expires_together": dice.random() < 0.5}
        one = policy(**{name: dice.choice([None, dice.randint(1, 40)]) for name in names}, **together)
        maybe = [dice.choice([None, moment()]) for _ in range(2)]
        facts, now = Facts("/a", moment(), moment(), *maybe), moment()
        cutoffs = one.cutoffs(now)
        assert bool(cutoffs and cutoffs.is_due(*facts[1:5])) == (rules.due(one, facts, now) is not None)


def versions(*ages: float, waits: tuple[int, ...] = ()) -> list[VersionFacts]:
    """Versions from 1 on, made so many days before AT."""
    return [VersionFacts(str(n), n, AT - age * DAY, n in waits) for n, age in enumerate(ages, 1)]


def gone(found: list[VersionFacts]) -> list[int]:
    return [version.number for version in found]


def test_a_version_goes_when_it_is_neither_among_the_newest_nor_young() -> None:
    made = versions(50, 40, 30, 20, 10, 1)
    assert gone(rules.removable(policy(keep_versions=2), made, AT)) == [1, 2, 3, 4]
    assert gone(rules.removable(policy(keep_version_days=20), made, AT)) == [1, 2, 3, 4]
    assert gone(rules.removable(policy(keep_versions=2, keep_version_days=30), made, AT)) == [1, 2, 3]
    assert gone(rules.removable(policy(keep_versions=5, keep_version_days=1), made, AT)) == [1]
    assert gone(rules.removable(policy(), made, AT)) == []


def test_the_newest_version_and_those_that_await_review_are_never_removed() -> None:
    assert gone(rules.removable(policy(keep_version_days=1), versions(9, 8, 7), AT)) == [1, 2]
    assert gone(rules.removable(policy(keep_versions=1), versions(9, 8, 7, waits=(2,)), AT)) == [1]
    assert gone(rules.removable(policy(keep_versions=1, paused=True), versions(9, 8, 7), AT)) == []
    assert gone(rules.removable(policy(keep_versions=1), versions(9, 8, -1, -2), AT)) == [1]


# ------------------------------------------------------------------------------------------------ past and future


def test_the_replay_counts_each_memory_in_the_week_in_which_it_would_have_gone() -> None:
    week = timedelta(weeks=1)
    unread = policy(expire_unread_days=7)
    histories = [
        History("/never-read", 5, AT - 3 * week),
        History("/read-in-time", 5, AT - 3 * week, reads=[AT - 3 * week + 6 * DAY, AT - 2 * week, AT - 8 * DAY]),
        History("/read-too-late", 5, AT - 4 * week, reads=[AT - 2 * week]),
        History("/long-ago", 5, AT - 30 * week),
        History("/deleted-before", 5, AT - 2 * week, deleted_at=AT - 2 * week + DAY),
        History("/young", 5, AT - DAY),
    ]
    found = weeks.replay(lambda path: unread, histories, weeks.past(AT, 4))
    assert [one.count for one in found.weeks] == [0, 1, 1, 1]
    assert (found.before, found.count, found.weeks[2].bytes) == (1, 3, 5)


def test_the_weeks_of_the_past_end_and_those_to_come_begin_with_the_moment() -> None:
    assert weeks.past(AT, 12)[-1].end == AT == weeks.coming(AT, 12)[0].start
    edge = weeks.counted([(AT, 1), (AT + timedelta(weeks=1), 1), (AT - MOMENT, 1)], weeks.coming(AT, 2))
    assert ([one.count for one in edge.weeks], edge.before) == ([1, 1], 1)
