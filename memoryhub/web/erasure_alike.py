"""What only looks like the texts that are to be erased: other case, other spaces, in what the memories say now."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryhub.folding import fold, spans
from memoryhub.models import Memory

SECONDS = 0.5
MOST = 12
BATCH = 200


@dataclass(frozen=True, slots=True)
class Alike:
    """Another spelling, as it stands in so many memories."""

    text: str
    memories: int


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found; `looked` of the store's memories were looked through in the time there is."""

    alike: tuple[Alike, ...]
    looked: int
    complete: bool


def alike(store_id: str, terms: Sequence[str], *, seconds: float = SECONDS) -> Looked:
    """Spellings that are not exactly one of the texts, the most frequent first."""
    pattern = re.compile("|".join(_loosely(term) for term in terms))
    end, last, looked = time.monotonic() + seconds, "", 0
    counts: dict[str, int] = {}
    while True:
        rows = list(_memories(store_id, last))
        for path, content in rows:
            for text in _spellings(pattern, f"{path}\n{content or ''}", terms):
                counts[text] = counts.get(text, 0) + 1
            looked, last = looked + 1, path
            if time.monotonic() > end:
                return Looked(_most(counts), looked, complete=False)
        if len(rows) < BATCH:
            return Looked(_most(counts), looked, complete=True)


def _memories(store_id: str, last: str) -> Iterator[tuple[str, str | None]]:
    """(path, text) of the next live memories."""
    rows = Memory.objects.live().filter(store_id=store_id, path__gt=last).order_by("path")
    return iter(rows.values_list("path", "text__content")[:BATCH])


def _loosely(term: str) -> str:
    """A folded text whose words may stand together or apart."""
    return r"[\s._-]{0,3}".join(re.escape(word) for word in re.split(r"[\s._-]+", fold(term)) if word) or "(?!)"


def _spellings(pattern: "re.Pattern[str]", text: str, terms: Sequence[str]) -> set[str]:
    """How the texts are spelt in one that has them loosely, but for the texts themselves."""
    folded = fold(text)
    found: set[str] = set()
    if not pattern.search(folded):
        return found
    for line, folded_line in zip(text.split("\n"), folded.split("\n"), strict=True):
        words = {match.group() for match in pattern.finditer(folded_line)}
        if words:
            found |= {line[start:end] for start, end in spans(line, sorted(words))}
    return {text for text in found if not any(term in text for term in terms)}


def _most(counts: dict[str, int]) -> tuple[Alike, ...]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Alike(text, count) for text, count in ordered[:MOST])
