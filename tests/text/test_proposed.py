"""Joining several proposed changes of one text: nothing that anybody wrote is lost unseen, and work is bounded."""

import random

import pytest

from memoryhub.actions.proposals.plan import PLAN_WORK
from memoryhub.pure.text.matching import Work, cost_of_matching
from memoryhub.pure.text.merging import MATCHING_PAIRS, Conflict, lines_of, merge
from memoryhub.pure.text.proposed import Joined, OutOfWork, Wish, joined, onto
from tests.support.long import LONG
from tests.text.cells import Row

BASE = "one\ntwo\nthree\nfour\nfive\n"


def of(*wishes: tuple[str, str]) -> Joined:
    return joined([Wish(*wish) for wish in wishes], Work(PLAN_WORK))


def replacing(*edits: tuple[str, str]) -> Joined:
    return of(*((BASE, BASE.replace(*edit)) for edit in edits))


# ------------------------------------------------------------------------------------------ several wishes to one text


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ([("two", "2"), ("three", "3")], "one\n2\n3\nfour\nfive\n"),
        ([("two", "2"), ("one", "1")], "1\n2\nthree\nfour\nfive\n"),
        ([("three\n", ""), ("two", "2")], "one\n2\nfour\nfive\n"),
        ([("two", "2"), ("three\n", "")], "one\n2\nfour\nfive\n"),
        ([("two\n", ""), ("three\n", "")], "one\nfour\nfive\n"),
        ([("two", "two\nnew"), ("three", "3")], "one\ntwo\nnew\n3\nfour\nfive\n"),
        ([("two", "2"), ("two", "two\nnew")], "one\n2\nnew\nthree\nfour\nfive\n"),
        ([("five\n", "five\nsix\n"), ("five\n", "five\nVI\n")], BASE + "six\nVI\n"),
        ([("two\nthree\nfour", "few"), ("three", "three\nnew")], "one\nfew\nnew\nfive\n"),
        ([("three", "three\nnew"), ("two\nthree\nfour", "few")], "one\nfew\nnew\nfive\n"),
        ([("two\nthree\n", ""), ("two", "two\nnew")], "one\nnew\nfour\nfive\n"),
    ],
)
def test_changes_of_different_lines_are_all_kept(edits: list[tuple[str, str]], wanted: str) -> None:
    assert replacing(*edits) == Joined(Wish(BASE, wanted))


def test_lines_that_are_added_at_one_place_are_all_there_in_the_order_of_the_calls() -> None:
    new = [f"- {number}\n" for number in range(20)]
    assert of(*((BASE, BASE + line) for line in new)) == Joined(Wish(BASE, BASE + "".join(new)))
    assert of(("a", "a\nx"), ("a", "a\ny")) == Joined(Wish("a", "a\nx\ny"))
    assert of(("", "x\n"), ("", "y\n")) == Joined(Wish("", "x\ny\n"))


def test_lines_that_a_later_wish_adds_again_are_there_once() -> None:
    """A client that sends its whole copy of a text has its earlier changes in it."""
    x, both = BASE + "x\n", BASE + "x\ny\n"
    assert of((BASE, x), (BASE, both)).wish.wanted == of((BASE, both), (BASE, x)).wish.wanted == both
    assert of((BASE, x), (BASE, x.replace("one", "1"))) == Joined(Wish(BASE, x.replace("one", "1")))


def test_where_two_change_one_line_the_later_counts_and_the_earlier_is_named() -> None:
    assert replacing(("two", "2"), ("two", "II"), ("four", "4")) == Joined(
        Wish(BASE, "one\nII\nthree\n4\nfive\n"), frozenset({0})
    )
    assert replacing(("two\nthree", "2\n3"), ("three", "III")) == Joined(
        Wish(BASE, "one\n2\nIII\nfour\nfive\n"), frozenset(), frozenset({0})
    )
    assert replacing(("two\nthree\nfour", "few"), ("three", "III")) == Joined(
        Wish(BASE, "one\ntwo\nIII\nfour\nfive\n"), frozenset({0})
    )
    assert replacing(("two\n", ""), ("two", "2")).replaced == {0}
    assert replacing(("two", "2"), ("two\nthree", "2\n3")).replaced == set()


