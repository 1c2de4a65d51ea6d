"""Computes derived values again from versions and entries, and compares them with the stored values.

These are heads, counters, reads, and the seqs at which versions were superseded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, F, Max, OuterRef, Subquery

from memoryhub.actions.verification import review_states
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Comment,
    Directory,
    Memory,
    MemoryStore,
    MemoryVersion,
    Operation,
    Redaction,
)
from memoryhub.pure.protocol import paths


@dataclass(frozen=True, slots=True)
class _Head:
    """A memory's newest version, with the columns that are repeated in the memory's row.

    If the newest version is a deletion, `text_id`, `size` and `sha256` are those of the version before it.
    """

    memory_id: str
    id: str
    seq: int
    number: int
    operation: str
    path: str | None
    text_id: str | None
    size: int | None
    sha256: str | None
    created_at: datetime


def derived_problems(store_id: str) -> Iterator[tuple[int, str]]:
    """Yield (seq, sentence) for each wrong derived value. A chain without a store has no derived values."""
    store = MemoryStore.present.filter(pk=store_id).first()
    if store is None:
        return
    heads: dict[str, _Head] = {}
    counts: Counter[str] = Counter()
    yield from _superseding(store_id, heads, counts)
    yield from _memories(store_id, heads, counts)
    yield from _counters(store)
    yield from review_states.problems(store_id)


def _superseding(store_id: str, heads: dict[str, _Head], counts: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield (seq, problem) for each version whose `superseded_seq` is not the seq of its memory's next version.

    Also fill `heads` with each memory's newest version, and `counts` with the number of the memory's versions.
    """
    columns = ("superseded_seq", *_Head.__slots__)
    expected: dict[str, tuple[str, int | None, int]] = {}
    removed, start = _removed(store_id), _start(store_id)
    rows = MemoryVersion.objects.filter(store_id=store_id).order_by("memory_id", "number").values_list(*columns)
    for superseded, *rest in rows.iterator(2000):
        head = _Head(*rest)
        memory = head.memory_id
        counts[memory] += 1
        before = expected.get(memory)
        if before and before[1] != (next_seq := _next_seq(heads[memory], head, removed, start, before[1])):
            yield before[2], f"version {before[0]} is not superseded by entry {next_seq}"
        expected[memory] = (head.id, superseded, head.seq)
        if head.operation == Operation.DELETED and memory in heads:
            last = heads[memory]
            head = replace(head, text_id=last.text_id, size=last.size, sha256=last.sha256)
        heads[memory] = head
    for id, superseded, seq in expected.values():
        if superseded is not None:
            yield seq, f"version {id} is the newest of its memory and marked as superseded"


def _removed(store_id: str) -> dict[tuple[str, int], int]:
    """Return {(memory, number): seq of the entry that made the version} of the versions that retention removed."""
    rows = Redaction.objects.of_chain(store_id).removed().values_list("memory", "number", "entry_seq")
    return {(str(memory), number or 0): seq for memory, number, seq in rows}


def _start(store_id: str) -> int:
    """Return the seq of the last entry that retention removed; 0 if it removed none."""
    return AuditChain.objects.filter(pk=store_id).values_list("start_seq", flat=True).first() or 0


def _next_seq(
    last: _Head, head: _Head, removed: Mapping[tuple[str, int], int], start: int, stored: int | None
) -> int | None:
    """Return the seq of the entry that made the version after `last`; None if no row shows it.

    `head` is the next version that still has a row. If the version after `last` was removed, its redaction has the seq.
    If there is no such redaction, the seq `stored` in the row of `last` is returned, but only if it is at most `start`:
    the entries that could disprove it were removed.
    """
    if head.number == last.number + 1:
        return head.seq
    gone = removed.get((last.memory_id, last.number + 1))
    return stored if gone is None and stored is not None and stored <= start else gone


def _memories(store_id: str, heads: dict[str, _Head], counts: Counter[str]) -> Iterator[tuple[int, str]]:
    start = _start(store_id)
    reads = {
        row["memory"]: (row["count"], row["last"])
        for row in AuditEntry.objects.filter(chain=store_id, command="view", ok=True, memory__isnull=False)
        .values("memory")
        .annotate(count=Count("seq"), last=Max("seq"))
    }
    seen = set()
    for memory in Memory.objects.filter(store_id=store_id).iterator(2000):
        head = heads.get(memory.id)
        seen.add(memory.id)
        if head is None:
            yield 0, f"memory {memory.id} has no version"
        elif not _is_head(memory, head):
            yield head.seq, f"memory {memory.id} is not as its newest version {head.id}"
        elif memory.version_count - memory.removed_versions != counts[memory.id]:
            yield head.seq, f"the versions of memory {memory.id} are not as many as it counts"
        elif not _reads_fit(memory, *reads.get(memory.id, (0, None)), start):
            yield memory.last_read_seq or head.seq, f"the reads of memory {memory.id} are not those of the entries"
    yield from _moments(store_id, start)
    yield from _notes(store_id)
    for id in heads.keys() - seen:
        yield heads[id].seq, f"memory {id} is missing"


