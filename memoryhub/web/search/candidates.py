"""The versions that a search scans, in an order in which the search can stop after any version and continue there.

In each store: live memories by path, then old versions by memory, then the trash, newest deletion first. The cost of a
read does not depend on the size of the store.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from memoryhub.models import Memory, MemoryVersion, Operation
from memoryhub.models.memories import MemoryQuerySet, MemoryVersionQuerySet

LIVE, OLD, TRASH = "live", "old", "trash"

Key = tuple[str | int, ...]
"""The position of a row among the rows of its kind; empty for the position before the first row."""


@dataclass(frozen=True, slots=True)
class Row:
    """A version: the current version of a live memory, an old version, or the last version of a deleted memory.

    `is_candidate` is False if the row is not searched.
    """

    kind: str
    key: Key
    store: str
    memory: str
    path: str | None
    version: str
    number: int
    seq: int
    at: datetime
    text: str | None
    size: int
    in_trash: bool
    is_candidate: bool = True
    deleted_seq: int = 0  # the seq of the entry that deleted the memory; 0 for the other kinds


def live(store: str, after: Key, limit: int, prefix: str | None) -> list[Row]:
    """Return at most `limit` current versions of live memories, by path, after the key `after`. `prefix` is the path of
    a memory or a directory."""
    memories = Memory.objects.live().filter(store_id=store)
    if prefix is not None:
        memories = memories.filter(path__gte=prefix, path__lt=prefix + "0")
    if after:
        memories = memories.filter(path__gt=after[0])
    columns = ("path", "id", "head_id", "head__number", "head__seq", "head__created_at", "text_id", "size")
    return [
        Row(LIVE, (path,), store, memory, path, head, number, seq, at, text, size, in_trash=False)
        for path, memory, head, number, seq, at, text, size in memories.order_by("path").values_list(*columns)[:limit]
    ]


def old(store: str, after: Key, limit: int, prefix: str | None) -> list[Row]:
    """Return at most `limit` versions after the key `after`, ordered by memory and number.

    Versions that are not old, such as the current ones, are returned with `is_candidate` False. `prefix` is not used.
    """
    versions = MemoryVersion.objects.filter(store_id=store)
    if not after:
        return _old(store, versions, limit)
    memory, number = after
    rows = _old(store, versions.filter(memory_id=memory, number__gt=number), limit)
    if len(rows) < limit:
        rows += _old(store, versions.filter(memory_id__gt=memory), limit - len(rows))
    return rows


def _old(store: str, versions: MemoryVersionQuerySet, limit: int) -> list[Row]:
    columns = (
        "memory_id",
        "number",
        "id",
        "path",
        "seq",
        "created_at",
        "text_id",
        "size",
        "superseded_seq",
        "operation",
        "memory__deleted_at",
        "memory__version_count",
    )
    return [
        Row(
            OLD,
            (memory, number),
            store,
            memory,
            path,
            id,
            number,
            seq,
            at,
            text,
            size or 0,
            deleted is not None,
            # The last version before a deletion is scanned with the trash.
            operation != Operation.DELETED and next is not None and not (deleted and number >= count - 1),
        )
        for memory, number, id, path, seq, at, text, size, next, operation, deleted, count in versions.order_by(
            "memory_id", "number"
        ).values_list(*columns)[:limit]
    ]


def trash(store: str, after: Key, limit: int, prefix: str | None) -> list[Row]:
    """Return the last versions of at most `limit` memories in the trash, newest deletion first, after the key `after`.

    `prefix` is not used.
    """
    memories = Memory.objects.in_trash().filter(store_id=store)
    if not after:
        return _trash(store, memories, limit)
    at, memory = datetime.fromisoformat(str(after[0])), after[1]
    rows = _trash(store, memories.filter(deleted_at=at, pk__lt=memory), limit)
    if len(rows) < limit:
        rows += _trash(store, memories.filter(deleted_at__lt=at), limit - len(rows))
    return rows


def _trash(store: str, memories: MemoryQuerySet, limit: int) -> list[Row]:
    columns = ("id", "deleted_at", "path", "text_id", "size", "head__seq")
    rows = list(memories.order_by("-deleted_at", "-id").values_list(*columns)[:limit])
    facts = _last_versions(store, [row[0] for row in rows])
    return [_deleted(store, row, facts.get(row[0])) for row in rows]


def _last_versions(store: str, memories: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return {memory: (id, number, seq, moment)} of the version before each memory's deletion."""
    last = MemoryVersion.objects.filter(
        store_id=OuterRef("store_id"), memory_id=OuterRef("pk"), number=OuterRef("version_count") - 1
    )
    ids = Memory.objects.among(store, memories).annotate(last=Subquery(last.values("id")[:1]))
    versions = MemoryVersion.objects.among(store, [id for id in ids.values_list("last", flat=True) if id])
    return {row[0]: row[1:] for row in versions.values_list("memory_id", "id", "number", "seq", "created_at")}


def _deleted(store: str, row: tuple[Any, ...], facts: Sequence[Any] | None) -> Row:
    memory, deleted, path, text, size, deleted_seq = row
    version, number, seq, at = facts or ("", 0, 0, deleted)
    key = (deleted.isoformat(), memory)
    return Row(
        TRASH,
        key,
        store,
        memory,
        path,
        version,
        number,
        seq,
        at,
        text,
        size,
        in_trash=True,
        is_candidate=facts is not None,
        deleted_seq=deleted_seq,
    )


READ: dict[str, Callable[[str, Key, int, str | None], list[Row]]] = {LIVE: live, OLD: old, TRASH: trash}
KEYS: dict[str, tuple[type, ...]] = {LIVE: (str,), OLD: (str, int), TRASH: (str, str)}
"""The types of the values in a key of each kind."""


def is_key(kind: str, key: Sequence[Any]) -> bool:
    """Return whether untrusted data is a valid position in the list of this kind of rows: the place after which the
    list continues, or nothing for its beginning."""
    types = KEYS[kind]
    if not key:
        return True
    if len(key) != len(types) or not all(type(part) is one for part, one in zip(key, types, strict=True)):
        return False
    return kind != TRASH or _is_moment(str(key[0]))


def _is_moment(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
