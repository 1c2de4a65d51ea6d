"""Three texts to one: nothing that either side wrote is lost, and nothing is merged that touches."""

import random

import pytest
from hypothesis import given, strategies as st

from memoryhub.pure.text import merging
from memoryhub.pure.text.matching import Budget, Work
from memoryhub.pure.text.merging import Conflict, Merge, beside, joined, lines_of, mark_for, merge, overruled, unmarked
from tests.support.durations import is_within

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "# h", "東京", "x\r", " \x0b\u2028"]), max_size=9)
TEXTS = st.one_of(
    st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"])),
    st.text(alphabet="ab\n\r\u3042", max_size=40),
    st.text(max_size=30),
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["mine", "theirs"]), st.sampled_from(["change", "remove", "add"])), min_size=1, max_size=8
)
POEM = "one\ntwo\nthree\nfour\nfive\n"


def taking(side: str, merged: Merge) -> str:
    return merged.settled(lambda conflict: getattr(conflict, side))


def swapped(merged: Merge) -> tuple[str | Conflict, ...]:
    return tuple(
        part if isinstance(part, str) else Conflict(part.base, part.theirs, part.mine) for part in merged.parts
    )


# ------------------------------------------------------------------------------------------------ what always holds


@given(TEXTS, TEXTS)
def test_what_one_side_alone_did_is_the_result(base: str, text: str) -> None:
    assert merge(base, base, text).text == text
    assert merge(base, text, base).text == text


@given(TEXTS, TEXTS)
def test_what_both_did_alike_is_the_result(base: str, text: str) -> None:
    assert merge(base, text, text).text == text


@given(TEXTS, TEXTS, TEXTS)
def test_the_sides_can_be_exchanged(base: str, mine: str, theirs: str) -> None:
    assert merge(base, theirs, mine).parts == swapped(merge(base, mine, theirs))


@given(TEXTS, TEXTS, TEXTS)
def test_settled_stretches_and_conflicts_take_turns_and_none_is_empty(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs)
    for part, following in zip(merged.parts, merged.parts[1:], strict=False):
        assert isinstance(part, Conflict) or isinstance(following, Conflict)
        assert part.base != part.mine != part.theirs if isinstance(part, Conflict) else part


@given(TEXTS, TEXTS, TEXTS)
def test_every_line_of_a_side_is_in_the_result_unless_the_other_side_took_it_out(
    base: str, mine: str, theirs: str
) -> None:
    """Lines that only one side has can have come from it alone: they are there whatever is settled in its favour."""
    merged = merge(base, mine, theirs)
    for side, text in (("mine", mine), ("theirs", theirs)):
        there = [line.removesuffix("\n") for line in lines_of(taking(side, merged))]
        old = {line.removesuffix("\n") for line in lines_of(base)}
        for line in {line.removesuffix("\n") for line in lines_of(text)} - old:
            assert there.count(line) >= [other.removesuffix("\n") for other in lines_of(text)].count(line)


@given(TEXTS, TEXTS, TEXTS)
def test_conflicts_hold_what_each_side_had_there(base: str, mine: str, theirs: str) -> None:
    for conflict in merge(base, mine, theirs).conflicts:
        assert conflict.base in base
        assert conflict.mine in mine
        assert conflict.theirs in theirs


@given(TEXTS, TEXTS, TEXTS)
def test_the_marked_text_has_a_marker_of_each_kind_for_each_conflict(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs)
    lines = merged.marked("me", "them").split("\n")
    start, before, between, end = (merged.mark * sign for sign in "<|=>")
    for marker in (f"{start} me", f"{end} them", before, between):
        assert lines.count(marker) == len(merged.conflicts)
    if merged.is_clean:
        assert merged.marked("me", "them") == merged.text


MARKERS = st.lists(
    st.sampled_from(["<<<<<<< x", "|||||||", "=======", ">>>>>>> y", "======== z", "a", "b"]), max_size=9
)


