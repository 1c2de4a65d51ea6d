"""Who brought each line of a text: the versions of a memory walked back, with work that is bounded whatever they are.

A line ends at a line feed and is the same line whether or not the text ends with one. Versions of one text (a rename, a
restore) have one blame: that of the first version that had it. Between a text and the one before it only what differs
is looked at, and the middle of that is cut at stretches that stand once on either side: comparing line by line from end
to end would take a hundred times as long as showing the page.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from memoryhub.text.matching import Area, Budget, common_runs

LINES_SEARCHED = 2_000_000
PAIRS_SEARCHED = 1_000_000
"""So many lines, and pairs of equal lines, are looked at one by one in one blame."""

SMALL = 1_500
"""Stretches with no more characters than this are compared line by line at once."""

NEAR, PROBE = 6, 500
"""Where texts differ, so many lines of either are looked at for a place where so many characters are equal again."""

STEP, CUT = 20, 200
"""Going on to the next change takes as long as so many lines; looking for a cut, as one line for so many characters."""

FIRST_STEP = 2048
"""So many characters are compared at first where two texts begin to be equal, then twice as many, and so on."""

DEEPEST = 40
TRIES = (8, 4, 12, 2, 14)
"""Where a stretch is cut, in sixteenths."""

TextOf = Callable[[str], str]
Block = tuple[int, int, int]
"""What both texts have: where it begins in the old one, in the new one, and how many characters it has."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version as far as blame needs it; `text` names its text and is null where a redaction took it.

    Versions that only deleted the memory are left out.
    """

    number: int
    text: str | None


class Origin(NamedTuple):
    """Where a line came from.

    `number` is the version that brought it, where it was line `line`; in the text before, that of the version `older`
    (0: there was none), that place is line `before`, or just after it. Where texts between these two have been
    redacted, the line may have come with any version from `since` on. `known` is false for a line that stood in the
    oldest version that was looked at: it came with it or before.
    """

    number: int
    since: int
    older: int
    line: int = 0
    before: int = 0
    known: bool = True


@dataclass(slots=True)
class Work:
    """What comparisons may still cost; `passed` once a stretch was taken as replaced because there was too little."""

    lines: Budget = field(default_factory=lambda: Budget(LINES_SEARCHED))
    pairs: Budget = field(default_factory=lambda: Budget(PAIRS_SEARCHED))
    passed: bool = False

    def takes(self, lines: int) -> bool:
        """Whether there was enough left for this many lines, or for what takes as long."""
        enough = self.lines.take(lines)
        self.passed = self.passed or not enough
        return enough


def blame(versions: Sequence[Version], text_of: TextOf, work: Work, *, whole: bool = True) -> list[Origin]:
    """The origin of each line of the last version, which has its text; `versions` are in time.

    `text_of` is asked for texts from the last to the first. `whole` says that no version came before the first.
    """
    first = first_places(versions)
    at = first[versions[-1].text or ""]
    text = ended(text_of(versions[at].text or ""))
    lines = list(range(text.count("\n")))  # for each line of `text` the line of the last version that it became, or -1
    origins: list[Origin | None] = [None] * len(lines)
    left = len(lines)
    while left:
        before = _with_text_before(versions, first, at)
        here = versions[at].number
        if before is None:
            brought = Origin(here, _since(versions, at, 0), 0, known=whole)
            _found(origins, lines, (0, 0, 0, len(lines)), brought)
            break
        older = ended(text_of(versions[before.place].text or ""))
        brought = Origin(here, _since(versions, at, before.nearest + 1), versions[before.nearest].number)
        for area in reversed(changes(older, text, work)):
            left -= _found(origins, lines, area, brought)
            lines[area[2] : area[3]] = [-1] * (area[1] - area[0])
        at, text = before.place, older
    return [origin for origin in origins if origin is not None]


def follow(versions: Sequence[Version], line: int, text_of: TextOf, work: Work) -> dict[int, int]:
    """In which versions a line of the first one stands, and as which line: numbers of versions to lines from 1.

    The first version is the one that brought the line: where a text of before comes back, the line is not in it.
    `text_of` is asked for texts in time, and for none where the line is gone.
    """
    if versions[0].text is None:
        return {}
    places: dict[str, int | None] = {versions[0].text: line - 1}
    previous, text = versions[0].text, ""
    for version in versions:
        if version.text is None:
            continue
        if version.text not in places:
            place = places[previous]
            if place is not None:
                older = text or ended(text_of(previous))
                text = ended(text_of(version.text))
                place = _moved(place, changes(older, text, work))
            places[version.text] = place
        elif version.text != previous:
            text = ""
        previous = version.text
    found = ((version.number, places[version.text]) for version in versions if version.text is not None)
    return {number: place + 1 for number, place in found if place is not None}


def first_places(versions: Sequence[Version]) -> dict[str, int]:
    """For each text where in the list the first version stands that had it."""
    first: dict[str, int] = {}
    for place, version in enumerate(versions):
        if version.text is not None:
            first.setdefault(version.text, place)
    return first


def texts_of_blame(versions: Sequence[Version]) -> list[str]:
    """The texts that `blame` may ask for, in the order in which it does."""
    first = first_places(versions)
    texts: list[str] = []
    before: _Before | None = _Before(first[versions[-1].text or ""], 0)
    while before is not None:
        texts.append(versions[before.place].text or "")
        before = _with_text_before(versions, first, before.place)
    return texts


@dataclass(frozen=True, slots=True)
class _Before:
    """Where the version that first had the text before stands, and where the nearest one that had it."""

    place: int
    nearest: int


def _with_text_before(versions: Sequence[Version], first: dict[str, int], at: int) -> _Before | None:
    for nearest in range(at - 1, -1, -1):
        text = versions[nearest].text
        if text is not None:
            return _Before(first[text], nearest)
    return None


def _since(versions: Sequence[Version], at: int, low: int) -> int:
    """The first version from which on all texts up to a version have been redacted; the version itself if none."""
    return versions[low].number if low < at else versions[at].number


def _found(origins: list[Origin | None], lines: list[int], area: Area, brought: Origin) -> int:
    """Notes what a version brought; gives how many lines of the last version that were."""
    i, i_end, j, j_end = area
    count = 0
    for place in range(j, j_end):
        line = lines[place]
        if line >= 0:
            before = min(i + place - j, i_end - 1) + 1 if i_end > i else max(i, 1)
            origins[line] = Origin(brought.number, brought.since, brought.older, place + 1, before, brought.known)
            count += 1
    return count


def _moved(place: int, areas: Sequence[Area]) -> int | None:
    """Where an old line (from 0) stands in the new text; null where it does not."""
    shift = 0
    for i, i_end, _j, j_end in areas:
        if place < i:
            break
        if place < i_end:
            return None
        shift = j_end - i_end
    return place + shift


# Two texts that are neighbours, and what differs.


def ended(text: str) -> str:
    """The text with a line feed at its end, so that all its lines end alike; nothing stays nothing."""
    return text if not text or text.endswith("\n") else text + "\n"


def changes(old: str, new: str, work: Work) -> list[Area]:
    """Where two texts, both `ended`, differ: old lines [first, end) that became new lines [first, end), from 0."""
    areas: list[Area] = []
    i = j = o = n = 0  # lines and characters that are behind us
    for old_start, new_start, count in [*_blocks(old, new, (0, len(old), 0, len(new)), work), (len(old), len(new), 0)]:
        if (o, n) != (old_start, new_start):
            i_end, j_end = i + old.count("\n", o, old_start), j + new.count("\n", n, new_start)
            areas.append((i, i_end, j, j_end))
            i, j = i_end, j_end
        if old_start + count < len(old) or new_start + count < len(new):
            lines = old.count("\n", old_start, old_start + count)
            i, j = i + lines, j + lines
        o, n = old_start + count, new_start + count
    return areas


def _blocks(old: str, new: str, area: Area, work: Work, depth: int = 0) -> Iterator[Block]:
    """What both have between two places of each, whole lines, in order."""
    o, o_end, n, n_end = area
    head, tail = _common_start(old, new, area), 0
    if head:
        yield o, n, head
        o, n = o + head, n + head
    if o < o_end and n < n_end:
        tail = _common_end(old, new, (o, o_end, n, n_end))
        o_end, n_end = o_end - tail, n_end - tail
    while o < o_end and n < n_end and work.takes(STEP):
        again = _equal_again(old, new, (o, o_end, n, n_end))
        if again is None:
            yield from _far_apart(old, new, (o, o_end, n, n_end), work, depth)
            break
        yield from _line_by_line(old, new, (o, again[0], n, again[1]), work)
        same = _common_start(old, new, (again[0], o_end, again[1], n_end), again[2])
        yield again[0], again[1], same
        o, n = again[0] + same, again[1] + same
    if tail:
        yield o_end, n_end, tail


def _equal_again(old: str, new: str, area: Area) -> Block | None:
    """Past the fewest lines that differ, where at least PROBE characters are equal again."""
    o, o_end, n, n_end = area
    old_next, new_next = old.find("\n", o) + 1, new.find("\n", n) + 1
    for i, j in ((o, new_next), (old_next, n), (old_next, new_next)):  # nearly always it is one line
        if i + PROBE <= o_end and j + PROBE <= n_end and new.startswith(old[i : i + PROBE], j):
            return i, j, PROBE
    old_starts, new_starts = _line_starts(old, o, o_end - PROBE), _line_starts(new, n, n_end - PROBE)
    for skipped in range(1, len(old_starts) + len(new_starts) - 1):
        for i in range(max(0, skipped - len(new_starts) + 1), min(skipped + 1, len(old_starts))):
            old_start, new_start = old_starts[i], new_starts[skipped - i]
            if new.startswith(old[old_start : old_start + PROBE], new_start):
                return old_start, new_start, PROBE
    return None


def _line_starts(text: str, start: int, last: int) -> list[int]:
    """Where the first NEAR lines after a place begin, the place itself included; none begins after `last`."""
    starts: list[int] = []
    while start <= last and len(starts) < NEAR:
        starts.append(start)
        start = text.find("\n", start) + 1
    return starts


def _far_apart(old: str, new: str, area: Area, work: Work, depth: int) -> Iterator[Block]:
    """What both have where they do not become equal soon: cut in two if that can be, else line by line."""
    o, o_end, n, n_end = area
    small = min(o_end - o, n_end - n) <= SMALL or depth == DEEPEST
    if not small and not work.takes((o_end - o + n_end - n) // CUT):
        return
    cut = None if small else _cut(old, new, area)
    if cut is None:
        yield from _line_by_line(old, new, area, work)
        return
    yield from _blocks(old, new, (o, cut[0], n, cut[1]), work, depth + 1)
    yield cut
    yield from _blocks(old, new, (cut[0] + cut[2], o_end, cut[1] + cut[2], n_end), work, depth + 1)


def _cut(old: str, new: str, area: Area) -> Block | None:
    """A stretch that both have, around a line that stands once in either, if keeping it loses less than it is long."""
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    for sixteenths in TRIES:
        at = o + (o_end - o) * sixteenths // 16
        start = max(old.rfind("\n", o, at) + 1, o, 1)
        end = old.find("\n", start, o_end) + 1
        place = _once(old, new, area, start, end) if end else -1
        if place < 0:
            continue
        before = _common_end(old, new, (o, start, n, place))
        after = _common_start(old, new, (end, o_end, place + end - start, n_end))
        block = (start - before, place - before, before + end - start + after)
        kept = min(block[0] - o, block[1] - n) + min(o_end - block[0], n_end - block[1])
        if most - kept <= block[2]:
            return block
    return None


def _once(old: str, new: str, area: Area, start: int, end: int) -> int:
    """Where an old line stands in the new text, if it stands there once and in the old one too; else -1."""
    o, o_end, n, n_end = area
    line = old[start - 1 : end]
    found = new.find(line, max(n - 1, 0), n_end)
    if found < 0 or new.find(line, found + 1, n_end) >= 0:
        return -1
    if old.find(line, max(o - 1, 0), start - 1 + len(line)) != start - 1 or old.find(line, start, o_end) >= 0:
        return -1
    return found + 1


def _line_by_line(old: str, new: str, area: Area, work: Work) -> Iterator[Block]:
    """The longest common subsequence of the lines between two places of each, as far as the work suffices."""
    o, o_end, n, n_end = area
    if o == o_end or n == n_end or (old.find("\n", o) == o_end - 1 and new.find("\n", n) == n_end - 1):
        return  # lines on one side alone, or one on each, which differ
    old_lines, new_lines = old[o : o_end - 1].split("\n"), new[n : n_end - 1].split("\n")
    if not work.takes(len(old_lines) + len(new_lines)):
        return
    runs = common_runs(old_lines, new_lines, work.pairs)
    work.passed = work.passed or work.pairs.passed
    if not runs:
        return
    old_at = [o, *(o + end for end in accumulate(len(line) + 1 for line in old_lines))]
    new_at = [n, *(n + end for end in accumulate(len(line) + 1 for line in new_lines))]
    for i, j, count in runs:
        yield old_at[i], new_at[j], old_at[i + count] - old_at[i]


def _common_start(old: str, new: str, area: Area, known: int = 0) -> int:
    """How many characters both have at the start, up to the end of a line; the first `known` are equal."""
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    same, step = known, FIRST_STEP
    while same + step <= most and new.startswith(old[o + same : o + same + step], n + same):
        same, step = same + step, step * 2
    while step > 1 and same < most:
        step //= 2
        if same + step <= most and new.startswith(old[o + same : o + same + step], n + same):
            same += step
    return max(old.rfind("\n", o, o + same) + 1 - o, 0)


def _common_end(old: str, new: str, area: Area) -> int:
    """How many characters both have at the end, from the start of a line."""
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    same, step = 0, FIRST_STEP
    while same + step <= most and new.endswith(old[o_end - same - step : o_end - same], n, n_end - same):
        same, step = same + step, step * 2
    while step > 1 and same < most:
        step //= 2
        if same + step <= most and new.endswith(old[o_end - same - step : o_end - same], n, n_end - same):
            same += step
    old_start, new_start = o_end - same, n_end - same
    if (old_start == o or old[old_start - 1] == "\n") and (new_start == n or new[new_start - 1] == "\n"):
        return same
    return o_end - 1 - old.find("\n", old_start, o_end)