def _moments(store_id: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield (seq, sentence) for each memory whose time of creation or of the last read is wrong."""
    own = Memory.objects.filter(store_id=store_id)
    first = MemoryVersion.objects.filter(store_id=store_id, memory_id=OuterRef("pk")).order_by("number")
    made = own.filter(removed_versions=0).annotate(made_at=Subquery(first.values("created_at")[:1]))
    for id, seq in made.exclude(created_at=F("made_at")).values_list("pk", "last_read_seq"):
        yield seq or 0, f"memory {id} was not made when its first version says"
    entry = AuditEntry.objects.filter(chain=store_id, seq=OuterRef("last_read_seq"))
    read = own.filter(last_read_seq__gt=start).annotate(read_at=Subquery(entry.values("at")[:1]))
    for id, seq in read.exclude(last_read_at=F("read_at")).values_list("pk", "last_read_seq"):
        yield seq or 0, f"memory {id} was not read when this entry says"
    for id in own.filter(last_read_seq=None, last_read_at__isnull=False).values_list("pk", flat=True):
        yield 0, f"memory {id} was read, and no entry says so"


def _notes(store_id: str) -> Iterator[tuple[int, str]]:
    """Yield (0, sentence) for each memory whose `waiting_notes` is not the number of its waiting notes to agents."""
    notes = Comment.objects.of_store(store_id).waiting().values_list("memory_id").annotate(count=Count("pk"))
    counted = Memory.objects.filter(store_id=store_id, waiting_notes__gt=0).values_list("pk", "waiting_notes")
    for id in sorted({id for id, _count in {*notes} ^ {*counted}}):
        yield 0, f"memory {id} does not count the notes that wait at it"


def _reads_fit(memory: Memory, count: int, last: int | None, start: int) -> bool:
    """Return whether a memory's stored reads match the entries.

    The entries record `count` reads, the newest in the entry `last`. If the entries up to `start` were removed, the
    memory may have had more reads before.
    """
    if not start:
        return (memory.read_count, memory.last_read_seq) == (count, last)
    return memory.read_count >= count and (
        memory.last_read_seq == last if last else (memory.last_read_seq or 0) <= start
    )


def _is_head(memory: Memory, head: _Head) -> bool:
    path = None if head.path is None else memory.path  # None: a redacted deletion
    facts = (memory.head_id, path, memory.version_count, memory.text_id, memory.size, memory.sha256 or None)
    if (*facts, memory.updated_at) != (
        head.id,
        head.path,
        head.number,
        head.text_id,
        head.size,
        head.sha256,
        head.created_at,
    ):
        return False
    if head.operation == Operation.DELETED:
        place_fits = memory.directory_id is None and memory.deleted_at == head.created_at
    else:
        place_fits = memory.is_live
    return place_fits and memory.name == paths.name(memory.path)


def _counters(store: MemoryStore) -> Iterator[tuple[int, str]]:
    count, size = Counter[str](), defaultdict[str, int](int)
    directories = dict(Directory.objects.filter(store=store).values_list("path", "id"))
    for path, bytes_, directory in Memory.objects.filter(store=store).live().values_list("path", "size", "directory"):
        above = paths.ancestors(path)
        if directories.get(above[-1]) != directory:
            yield 0, f"the memory at {path} is not in its directory"
        for place in above:
            count[place] += 1
            size[place] += bytes_
    for directory_ in Directory.objects.filter(store=store):
        place = directory_.path
        if (directory_.memory_count, directory_.total_bytes) != (count[place], size[place]):
            yield 0, f"the counters of directory {place or '/'} are wrong"
        elif directory_.parent_id != (directories.get(paths.parent(place)) if place else None):
            yield 0, f"directory {place or '/'} is not in the one above it"
        elif place and not count[place]:
            yield 0, f"directory {place} is empty and still there"
    if missing := count.keys() - directories.keys():
        yield 0, f"directory {min(missing) or '/'} is missing"
    if (store.memory_count, store.total_bytes) != (count[""], size[""]):
        yield 0, "the counters of the store are wrong"