def test_many_wishes_to_adjacent_places_of_a_text_are_all_in_it_as_one_would_edit_by_hand() -> None:
    """What each of them does to a line or between two lines is known, so nothing needs to be compared."""
    replaced = 0
    for seed in range(400):
        chance = random.Random(seed)
        base = [f"line {number}\n" for number in range(chance.randint(3, 8))]
        lines: dict[int, tuple[int, list[str]]] = {}
        added: dict[int, list[str]] = {}
        lost, wishes = set(), []
        for number in range(chance.randint(2, 6)):
            mine, between = dict[int, list[str]](), dict[int, list[str]]()
            place = chance.randint(0, 3)
            while place <= 2 * len(base):
                new = [f"{number} at {place}\n"] * chance.randint(1, 2)
                if place % 2:
                    mine[place // 2] = new[:1] if chance.random() < 0.7 else []
                    if place // 2 in lines:
                        lost.add(lines[place // 2][0])
                    lines[place // 2] = number, mine[place // 2]
                else:
                    between[place // 2] = new
                    added.setdefault(place // 2, []).extend(new)
                place += chance.randint(3, 6)
            wishes.append(("".join(base), _by_hand(base, mine, between)))
        found = of(*wishes)
        wanted = _by_hand(base, {number: new for number, (_, new) in lines.items()}, added)
        assert found.wish.wanted == wanted, seed
        same = {n for n, (seen, text) in enumerate(wishes) if seen == text}
        assert found.replaced | found.cut <= lost - same, seed
        replaced += len(found.replaced | found.cut)
    assert replaced > 100


def _by_hand(base: list[str], lines: dict[int, list[str]], added: dict[int, list[str]]) -> str:
    pieces = [[*added.get(n, ()), *lines.get(n, base[n : n + 1])] for n in range(len(base) + 1)]
    return "".join(line for piece in pieces for line in piece)


# --------------------------------------------------------------------------------------- what people change in between


PRICES = "price: 10\na\nb\nc\nend\n"
BY_PERSON = PRICES.replace("10", "12")


def test_a_conflict_stays_while_the_agent_proposes_something_elsewhere() -> None:
    found = of((PRICES, PRICES.replace("10", "99")), (BY_PERSON, BY_PERSON.replace("end", "END")))
    merged = onto(BY_PERSON, found.wish, Work(PLAN_WORK))
    assert merged.conflicts == (Conflict("price: 10\n", "price: 12\n", "price: 99\n"),)
    assert merged.settled(lambda conflict: conflict.mine) == BY_PERSON.replace("end", "END")
    assert onto(PRICES, found.wish, Work(PLAN_WORK)).text == "price: 99\na\nb\nc\nEND\n"


def test_a_conflict_ends_when_the_agent_proposes_something_about_the_lines_of_the_person() -> None:
    found = of((PRICES, PRICES.replace("10", "99")), (BY_PERSON, BY_PERSON.replace("12", "15")))
    assert found == Joined(Wish(BY_PERSON, BY_PERSON.replace("12", "15")), frozenset({0}))
    for gone in ("price: 11\n", ""):
        now = PRICES.replace("price: 10\n", "")
        found = of((PRICES, PRICES.replace("10", "99")), (now, f"price: 15\n{now}"), (now, f"{gone}{now}"))
        assert onto(now, found.wish, Work(PLAN_WORK)).text == f"price: 15\n{gone}{now}"


def test_a_conflict_stays_within_a_stretch_of_which_the_agent_changes_another_line() -> None:
    wanted, now = PRICES.upper(), PRICES.replace("b", "person")
    found = of((PRICES, wanted), (now, now.replace("price: 10", "price: 15")))
    assert found == Joined(Wish(PRICES, wanted.replace("PRICE: 10", "price: 15")), frozenset(), frozenset({0}))
    assert not onto(now, found.wish, Work(PLAN_WORK)).is_clean


def test_adjacent_lines_of_agent_and_person_are_no_conflict_once_the_agent_goes_on_there() -> None:
    now = BASE.replace("two", "person")
    found = of((BASE, BASE.replace("three", "3")), (now, now.replace("three", "III")))
    assert onto(now, found.wish, Work(PLAN_WORK)).text == now.replace("three", "III")
    found = of((BASE, BASE.replace("three", "3")), (now, now.replace("five", "V")))
    (conflict,) = onto(now, found.wish, Work(PLAN_WORK)).conflicts
    assert (conflict.mine, conflict.theirs) == ("person\nthree\n", "two\n3\n")


def test_lines_that_agent_and_person_added_at_one_place_are_all_kept_once_the_agent_goes_on_there() -> None:
    now = BASE + "person\n"
    found = of((BASE, BASE + "x\n"), (now, now + "y\n"))
    assert onto(now, found.wish, Work(PLAN_WORK)).text == f"{BASE}x\nperson\ny\n"


def test_random_wishes_with_edits_between_become_what_each_cell_says() -> None:
    clean = conflicts = replaced = 0
    for seed in range(600):
        row = Row(random.Random(seed))
        for number in range(row.chance.randint(2, 7)):
            if row.chance.random() < 0.35:
                row.edit(f"{number}")
            else:
                row.wish()
        if not row.wishes:
            continue
        found = of(*row.wishes)
        merged = onto(row.now(), found.wish, Work(PLAN_WORK))
        assert merged.is_clean == (row.merged() is not None), seed
        assert merged.settled(lambda conflict: conflict.theirs) == row.over(), seed
        assert found.replaced | found.cut == row.replaced, seed
        clean, conflicts, replaced = (
            clean + merged.is_clean,
            conflicts + (not merged.is_clean),
            replaced + len(row.replaced),
        )
    assert clean > 100 and conflicts > 100 and replaced > 100


def edited(chance: random.Random, text: str, mark: str) -> str:
    """A text with stretches of lines replaced or removed, and others added, each with its own mark."""
    result: list[str] = []
    lines = lines_of(text)
    while lines:
        kind, count = chance.random(), chance.randint(1, 3)
        if kind < 0.2:
            del lines[:count]
        if kind < 0.15 or kind > 0.9:
            result += [f"{mark} {len(lines)}.{number}\n" for number in range(chance.randint(1, 3))]
        result += lines[:1]
        del lines[:1]
    return "".join(result)


def test_nothing_that_a_person_or_an_agent_wrote_is_lost_unseen() -> None:
    """What a person wrote goes only if a wish removes what it has seen, and what a wish adds is in the result unless it
    is named as replaced."""
    for seed in range(600):
        chance, now, wishes = random.Random(seed), "".join(f"line {number}\n" for number in range(9)), []
        for number in range(chance.randint(2, 7)):
            if chance.random() < 0.35:
                now = edited(chance, now, f"person {number}")
            else:
                wishes.append((now, edited(chance, now, f"agent {len(wishes)}")))
        if not wishes:
            continue
        found = of(*wishes)
        merged = onto(now, found.wish, Work(PLAN_WORK))
        removed = {line for seen, wanted in wishes for line in {*lines_of(seen)} - {*lines_of(wanted)}}
        result = lines_of(merged.settled(lambda conflict: conflict.theirs))
        in_conflict = {line for conflict in merged.conflicts for line in lines_of(conflict.mine)}
        assert {*lines_of(now)} - {*result} <= removed | in_conflict, seed
        for number, (seen, wanted) in enumerate(wishes):
            missing = {*lines_of(wanted)} - {*lines_of(seen)} - {*result}
            assert not missing or number in found.replaced | found.cut, seed


# ------------------------------------------------------------------------------------------------------- bounded work


def rewritten(seed: int) -> str:
    """A text of few different lines, so that each line is equal to many others."""
    return "".join(random.Random(seed).choices("ab\n", k=19_900))


def test_a_text_that_nobody_changed_meanwhile_takes_the_proposed_one_without_work() -> None:
    base, wanted, work = rewritten(0), rewritten(1), Work(0)
    assert onto(base, Wish(base, wanted), work).text == wanted
    assert onto(wanted, Wish(base, base), work).text == wanted
    assert merge(base, base, "").text == merge(base, "", base).text == ""


def test_many_rewrites_of_one_text_stop_where_the_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    base, spent = rewritten(0), [0]
    wishes = [Wish(base, rewritten(seed)) for seed in range(1, 101 if LONG else 26)]
    most = PLAN_WORK if LONG else PLAN_WORK // 4
    spend = Work.spend

    def counted(work: Work, cost: int) -> None:
        spent[0] += cost
        spend(work, cost)

    monkeypatch.setattr(Work, "spend", counted)
    work = Work(most)
    assert work.opens(sum(cost_of_matching(*wish) for wish in wishes))
    with pytest.raises(OutOfWork):
        joined(wishes, work)
    assert spent[0] <= most + MATCHING_PAIRS


def test_what_is_already_there_needs_no_work_where_none_is_left() -> None:
    base = rewritten(0)
    with pytest.raises(OutOfWork):
        onto(rewritten(1), Wish(base, rewritten(2)), Work(0))
    assert joined([Wish(base, base), Wish(base, rewritten(2))], Work(0)).wish.wanted == rewritten(2)


def test_texts_that_differ_in_every_third_line_stop_where_the_work_ends() -> None:
    """Lines that stand once leave no pairs to examine, but are compared, grouped and joined."""
    part = 1 if LONG else 8
    base = [f"{number:x}\n" for number in range(20_000 // part)]
    mine = [f"m{line}" if number % 3 == 0 else line for number, line in enumerate(base)]
    wanted = [f"t{line}" if number % 3 == 1 else line for number, line in enumerate(base)]
    now, wish, work = "".join(mine), Wish("".join(base), "".join(wanted)), Work(PLAN_WORK // part)
    merges = 0
    while work.left:
        onto(now, wish, work)
        merges += 1
    assert 1 < merges < 10
    with pytest.raises(OutOfWork):
        onto(now, wish, work)
