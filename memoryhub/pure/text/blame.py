"""Blame: which version introduced each line of a memory. Versions are examined from the newest to the oldest, with
bounded work.

A line ends at a line feed. The last line of a text stays the same if only its line feed changes. Versions with the same
text share one blame, that of the first version with the text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memoryhub.pure.text.changed_lines import Work, changes, ended
from memoryhub.pure.text.matching import Area

TextOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Version:
    """A version, as blame needs it. `text` is the id of its text; None if the text is redacted.

    If the version undid changes, it restored lines of the texts before these changes: `back` are the ids of these older
    texts. Versions that only deleted the memory are left out.
    """

    number: int
    text: str | None
    back: tuple[str, ...] = ()


class Origin(NamedTuple):
    """Where a line comes from. Version `number` introduced it, as its line `line`.

    `older` is the number of the version with the previous text (0: there is none). `before` is the number of a line of
    the previous text: line `line` replaced this line, or was inserted next to it. If texts between the versions `older`
    and `number` are redacted, any version from `since` to `number` may have introduced the line. `known` is false if a
    version earlier than the examined versions may have introduced it.
    """

    number: int
    since: int
    older: int
    line: int = 0
    before: int = 0
    known: bool = True

    @property
    def is_certain(self) -> bool:
        """Return whether version `number`, and no other, introduced the line."""
        return self.known and self.since == self.number


def blame(versions: Sequence[Version], text_of: TextOf, work: Work, *, whole: bool = True) -> list[Origin]:
    """Return the Origin of each line of the last version, whose text must exist. `versions` are in order of time.

    `text_of` returns the text with an id. `whole`: there was no version before the first of `versions`. A line that an
    undo took back has the origin that it had before.
    """
    first = first_places(versions)
    at = first[versions[-1].text or ""]
    text = ended(text_of(versions[at].text or ""))
    left = text.count("\n")
    origins: list[Origin | None] = [None] * left
    # By place of a text: for each of its lines its line in the last version, or -1. More than one list where an undo
    # took lines back.
    sought, read = {at: [list(range(left))]}, versions[at].text
    while left:
        at = max(sought)
        here, here_sought = versions[at].number, sought.pop(at)
        before = _with_text_before(versions, first, at)
        if before is None:
            brought = Origin(here, _since(versions, at, 0), 0, known=whole)
            for lines in here_sought:
                left -= _found(origins, lines, (0, 0, 0, len(lines)), brought)
            continue
        text = text if versions[at].text == read else ended(text_of(versions[at].text or ""))
        older = ended(text_of(versions[before.place].text or ""))
        areas = changes(older, text, work)
        for lines in here_sought:
            for place, taken in _taken_back(_back(versions, first, at), text, areas, lines, text_of, work):
                sought.setdefault(place, []).append(taken)
            brought = Origin(here, _since(versions, at, before.nearest + 1), versions[before.nearest].number)
            for area in reversed(areas):
                left -= _found(origins, lines, area, brought)
                lines[area[2] : area[3]] = [-1] * (area[1] - area[0])
            sought.setdefault(before.place, []).append(lines)
        text, read = older, versions[before.place].text
    return [origin for origin in origins if origin is not None]


def _taken_back(
    older: Iterable[tuple[str, int]],
    text: str,
    areas: Sequence[Area],
    lines: list[int],
    text_of: TextOf,
    work: Work,
) -> Iterator[tuple[int, list[int]]]:
    """Yield (place, numbers) for each older text of which `text` restored lines. `older` is [(id, place)].

    `lines` has one number for each line of `text`: the number of this line in the last version, or -1 if the line is
    not searched for. `numbers` has such a number for each line of the older text. Only lines in `areas` can be restored
    lines. The number of a restored line becomes -1 in `lines`, so that the line is searched for only in the
    older text.
    """
    added = [line for area in areas for line in range(area[2], area[3]) if lines[line] >= 0]
    for id, place in older:
        if not added:
            return
        old = ended(text_of(id))
        known = _known(added, changes(old, text, work))
        if known:
            taken = [-1] * old.count("\n")
            for line, there in known.items():
                taken[there], lines[line] = lines[line], -1
            added = [line for line in added if line not in known]
            yield place, taken


def follow(versions: Sequence[Version], line: int, text_of: TextOf, work: Work) -> dict[int, int]:
    """Return {version number: number of the line} for the versions that contain the line `line` of the first version.

    Lines count from 1. The first version introduced the line. `text_of` is called in order of time, until the line
    disappears.
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
            for id in version.back:
                back = places.get(id) if place is None else None
                if back is not None:
                    text = ended(text_of(version.text))
                    place = _moved(back, changes(ended(text_of(id)), text, work))
            places[version.text] = place
        elif version.text != previous:
            text = ""
        previous = version.text
    found = ((version.number, places[version.text]) for version in versions if version.text is not None)
    return {number: place + 1 for number, place in found if place is not None}


