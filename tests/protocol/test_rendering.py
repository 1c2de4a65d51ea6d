"""What views show: numbered lines, ranges, cuts, and listings."""

import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.protocol import paths, rendering, text
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.rendering import Entry

HEADER = "Here's the content of /memories/f.txt with line numbers:\n"
LIMIT = 16_000
CUT = re.compile(r"\n\[Lines (\d+) to (\d+) of (\d+) shown\. Use view_range \[(\d+), (\d+)\] for the rest\.\]\Z")

texts = st.text(st.sampled_from("ab \n\n\ré\u2028\u2029\x85\x0b\x0c\x1c[]😀"), max_size=60)


def shown(content: str, view_range: object = None, limit: int = LIMIT) -> str:
    """A view without its header."""
    return rendering.view("/f.txt", content, view_range, limit).answer.removeprefix(HEADER)


def refusal(content: str, view_range: object) -> str:
    with pytest.raises(ToolError) as caught:
        rendering.view("/f.txt", content, view_range, LIMIT)
    return caught.value.message


# ------------------------------------------------------------------------------------------------ whole memories


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb\nc", "     1\ta\n     2\tb\n     3\tc"),
        ("a\n", "     1\ta\n     2\t"),
        ("", "     1\t"),
        ("\n", "     1\t\n     2\t"),
        ("a\r\nb\rc", "     1\ta\r\n     2\tb\rc"),
        ("a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg", "     1\ta\u2028b\u2029c\x0bd\x0ce\x85f\x1cg"),
        ("\ufeffhello %s %d {0}", "     1\t\ufeffhello %s %d {0}"),
    ],
)
def test_a_view_numbers_the_lines_that_lf_ends(content: str, lines: str) -> None:
    view = rendering.view("/f.txt", content, None, LIMIT)
    assert view.answer == HEADER + lines
    assert (view.first, view.last, view.cut) == (1, content.count("\n") + 1, False)


def test_numbers_are_right_aligned_up_to_six_digits() -> None:
    content = "\n" * 999_998
    assert shown(content, [9, 10]) == "     9\t\n    10\t"
    assert shown(content, [999, 1002]) == "   999\t\n  1000\t\n  1001\t\n  1002\t"
    assert shown(content, [999_999, -1]) == "999999\t"


def test_a_memory_of_too_many_lines_is_not_shown() -> None:
    assert shown("\n" * 999_999, [999_999, -1]) == "999999\t\n1000000\t"
    sentence = "File /memories/f.txt exceeds maximum line limit of 999,999 lines."
    assert refusal("\n" * 1_000_000, None) == refusal("\n" * 999_999 + "x", [1, 1]) == sentence


# ------------------------------------------------------------------------------------------------ ranges


