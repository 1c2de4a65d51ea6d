"""Removing whole lines from a text."""

import pytest

from memoryhub.text.line_removal import without_lines


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
