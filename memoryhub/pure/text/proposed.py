"""Joins several proposed changes of one memory. Each was made to the text that the memory had at that time."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from memoryhub.pure.text.changed_lines import ended
from memoryhub.pure.text.matching import Area, Work
from memoryhub.pure.text.merging import Merge, changes, groups, lines_of, merge, reach

EDIT_WORK = 6
"""What it costs, in units of Work, to compare one edit with the edits of the next wish."""


class OutOfWork(Exception):
    """The work is used up before all texts are merged."""


class Wish(NamedTuple):
    """A text that an agent saw, and the text that it proposed instead."""

    seen: str
    wanted: str


class Joined(NamedTuple):
    """Several wishes, joined into one `wish`.

    `replaced` are the positions of the wishes of which no part is in the joined wish. `cut` are the positions of the
    wishes of which only a part is in it.
    """

    wish: Wish
    replaced: frozenset[int] = frozenset()
    cut: frozenset[int] = frozenset()


class Edit(NamedTuple):
    """An edit: `lines` replace the lines [first, end) of a text. `wish` is the position of the wish from which the edit
    comes."""

    first: int
    end: int
    lines: tuple[str, ...]
    wish: int

    @property
    def adds(self) -> bool:
        """Return whether the edit only adds lines."""
        return self.first == self.end

    @property
    def goes_by_line(self) -> bool:
        """Return whether the edit only removes lines, or replaces them by the same number of lines."""
        return len(self.lines) in (0, self.end - self.first)

    @property
    def growth(self) -> int:
        return len(self.lines) - (self.end - self.first)

    def moved(self, by: int) -> "Edit":
        return Edit(self.first + by, self.end + by, self.lines, self.wish)

    def overlaps(self, other: "Edit") -> bool:
        """Return whether both edits change the same line of the text."""
        return self.first < self.end and other.first < other.end and self.first < other.end and other.first < self.end


class Edits:
    """Edits of one text in their order. No two of them change the same line."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = edits
        self._firsts = [edit.first for edit in edits]
        self._ends = [edit.end for edit in edits]

    def near(self, first: int, end: int) -> Sequence[Edit]:
        """Return the edits that overlap or touch the lines [first, end)."""
        return self.edits[slice(*self.places(first, end))]

    def places(self, first: int, end: int) -> tuple[int, int]:
        """Return (start, stop): the positions [start, stop) of the edits that overlap or touch the lines [first,
        end)."""
        return bisect_left(self._ends, first), bisect_right(self._firsts, end)


def joined(wishes: Iterable[Wish], work: Work) -> Joined:
    """Return several wishes, oldest first, as one.

    Raises ValueError if there are no wishes; OutOfWork if `work` is used up before all wishes are joined.

    If two wishes change the same line, the joined wish has the change of the later one. If someone else changed the
    line after the earlier wish, `onto` finds a conflict, unless the agent of the later wish saw the changed line.
    """
    every = list(wishes)
    if not every:
        raise ValueError("no wishes")
    changing = [number for number, wish in enumerate(every) if wish.seen != wish.wanted]
    if len(changing) < 2:
        return Joined(every[changing[0] if changing else -1])
    draft = _Draft(every[changing[0]].seen, work)
    for number in changing:
        draft.add(every[number], number)
    return draft.joined()


def onto(now: str, wish: Wish, work: Work) -> Merge:
    """Return the merge of a wish with the current text, `now`. In a conflict, `mine` are the current lines. Raises
    OutOfWork."""
    if not work.left and wish.seen not in (now, wish.wanted):
        raise OutOfWork
    return merge(wish.seen, now, wish.wanted, work=work)