@given(MARKERS, MARKERS, MARKERS)
def test_the_conflicts_can_be_read_from_the_marked_text_whatever_is_in_the_texts(
    base: list[str], mine: list[str], theirs: list[str]
) -> None:
    merged = merge(*("".join(line + "\n" for line in lines) for lines in (base, mine, theirs)))
    assert unmarked(merged.marked("me", "them"), merged.mark).parts == merged.parts


@given(MARKERS)
def test_reading_markers_loses_nothing(lines: list[str]) -> None:
    text = "\n".join(lines)
    sides = [piece for part in unmarked(text, 7).parts for piece in ([part] if isinstance(part, str) else [])]
    assert all(piece in text for piece in sides)
    if not unmarked(text, 7).conflicts:
        assert "".join(sides) == text


@given(TEXTS, TEXTS)
def test_without_a_base_everything_that_differs_is_a_conflict(mine: str, theirs: str) -> None:
    merged = beside(mine, theirs)
    assert (taking("mine", merged), taking("theirs", merged)) == (mine, theirs)
    assert merged.is_clean == (mine == theirs)


@given(TEXTS)
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text
    assert joined(iter(lines_of(text))) == text


@given(EDITS)
def test_changes_with_a_line_between_them_are_merged_as_one_would_by_hand(edits: list[tuple[str, str]]) -> None:
    texts: dict[str, list[str]] = {"base": ["start"], "mine": ["start"], "theirs": ["start"], "both": ["start"]}
    for number, (side, edit) in enumerate(edits):
        new = {"change": [f"new {number}"], "remove": [], "add": [f"old {number}", f"new {number}"]}[edit]
        for name, lines in texts.items():
            lines += [*(new if name in (side, "both") else [f"old {number}"]), f"line {number}"]
    base, mine, theirs, both = ("".join(line + "\n" for line in texts[name]) for name in texts)
    assert merge(base, mine, theirs).text == both


# ----------------------------------------------------------------------------------------------------- what one sees


def test_both_sides_are_in_the_text() -> None:
    merged = merge(POEM, POEM.replace("one", "ONE"), POEM.replace("five", "FIVE"))
    assert merged.text == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_the_same_line_changed_twice_is_a_conflict_with_all_three_sides() -> None:
    merged = merge(POEM, POEM.replace("three", "3"), POEM.replace("three", "III"))
    assert merged.parts == ("one\ntwo\n", Conflict("three\n", "3\n", "III\n"), "four\nfive\n")
    assert not merged.is_clean
    with pytest.raises(ValueError, match="conflicts"):
        _ = merged.text
    assert merged.marked("mine", "theirs") == (
        "one\ntwo\n<<<<<<< mine\n3\n|||||||\nthree\n=======\nIII\n>>>>>>> theirs\nfour\nfive\n"
    )


def test_changes_of_neighbouring_lines_are_one_conflict() -> None:
    merged = merge(POEM, POEM.replace("two", "2"), POEM.replace("three", "3"))
    assert merged.conflicts == (Conflict("two\nthree\n", "2\nthree\n", "two\n3\n"),)


def test_changes_that_overlap_in_a_chain_are_one_conflict() -> None:
    mine = POEM.replace("one\ntwo", "1\n2").replace("five", "5")
    theirs = POEM.replace("two\nthree\nfour", "II\nIII\nIV")
    assert merge(POEM, mine, theirs).parts == (Conflict(POEM, mine, theirs),)


def test_two_different_lines_added_at_one_place_are_a_conflict_without_a_base() -> None:
    merged = merge("a\nz\n", "a\nmine\nz\n", "a\ntheirs\nz\n")
    assert merged.parts == ("a\n", Conflict("", "mine\n", "theirs\n"), "z\n")


def test_a_line_that_one_removed_and_the_other_changed_is_a_conflict() -> None:
    assert merge(POEM, POEM.replace("three\n", ""), POEM.replace("three", "3")).conflicts == (
        Conflict("three\n", "", "3\n"),
    )


