"""Two texts to rows: nothing is lost, the fewest lines are shown as changed, and the work is bounded."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.text import diffs, matching
from memoryhub.pure.text.diffs import Diff, Gap, Row, Span, compare, counts, split, unified
from tests.support.long import LONG

LINES = st.lists(st.sampled_from(["", "a", "b", "# h", "a b", "a  b", "東京", "x\r", " \x0b\u2028"]), max_size=9)
TEXTS = st.one_of(
    st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"])),
    st.text(alphabet="ab1 .\n\r\t\u3042\u0e01\u0301\U0001f600", max_size=60),
    st.text(max_size=30),
)
LETTERS = st.lists(st.sampled_from("abcde"), max_size=40)


def text_of(spans: tuple[Span, ...]) -> str:
    return "".join(span.text for span in spans)


def rows_of(diff: Diff) -> list[Row]:
    return [part for part in split(diff) if isinstance(part, Row)]


def old_and_new(diff: Diff) -> tuple[str, str]:
    """Both texts again, from the rows alone."""
    old = "".join(text_of(row.old) + "\n" for row in rows_of(diff) if row.old is not None)
    new = "".join(text_of(row.new) + "\n" for row in rows_of(diff) if row.new is not None)
    return old.removesuffix("\n" * diff.old_no_newline), new.removesuffix("\n" * diff.new_no_newline)


def shown(old: str, new: str, **options: bool) -> list[str]:
    """The unified rows as lines, with marked words in brackets."""
    signs = {"same": " ", "added": "+", "removed": "-"}
    lines = []
    for part in unified(compare(old, new, **options)):
        if isinstance(part, Gap):
            lines.append(f"@{part.count}")
            continue
        spans = part.old if part.kind == "removed" else part.new
        words = (f"[{span.text}]" if span.marked else span.text for span in spans or ())
        lines.append(signs[part.kind] + "".join(words))
    return lines


def numbered(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number}\n" for number in range(1, count + 1))


def longest_common(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence, by the textbook."""
    before = [0] * (len(new) + 1)
    for line in old:
        row = [0]
        for position, other in enumerate(new):
            row.append(before[position] + 1 if line == other else max(row[-1], before[position + 1]))
        before = row
    return before[-1]


# ------------------------------------------------------------------------------------------------ what always holds


@given(TEXTS, TEXTS)
def test_the_rows_rebuild_both_texts_exactly(old: str, new: str) -> None:
    assert old_and_new(compare(old, new, context=None)) == (old, new)


@given(TEXTS, TEXTS)
def test_they_do_so_when_white_space_is_ignored(old: str, new: str) -> None:
    assert old_and_new(compare(old, new, context=None, ignore_whitespace=True)) == (old, new)


@given(TEXTS, TEXTS)
def test_as_few_lines_as_possible_are_added_and_removed(old: str, new: str) -> None:
    diff = compare(old, new)
    old_lines, new_lines = old.split("\n"), new.split("\n")
    if bool(old_lines[-1]) == bool(new_lines[-1]):  # both or neither have a line feed at the end, which then counts not
        same = longest_common(old_lines, new_lines) - (not old_lines[-1])
        assert (diff.added, diff.removed) == (diff.new_lines - same, diff.old_lines - same)
    assert diff.added - diff.removed == diff.new_lines - diff.old_lines
    assert not diff.bounded


@given(TEXTS, TEXTS)
def test_counts_are_those_of_the_rows(old: str, new: str) -> None:
    diff = compare(old, new)
    rows = [part for part in unified(diff) if isinstance(part, Row)]
    kinds = [row.kind for row in rows]
    assert counts(old, new) == (diff.added, diff.removed) == (kinds.count("added"), kinds.count("removed"))
    starts = sum(before == "same" != after for before, after in pairwise(["same", *kinds]))
    assert diff.changes >= starts
    assert (diff.changes == 0) == (old == new) == diff.identical


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_rows_and_gaps_cover_every_line_once_and_in_order(old: str, new: str, context: int) -> None:
    diff = compare(old, new, context=context)
    old_lines: list[int] = []
    new_lines: list[int] = []
    for part in split(diff):
        if isinstance(part, Gap):
            assert part.count > 1
            old_lines += range(part.old_first, part.old_first + part.count)
            new_lines += range(part.new_first, part.new_first + part.count)
        else:
            old_lines += [part.old_number] if part.old_number else []
            new_lines += [part.new_number] if part.new_number else []
    if diff.changes:
        assert old_lines == list(range(1, diff.old_lines + 1))
        assert new_lines == list(range(1, diff.new_lines + 1))


@given(TEXTS, TEXTS)
def test_what_is_not_marked_in_a_pair_stands_on_both_sides(old: str, new: str) -> None:
    for row in rows_of(compare(old, new)):
        marked = [span.marked for span in (*(row.old or ()), *(row.new or ()))]
        if row.kind == "changed" and any(marked):
            kept = ["".join(span.text for span in side or () if not span.marked) for side in (row.old, row.new)]
            assert kept[0] == kept[1]
        if row.kind != "changed":
            assert not any(marked)


