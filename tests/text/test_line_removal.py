"""Removing whole lines from a text."""

import random

import pytest

from memoryhub.pure.text.line_removal import removes_lines, without_lines
from tests.text.test_diffs import longest_common


@pytest.mark.parametrize(
    ("text", "found", "left", "lines"),
    [
        ("a\nbad one\nc\n", "bad", "a\nc\n", (2,)),
        ("bad\nb", "bad", "b", (1,)),
        ("a\nbad", "bad", "a", (2,)),
        ("a\nbad\n", "bad", "a\n", (2,)),
        ("a\r\nbad\r\nc\r\n", "bad", "a\r\nc\r\n", (2,)),
        ("a\nbegins\nends\nc\n", "begins\nends", "a\nc\n", (2, 3)),
        ("a\nbad\nc\n", "bad\n", "a\nc\n", (2,)),
        ("bad", "bad", "", (1,)),
        ("日本\nbad ✓\n語\n", "bad", "日本\n語\n", (2,)),
    ],
)
def test_the_lines_of_a_place_go_and_all_others_stay(text: str, found: str, left: str, lines: tuple[int, ...]) -> None:
    start = text.index(found)
    assert without_lines(text, [(start, start + len(found))]) == (left, lines)


def test_several_places_go_at_once() -> None:
    assert without_lines("x1\na\nx2 x3\n", [(0, 1), (5, 6), (8, 9)]) == ("a\n", (1, 3))
    assert without_lines("a\nb\n", []) == ("a\nb\n", ())


def test_a_change_removes_lines_unless_all_of_them_still_follow_each_other() -> None:
    chance, seen = random.Random(8), set()
    for _ in range(2_000):
        old, new = ([chance.choice(("a", "b", "", "ab\r")) for _ in range(chance.randint(1, 5))] for _ in "12")
        removed = longest_common(old, new) < len(old)
        ends = [chance.choice(("", "\n")) if lines[-1] else "\n" for lines in (old, new)]
        assert removes_lines("\n".join(old) + ends[0], "\n".join(new) + ends[1]) == removed, (old, new)
        seen.add(removed)
    assert seen == {True, False}
    assert not removes_lines("", "") and not removes_lines("", "a") and removes_lines("a", "")
    assert removes_lines("a", "ab") and not removes_lines("a", "a\nb")
