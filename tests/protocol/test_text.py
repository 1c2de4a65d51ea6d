"""Texts as lines that only LF ends, and the two edits."""

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from memoryhub.pure.protocol import text
from memoryhub.pure.protocol.errors import ToolError
from tests.protocol.dictionary_hub import lines_of, whole

NOT_LINE_ENDS = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]

texts = st.text(st.sampled_from(["a", "b", " ", "\n", "\n", "é", "😀", *NOT_LINE_ENDS]), max_size=40)


def refusal(function: Any, *arguments: object) -> str:
    with pytest.raises(ToolError) as caught:
        function(*arguments)
    return caught.value.message


# ------------------------------------------------------------------------------------------------ lines


@pytest.mark.parametrize(
    ("content", "count"),
    [("", 0), ("a", 1), ("a\n", 1), ("\n", 1), ("\n\n", 2), ("a\nb", 2), ("a\r\nb\r\n", 2), ("a\r", 1), ("\na", 2)],
)
def test_a_final_lf_starts_no_line(content: str, count: int) -> None:
    assert text.count_lines(content) == count


@pytest.mark.parametrize("character", NOT_LINE_ENDS)
def test_only_lf_ends_a_line(character: str) -> None:
    content = f"a{character}b{character}\nc{character}"
    assert text.count_lines(content) == 2
    assert text.insert("/f", content, 1, f"x{character}") == f"a{character}b{character}\nx{character}\nc{character}\n"
    assert text.replace("/f", content, "c", "d").last == 2
    assert "in lines: 1, 1. Please" in refusal(text.replace, "/f", f"x{character}x", "x", "y")


@settings(deadline=None)
@given(texts)
def test_lines_are_counted_as_they_are_told_apart(content: str) -> None:
    assert text.count_lines(content) == len(lines_of(content))


# ------------------------------------------------------------------------------------------------ whole numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (-1, -1), (10**30, 10**30), (1.0, 1), (-0.0, 0), (1e30, int(1e30)), ("1", 1), ("-1", -1), ("+2", 2),
        ("007", 7), (True, None), (False, None), (1.5, None), (math.nan, None), (math.inf, None), (-math.inf, None),
        ("", None), (" 1", None), ("1\n", None), ("1.0", None), ("1_0", None), ("１", None), ("²", None), ("+-1", None),
        ("9" * 5000, None), (None, None), ([], None), ([1], None), ({}, None),
    ],
)  # fmt: skip
def test_a_whole_number_may_be_written_in_three_ways(value: object, number: int | None) -> None:
    assert text.integer(value) == number
    assert whole(value) == number


# ------------------------------------------------------------------------------------------------ replace


def test_a_passage_is_replaced_literally() -> None:
    assert text.replace("/f", "a.c abc", "a.c", r"\1 $& \g<0>").text == r"\1 $& \g<0> abc"


@pytest.mark.parametrize(
    ("content", "old", "new", "lines"),
    [
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", "5", "five", (3, 7)),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", "1", "one", (1, 3)),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", "9", "nine", (7, 9)),
        ("1\n2\n3\n", "3", "three", (1, 4)),
        ("1\n2\n3\n4\n5\n6\n7\n8", "4\n5\n6\n7", "x", (2, 5)),
        ("1\n2\n3\n4\n5", "3", "a\nb\nc\nd\ne", (1, 5)),
        ("1\n2\n3\n4\n5", "2\n3\n4\n5", "", (1, 2)),
        ("a", "a", "", (1, 1)),
        ("ab", "ab", "ab", (1, 1)),
    ],
)
def test_the_snippet_is_two_lines_either_side_of_the_first_changed_line(
    content: str, old: str, new: str, lines: tuple[int, int]
) -> None:
    edit = text.replace("/f", content, old, new)
    assert (edit.first, edit.last) == lines
    assert edit.text == content.replace(old, new)


def test_a_passage_that_is_not_there_is_named_whole() -> None:
    old = "x\n`y`" * 100
    assert refusal(text.replace, "/f", "abc", old, "") == (
        f"No replacement was performed, old_str `{old}` did not appear verbatim in /memories/f."
    )


@pytest.mark.parametrize("content", ["", "ABC", "a\r\nb", "cafe\u0301", "a  b"])
@pytest.mark.parametrize("old", ["abc", "a\nb", "café", "a b"])
def test_only_the_very_same_characters_are_found(content: str, old: str) -> None:
    assert "did not appear verbatim" in refusal(text.replace, "/f", content, old, "x")