@dataclass
class _Draft:
    """The wishes that are joined so far, as edits of the text `seen`.

    `seen` is the last text that an agent saw, without those changes by others that conflict with an earlier wish.
    `seen_ends` says whether `seen` ends with a line feed, and `wanted_ends` whether it does so after the edits. `lost`
    are the wishes that were replaced, at least in part. `there` are the wishes of which a part is already done by
    another wish or by someone else.
    """

    text: str
    work: Work
    seen: list[str] = field(init=False)
    edits: list[Edit] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    there: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.seen = lines_of(ended(self.text))
        self.seen_ends = self.wanted_ends = _has_end(self.text)

    def add(self, wish: Wish, number: int) -> None:
        """Add the changes of the next wish. Raises OutOfWork."""
        seen, seen_ends, wanted_ends = lines_of(ended(wish.seen)), _has_end(wish.seen), _has_end(wish.wanted)
        later = self._edits(seen, lines_of(ended(wish.wanted)), number)
        if seen != self.seen:
            later = self._rebase(seen, later)
        if later:
            low, high = Edits(self.edits).places(later[0].first, later[-1].end)
            self.edits[low:high] = self._with(self.edits[low:high], later)
        if seen_ends != self.seen_ends:
            self.seen_ends = self.wanted_ends = seen_ends
        if wanted_ends != seen_ends:
            self.wanted_ends = wanted_ends

    def joined(self) -> Joined:
        there = self.there.union(edit.wish for edit in self.edits)
        wanted = _applied(self.seen, self.edits, 0, len(self.seen))
        wish = Wish(_text(self.seen, self.seen_ends), _text(wanted, self.wanted_ends))
        return Joined(wish, frozenset(self.lost - there), frozenset(self.lost & there))

    def _edits(self, old: Sequence[str], new: Sequence[str], number: int) -> list[Edit]:
        """Return the edits of the wish `number`, which turn the text `old` into `new`. Raises OutOfWork."""
        if old != new and not self.work.left:
            raise OutOfWork
        areas = changes(old, new, self.work)
        return [Edit(first, end, tuple(new[start:stop]), number) for first, end, start, stop in areas]

    def _rebase(self, seen: list[str], later: list[Edit]) -> list[Edit]:
        """Put into the draft what others changed before an agent saw the text `seen`. Raises OutOfWork.

        A change by others that conflicts with an earlier wish is left out, so `self.seen` can differ from `seen`.
        `later` are the edits of `seen` that this agent wished. Return them as edits of `self.seen`.
        """
        others, asked = self._edits(self.seen, seen, -1), Edits(later)
        self.work.spend(EDIT_WORK * (len(self.edits) + len(others)))
        taken, conflicts, done = list[Edit](), list[Edit](), set[int]()
        shift = 0
        for mine, theirs in groups(_places(self.edits), _places(others)):
            own, foreign = [self.edits[place[2]] for place in mine], [others[place[2]] for place in theirs]
            first, end = reach([*mine, *theirs])
            start, stop = first + shift, end + shift + sum(edit.growth for edit in foreign)
            is_there = bool(foreign) and _applied(self.seen, own, first, end) == seen[start:stop]
            if is_there:
                self.there.update(edit.wish for edit in own)
                done.update(place[2] for place in mine)
            for edit in foreign:
                is_taken = is_there or not own or _is_about(asked, edit.moved(shift), own, edit)
                (taken if is_taken else conflicts).append(edit if is_taken else edit.moved(shift))
                shift += edit.growth
        rest = [edit for number, edit in enumerate(self.edits) if number not in done]
        self.edits = list(_carried(self._beside(_split(rest, taken), taken), taken))
        self.seen = _applied(self.seen, taken, 0, len(self.seen))
        return list(_without(later, conflicts))

    def _with(self, earlier: Sequence[Edit], later: Sequence[Edit]) -> list[Edit]:
        """Return the `earlier` and the `later` edits together, in order.

        An earlier edit is left out if later edits overlap or repeat it. A later edit is left out if it only adds lines,
        and the kept earlier edits already add these lines at the same place.
        """
        self.work.spend(EDIT_WORK * (len(earlier) + len(later)))
        earlier, later = _split(earlier, later), _split(later, earlier)
        kept = self._beside(earlier, later)
        added = Edits([edit for edit in kept if edit.adds])
        new = [edit for edit in later if not (edit.adds and self._is_repeated(edit, added))]
        return sorted([*kept, *new], key=itemgetter(0, 1))

    def _beside(self, earlier: Sequence[Edit], later: Sequence[Edit]) -> list[Edit]:
        """Return those of the `earlier` edits that no `later` edit overlaps or repeats."""
        kept: list[Edit] = []
        others = Edits(later)
        for edit in earlier:
            near = others.near(edit.first, edit.end)
            over = [one for one in near if edit.overlaps(one)]
            if near and _is_in(edit, near, over):
                self.there.add(edit.wish)
            elif over:
                self.lost.add(edit.wish)
            else:
                kept.append(edit)
        return kept

    def _is_repeated(self, edit: Edit, earlier: Edits) -> bool:
        """Return whether `earlier` edits already add the lines of `edit` at the same place."""
        is_repeated = _has(earlier.near(edit.first, edit.end), edit.lines)
        if is_repeated:
            self.there.add(edit.wish)
        return is_repeated


