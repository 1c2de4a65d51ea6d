"""Renders views: numbered lines, and listings of directories. The same input always gives the same text."""

from collections.abc import Iterable
from operator import add
from typing import NamedTuple

from memoryhub.pure.protocol import paths, results, text
from memoryhub.pure.protocol.errors import ToolError

SHORTEST_LINE = 8  # code points of an empty numbered line and the LF before it

_NUMBERS = tuple(f"{number:6d}\t" for number in range(1, 1001))


class FileView(NamedTuple):
    """The view of a memory: the answer, the first and the last line that it shows (from 1), and whether the limit cut
    the view."""

    answer: str
    first: int
    last: int
    cut: bool


class Entry(NamedTuple):
    """A memory or directory in a listing: its path and its size in bytes."""

    path: str
    size: int
    is_directory: bool


def numbered(content: str, first: int, last: int) -> str:
    """Return the lines from `first` to `last` (from 1, both included) with their numbers. If the content ends with LF,
    its last line is empty."""
    lines = content.split("\n", last)[first - 1 : last]
    numbers = _NUMBERS[first - 1 : last] if last <= len(_NUMBERS) else map("%6d\t".__mod__, range(first, last + 1))
    return "\n".join(map(add, numbers, lines))


def view(path: str, content: str, view_range: object, limit: int) -> FileView:
    """Return the view of a memory. Raises ToolError for a wrong range.

    If the view has more than `limit` code points, it is cut at the end of a line.
    """
    total = text.shown_lines(content)
    if total > results.MOST_LINES and text.count_lines(content) > results.MOST_LINES:
        raise ToolError(results.too_many_lines(path))
    first, last = (1, total) if view_range is None else _range(view_range, total)
    shown = numbered(content, first, min(last, _surely_past(limit, content, first)))
    end = _end_of_view(shown, limit)
    if end is None:
        return FileView(results.content_header(path) + shown, first, last, cut=False)
    last = first + shown.count("\n", 0, end)
    answer = results.content_header(path) + shown[:end] + results.cut_lines(first, last, total)
    return FileView(answer, first, last, cut=True)


def _surely_past(limit: int, content: str, first: int) -> int:
    """Return the number of a line that is surely beyond the limit of a view from the line `first`.

    The view needs no line after this one.
    """
    line = first + limit // SHORTEST_LINE + 1
    return min(line, content.count("\n", 0, limit) + 2) if first == 1 else line


def _end_of_view(shown: str, limit: int) -> int | None:
    """Return where to cut numbered lines: at the end of the last line within the limit, but not before the end of the
    first line.

    None if they need no cut.
    """
    if len(shown) <= limit:
        return None
    end = shown.rfind("\n", 0, limit + 1)
    end = shown.find("\n") if end < 0 else end
    return None if end < 0 else end


def _range(view_range: object, total: int) -> tuple[int, int]:
    """Return the first and last line to show; raises ToolError for an invalid range."""
    if not isinstance(view_range, list) or len(view_range) != 2:
        raise ToolError(results.invalid_range())
    first, last = map(text.integer, view_range)
    if first is None or last is None:
        raise ToolError(results.invalid_range())
    if first > total:
        raise ToolError(results.range_starts_past_end(view_range, first, total))
    first = max(first, 1)
    if last == -1:
        return first, total
    if last < first:
        raise ToolError(results.range_ends_before_start(view_range, first, last))
    return first, min(last, total)


def view_again(path: str, content: str, first: int, last: int, cut: bool) -> str:
    """Return the answer that `view` returned before, rendered again from the facts in the audit entry."""
    shown = results.content_header(path) + numbered(content, first, last)
    return shown + results.cut_lines(first, last, text.shown_lines(content)) if cut else shown


def edited_again(content: str, first: int, last: int) -> str:
    """Return the answer to a str_replace, rendered again from the new text and the lines of its snippet."""
    return results.edited_with_snippet(numbered(content, first, last))


def human_size(size: int) -> str:
    """Return a size as text: `999B`, or in units of 1024 with one decimal and K, M, G or T, such as `1.5K`."""
    if size < 1024:
        return f"{size}B"
    value, unit = size / 1024, "K"
    for larger in "MGT":
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}{unit}"


def entries_of(path: str, memories: Iterable[tuple[str, int]]) -> list[Entry]:
    """Return the entries of a directory's listing, at most two levels deep, from the (path, size) of all memories in
    the directory."""
    entries: list[Entry] = []
    directories: dict[str, int] = {}
    for place, size in memories:
        names = place[len(path) + 1 :].split("/")
        if len(names) <= 2:
            entries.append(Entry(place, size, False))
        for depth in range(1, min(len(names), 3)):
            directory = "/".join([path, *names[:depth]])
            directories[directory] = directories.get(directory, 0) + size
    return entries + [Entry(directory, size, True) for directory, size in directories.items()]


def listing(path: str, size: int, entries: Iterable[Entry]) -> str:
    """Return the listing of a directory. Its entries, at most two levels deep, are listed depth first and by code
    point.

    Hidden entries are left out. After the first LONGEST_LISTING entries, the other entries are only counted.
    """
    shown = [entry for entry in entries if not paths.has_hidden(entry.path[len(path) :])]
    shown.sort(key=_depth_first)
    lines = [results.listing_header(path), f"{human_size(size)}\t{results.ROOT}{path}"]
    lines += map(_line, shown[: results.LONGEST_LISTING])
    if len(shown) > results.LONGEST_LISTING:
        lines.append(results.more_items(len(shown) - results.LONGEST_LISTING))
    return "\n".join(lines)


def _depth_first(entry: Entry) -> str:
    """Return a sort key for a path. The key orders paths as lists of names, because no name contains NUL."""
    return entry.path.replace("/", "\0")


def _line(entry: Entry) -> str:
    return f"{human_size(entry.size)}\t{results.ROOT}{entry.path}{'/' if entry.is_directory else ''}"
