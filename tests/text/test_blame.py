"""Blame against an independent reckoning, in which each line carries the version that wrote it through all edits."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.text.blame import Version, blame, follow, texts_of_blame
from memoryhub.pure.text.carried import carried, followed
from memoryhub.pure.text.changed_lines import Work, changes, ended
from memoryhub.pure.text.matching import Area
from tests.support.long import parts, tried

Line = tuple[str, int, int]
"""A line, the version that wrote it, and which line it was there."""


@dataclass
class History:
    """The versions of a memory, each with its text and its lines as they were carried."""

    versions: list[Version] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    lines: list[list[Line]] = field(default_factory=list)
    unended: bool = False

    def add(self, lines: list[Line]) -> None:
        """A version with a text of its own."""
        text = f"text {len(self.texts) + 1}"
        written = "".join(f"{line}\n" for line, *_ in lines)
        self.texts[text] = written.removesuffix("\n") if self.unended else written
        self.again(text, lines)

    def again(self, text: str | None, lines: list[Line]) -> None:
        """A version that points to a text that is there, or whose text is gone."""
        self.versions.append(Version(len(self.versions) + 1, text))
        self.lines.append(lines)

    def undo(self, first: int, last: int) -> None:
        """A version without what the versions from `first` to `last` did: their lines go, and those that they took away
        come back, each after the nearest line before it that is still there."""
        before, after, lines = self.lines[first - 2], self.lines[last - 1], list(self.lines[-1])
        lines = [line for line in lines if line in before or line not in after]
        for place, line in enumerate(before):
            if line not in after and line not in lines:
                at = next((lines.index(one) + 1 for one in reversed(before[:place]) if one in lines), 0)
                lines.insert(at, line)
        if lines and lines != self.lines[-1]:
            self.add(lines)
            back = self.versions[first - 2].text
            self.versions[-1] = Version(len(self.versions), self.versions[-1].text, (back,) if back else ())


def grown(seed: int, steps: int = 12, undos: bool = True) -> History:
    """A random history of edits at several places, renames, restores and undos; no line is ever written twice."""
    chance, written, history = random.Random(seed), itertools.count(1), History()

    def new_lines(count: int, number: int, at: int) -> list[Line]:
        return [(f"line {next(written)}", number, at + place + 1) for place in range(count)]

    history.add(new_lines(chance.randrange(1, 30), 1, 0))
    while (number := len(history.versions) + 1) < steps + 2:
        kind, before = chance.random(), history.lines[-1]
        history.unended = chance.random() < 0.2
        if kind < 0.15:
            history.again(history.versions[-1].text, before)
        elif kind < 0.3:
            earlier = chance.randrange(len(history.versions))
            history.again(history.versions[earlier].text, history.lines[earlier])
        elif undos and kind < 0.45 and len(history.versions) > 2:
            first = chance.randrange(2, len(history.versions))
            history.undo(first, chance.randrange(first, len(history.versions)))
        if len(history.versions) < number:
            lines = list(before)
            for _ in range(chance.choice((1, 1, 2, 5))):
                at = chance.randrange(len(lines) + 1)
                lines[at : at + chance.randrange(3)] = new_lines(chance.choice((0, 1, 1, 2, 8)), number, at)
            placed = [(line, who, at if who == number else old) for at, (line, who, old) in enumerate(lines, 1)]
            history.add(placed or new_lines(1, number, 0))
    return history


@pytest.mark.parametrize("seeds", parts(tried(1000), 100), ids=str)
def test_each_line_came_with_the_version_that_wrote_it(seeds: range) -> None:
    for seed in seeds:
        history = grown(seed)
        for end in range(1, len(history.versions) + 1):
            found = blame(history.versions[:end], history.texts.__getitem__, Work())
            assert [(o.number, o.line) for o in found] == [(who, at) for _, who, at in history.lines[end - 1]], seed


@pytest.mark.parametrize("seeds", parts(tried(200), 50), ids=str)
def test_a_line_is_followed_to_every_version_in_which_it_stands(seeds: range) -> None:
    for seed in seeds:
        history = grown(seed)
        for start, lines in enumerate(history.lines):
            for at, line in enumerate(lines, 1):
                if line[1] != start + 1:  # what another version brought is followed from there
                    continue
                expected = {
                    number: [text for text, *_ in carried].index(line[0]) + 1
                    for number, carried in enumerate(history.lines[start:], start + 1)
                    if line[0] in [text for text, *_ in carried]
                }
                assert follow(history.versions[start:], at, history.texts.__getitem__, Work()) == expected


@pytest.mark.parametrize("seeds", parts(tried(200), 50), ids=str)
def test_the_lines_of_some_versions_are_followed_through_all_later_ones(seeds: range) -> None:
    for seed in seeds:
        history = grown(seed)
        writers = [version.number for version in history.versions if not version.back]
        chosen = set(random.Random(seed).sample(writers, min(len(writers), 1 + seed % 3)))
        expected = {
            number: {at for at, (_, who, _) in enumerate(lines, 1) if who in chosen}
            for number, lines in enumerate(history.lines, 1)
        }
        found = carried(history.versions, chosen, history.texts.__getitem__, Work())
        assert {number: set(lines) for number, lines in found.items()} == {
            number: lines for number, lines in expected.items() if lines
        }, seed


def left_of(history: History, number: int, lines: range, last: int) -> set[int]:
    """The places in a later version of those lines that no version between has lost; lines are told apart by name."""
    living: dict[str, set[str]] = {}
    left, there = {history.lines[number - 1][line - 1][0] for line in lines}, list[str]()
    for version, carried_lines in zip(
        history.versions[number - 1 : last], history.lines[number - 1 : last], strict=True
    ):
        if version.text is not None:
            there = [name for name, *_ in carried_lines]
            back = left.union(*(living.get(text, set()) for text in version.back))
            left = living.setdefault(version.text, back.intersection(there))
    return {there.index(name) + 1 for name in left}


@pytest.mark.parametrize("seeds", parts(tried(300), 75), ids=str)
def test_places_are_followed_to_a_later_version(seeds: range) -> None:
    for seed in seeds:
        history, chance, places = grown(seed), random.Random(seed), {}
        last = chance.randrange(1, len(history.versions) + 1)
        for name in "abc":
            number = chance.randrange(1, last + 1)
            if history.lines[number - 1] and history.versions[number - 1].text is not None:
                at = chance.randrange(len(history.lines[number - 1])) + 1
                to = min(len(history.lines[number - 1]), at + chance.randrange(4))
                places[name] = (number, range(at, to + 1))
        expected = {name: left_of(history, number, lines, last) for name, (number, lines) in places.items()}
        found = followed(history.versions[:last], places, history.texts.__getitem__, Work())
        assert {name: set(lines) for name, lines in found.items()} == expected, seed


@pytest.mark.parametrize("seed", range(20))
def test_texts_are_asked_for_in_the_order_that_was_announced(seed: int) -> None:
    history, asked = grown(seed, undos=seed % 2 == 0), list[str]()

    def text_of(text: str) -> str:
        asked.append(text)
        return history.texts[text]

    blame(history.versions, text_of, Work())
    announced = texts_of_blame(history.versions)
    if any(version.back for version in history.versions):
        assert set(asked) <= set(announced)
    else:
        assert asked == announced[: len(asked)] and len(set(asked)) == len(asked)


def test_where_a_line_was_before_a_change_is_told() -> None:
    texts = {"a": "1\n2\n3\n", "b": "1\ntwo\n3\n4\n", "c": "1\ntwo\n4\n"}
    versions = [Version(1, "a"), Version(3, "b"), Version(4, "c")]
    found = blame(versions, texts.__getitem__, Work())
    assert [(o.number, o.line, o.older, o.before) for o in found] == [(1, 1, 0, 1), (3, 2, 1, 2), (3, 4, 1, 3)]


def test_what_may_have_come_with_a_redacted_text_says_so() -> None:
    texts = {"a": "1\n", "c": "1\n2\n", "d": "1\n2\n3\n"}
    versions = [Version(1, "a"), Version(2, None), Version(3, None), Version(4, "c"), Version(5, "d")]
    found = blame(versions, texts.__getitem__, Work())
    assert [(o.since, o.number, o.older) for o in found] == [(1, 1, 0), (2, 4, 1), (5, 5, 4)]
    found = blame(versions[1:], texts.__getitem__, Work())
    assert [(o.since, o.number) for o in found] == [(2, 4), (2, 4), (5, 5)]
    assert follow(versions, 1, texts.__getitem__, Work()) == {1: 1, 4: 1, 5: 1}
    assert follow(versions[1:], 1, texts.__getitem__, Work()) == {}


def test_what_stood_in_the_oldest_version_that_was_looked_at_may_be_older() -> None:
    texts = {"b": "1\n2\n", "c": "1\n2\n3\n"}
    found = blame([Version(7, "b"), Version(8, "c")], texts.__getitem__, Work(), whole=False)
    assert [(o.number, o.known) for o in found] == [(7, False), (7, False), (8, True)]


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("\r\n\r", 2)])
def test_a_final_line_feed_starts_no_line(text: str, lines: int) -> None:
    found = blame([Version(1, "a")], {"a": text}.__getitem__, Work())
    assert [o.line for o in found] == list(range(1, lines + 1))


def test_a_line_is_the_same_with_and_without_a_line_feed() -> None:
    texts = {"a": "1\n2", "b": "1\n2\n", "c": "1\n2\n3"}
    found = blame([Version(n, text) for n, text in enumerate(texts, 1)], texts.__getitem__, Work())
    assert [o.number for o in found] == [1, 1, 3]


# ------------------------------------------------------------------------------------------ two texts

SOME_LINES = st.lists(st.sampled_from(["", "a", "b", "ab", "\r", "日本", "x" * 400]), max_size=25)


def common(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence, by the book."""
    row = [0] * (len(new) + 1)
    for line in old:
        above = row
        row = [0]
        for place, other in enumerate(new):
            row.append(above[place] + 1 if line == other else max(above[place + 1], row[place]))
    return row[-1]


