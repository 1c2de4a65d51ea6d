"""Hints for a search that found nothing: which of its words occur nowhere, and other searches."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from memoryhub.pure.text.filter_words import Term
from memoryhub.pure.text.spellings import NearSpellings
from memoryhub.web.search.filters import Query
from memoryhub.web.search.scan import Hit, Place, Wanted, scan

SECONDS = 0.2
"""The most seconds for which near spellings are searched."""


@dataclass(frozen=True, slots=True)
class Other:
    """Another search that the page offers: its words, and its query string."""

    words: str
    query: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """The words of a search that found nothing."""

    words: Sequence[str]
    nowhere: Sequence[str]  # those that occur nowhere
    fewer: Other | None  # a search without some words
    near: Other | None  # a search with near spellings of the words in `nowhere`


def of(query: Query, wanted: Wanted, stores: Sequence[str], place: Place) -> NotFound:
    """Return the hints for a search that ended at `place` without a result."""
    plain = [term for term in query.typed if not term.key]
    nowhere = [term for at, term in enumerate(plain) if not place.seen >> at & 1]
    most = [term for at, term in enumerate(plain) if place.most >> at & 1]
    fewer = _other(query, {term: term.written for term in most}) if most else None
    return NotFound(query.text, [term.written for term in nowhere], fewer, _near(query, wanted, stores, plain, nowhere))


def _near(
    query: Query, wanted: Wanted, stores: Sequence[str], plain: Sequence[Term], nowhere: Sequence[Term]
) -> Other | None:
    """Return the search with near spellings in place of the words in `nowhere`, or None if one of these words has no
    near spelling."""
    until = time.perf_counter() + SECONDS
    spelt = {term: _most_frequent(term.value, wanted, stores, until) for term in nowhere}
    if not spelt or not all(spelt.values()):
        return None
    return _other(query, {term: spelt.get(term) or term.written for term in plain})


def _most_frequent(word: str, wanted: Wanted, stores: Sequence[str], until: float) -> str:
    """Search for near spellings of a word until the time `until`. Return the most frequent one. Return "" if none was
    found."""
    nearly, counts = NearSpellings([word]), Counter[str]()
    if " " in word or not nearly.halves:
        return ""
    asked, place, ended = replace(wanted, words=(nearly.halves,)), Place(), False
    while not ended and (left := until - time.perf_counter()) > 0:
        part = scan(asked, stores, place.on_a_new_page(), left)
        for hit in part.hits:
            for text in (hit.row.path if wanted.paths else None, *_notes(wanted, hit), hit.text):
                counts.update(nearly.within(text) if text else ())
        place, ended = part.place, part.ended
    return min(counts, key=lambda spelling: (-counts[spelling], spelling), default="")


def _notes(wanted: Wanted, hit: Hit) -> Sequence[str]:
    return [note.text for note in hit.notes] if wanted.notes else []


def _other(query: Query, written: dict[Term, str]) -> Other:
    """Return a search for only the words in `written` ({word: new spelling}), with the filters of the query."""
    words = [term.written if term.key else written[term] for term in query.typed if term.key or term in written]
    said = " ".join(written[term] for term in query.typed if term in written)
    return Other(said, urlencode({**query.parameters, "q": " ".join(words)}))
