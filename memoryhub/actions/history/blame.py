"""Loads the versions of a memory for blame. One page loads a limited number of versions and bytes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memoryhub.actions.history import undone
from memoryhub.models import Memory, MemoryText, MemoryVersion, Operation
from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.text.blame import Version

MOST_VERSIONS = 2_000
MOST_BYTES = 100_000_000
CHUNK = 32
"""The number of texts loaded at once; a few texts often explain most lines."""


class Row(NamedTuple):
    """The columns of a version. `text` is the id of its text, which is not loaded."""

    number: int
    id: str
    seq: int
    superseded_seq: int | None
    at: datetime
    operation: str
    path: str | None
    text: str | None
    size: int | None
    review_state: str | None

    @property
    def is_deletion(self) -> bool:
        return self.operation == Operation.DELETED


@dataclass(frozen=True, slots=True)
class History:
    """Consecutive versions of a memory, oldest first. `whole` is False if requested versions are missing.

    They are missing because of the limits, or because retention removed all versions before the first one in `rows`. In
    the second case, `oldest_kept` is the number of this first one. `back` is {number of a version that an undo made:
    the older texts from which the undo restored lines}.
    """

    rows: Sequence[Row]
    whole: bool
    back: Mapping[int, tuple[str, ...]]
    oldest_kept: int | None = None

    def versions(self) -> list[Version]:
        """Return the versions for blame. Consecutive removed versions become one version without a text."""
        found: list[Version] = []
        for before, row in zip([None, *self.rows], self.rows, strict=False):
            if before is not None and row.number > before.number + 1:
                found.append(Version(before.number + 1, None))
            if not row.is_deletion:
                found.append(Version(row.number, row.text, self.back.get(row.number, ())))
        return found

    def by_number(self) -> dict[int, Row]:
        return {row.number: row for row in self.rows}


def up_to(memory: Memory, number: int) -> History:
    """Return the versions up to `number`, or the newest of them within MOST_VERSIONS and MOST_BYTES."""
    found = _rows(memory, "-number", MOST_VERSIONS, number__lte=number)
    kept = _within(found)[::-1]
    oldest, all_found = kept[0].number, len(kept) == len(found)
    oldest_kept = oldest if all_found and oldest > 1 else None
    return History(kept, all_found and oldest == 1, _back(memory, kept), oldest_kept)


def onward(memory: Memory, number: int, most: int = MOST_VERSIONS) -> History:
    """Return the version with this number and the versions after it, at most `most`."""
    found = _rows(memory, "number", most, number__gte=number)
    kept = _within(found)[:most]
    return History(kept, len(kept) == len(found), _back(memory, kept))


def between(memory: Memory, first: int, last: int, most: int) -> History:
    """Return the versions with the numbers from `first` to `last`, at most the first `most`."""
    found = _rows(memory, "number", most, number__gte=first, number__lte=last)
    kept = found[:most]
    return History(kept, len(kept) == len(found), _back(memory, kept))


def _back(memory: Memory, rows: Sequence[Row]) -> dict[int, tuple[str, ...]]:
    """Return {a version's number: the texts from before the undone versions} for each row that an undo made."""
    by_people = [row for row in rows if row.review_state is None]
    taken = undone.taken_out(memory.store_id, (row.seq for row in by_people), [memory.pk])
    return {row.number: tuple(_texts_before(rows, taken[row.seq])) for row in by_people if row.seq in taken}


def _texts_before(rows: Sequence[Row], gone: Collection[str]) -> Iterator[str]:
    """Yield the text before each group of consecutive versions whose ids are in `gone`."""
    before: str | None = None
    for row in rows:
        if row.id not in gone:
            before = before if row.is_deletion else row.text
        elif before is not None:
            yield before
            before = None


def _rows(memory: Memory, order: str, most: int, **bound: int) -> list[Row]:
    columns = (
        "number",
        "id",
        "seq",
        "superseded_seq",
        "created_at",
        "operation",
        "path",
        "text_id",
        "size",
        "review_state",
    )
    rows = MemoryVersion.objects.of_memory(memory).filter(**bound).order_by(order).values_list(*columns)
    return [Row(*row) for row in rows[: most + 1]]


def _within(rows: Sequence[Row]) -> Sequence[Row]:
    """Return as many of the first rows as MOST_VERSIONS and MOST_BYTES allow, but at least one row."""
    seen: set[str] = set()
    total = 0
    for place, row in enumerate(rows[:MOST_VERSIONS]):
        if row.text is not None and row.text not in seen:
            seen.add(row.text)
            total += row.size or 0
        if total > MOST_BYTES and place:
            return rows[:place]
    return rows[:MOST_VERSIONS]


def line_counts(store_ids: Collection[str], ids: Collection[str]) -> dict[str, int]:
    """Return {version id: number of lines}. Versions without a text are left out."""
    versions = MemoryVersion.objects.filter(store_id__in=store_ids, pk__in=ids, text__isnull=False)
    rows = versions.values_list("id", "text__content")
    return {id: count_lines(content) for id, content in rows.iterator(chunk_size=CHUNK)} if ids else {}


class Texts:
    """Texts of a store by id. They are loaded in chunks, and only one chunk is kept."""

    def __init__(self, store_id: str, order: Sequence[str]) -> None:
        self.store_id = store_id
        self.order = order
        self.places = {text: place for place, text in enumerate(order)}
        self.loaded: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return the text with this id; "" if it has been redacted since the versions were loaded."""
        if text not in self.loaded:
            place = self.places.get(text, 0)
            wanted = self.order[place : place + CHUNK] if text in self.places else [text]
            self.loaded = MemoryText.objects.contents(self.store_id, wanted)
        return self.loaded.get(text, "")