def kept(areas: list[Area], count: int) -> Iterator[tuple[int, int]]:
    """The pairs of lines that stayed, given where two texts differ and how many lines the old one has."""
    i = j = 0
    for old_first, old_end, new_first, new_end in [*areas, (count, count, 0, 0)]:
        while i < old_first:
            yield i, j
            i, j = i + 1, j + 1
        assert (j == new_first) or (old_first, old_end) == (count, count)
        i, j = old_end, new_end


@settings(deadline=None)
@given(SOME_LINES, SOME_LINES)
def test_as_much_is_kept_as_can_be(old: list[str], new: list[str]) -> None:
    old_text, new_text = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    pairs = list(kept(changes(old_text, new_text, Work()), len(old)))
    assert all(old[i] == new[j] for i, j in pairs)
    assert len(pairs) == common(old, new)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), SOME_LINES), max_size=8))
@pytest.mark.long
def test_long_texts_are_cut_at_what_stands_once(edits: list[tuple[int, int, list[str]]]) -> None:
    old = [f"line {number} of a long text, in which every line is another" for number in range(400)]
    new = list(old)
    for at, removed, added in edits:
        new[at : at + removed] = added
    old_text, new_text = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    pairs = list(kept(changes(old_text, new_text, Work()), len(old)))
    assert all(old[i] == new[j] for i, j in pairs)
    assert len(pairs) == common(old, new)


def test_a_paragraph_that_moved_does_not_make_the_rest_new() -> None:
    old = [f"line {number} of a long text, in which every line is another" for number in range(900)]
    for first, count in ((0, 300), (430, 40), (500, 1), (860, 20)):
        moved = old[:first] + old[first + count :] + old[first : first + count]
        pairs = list(kept(changes("\n".join(old) + "\n", "\n".join(moved) + "\n", Work()), len(old)))
        assert len(pairs) == 900 - count


def test_work_is_bounded_and_says_so() -> None:
    chance = random.Random(1)
    texts = {str(n): "".join(f"{chance.randrange(50)}\n" for _ in range(20_000)) for n in range(60)}
    versions, work = [Version(n, str(n)) for n in range(60)], Work()
    found = blame(versions, texts.__getitem__, work)
    assert len(found) == 20_000
    assert work.passed


def test_ended_leaves_nothing_as_it_is() -> None:
    assert [ended(text) for text in ("", "a", "a\n")] == ["", "a\n", "a\n"]
