"""The memories that have all words of a text to erase, but do not contain the text itself in a known spelling.

For example, the words are apart from each other or have other endings. An erasure does not change these memories.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.models import MemoryStore
from memoryhub.pure.text.folding import fold
from memoryhub.pure.text.word_endings import forms
from memoryhub.web.search.filters import MOST_WORDS
from memoryhub.web.search.scan import Hit, Place, Wanted, scan

SECONDS = 0.5
"""The most seconds for which the words are searched."""

MOST = 20
"""The most memories that are named."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory that has the words of a text to erase, with its current path."""

    store: MemoryStore
    memory: str
    path: str


@dataclass(frozen=True, slots=True)
class Apart:
    """The memories that were found: the first MOST of them as `rows`, and the number of all of them as `count`.

    `is_whole` is False if the time ended before every memory was compared.
    """

    rows: Sequence[Row]
    count: int
    is_whole: bool


def memories(subject: Iterable[str], stores: Mapping[str, MemoryStore], known: Sequence[str] = ()) -> Apart:
    """Return the live memories that a search for the texts in `subject` finds, and that contain no `known` spelling."""
    until, is_whole = time.perf_counter() + SECONDS, True
    found: dict[str, Row] = {}
    for text in subject:
        words = fold(text).replace(",", " ").split()
        if not 0 < len(words) <= MOST_WORDS:
            continue
        wanted, place, ended = Wanted(tuple(map(forms, words))), Place(), not stores
        while not ended and (left := until - time.perf_counter()) > 0:
            part = scan(wanted, list(stores), place.on_a_new_page(), left)
            place, ended = part.place, part.ended
            uncovered = (hit.row for hit in part.hits if not _has(hit, known))
            found |= {row.memory: Row(stores[row.store], row.memory, row.path or "") for row in uncovered}
        is_whole = is_whole and ended
    return Apart(list(found.values())[:MOST], len(found), is_whole)


def _has(hit: Hit, known: Sequence[str]) -> bool:
    texts = [text for text in (hit.row.path, *(note.text for note in hit.notes), hit.text) if text]
    return any(spelling in text for spelling in known for text in texts)
