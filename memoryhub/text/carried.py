"""Lines of a memory, followed through its later versions: those that some versions added, or those of some places."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from memoryhub.text.blame import TextOf, Version
from memoryhub.text.changed_lines import Work, changes, ended
from memoryhub.text.matching import Area


def carried(versions: Sequence[Version], added_by: Collection[int], text_of: TextOf, work: Work) -> dict[int, set[int]]:
    """Return {version number: its lines that one of the versions `added_by` added}. Lines count from 1.

    `versions` are consecutive and in order of time. If the first text is by one of `added_by`, all its lines count.
    Versions without such lines are left out.
    """
    lines: dict[str, set[int]] = {}
    previous: str | None = None
    found: dict[int, set[int]] = {}
    for version in versions:
        if version.text is None:
            continue
        if version.text not in lines:
            areas = changes(_text(text_of, previous), _text(text_of, version.text), work)
            moved = set(still_there(sorted(lines.get(previous or "", ())), areas))
            new = _added(areas) if version.number in added_by else _taken_back(version, lines, areas, text_of, work)
            lines[version.text] = moved.union(new)
        previous = version.text
        if lines[version.text]:
            found[version.number] = lines[version.text]
    return found


def followed(
    versions: Sequence[Version], places: Mapping[str, tuple[int, Collection[int]]], text_of: TextOf, work: Work
) -> dict[str, set[int]]:
    """Return {name: its lines in the last version that has a text}. Lines count from 1.

    `places` is {name: (version number, lines there)}. A set is empty if none of the lines is left. Names are missing
    whose version is not among `versions`, or has no text.
    """
    lines: dict[str, dict[str, set[int]]] = {}
    previous: str | None = None
    for version in versions:
        if version.text is None:
            continue
        areas: Sequence[Area] | None = None
        for known in lines.values():
            if version.text not in known:
                if areas is None:
                    areas = changes(_text(text_of, previous), _text(text_of, version.text), work)
                moved = set(still_there(sorted(known[previous or ""]), areas))
                known[version.text] = moved.union(_taken_back(version, known, areas, text_of, work))
        for name, (number, there) in places.items():
            if number == version.number:
                lines[name] = {version.text: set(there)}
        previous = version.text
    return {name: known[previous or ""] for name, known in lines.items()}


def still_there(lines: Iterable[int], areas: Sequence[Area]) -> Iterator[int]:
    """Yield the numbers in the new text of those old lines that it still contains. `lines` are in order."""
    rest, shift = iter(areas), 0
    area = next(rest, None)
    for line in lines:
        while area is not None and area[1] < line:
            shift, area = area[3] - area[1], next(rest, None)
        if area is None or line <= area[0]:
            yield line + shift


def _taken_back(
    version: Version, lines: Mapping[str, Collection[int]], areas: Sequence[Area], text_of: TextOf, work: Work
) -> Iterator[int]:
    """Yield those of the `lines`, by the id of an older text, that the version took back from it.

    Its text differs in `areas` from the text before.
    """
    added = set(_added(areas)) if version.back else set()
    for back in version.back:
        if lines.get(back) and version.text is not None:
            moved = still_there(sorted(lines[back]), changes(_text(text_of, back), _text(text_of, version.text), work))
            yield from added.intersection(moved)


def _text(text_of: TextOf, text: str | None) -> str:
    return ended(text_of(text)) if text is not None else ""


def _added(areas: Iterable[Area]) -> Iterator[int]:
    for _i, _i_end, j, j_end in areas:
        yield from range(j + 1, j_end + 1)
