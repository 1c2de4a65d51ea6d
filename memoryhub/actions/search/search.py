"""The searches that keys make in the memories of a store. Each takes a limited time and makes one audit entry.

The folded texts are compared, without an index. Nothing is masked, because a key may read every text.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.rules.sight import Sight, sees, sight_in
from memoryhub.actions.core.transactions import let_others
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import input_masking
from memoryhub.actions.memories.api import requests as asked_actions
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.models import Memory, MemoryText
from memoryhub.pure.protocol import paths
from memoryhub.pure.text import keeping
from memoryhub.pure.text.folding import MOST_COUNTED, Span, chosen_lines, fold, found_lines, spans, window
from memoryhub.pure.text.word_endings import Forms, forms, missing, texts_of

COMMAND = "search"
LONGEST_QUERY, MOST_WORDS = 500, 8
SECONDS = 0.1
"""The longest search, in seconds, for one answer."""

MOST_LINES = 5
FIRST_ROWS, MOST_ROWS = 25, 200
BATCH_BYTES = 256 * 1024
_WORD = re.compile(r'"([^"]*)"|(\S+)')


class BadQuery(ValueError):
    """The query cannot be searched; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line with a match; `number` counts from 1. If the line is long, `text` is its part from column `start` on."""

    number: int
    text: str
    start: int
    found: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that matches.

    `lines` are its matching lines, at most MOST_LINES; `more` counts the other matching lines.
    """

    memory: Memory
    in_path: Sequence[Span]
    lines: Sequence[Line]
    more: int


@dataclass(slots=True)
class Found:
    """The matches that were found within the time limit, by path.

    The next search continues after the path `goes_on`. It is None if this search was complete.
    """

    matches: list[Match] = field(default_factory=list)
    goes_on: str | None = None


def words_of(query: str) -> tuple[Forms, ...]:
    """Return the words of a query, each as the tuple of its folded forms. Raises BadQuery.

    A word without quotes can have several forms (see `forms`). A phrase in double quotes is one word with one form.
    """
    if len(query) > LONGEST_QUERY:
        raise BadQuery(f"`query` must have at most {LONGEST_QUERY} characters.")
    typed = [(fold((match[1] or match[2] or "").strip()), match[1] is None) for match in _WORD.finditer(query)]
    words = tuple(dict.fromkeys(forms(word) if is_plain else (word,) for word, is_plain in typed if word))
    if not words:
        raise BadQuery("`query` must have a word to look for.")
    if len(words) > MOST_WORDS:
        raise BadQuery(f"`query` must have at most {MOST_WORDS} words.")
    return words


def search(
    store_id: str,
    asked: Asked,
    query: str,
    directory: str = paths.ROOT_DIRECTORY,
    *,
    limit: int,
    after: str | None = None,
) -> Found:
    """Return the memories under a directory that contain every word of the query in their path or text.

    `directory` is a path without a final slash (`""`: the whole store). With `after`, only memories after this path are
    searched. There may be fewer than `limit` matches, even none, although more follow. Raises BadQuery, and the errors
    of `requests.on_store`.
    """
    words = words_of(query)
    let_others()
    found = _look(store_id, words, directory, limit, after, sight_in(store_id, asked.caller.actor, asked.at))
    details = {"query": query, "path_prefix": directory + "/", "limit": limit}
    if after is not None:
        details["after"] = after

    def note(store: Tree) -> tuple[Found, Record]:
        versions = ", ".join(match.memory.head_id for match in found.matches)
        record = Record(COMMAND, answer=f"{len(found.matches)} memories: {versions}" if versions else "0 memories")
        return found, input_masking.of_call(store, record, details, audit.to_json(details))

    return asked_actions.on_store(store_id, asked, Record(COMMAND), note)


def found_versions(message: str | None) -> list[str]:
    """Return the ids of the versions that a search found, from the message of its entry."""
    versions = json.loads(message or '""').partition(": ")[2]
    return versions.split(", ") if versions else []


def query_of(input: str | None) -> str | None:
    """Return the whole query of a search, from the input of its entry.

    None if the query was redacted or is stored only in part.
    """
    given, size = keeping.parts(json.loads(input or "{}"))
    query = given.get("query") if size is None and isinstance(given, dict) else None
    return query if isinstance(query, str) else None


def lines_found(query: str, path: str, text: str) -> list[int] | None:
    """Return the numbers of those lines of a memory that a search showed. Numbers begin at 1.

    None if the query is not valid, or if it no longer finds the memory because a value was masked after the search.
    """
    try:
        words = words_of(query)
    except BadQuery:
        return None
    left = missing(fold(path), words)
    numbers, _ = found_lines(text, texts_of(words))
    here = {form for form, found in zip(texts_of(words), numbers, strict=True) if found}
    if any(here.isdisjoint(forms) for forms in left):
        return None
    return [number + 1 for number in chosen_lines(numbers, MOST_LINES)]


def _look(
    store_id: str, words: Sequence[Forms], directory: str, limit: int, after: str | None, sight: Sight | None
) -> Found:
    clock = time.perf_counter
    until = clock() + SECONDS
    found = Found()
    rows = _texts(store_id, directory, after, sight)
    for memory, text in rows:
        if _has_all(words, memory.path, text) and not paths.is_sync_marker(memory.path):
            found.matches.append(_match(memory, text, texts_of(words)))
        if len(found.matches) >= limit or clock() >= until:
            found.goes_on = memory.path if next(rows, None) else None
            break
    return found


def _texts(store_id: str, directory: str, after: str | None, sight: Sight | None) -> Iterator[tuple[Memory, str]]:
    """Yield (memory, text) of the live memories that the agent sees under a directory, after the path `after`."""
    memories = Memory.objects.under(directory).filter(store_id=store_id).order_by("path")
    size = FIRST_ROWS
    while True:
        rows = list((memories if after is None else memories.filter(path__gt=after))[:size])
        shown = [memory for memory in rows if sees(sight, memory.path)]
        texts: dict[str, str] = {}
        for at, memory in enumerate(shown):
            if memory.text_id not in texts:
                wanted = _some(shown[at:])
                texts = MemoryText.objects.contents(store_id, wanted)
            yield memory, texts.get(memory.text_id, "")
        if len(rows) < size:
            return
        after, size = rows[-1].path, MOST_ROWS


def _some(rows: Sequence[Memory]) -> list[str]:
    """Return the ids of one batch of texts: those of the memories at the start of `rows`.

    A batch has at most BATCH_BYTES; a single text may have more.
    """
    ids: list[str] = []
    size = 0
    for memory in rows:
        if ids and size + memory.size > BATCH_BYTES:
            break
        ids.append(memory.text_id)
        size += memory.size
    return ids


def _has_all(words: Sequence[Forms], path: str, text: str) -> bool:
    """Return whether every word is in the path or in the text."""
    left = missing(fold(path), words)
    return not left or not missing(fold(text), left)


def _match(memory: Memory, text: str, words: Sequence[str]) -> Match:
    numbers, _ = found_lines(text, words)
    chosen = chosen_lines(numbers, MOST_LINES)
    lines = text.split("\n", chosen[-1] + 1) if chosen else []
    every = {number for of_word in numbers for number in of_word}
    shown = [_line(number, lines[number], words) for number in chosen]
    return Match(memory, spans(memory.path, words), shown, len(every) - len(chosen))


def _line(number: int, line: str, words: Sequence[str]) -> Line:
    found = spans(line, words, MOST_COUNTED)
    start, end = window(line, found)
    inside = [(max(a, start) - start, min(b, end) - start) for a, b in found if a < end and b > start]
    return Line(number + 1, line[start:end], start, inside)