def _has_end(text: str) -> bool:
    return not text or text.endswith("\n")


def _text(lines: Iterable[str], has_end: bool) -> str:
    text = "".join(lines)
    return text if has_end else text.removesuffix("\n")


def _places(edits: Sequence[Edit]) -> list[Area]:
    """Return edits as areas. The third number of an area is the position of its edit."""
    return [(edit.first, edit.end, number, number + 1) for number, edit in enumerate(edits)]


def _split(edits: Sequence[Edit], others: Sequence[Edit]) -> list[Edit]:
    """Return the edits. If one of `others` adds lines inside an edit, the edit is cut into parts at this place.

    An edit with `goes_by_line` is also cut where `others` begin and end, and each part keeps its own new lines. If an
    edit without `goes_by_line` is cut, its first part has all its new lines, and its further parts only remove lines.
    """
    result: list[Edit] = []
    beside = Edits(others)
    for edit in edits:
        near = [one for one in beside.near(edit.first, edit.end) if one.adds or edit.goes_by_line]
        cuts = sorted({cut for one in near for cut in one[:2] if edit.first < cut < edit.end})
        if not cuts:
            result.append(edit)
            continue
        for first, end in pairwise([edit.first, *cuts, edit.end]):
            lines = edit.lines if first == edit.first else ()
            if edit.goes_by_line:
                lines = edit.lines[first - edit.first : end - edit.first]
            result.append(Edit(first, end, lines, edit.wish))
    return result


def _has(edits: Sequence[Edit], lines: Sequence[str]) -> bool:
    """Return whether all these lines are among the new lines of `edits`, in this order; other lines may be between."""
    rest = (line for edit in edits for line in edit.lines)
    return all(line in rest for line in lines)


def _is_in(edit: Edit, near: Sequence[Edit], over: Sequence[Edit]) -> bool:
    """Return whether other edits do all that `edit` does.

    `near` are the other edits that overlap or touch `edit`, `over` those that overlap it.
    """
    changed = sum(min(one.end, edit.end) - max(one.first, edit.first) for one in over)
    if changed < edit.end - edit.first:
        return False
    return _has(near, edit.lines) if edit.lines else not any(one.lines for one in over)


def _is_about(asked: Edits, there: Edit, own: Iterable[Edit], edit: Edit) -> bool:
    """Return whether an agent wished a change at the lines that others wrote with `edit`.

    `asked` are the edits that the agent wished. `there` is `edit`, moved to its lines in the text that the agent saw.
    `own` are the edits of earlier wishes, in the same text as `edit`.

    If an edit of `asked` overlaps the written lines, the result is true. If an edit of `asked` only touches these
    lines, the result is true in two cases: if no edit of `own` overlaps `edit`; or if the edit of `asked` only adds
    lines, and `edit` only removed lines.
    """
    first, end = there.first, there.first + len(there.lines)
    is_free = not any(edit.overlaps(one) for one in own)
    near = asked.near(first, end)
    return any((one.first < end and first < one.end) or is_free or (one.adds and first == end) for one in near)


def _carried(edits: Iterable[Edit], others: Sequence[Edit]) -> Iterator[Edit]:
    """Yield `edits` with the line numbers that they need if `others` are made first.

    `edits` and `others` are edits of the same text, and never change the same line. If both add lines at one place,
    those of `edits` come first.
    """
    number = by = 0
    for edit in edits:
        while number < len(others) and others[number][:2] < (edit.first, edit.end if edit.adds else edit.first + 1):
            by += others[number].growth
            number += 1
        first = max(edit.first, others[number - 1].end) if number else edit.first
        yield edit.moved(first - edit.first + by)


def _without(edits: Iterable[Edit], others: Sequence[Edit]) -> Iterator[Edit]:
    """Yield `edits` with the line numbers that they need if `others`, which were made before them, are taken back."""
    number = by = 0
    for edit in edits:
        while number < len(others) and _is_before(others[number], edit):
            by -= others[number].growth
            number += 1
        yield edit.moved(by)


def _is_before(other: Edit, edit: Edit) -> bool:
    return edit.first >= other.first + len(other.lines) and edit.end > other.first


def _applied(lines: Sequence[str], edits: Iterable[Edit], first: int, end: int) -> list[str]:
    """Return the lines [first, end) of a text as they are after `edits`."""
    result: list[str] = []
    for edit in edits:
        result += [*lines[first : edit.first], *edit.lines]
        first = edit.end
    return [*result, *lines[first:end]]