@given(TEXTS, TEXTS)
def test_what_was_removed_stands_before_what_was_added(old: str, new: str) -> None:
    kinds = [part.kind if isinstance(part, Row) else "gap" for part in unified(compare(old, new))]
    assert "changed" not in kinds
    diff = compare(old, new)
    if diff.changes == 1:
        assert ("added", "removed") not in pairwise(kinds)


# ------------------------------------------------------------------------------------------------------- lines, gaps


def test_lines_end_at_line_feeds_alone() -> None:
    assert shown("a\x0bb\x85c\u2028d\re\n", "a\x0bb\x85c\u2028d\rf\n") == [
        "-a\x0bb\x85c\u2028d\r[e]",
        "+a\x0bb\x85c\u2028d\r[f]",
    ]


def test_equal_texts_have_no_rows_unless_all_are_asked_for() -> None:
    assert compare("a\nb\n", "a\nb\n").parts == ()
    assert len(compare("a\nb\n", "a\nb\n", context=None).parts) == 2


def test_lines_far_from_a_change_are_a_gap() -> None:
    old = numbered(20)
    new = old.replace("line 10\n", "line ten\n")
    assert compare(old, new).parts[0] == Gap(1, 1, 6)
    assert compare(old, new).parts[-1] == Gap(14, 14, 7)
    assert shown(old, new)[3:6] == [" line 9", "-line [10]", "+line [ten]"]
    assert not any(isinstance(part, Gap) for part in split(compare(old, new, context=None)))


def test_a_single_line_is_shown_and_not_made_a_gap() -> None:
    assert shown(numbered(5), numbered(4) + "x\n")[0] == " line 1"
    assert shown(numbered(6), numbered(5) + "x\n")[0] == "@2"


def test_a_missing_last_line_feed_is_a_change_of_the_last_line() -> None:
    diff = compare("a\nb", "a\nb\n")
    assert (diff.added, diff.removed, diff.old_no_newline, diff.new_no_newline) == (1, 1, True, False)
    assert shown("a\nb", "a\nb\n") == [" a", "-b", "+b"]


def test_adding_a_line_to_a_text_without_a_last_line_feed_changes_no_other_line() -> None:
    assert shown("a", "a\nb") == [" a", "+b"]


def test_empty_texts_have_no_lines() -> None:
    assert shown("", "a\nb\n") == ["+a", "+b"]
    assert shown("a\n", "") == ["-a"]
    assert shown("", "\n") == ["+"]
    assert compare("", "").changes == 0


def test_a_section_is_shown_from_its_heading() -> None:
    old = "x\n# A\n\ntext\n\n# C\n\ntext\ny\n"
    new = "X\n# A\n\ntext\n\n# B\n\ntext\n\n# C\n\ntext\nY\n"
    assert shown(old, new)[2:11] == [" # A", " ", " text", " ", "+# B", "+", "+text", "+", " # C"]
    assert shown(new, old)[2:11] == [" # A", " ", " text", " ", "-# B", "-", "-text", "-", " # C"]


# ------------------------------------------------------------------------------------------------------- white space


def test_ignoring_white_space_ignores_all_of_it() -> None:
    assert compare("a b\n\tc\n", "ab  \n c\r\n", ignore_whitespace=True).changes == 0
    assert compare("a\n", "a", ignore_whitespace=True).changes == 0
    assert compare("a\n", "a\n\n", ignore_whitespace=True).added == 1


def test_a_space_that_only_looks_like_one_is_not_ignored() -> None:
    assert compare("a b\n", "a\xa0b\n", ignore_whitespace=True).changes == 1


def test_ignored_white_space_is_not_marked_in_a_line_that_changed() -> None:
    assert shown("one  two three\n", "one two four\n", ignore_whitespace=True)[1] == "+one two [four]"


def test_equal_lines_keep_the_text_of_either_side() -> None:
    row = rows_of(compare("a b\nc\n", "a  b\nd\n", ignore_whitespace=True))[0]
    assert (row.old, row.new) == ((Span("a b", False),), (Span("a  b", False),))


# -------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("old", "new", "marked_old", "marked_new"),
    [
        ("theme: dark", "theme: light", "theme: [dark]", "theme: [light]"),
        ("limit = 10", "limit = 25", "limit = [10]", "limit = [25]"),
        ("name is Bob", "name is Alice Liddell", "name is [Bob]", "name is [Alice Liddell]"),
        ("東京は晴れです。", "東京は雨です。", "東京は[晴れ]です。", "東京は[雨]です。"),
        ("北京今天很冷", "北京今天很热", "北京今天很[冷]", "北京今天很[热]"),
        ("ฉันรักแมว", "ฉันรักหมา", "ฉันรัก[แ]ม[ว]", "ฉันรัก[ห]ม[า]"),
        ("un café noir", "un cafe\u0301 noir", "un [café] noir", "un [cafe\u0301] noir"),
        ("user_name = x", "user_id = x", "user_[name] = x", "user_[id] = x"),
        ("is this the pay\u200bload", "is this the payload", "is this the [pay\u200bload]", "is this the [payload]"),
        ("is this it", "is\u200b this it", "is this it", "is[\u200b] this it"),
        ("- [ ] call Ada", "- [x] call Ada", "- [[ ]] call Ada", "- [[x]] call Ada"),
        ("it ends here", "it ends here  ", "it ends here", "it ends here[  ]"),
    ],
)
def test_words_that_changed_are_marked(old: str, new: str, marked_old: str, marked_new: str) -> None:
    assert shown(old, new) == [f"-{marked_old}", f"+{marked_new}"]