@pytest.mark.parametrize(
    ("view_range", "numbers"),
    [
        ([1, 2], [1, 2]), ([2, 3], [2, 3]), ([2, 2], [2]), ([1, -1], [1, 2, 3, 4]), ([4, 4], [4]), ([4, 99], [4]),
        ([-5, 2], [1, 2]), ([0, 1], [1]), ([-5, -1], [1, 2, 3, 4]), ([3, 10**30], [3, 4]), ([-(10**30), 1], [1]),
        ([1.0, 2.0], [1, 2]), (["2", "3"], [2, 3]), (["-5", "-1"], [1, 2, 3, 4]), ([1, "+2"], [1, 2]),
        (None, [1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_a_range_is_inclusive_and_clamped(view_range: object, numbers: list[int]) -> None:
    assert [int(line.split("\t")[0]) for line in shown("a\nb\nc\n", view_range).split("\n")] == numbers


@pytest.mark.parametrize(
    ("view_range", "rest"),
    [
        ([9, -1], ": [9, -1]. Its first element `9` should be within the range of lines of the file: [1, 3]"),
        ([4, 2], ": [4, 2]. Its first element `4` should be within the range of lines of the file: [1, 3]"),
        (["9", 9.0], ": ['9', 9.0]. Its first element `9` should be within the range of lines of the file: [1, 3]"),
        ([3, 2], ": [3, 2]. Its second element `2` should be larger or equal than its first `3`"),
        ([2, 0], ": [2, 0]. Its second element `0` should be larger or equal than its first `2`"),
        ([2, -2], ": [2, -2]. Its second element `-2` should be larger or equal than its first `2`"),
        ([-5, -3], ": [-5, -3]. Its second element `-3` should be larger or equal than its first `1`"),
    ],
)
def test_a_range_outside_the_memory_is_refused(view_range: object, rest: str) -> None:
    assert refusal("a\nb\nc", view_range) == f"Error: Invalid `view_range`{rest}"


@pytest.mark.parametrize(
    "view_range",
    [
        [], [1], [1, 2, 3], [True, True], [1, False], [1.5, 2], [None, 2], ["x", 2], ["", ""], [[1], 2], "12", "1,2", 1,
        True, False, 0, "", {}, {"0": 1, "1": 2}, [1, float("nan")], [float("inf"), 2], ["１", "２"], ["1.0", 2],
    ],
)  # fmt: skip
def test_any_other_range_is_no_list_of_two_integers(view_range: object) -> None:
    assert refusal("a\nb\nc", view_range) == "Error: Invalid `view_range`. It should be a list of two integers."


# ------------------------------------------------------------------------------------------------ the limit


def test_a_long_view_is_cut_at_a_line_end_and_tells_how_to_go_on() -> None:
    content = "\n".join(["x" * 93] * 400)  # each numbered line and its LF: 101
    view = rendering.view("/f.txt", content, None, LIMIT)
    assert (view.first, view.last, view.cut) == (1, 158, True)
    assert view.answer.endswith("\n[Lines 1 to 158 of 400 shown. Use view_range [159, 400] for the rest.]")
    assert len(CUT.sub("", view.answer).removeprefix(HEADER)) == 158 * 101 - 1


def test_the_limit_is_met_exactly_or_cuts() -> None:
    content = "abc\nabc\nabc"  # numbered: 10 code points each and two LF between
    assert "[Lines" not in shown(content, limit=32)
    assert shown(content, limit=31) == (
        "     1\tabc\n     2\tabc\n[Lines 1 to 2 of 3 shown. Use view_range [3, 3] for the rest.]"
    )
    assert shown(content, limit=21) == shown(content, limit=31)
    assert shown(content, limit=20).endswith("[Lines 1 to 1 of 3 shown. Use view_range [2, 3] for the rest.]")


def test_the_limit_counts_code_points() -> None:
    assert "[Lines" not in shown("😀😀😀\n😀😀😀", limit=21)


def test_a_range_is_cut_too_and_goes_on_to_the_end_of_the_memory() -> None:
    view = rendering.view("/f.txt", "abc\n" * 9, [3, 7], 21)
    assert (view.first, view.last, view.cut) == (3, 4, True)
    assert view.answer.endswith("\n[Lines 3 to 4 of 10 shown. Use view_range [5, 10] for the rest.]")


def test_a_first_line_past_the_limit_is_shown_alone_and_whole() -> None:
    long = "x" * 50
    assert shown(f"{long}\nb", limit=20) == (
        f"     1\t{long}\n[Lines 1 to 1 of 2 shown. Use view_range [2, 2] for the rest.]"
    )
    assert shown(f"a\n{long}\nb", [2, 3], limit=20).startswith(f"     2\t{long}\n[Lines 2 to 2 of 3")
    assert shown(f"a\n{long}\nb", [2, 2], limit=20) == f"     2\t{long}"
    assert shown(long, limit=20) == f"     1\t{long}"


def numbered_lines(answer: str) -> tuple[dict[int, str], list[int] | None]:
    """The lines that an answer shows by number, and the range to ask for next."""
    cut = CUT.search(answer)
    body = (answer[: cut.start()] if cut else answer).removeprefix(HEADER)
    pairs = (line.split("\t", 1) for line in body.split("\n"))
    return {int(number): line for number, line in pairs}, [int(cut[4]), int(cut[5])] if cut else None


@settings(deadline=None)
@given(texts.map(lambda content: content.replace("[", "")), st.integers(1, 60))
def test_following_the_hint_shows_every_line_once(content: str, limit: int) -> None:
    seen: dict[int, str] = {}
    view_range: object = None
    for _ in range(content.count("\n") + 1):
        lines, view_range = numbered_lines(rendering.view("/f.txt", content, view_range, limit).answer)
        assert not seen.keys() & lines.keys()
        seen |= lines
        if view_range is None:
            break
    assert view_range is None
    assert list(seen) == list(range(1, content.count("\n") + 2))
    assert "\n".join(seen.values()) == content


def simple_view(content: str, first: int, last: int, limit: int) -> tuple[str, int, bool]:
    """A view of lines that are there, one line at a time: the text, the last line, and whether it was cut."""
    lines = content.split("\n")
    taken = f"{first:6d}\t{lines[first - 1]}"
    for number in range(first + 1, last + 1):
        longer = f"{taken}\n{number:6d}\t{lines[number - 1]}"
        if len(longer) > limit:
            hint = f"\n[Lines {first} to {number - 1} of {len(lines)} shown. Use view_range [{number}, {len(lines)}]"
            return f"{taken}{hint} for the rest.]", number - 1, True
        taken = longer
    return taken, last, False


@settings(deadline=None)
@given(texts, st.integers(0, 80), st.data())
def test_a_view_is_what_taking_line_after_line_gives_and_can_be_given_again(
    content: str, limit: int, data: st.DataObject
) -> None:
    count = content.count("\n") + 1
    first = data.draw(st.integers(1, count))
    last = data.draw(st.integers(first, count))
    view = rendering.view("/f.txt", content, [first, last], limit)
    answer, end, cut = simple_view(content, first, last, limit)
    assert (view.answer, view.first, view.last, view.cut) == (HEADER + answer, first, end, cut)
    assert rendering.view_again("/f.txt", content, view.first, view.last, view.cut) == view.answer


@pytest.mark.parametrize("limit", [100, 16_000, 1_000_000])
def test_a_view_of_many_lines_can_be_given_again(limit: int) -> None:
    content = "".join(f"line {number}\n" for number in range(3000))
    for view_range in (None, [1, 1000], [999, 1001], [1000, 2000], [2990, -1]):
        view = rendering.view("/f.txt", content, view_range, limit)
        assert rendering.view_again("/f.txt", content, view.first, view.last, view.cut) == view.answer
        lines, _ = numbered_lines(view.answer)
        assert lines == {n: line for n, line in enumerate(content.split("\n"), 1) if view.first <= n <= view.last}


# ------------------------------------------------------------------------------------------------ the snippet


def test_the_snippet_of_an_edit_is_numbered() -> None:
    edit = text.replace("/f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9", "5", "five")
    assert rendering.edited_again(edit.text, edit.first, edit.last) == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     3\t3\n     4\t4\n     5\tfive\n     6\t6\n     7\t7"
    )


# ------------------------------------------------------------------------------------------------ sizes and listings


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0B"), (1, "1B"), (999, "999B"), (1023, "1023B"), (1024, "1.0K"), (1536, "1.5K"), (4096, "4.0K"),
        (1024**2 - 1, "1024.0K"), (1024**2, "1.0M"), (1_258_291, "1.2M"), (1024**3, "1.0G"), (1024**4, "1.0T"),
        (5 * 1024**5, "5120.0T"),
    ],
)  # fmt: skip
def test_sizes_have_one_decimal_from_a_kilobyte(size: int, words: str) -> None:
    assert rendering.human_size(size) == words


def listed(path: str, *entries: Entry) -> list[str]:
    """A listing without header and its own line."""
    header, own, *lines = rendering.listing(path, 5, entries).split("\n")
    assert header == (
        f"Here're the files and directories up to 2 levels deep in /memories{path}, "
        "excluding hidden items and node_modules:"
    )
    assert own == f"5B\t/memories{path}"
    return [line.split("\t")[1] for line in lines]


def memory(path: str) -> Entry:
    return Entry(path, 1, is_directory=False)


def directory(path: str) -> Entry:
    return Entry(path, 1, is_directory=True)


def test_an_empty_store_lists_its_root() -> None:
    assert rendering.listing("", 0, []).split("\n")[1:] == ["0B\t/memories"]


def test_a_listing_shows_sizes_and_marks_directories() -> None:
    entries = [Entry("/d/x", 2048, is_directory=False), Entry("/d", 3000, is_directory=True)]
    assert rendering.listing("", 3000, entries).split("\n")[1:] == [
        "2.9K\t/memories", "2.9K\t/memories/d/", "2.0K\t/memories/d/x",
    ]  # fmt: skip


def test_a_listing_is_depth_first_by_code_point_of_names() -> None:
    entries = [
        memory("/a-"), memory("/a.md"), directory("/a"), memory("/a/z"), memory("/a/Z"), memory("/a0"), memory("/a b"),
        memory("/\uffee"), memory("/😀"), memory("/é"), memory("/10"), memory("/9"), memory("/B"), memory("/_"),
    ]  # fmt: skip
    assert [line.removeprefix("/memories") for line in listed("", *entries)] == [
        "/10", "/9", "/B", "/_", "/a/", "/a/Z", "/a/z", "/a b", "/a-", "/a.md", "/a0", "/é", "/\uffee", "/😀",
    ]  # fmt: skip


def test_hidden_items_and_what_lies_beneath_them_are_left_out() -> None:
    entries = [
        memory("/.h"), directory("/.hd"), memory("/.hd/y"), directory("/node_modules"), memory("/node_modules/p.js"),
        directory("/d"), memory("/d/.x"), directory("/d/node_modules"), memory("/v.md"), directory("/node_modules2"),
    ]  # fmt: skip
    assert listed("", *entries) == ["/memories/d/", "/memories/node_modules2/", "/memories/v.md"]


@pytest.mark.parametrize("path", ["/.hd", "/node_modules", "/a/.b/node_modules"])
def test_a_hidden_directory_that_is_asked_for_is_listed(path: str) -> None:
    assert listed(path, memory(f"{path}/y"), memory(f"{path}/.z")) == [f"/memories{path}/y"]


def test_a_listing_ends_after_2000_items_and_tells_how_many_more_there_are() -> None:
    entries = [memory(f"/m{number:04}") for number in range(2001)]
    assert len(listed("", *entries[:2000], memory("/.hidden"))) == 2000
    lines = rendering.listing("", 5, entries).split("\n")
    assert lines[-2:] == ["1B\t/memories/m1999", "[1 more items not shown. View a directory beneath to see them.]"]


names = st.text(st.sampled_from("ab.-0 é"), min_size=1, max_size=4)


@settings(deadline=None)
@given(st.lists(st.lists(names, min_size=1, max_size=2), max_size=20))
def test_a_listing_is_in_the_order_of_its_lists_of_names(lists: list[list[str]]) -> None:
    entries = [memory("".join(f"/{name}" for name in parts)) for parts in lists]
    kept = sorted(parts for parts in lists if not any(map(paths.is_hidden, parts)))
    assert listed("", *entries) == ["".join(f"/{name}" for name in ["memories", *parts]) for parts in kept]


def test_entries_do_not_change() -> None:
    entry: Any = memory("/a")
    with pytest.raises(AttributeError):
        entry.size = 2