def first_places(versions: Sequence[Version]) -> dict[str, int]:
    """Return {id of a text: index of the first version with that text}."""
    first: dict[str, int] = {}
    for place, version in enumerate(versions):
        if version.text is not None:
            first.setdefault(version.text, place)
    return first


def texts_of_blame(versions: Sequence[Version]) -> list[str]:
    """Return the ids of the texts that `blame` may need, in the order in which it asks for them.

    Around an undo, `blame` may ask in another order.
    """
    first = first_places(versions)
    texts: list[str] = []
    places = {first[versions[-1].text or ""]}
    while places:
        at = max(places)
        places.remove(at)
        texts.append(versions[at].text or "")
        before = _with_text_before(versions, first, at)
        places.update([before.place] if before else [], (place for _, place in _back(versions, first, at)))
    return texts


@dataclass(frozen=True, slots=True)
class _Before:
    """Where the previous text is. `nearest` is the index of the nearest earlier version whose text is not redacted.
    `place` is the index of the first version with the same text as that version."""

    place: int
    nearest: int


def _with_text_before(versions: Sequence[Version], first: dict[str, int], at: int) -> _Before | None:
    for nearest in range(at - 1, -1, -1):
        text = versions[nearest].text
        if text is not None:
            return _Before(first[text], nearest)
    return None


def _since(versions: Sequence[Version], at: int, low: int) -> int:
    """Return the number of the first version that may have introduced a line of the version at the index `at`.

    All versions at the indexes [low, at) are redacted, and the result is the first of them. If there are none, it is
    the version at `at`.
    """
    return versions[low].number if low < at else versions[at].number


def _found(origins: list[Origin | None], lines: list[int], area: Area, brought: Origin) -> int:
    """Set `brought` as the origin of the lines of an area. Return how many of these lines are still in the last
    version."""
    i, i_end, j, j_end = area
    count = 0
    for place in range(j, j_end):
        line = lines[place]
        if line >= 0:
            before = min(i + place - j, i_end - 1) + 1 if i_end > i else max(i, 1)
            origins[line] = Origin(brought.number, brought.since, brought.older, place + 1, before, brought.known)
            count += 1
    return count


def _back(versions: Sequence[Version], first: dict[str, int], at: int) -> list[tuple[str, int]]:
    """Return the (id, place) of each older text from which the version at the index `at` took lines back."""
    return [(id, first[id]) for id in versions[at].back if first.get(id, at) < at]


def _known(lines: Iterable[int], areas: Sequence[Area]) -> dict[int, int]:
    """Return {line: number of the same line in the old text} for `lines` of the new text. Lines count from 0.

    Lines that the old text does not have are left out.
    """
    known: dict[int, int] = {}
    rest, shift = iter(areas), 0
    area = next(rest, None)
    for line in lines:
        while area is not None and area[3] <= line:
            shift, area = area[1] - area[3], next(rest, None)
        if area is None or line < area[2]:
            known[line] = line + shift
    return known


def _moved(place: int, areas: Sequence[Area]) -> int | None:
    """Return where an old line (counted from 0) is in the new text; None if the new text does not have it."""
    shift = 0
    for i, i_end, _j, j_end in areas:
        if place < i:
            break
        if place < i_end:
            return None
        shift = j_end - i_end
    return place + shift
