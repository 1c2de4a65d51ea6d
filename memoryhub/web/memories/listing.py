"""What lies directly in a directory, a page at a time: directories first, then memories, each by code point."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from memoryhub.models import Directory, Finding, FindingState, Memory
from memoryhub.protocol import paths
from memoryhub.web.common import addresses

SIZE = 200
_DIRECTORY, _MEMORY = "d/", "m/"


@dataclass(frozen=True, slots=True)
class Item:
    """A directory or a memory in a list. `hidden`: directory views leave it out. `count` is null for a memory.

    `found` is `open` where a memory has open findings, `dismissed` where all that stand are dismissed.
    """

    key: str
    id: str
    path: str
    name: str
    url: str
    size: int
    count: int | None
    changed_at: datetime
    changed_seq: int | None
    changed_by: str | None
    hidden: bool
    flagged: bool = False
    found: str = ""

    @property
    def is_directory(self) -> bool:
        return self.count is not None


@dataclass(frozen=True, slots=True)
class Page:
    """Some children of a directory; `next` is the key after which the next page goes on."""

    items: Sequence[Item]
    next: str | None


def children(directory: Directory, after: str = "") -> Page:
    """Up to SIZE children that follow a key (an unknown one: the first)."""
    found: list[Item] = []
    if not after.startswith(_MEMORY):
        found = _directories(directory, after.removeprefix(_DIRECTORY))
    if len(found) <= SIZE:
        name = after.removeprefix(_MEMORY) if after.startswith(_MEMORY) else ""
        found += _memories(directory, name, SIZE + 1 - len(found))
    return Page(found[:SIZE], found[SIZE - 1].key if len(found) > SIZE else None)


def directory_item(directory: Directory) -> Item:
    """A directory as an item of the list that it stands in."""
    return Item(
        key=_DIRECTORY + directory.name,
        id=directory.id,
        path=directory.path,
        name=directory.name,
        url=addresses.of_directory(directory.store_id, directory.path),
        size=directory.total_bytes,
        count=directory.memory_count,
        changed_at=directory.changed_at,
        changed_seq=None,
        changed_by=None,
        hidden=is_hidden(directory.path),
    )


def memory_item(memory: Memory) -> Item:
    """A memory as an item of the list that it stands in; who changed it only where that was asked for."""
    return Item(
        key=_MEMORY + memory.name,
        id=memory.id,
        path=memory.path,
        name=memory.name,
        url=reverse("memory", args=[memory.store_id, memory.id]),
        size=memory.size,
        count=None,
        changed_at=memory.updated_at,
        changed_seq=getattr(memory, "changed_seq", None),
        changed_by=getattr(memory, "changed_by", None),
        hidden=memory.is_hidden,
        flagged=memory.flagged,
    )


def is_hidden(path: str) -> bool:
    """Whether a directory view leaves it out, for itself or for a directory above it."""
    return any(paths.is_hidden(name) for name in path.split("/")[1:])


def _directories(directory: Directory, name: str) -> list[Item]:
    rows = Directory.objects.in_directory(directory)
    if name:
        rows = rows.filter(path__gt=f"{directory.path}/{name}")
    return [directory_item(row) for row in rows[: SIZE + 1]]


def _memories(directory: Directory, name: str, limit: int) -> list[Item]:
    rows = Memory.objects.in_directory(directory).with_last_change()
    if name:
        rows = rows.filter(name__gt=name)
    memories = list(rows[:limit])
    found = findings_in(directory.store_id, [memory.pk for memory in memories])
    return [replace(memory_item(memory), found=found.get(memory.pk, "")) for memory in memories]


def findings_in(store_id: str, memories: Sequence[str]) -> dict[str, str]:
    """Which of some memories have open findings, and which only dismissed ones, in one question to an index."""
    rows = Finding.objects.of_store(store_id).filter(memory_id__in=memories).exclude(state=FindingState.RESOLVED)
    states = rows.order_by("state").values_list("memory_id", "state").distinct()
    return dict(sorted(states, key=lambda row: row[1] == FindingState.OPEN))
