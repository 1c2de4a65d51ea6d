"""Follows lines of a memory through its later versions: the lines that given versions added, or the lines at given
places."""

from collections.abc import Collection, Mapping, Sequence

from memoryhub.pure.text.blame import TextOf, Version
from memoryhub.pure.text.changed_lines import Work, changes, ended
from memoryhub.pure.text.line_sets import LineSet, Moves


def carried(versions: Sequence[Version], added_by: Collection[int], text_of: TextOf, work: Work) -> dict[int, LineSet]:
    """Return {version number: lines}: the lines of this version that were added by a version in `added_by`.

    Lines count from 1. Versions without such lines are left out. `versions` are consecutive and in order of time. All
    lines of the first text count as added by the first version. Once `work` is used up, all further versions are left
    out.
    """
    lines: dict[str, LineSet] = {}
    previous: str | None = None
    found: dict[int, LineSet] = {}
    for version in versions:
        if version.text is None:
            continue
        if version.text not in lines:
            moves = _moves(text_of, previous, version.text, work)
            moved = moves.after(lines.get(previous or "", LineSet()))
            new = moves.added if version.number in added_by else _taken_back(version, lines, moves, text_of, work)
            lines[version.text] = moved.union(new)
            if not work.keeps(len(lines[version.text].runs)):
                break
        previous = version.text
        if lines[version.text]:
            found[version.number] = lines[version.text]
    return found


def followed(
    versions: Sequence[Version], places: Mapping[str, tuple[int, Collection[int]]], text_of: TextOf, work: Work
) -> dict[str, LineSet]:
    """Return {name: line numbers}: where the lines with each name are in the last version that has a text.

    The caller gives a name to some lines of a version: `places` is {name: (version number, lines in this version)}.
    Lines count from 1. The returned set of a name is empty if none of its lines is left, or if it takes too much work
    to follow them. A name is left out if its version has no text.
    """
    lines: dict[str, dict[str, LineSet]] = {}
    previous: str | None = None
    for version in versions:
        if version.text is None:
            continue
        moves: Moves | None = None
        for known in lines.values():
            if version.text not in known:
                moves = moves or _moves(text_of, previous, version.text, work)
                moved = moves.after(known[previous or ""])
                now = moved.union(_taken_back(version, known, moves, text_of, work))
                known[version.text] = now if work.keeps(1 + len(now.runs)) else LineSet()
        for name, (number, there) in places.items():
            if number == version.number:
                lines[name] = {version.text: LineSet.of(there)}
        previous = version.text
    return {name: known[previous or ""] for name, known in lines.items()}


def _taken_back(version: Version, lines: Mapping[str, LineSet], moves: Moves, text_of: TextOf, work: Work) -> LineSet:
    """Return the lines that the version took back from older texts.

    `lines` has the lines of each older text by its id. `moves` leads from the previous text to the text of the version.
    """
    found = LineSet()
    for back in version.back:
        if lines.get(back) and version.text is not None:
            found = found.union(_moves(text_of, back, version.text, work).after(lines[back]))
    return found.intersection(moves.added) if found else found


def _moves(text_of: TextOf, old: str | None, new: str, work: Work) -> Moves:
    return Moves(changes(ended(text_of(old)) if old is not None else "", ended(text_of(new)), work))
