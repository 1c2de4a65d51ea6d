"""The results of a search, grouped by memory, with the matching lines and the lines around them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from memoryhub.models import AuditEntry, Memory, MemoryStore
from memoryhub.pure.text.folding import chosen_lines, found_lines, spans, window
from memoryhub.web.common import pages
from memoryhub.web.common.marks import UNMARKED, Marks, marks_of
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.lines import LINES as LINES_OF_A_PAGE
from memoryhub.web.common.texts.masking import Cover
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.search.candidates import OLD
from memoryhub.web.search.highlight import marked, marked_path, with_marks
from memoryhub.web.search.scan import Hit

MOST_LINES = 4
"""The most matching lines that are shown of a text; each is shown with the line before and after it."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Matching lines of a text as HTML."""

    html: SafeString
    more: int  # the number of other matching lines
    over: bool  # there may be even more of them


class Made(NamedTuple):
    """The entry that made a version. For an imported version, also the author of the version."""

    entry: AuditEntry | None
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Version:
    """A matching version, or consecutive ones (`first` to `last`) with the same excerpt."""

    id: str  # of the first version
    first: int
    last: int
    url: str
    excerpt: Excerpt
    notes: Sequence[tuple[SafeString, bool]]  # each with whether it is the note of the deletion
    made: Made
    is_old: bool


def in_excerpts(found: Iterable["Result"]) -> Iterator[tuple[str, str, str]]:
    """Yield (store, memory, version) of the texts whose lines are shown in the results."""
    for result in found:
        yield from ((result.store.pk, result.memory, one.id) for one in result.versions if one.excerpt.html)


@dataclass(frozen=True, slots=True)
class Result:
    """A memory with its matching versions."""

    store: MemoryStore
    memory: str
    path: SafeString
    url: str
    in_trash: bool
    marks: Marks
    versions: Sequence[Version]


def results(hits: Iterable[Hit], stores: Mapping[str, MemoryStore], words: Sequence[str]) -> list[Result]:
    """Return the hits as results in the same order; adjacent hits of one memory become one result.

    `stores` is {id: store}; the `words` are marked in the excerpts.
    """
    hits = list(hits)
    by_place: dict[tuple[str, int], AuditEntry] = {}
    for store_id in {hit.row.store for hit in hits}:
        seqs = [hit.row.seq for hit in hits if hit.row.store == store_id]
        by_place |= {(store_id, seq): entry for seq, entry in pages.entries(stores[store_id], *seqs).items()}
    memories = Memory.objects.filter(store_id__in=stores, pk__in={hit.row.memory for hit in hits})
    marks = marks_of(memories.only("store_id", "head_id", "path", "flagged"), timezone.now())
    covers: dict[str, Cover] = {}
    imported: dict[str, Origin] = {}
    for store_id in {hit.row.store for hit in hits}:
        imported |= origins.of_ids(store_id, [hit.row.version for hit in hits if hit.row.store == store_id])
        covers |= masking.covers(store_id, {hit.row.memory for hit in hits if hit.row.store == store_id})
    groups = groupby(hits, key=lambda hit: (hit.row.kind, hit.row.memory))
    made = {
        hit.row.version: Made(by_place.get((hit.row.store, hit.row.seq)), imported.get(hit.row.version)) for hit in hits
    }
    return [_result(list(group), stores, words, made, marks, covers) for _, group in groups]


def _result(
    hits: list[Hit],
    stores: Mapping[str, MemoryStore],
    words: Sequence[str],
    made: Mapping[str, Made],
    marks: Mapping[str, Marks],
    covers: Mapping[str, Cover],
) -> Result:
    newest = hits[-1].row
    versions: list[Version] = []
    for hit in hits:
        version = _version(hit, words, made[hit.row.version], covers.get(hit.row.memory, masking.NOTHING))
        if versions and _is_same(versions[-1], version):
            version = _joined(versions.pop(), version)
        versions.append(version)
    url = reverse("memory", args=[newest.store, newest.memory])
    return Result(
        store=stores[newest.store],
        memory=newest.memory,
        path=marked_path(newest.path or "", words),
        url=url,
        in_trash=newest.in_trash,
        marks=marks.get(newest.memory, UNMARKED),
        versions=versions[::-1],
    )


def _version(hit: Hit, words: Sequence[str], made: Made, cover: Cover) -> Version:
    row = hit.row
    if row.kind == OLD:
        url = reverse("version", args=[row.store, row.version])
    else:
        url = reverse("memory", args=[row.store, row.memory])
    text = hit.text or ""
    shown = excerpt(text, words, url, "first" if row.kind == OLD else "from", masking.masked(text, cover))
    notes = [(marked(one.text, words), one.of_deletion) for one in hit.notes if spans(one.text, words, 1)]
    return Version(row.version, row.number, row.number, url, shown, notes, made, row.kind == OLD)


def _is_same(one: Version, other: Version) -> bool:
    """Return whether two consecutive old versions have the same excerpt and the same notes."""
    shown = one.excerpt.html.replace(one.url, other.url)
    return one.is_old and one.last + 1 == other.first and shown == other.excerpt.html and one.notes == other.notes


def _joined(one: Version, other: Version) -> Version:
    return Version(one.id, one.first, other.last, other.url, other.excerpt, other.notes, other.made, is_old=True)


def excerpt(text: str, words: Sequence[str], url: str, parameter: str, masked: str | None = None) -> Excerpt:
    """Return the matching lines to show, at most MOST_LINES, each with a link and the lines next to it.

    If more lines match, the first match of each word is shown rather than other matches. `masked` is the text to show,
    with sensitive values masked.
    """
    numbers, over = found_lines(text, words)
    text = text if masked is None else masked
    chosen = chosen_lines(numbers, MOST_LINES)
    shown = sorted({line for number in chosen for line in (number - 1, number, number + 1) if line >= 0})
    lines = text.split("\n", shown[-1] + 1)[: shown[-1] + 1] if shown else []
    if lines and len(lines) > 1 and len(lines) == text.count("\n") + 1 and not lines[-1]:
        lines.pop()  # a final line feed starts no line
    found = set(chosen)
    html, before = [], -1
    for number in (line for line in shown if line < len(lines)):
        if before >= 0 and number > before + 1:
            html.append('<li class="excerpt-gap" aria-hidden="true">⋮</li>')
        html.append(_line(lines[number], number, words if number in found else (), url, parameter))
        before = number
    every = {number for of_word in numbers for number in of_word}
    return Excerpt(mark_safe("".join(html)), len(every - found), over)


def _line(line: str, number: int, words: Sequence[str], url: str, parameter: str) -> str:
    """Return a line as HTML, with a link on its number. A long line is cut around its first match."""
    found = spans(line, words)
    start, end = window(line, found)
    inside = [(max(a, start) - start, min(b, end) - start) for a, b in found if a < end and b > start]
    shown = ("…" if start else "") + with_marks(line[start:end], inside) + ("…" if end < len(line) else "")
    place = f"{url}?{parameter}={number + 1}" if number >= LINES_OF_A_PAGE else url
    kind = ' class="excerpt-found"' if found else ""
    return f'<li{kind}><a href="{place}#L{number + 1}">{number + 1}</a><code>{shown}</code></li>'
