"""Finds the memories and versions to which the proposals and path rules of an import refer."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from memoryhub.actions.core import tree
from memoryhub.actions.core.proposing import MOST_BYTES
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.transfer.importing.preview import BESIDE_IT, REPLACED, SAME, TAKEN
from memoryhub.models import AuditEntry, Import, ImportItem, Memory, MemoryVersion
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import BundledMemory

LONGEST_KEPT = 4_096
_UNKEPT = re.compile("[\0\ud800-\udfff]")
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


def kept_text(text: str) -> str:
    """Return the text in a form that databases accept, cut to LONGEST_KEPT characters.

    Unpaired surrogates and NUL are replaced.
    """
    return _UNKEPT.sub("\ufffd", text[:LONGEST_KEPT])


def clamped(store: Tree, at: str | None) -> datetime:
    """Return a time of the source. If it is missing, in the future or before 1970, return the time of the import."""
    moment = datetime.fromisoformat(at) if at else store.at
    return moment if _EARLIEST <= moment <= store.at else store.at


class Named:
    """Finds a memory or a version of an import by its id at the source; None if the import does not contain it.

    A memory is returned as the number of its item, a version as (number of the item, number of the version).
    """

    def __init__(self, memories: Iterable[BundledMemory]) -> None:
        self._items: dict[str, int] = {}
        self._versions: dict[str, tuple[int, int]] = {}
        for item, memory in enumerate(memories):
            if memory.id is not None:
                self._items[memory.id] = item
            self._versions.update({one.id: (item, one.number) for one in memory.versions if one.id is not None})

    def memory(self, id: str | None) -> int | None:
        return self._items.get(id or "")

    def version(self, id: str | None) -> Sequence[int] | None:
        return self._versions.get(id or "")


class _Came(NamedTuple):
    """The memory that belongs to an imported item, and whether the item's history was imported.

    The item became this memory, replaced its text, or was equal to it. `memory` is None if there is no such memory.
    """

    memory: str | None
    with_history: bool


class Here:
    """Finds, in a locked store, the memories and versions to which an import refers, after they were imported."""

    def __init__(self, store: Tree, job: Import) -> None:
        self._store, self._job = store, job
        self._came: dict[int, _Came] = {}

    def memory(self, item: int | None, path: str | None) -> str | None:
        """Return the id of the memory that an item became.

        If there is none, return the id of the live memory at the path, or None.
        """
        came = self._of_item(item).memory if item is not None else None
        if came is not None or path is None:
            return came
        there = tree.memory_at(self._store, path)
        return there.id if there else None

    def version(self, place: Sequence[int] | None, memory: str | None = None) -> str | None:
        """Return the id of an imported version. `place` is (number of its item, number of the version).

        None if the item was imported without its history or did not become a memory. If `memory` is given, also None if
        the item became another memory.
        """
        came = self._of_item(place[0]) if place else _Came(None, False)
        if place is None or came.memory is None or not came.with_history or memory not in (None, came.memory):
            return None
        found = MemoryVersion.objects.filter(store_id=self._store.store, memory_id=came.memory, number=place[1])
        return found.values_list("pk", flat=True).first()

    def with_text(self, memory: str | None, text: str | None, path: str) -> str | None:
        """Return the id of a memory's newest version that has this text, either unchanged or as the store masks it.

        None if there is no such version, or if the text is longer than the store allows.
        """
        if memory is None or text is None or len(text) > (self._store.limits.memory_bytes or MOST_BYTES):
            return None
        texts = {text}
        with suppress(ToolError):  # it is blocked now; a version from before may have it
            texts.add(findings.screen(self._store, path, None, text).text)
        return self.with_sum(memory, *(hashlib.sha256(one.encode()).hexdigest() for one in texts))

    def with_sum(self, memory: str, *sums: str) -> str | None:
        """Return the id of the newest version of a memory whose text has one of these SHA-256 digests, or None."""
        same = MemoryVersion.objects.filter(store_id=self._store.store, memory_id=memory, sha256__in=sums)
        return same.order_by("-number").values_list("pk", flat=True).first()

    def _of_item(self, number: int) -> _Came:
        if number not in self._came:
            item = ImportItem.objects.filter(job=self._job, number=number).defer("content", "history").first()
            self._came[number] = self._what_came(item) if item else _Came(None, False)
        return self._came[number]

    def _what_came(self, item: ImportItem) -> _Came:
        if item.seq is not None and item.outcome in (TAKEN, BESIDE_IT, REPLACED):
            entry = AuditEntry.objects.of_chain(self._store.store).filter(seq=item.seq)
            return _Came(entry.values_list("memory", flat=True).first(), item.outcome != REPLACED)
        own = Memory.objects.among(self._store.store, [item.memory or ""])
        is_here = item.outcome == SAME and own.exists()
        return _Came(item.memory if is_here else None, False)