@pytest.mark.parametrize(
    ("content", "old", "lines"),
    [
        ("x\ny\nx", "x", "1, 3"), ("xx\nx", "x", "1, 1, 2"), ("aaaa", "aa", "1, 1"), ("a\na\na\n", "a\n", "1, 2, 3"),
        ("\n\n\n", "\n", "1, 2, 3"), ("ab\nab\nab", "b\na", "1, 2"), ("x" * 100, "x", ", ".join(["1"] * 100)),
        ("x\n" * 101, "x", ", ".join(map(str, range(1, 101))) + ", ..."),
        ("x\n" * 50_000, "x", ", ".join(map(str, range(1, 101))) + ", ..."),
    ],
)  # fmt: skip
def test_each_of_many_passages_gives_the_line_where_it_starts(content: str, old: str, lines: str) -> None:
    assert refusal(text.replace, "/f", content, old, "y") == (
        f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
        "Please ensure it is unique"
    )


def test_passages_are_counted_without_overlap() -> None:
    assert text.replace("/f", "aaa", "aa", "b").text == "ba"
    assert text.replace("/f", "\n\n\n", "\n\n", "").text == "\n"


@settings(deadline=None)
@given(texts, texts, texts, texts)
def test_a_replacement_can_be_taken_back(before: str, old: str, new: str, after: str) -> None:
    content = before + old + after
    changed = before + new + after
    assume(old and new and content.count(old) == 1 and changed.count(new) == 1)
    assume(content.find(old) == changed.find(new) == len(before))  # a passage may begin before it, and overlap with it
    edit = text.replace("/f", content, old, new)
    assert edit.text == before + new + after
    assert text.replace("/f", edit.text, new, old).text == content


@settings(deadline=None)
@given(texts, texts.filter(bool), texts)
def test_a_replacement_happens_where_there_is_exactly_one_place(content: str, old: str, new: str) -> None:
    if content.count(old) == 1:
        edit = text.replace("/f", content, old, new)
        assert edit.text == content.replace(old, new)
        assert 1 <= edit.first <= edit.last <= edit.text.count("\n") + 1
    else:
        assert refusal(text.replace, "/f", content, old, new).startswith("No replacement was performed")


# ------------------------------------------------------------------------------------------------ insert


@pytest.mark.parametrize(
    ("content", "line", "new", "after"),
    [
        ("1\n2", 0, "X", "X\n1\n2\n"), ("1\n2", 1, "X", "1\nX\n2\n"), ("1\n2", 2, "X", "1\n2\nX\n"),
        ("1\n2\n", 2, "X\n", "1\n2\nX\n"), ("1\n2\n", 1, "\n", "1\n\n2\n"), ("1\n2\n", 1, "", "1\n\n2\n"),
        ("1\n", 1, "X\n\n", "1\nX\n\n"), ("", 0, "X", "X\n"), ("", 0, "", "\n"), ("\n", 1, "X", "\nX\n"),
        ("1\r\n2", 1, "X", "1\r\nX\n2\n"), ("1\n2\n", "1", "X", "1\nX\n2\n"), ("1\n2\n", 1.0, "a\nb", "1\na\nb\n2\n"),
    ],
)  # fmt: skip
def test_lines_go_in_after_a_line(content: str, line: object, new: str, after: str) -> None:
    assert text.insert("/f", content, line, new) == after


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (3, "3"), (-1, "-1"), (1.5, "1.5"), (True, "True"), (10**30, str(10**30)), ("x", "x"), ("", ""), ([1], "[1]"),
        ("a\nb\u202e", "a\\nb\\u202e"), ("9" * 300, "9" * 200 + "..."), ("-1", "-1"), (math.inf, "inf"), ({}, "{}"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_there_is_refused(line: object, shown: str) -> None:
    assert refusal(text.insert, "/f", "1\n2\n", line, "X") == (
        f"Error: Invalid `insert_line` parameter: {shown}. It should be within the range of lines of the file: [0, 2]"
    )


def test_an_empty_text_has_only_line_nought() -> None:
    assert refusal(text.insert, "/f", "", 1, "X").endswith("the range of lines of the file: [0, 0]")


@settings(deadline=None)
@given(texts, texts, st.data())
def test_inserted_lines_stand_where_they_were_put_and_nothing_else_moves(
    content: str, new: str, data: st.DataObject
) -> None:
    lines = lines_of(content)
    line = data.draw(st.integers(0, len(lines)))
    after = text.insert("/f", content, line, new)
    put = new.removesuffix("\n").split("\n")
    assert after.endswith("\n")
    assert after.removesuffix("\n").split("\n") == lines[:line] + put + lines[line:]