def test_the_line_feed_at_the_end_is_a_change_like_any_other() -> None:
    assert merge("a\nb\nc", "a\nb\nc\n", "A\nb\nc").text == "A\nb\nc\n"
    assert merge("a\nb\nc\n", "a\nb\nc", "A\nb\nc\n").text == "A\nb\nc"
    assert merge("a", "a\nb", "a\n").conflicts == (Conflict("a", "a\nb", "a\n"),)


def test_markers_begin_a_line_where_a_side_has_lost_its_line_feed() -> None:
    merged = merge("a\nb", "a\nx", "a\ny")
    assert merged.marked("me", "them") == "a\n<<<<<<< me\nx\n|||||||\nb\n=======\ny\n>>>>>>> them\n"


def test_markers_that_were_edited_away_are_no_conflict_any_more() -> None:
    text = merge(POEM, POEM.replace("three", "3"), POEM.replace("three", "III")).marked("me", "them")
    assert unmarked(text, 7).conflicts == (Conflict("three\n", "3\n", "III\n"),)
    for marker in ("<<<<<<< me\n", "|||||||\n", "=======\n", ">>>>>>> them\n"):
        assert unmarked(text.replace(marker, ""), 7).parts == (text.replace(marker, ""),)
    assert unmarked(f"<<<<<<< open\n{text}", 7).conflicts == unmarked(text, 7).conflicts


def test_markers_are_longer_than_what_the_texts_have_alike() -> None:
    assert mark_for("", "======\n", "<<<<<<<x") == 7
    assert mark_for("a\n=======\n", ">>>>>>>> b") == 9


def test_a_carriage_return_ends_no_line() -> None:
    assert merge("a\r\nb\rc\n\nd\n", "a\r\nb\rC\n\nd\n", "a\r\nb\rc\n\nD\n").text == "a\r\nb\rC\n\nD\n"


def test_nothing_can_become_something_on_both_sides() -> None:
    assert merge("", "a", "").text == "a"
    assert merge("", "a\n", "b\n").parts == (Conflict("", "a\n", "b\n"),)
    assert merge("", "", "").text == ""
    assert merge("a\n", "", "a\n").text == ""


# ------------------------------------------------------------------------------------------------------ bounded work


def test_past_the_bound_a_stretch_is_one_conflict_and_never_a_wrong_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    base = "start\n" + "same\n" * 30 + "middle\n" + "same\n" * 30 + "end\n"
    mine, theirs = (
        base.replace("middle\n", "mine\n" * 3),
        "start\n" + "same\n" * 61 + "theirs\n" + "same\n" * 4 + "end\n",
    )
    monkeypatch.setattr(merging, "MATCHING_PAIRS", 10)
    (conflict,) = merge(base, mine, theirs).conflicts
    assert "mine\n" * 3 in conflict.mine
    assert "theirs\n" in conflict.theirs
    assert merge(base, base, theirs).text == theirs


@pytest.mark.parametrize("alike", [True, False])
def test_large_texts_are_merged_in_little_time(alike: bool) -> None:
    chance = random.Random(7)
    words = ["same"] if alike else [f"word {number}" for number in range(400)]
    base = [f"{chance.choice(words)}\n" for _ in range(14_000)]
    mine, theirs = base.copy(), base.copy()
    for side, name in ((mine, "mine"), (theirs, "theirs")):
        for _ in range(300):
            side[chance.randrange(len(side))] = f"{name}\n"
    texts = ("".join(base), "".join(mine), "".join(theirs))
    assert is_within(3, lambda: merge(*texts))
    merged = merge(*texts)
    assert taking("mine", merged).count("mine") == mine.count("mine\n")
    assert taking("theirs", merged).count("theirs") == theirs.count("theirs\n")


def test_the_budget_is_each_sides_own() -> None:
    assert Budget(merging.MATCHING_PAIRS).left == merging.MATCHING_PAIRS


def test_what_overrules_a_conflict_counts_as_work() -> None:
    base, mine, theirs = ("".join(f"{(number * step) % 20}\n" for number in range(1_000)) for step in (1, 3, 7))
    work = Work(1_000_000)
    overruled(Conflict(base, mine, theirs), work)
    assert 1_000_000 - work.left > 2 * 1_000 * 50 // 4
