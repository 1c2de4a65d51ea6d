"""Renders views: numbered lines and directory listings. The same facts always give the same text."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import add

from memoryhub.protocol import paths, results, text
from memoryhub.protocol.errors import ToolError

SHORTEST_LINE = 8  # code points of an empty numbered line and the LF before it

_NUMBERS = tuple(f"{number:6d}\t" for number in range(1, 1001))


@dataclass(frozen=True, slots=True)
class FileView:
    """A memory's view: the answer, the lines that it shows (from 1, inclusive), and whether the limit cut it."""

    answer: str
    first: int
    last: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory or directory in a listing: its path and its size in bytes."""

    path: str
    size: int
    is_directory: bool


def numbered(content: str, first: int, last: int) -> str:
    """Return the lines from `first` to `last` (from 1, inclusive) with numbers; a final LF is followed by an empty
    line."""
    lines = content.split("\n", last)[first - 1 : last]
    numbers = _NUMBERS[first - 1 : last] if last <= len(_NUMBERS) else map("%6d\t".__mod__, range(first, last + 1))
    return "\n".join(map(add, numbers, lines))


def view(path: str, content: str, view_range: object, limit: int) -> FileView:
    """Return the view of a memory's lines, cut at the end of a line after `limit` code points; raises ToolError."""
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
    """Return a line number that a view from `first` on cannot reach within its limit, as an upper bound of the work."""
    line = first + limit // SHORTEST_LINE + 1
    return min(line, content.count("\n", 0, limit) + 2) if first == 1 else line


def _end_of_view(shown: str, limit: int) -> int | None:
    """Return where to cut numbered lines: at the last line's end within the limit, else after the first line; None: no
    cut."""
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
    """Return the same answer as `view`, rendered from the recorded facts."""
    shown = results.content_header(path) + numbered(content, first, last)
    return shown + results.cut_lines(first, last, text.shown_lines(content)) if cut else shown


def edited_again(content: str, first: int, last: int) -> str:
    """Return the answer to a str_replace, rendered from the new text and the lines of its snippet."""
    return results.edited_with_snippet(numbered(content, first, last))


def human_size(size: int) -> str:
    """Return a size as `999B`, or with one decimal in units of 1024 as K, M, G or T: `1.5K`."""
    if size < 1024:
        return f"{size}B"
    value, unit = size / 1024, "K"
    for larger in "MGT":
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}{unit}"


def listing(path: str, size: int, entries: Iterable[Entry]) -> str:
    """Return the listing of a directory, depth first and by code point; `entries` are at most two levels deep.

    Hidden entries are left out. Entries after the first LONGEST_LISTING are only counted.
    """
    shown = [entry for entry in entries if not paths.has_hidden(entry.path[len(path) :])]
    shown.sort(key=_depth_first)
    lines = [results.listing_header(path), f"{human_size(size)}\t{results.ROOT}{path}"]
    lines += map(_line, shown[: results.LONGEST_LISTING])
    if len(shown) > results.LONGEST_LISTING:
        lines.append(results.more_items(len(shown) - results.LONGEST_LISTING))
    return "\n".join(lines)


def _depth_first(entry: Entry) -> str:
    """Return a sort key equal to the order by lists of names: no name contains NUL, so a name precedes its
    extensions."""
    return entry.path.replace("/", "\0")


def _line(entry: Entry) -> str:
    return f"{human_size(entry.size)}\t{results.ROOT}{entry.path}{'/' if entry.is_directory else ''}"