def test_a_line_that_became_another_altogether_has_no_marks() -> None:
    assert shown("the cat sat on the mat", "completely different") == [
        "-the cat sat on the mat",
        "+completely different",
    ]


def test_a_line_is_paired_with_the_one_that_it_became() -> None:
    diff = compare("alpha beta gamma\nkeep this one here\n", "something else\nkeep this two here\n", context=None)
    assert [(row.old_number, row.new_number) for row in rows_of(diff)] == [(1, 1), (2, 2)]
    moved = compare("keep this one here\n", "new\nkeep this two here\n")
    assert [(row.kind, row.old_number, row.new_number) for row in rows_of(moved)] == [
        ("added", None, 1),
        ("changed", 1, 2),
    ]


# ----------------------------------------------------------------------------------------------------- bounded work


def random_lines(count: int, words: list[str], seed: int = 1) -> str:
    pick = random.Random(seed)
    return "".join(f"{pick.choice(words)}\n" for _ in range(count))


LESS = 1 if LONG else 10
"""So many times smaller are the texts and the work, of which each text still asks for many times as much."""
K = 1_000 // LESS
HOSTILE = {
    "equal lines, another in the middle": ("x\n" * 10 * K, "x\n" * 5 * K + "y\n" + "x\n" * 4 * K),
    "equal lines between others": ("x\n" * 10 * K, "y\n" + "x\n" * 9 * K + "y\n"),
    "equal lines, all others": ("x\n" * 10 * K, "y\n" * 10 * K),
    "every second line equal": ("x\nu\n" * 20 * K, "x\nv\n" * 20 * K),
    "few words, any order": (random_lines(40 * K, list("abc")), random_lines(40 * K, list("abc"), 2)),
    "one line of one letter words": ("a b " * 20 * K, "b a a " * 14 * K),
    "one line of signs": ("!?" * 40 * K, "?.!" * 27 * K),
    "one line without spaces": ("東京" * 13 * K, "京都東" * 9 * K),
    "one long word": ("e" + "\u0301" * 40 * K, "f" + "\u0301" * 40 * K),
    "short lines that all changed": (numbered(8 * K, "k"), numbered(8 * K, "key")),
    "lines of the same words": ("b a c\n" * 13 * K, "c a b\n" * 13 * K),
}


@pytest.mark.parametrize(("old", "new"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_compared_with_bounded_work(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [0]
    search = matching.bisect_left
    likeness = diffs._Words.likeness

    def counted_search(ends: list[int], position: int) -> int:
        steps[0] += 1
        return search(ends, position)

    def counted_likeness(words: diffs._Words, other: diffs._Words) -> float:
        steps[0] += 1
        return likeness(words, other)

    monkeypatch.setattr(diffs, "MATCHING_PAIRS", diffs.MATCHING_PAIRS // LESS)
    monkeypatch.setattr(diffs, "PAIRING_WORK", diffs.PAIRING_WORK // LESS)
    monkeypatch.setattr(matching, "bisect_left", counted_search)
    monkeypatch.setattr(diffs._Words, "likeness", counted_likeness)
    diff = compare(old, new, context=None)
    lines = diff.old_lines + diff.new_lines
    assert steps[0] <= 2 * diffs.MATCHING_PAIRS + matching.SPLITS * lines + diffs.PAIRING_WORK // 10
    assert old_and_new(diff) == (old, new)


def test_a_stretch_that_is_too_much_is_shown_as_replaced() -> None:
    diff = compare("start\n" + "x\n" * 10_000, "start\n" + "y\n" + "x\n" * 9_000 + "y\n")
    assert diff.bounded
    assert (diff.added, diff.removed) == (9_002, 10_000)


def test_lines_that_stand_once_cut_a_text_that_is_too_much() -> None:
    old = "".join(f"section {number}\n" + "x\n" * 20 for number in range(500))
    new = "".join(f"section {number}\n" + "x\n" * 21 for number in range(500))
    diff = compare(old, new)
    assert not diff.bounded
    assert (diff.added, diff.removed) == (500, 0)


def test_a_large_area_without_anything_in_common_is_no_shortcoming() -> None:
    assert not compare(numbered(5_000, "old"), numbered(5_000, "new")).bounded


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from("abcde"), max_size=40), st.lists(st.sampled_from("abcde"), max_size=40), st.integers(0, 60)
)
def test_with_little_work_what_is_found_is_still_in_order_and_equal(old: list[str], new: list[str], left: int) -> None:
    pairs = [
        (i + step, j + step)
        for i, j, count in matching.common_runs(old, new, matching.Budget(left))
        for step in range(count)
    ]
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
