"""No input makes the protocol slower than its length: sixteen times the input takes about sixteen times as long."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from memoryhub.pure.protocol import paths, rendering, results, text
from memoryhub.pure.protocol.errors import ToolError

TIMES = 16
MOST = 5 * TIMES  # a quadratic answer takes TIMES * TIMES = 256 times as long
MEASURABLE = 0.002


def seconds(run: Callable[[], object]) -> float:
    """The least processor time of a few runs, so that other programs do not count."""
    least = float("inf")
    for _ in range(3):
        start = time.process_time()
        with suppress(ToolError):
            run()
        least = min(least, time.process_time() - start)
    return least


def assert_linear(prepared: Callable[[int], Callable[[], object]], small: int) -> None:
    brief = max(seconds(prepared(small)), MEASURABLE / TIMES)
    assert seconds(prepared(small * TIMES)) < brief * MOST


@pytest.mark.push
@pytest.mark.parametrize(
    "tail",
    [
        "\u0300\u0316", "\u0344\u0327", "e\u0316\u0301", "\u1100\u1161", "\u2215\u0338", "\ufdfa", "\u2026", "%25",
        "25", "%2e", "%c0", "%ff", "/", "//a", "a ", " ", ".", "..", "a.", "./", "-", "é/", "\u3000", "\0", "\\",
    ],
)  # fmt: skip
def test_a_hostile_path_is_checked_in_linear_time(tail: str) -> None:
    assert_linear(lambda count: lambda: paths.from_tool(f"/memories/a%{tail * count}"), 1500)
    assert_linear(lambda count: lambda: paths.from_tool(f"/memories/a%{tail * count}!"), 1500)


@pytest.mark.parametrize(
    ("content", "old"),
    [("a", "a"), ("ab", "ab"), ("\n", "\n"), ("a\n", "a"), ("x\n", "y")],
)
def test_many_passages_are_found_in_linear_time(content: str, old: str) -> None:
    assert_linear(lambda count: lambda: text.replace("/f", content * count, old, "z"), 50_000)


@pytest.mark.parametrize("needle", ["{}b", "b{}", "{}b{}"])
def test_a_long_passage_that_nearly_fits_is_sought_in_linear_time(needle: str) -> None:
    def prepared(count: int) -> Callable[[], object]:
        content, old = "a" * count, needle.replace("{}", "a" * (count // 4))
        return lambda: text.replace("/f", content, old, "z")

    assert_linear(prepared, 20_000)


def test_lines_are_inserted_in_linear_time() -> None:
    def prepared(count: int) -> Callable[[], object]:
        content = "\n" * count
        return lambda: text.insert("/f", content, count - 1, "\n" * count)

    assert_linear(prepared, 20_000)


@pytest.mark.parametrize("line", ["\n", "x\n", "x", "\r", "\u2028"])
def test_views_are_rendered_in_linear_time(line: str) -> None:
    assert_linear(lambda count: lambda: rendering.view("/f", line * count, None, 16_000), 5_000)
    assert_linear(lambda count: lambda: rendering.view("/f", line * count, None, 100_000_000), 5_000)
    last = line.count("\n")
    assert_linear(lambda count: lambda: rendering.view("/f", line * count, [last * count, -1], 16_000), 5_000)


def test_a_listing_is_rendered_in_nearly_linear_time() -> None:
    def prepared(count: int) -> Callable[[], object]:
        entries = [rendering.Entry(f"/{number * 7919 % count:07}", 1, False) for number in range(count)]
        return lambda: rendering.listing("", 5, entries)

    assert_linear(prepared, 2_000)


def test_an_echo_takes_no_longer_for_a_longer_value() -> None:
    short, long = "\u202e" * 1_000, "\u202e" * 1_000_000
    assert seconds(lambda: [results.echo(long) for _ in range(20)]) < MEASURABLE + 5 * seconds(
        lambda: [results.echo(short) for _ in range(20)]
    )
