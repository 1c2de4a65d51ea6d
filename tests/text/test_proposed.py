"""Joining several proposed changes of one text, with bounded work."""

import random

import pytest

from memoryhub.actions.proposals.plan import PLAN_WORK
from memoryhub.text.matching import Work, cost_of_matching
from memoryhub.text.merging import MATCHING_PAIRS, merge
from memoryhub.text.proposed import OutOfWork, Wish, joined, onto


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
    wishes = [Wish(base, rewritten(seed)) for seed in range(1, 101)]
    spend = Work.spend

    def counted(work: Work, cost: int) -> None:
        spent[0] += cost
        spend(work, cost)

    monkeypatch.setattr(Work, "spend", counted)
    work = Work(PLAN_WORK)
    assert work.opens(sum(cost_of_matching(*wish) for wish in wishes))
    with pytest.raises(OutOfWork):
        joined(wishes, work)
    assert spent[0] <= PLAN_WORK + MATCHING_PAIRS


def test_what_is_already_there_needs_no_work_where_none_is_left() -> None:
    base = rewritten(0)
    with pytest.raises(OutOfWork):
        onto(rewritten(1), Wish(base, rewritten(2)), Work(0))
    assert joined([Wish(base, base), Wish(base, rewritten(2))], Work(0)).wanted == rewritten(2)


def test_texts_that_differ_in_every_third_line_stop_where_the_work_ends() -> None:
    """Lines that stand once leave no pairs to examine, but are compared, grouped and joined."""
    base = [f"{number:x}\n" for number in range(20_000)]
    mine = [f"m{line}" if number % 3 == 0 else line for number, line in enumerate(base)]
    wanted = [f"t{line}" if number % 3 == 1 else line for number, line in enumerate(base)]
    now, wish, work = "".join(mine), Wish("".join(base), "".join(wanted)), Work(PLAN_WORK)
    merges = 0
    while work.left:
        onto(now, wish, work)
        merges += 1
    assert 1 < merges < 10
    with pytest.raises(OutOfWork):
        onto(now, wish, work)
