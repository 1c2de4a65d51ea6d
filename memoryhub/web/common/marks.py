"""The marks beside a memory or directory: whether it awaits a person, and which holds or pins keep it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.core.rules.holds import Holds, holds_of
from memoryhub.actions.review.decisions import LOOK_BACK
from memoryhub.models import Comment, Finding, FindingState, HoldKind, Memory, MemoryVersion
from memoryhub.pure.protocol import paths


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: its icon and its words. `kind` determines the colour of the icon."""

    kind: str
    icon: str
    words: Promise


FOUND = {
    FindingState.OPEN.value: Mark("found", "shield-alert", _("open finding")),
    FindingState.DISMISSED.value: Mark("dismissed", "circle-x", _("dismissed finding")),
}
KEPT = {
    HoldKind.HOLD.value: Mark("kept", "lock", _("legal hold")),
    HoldKind.PIN.value: Mark("kept", "pin", _("pinned")),
}
WAITS = Mark("waits", "inbox", _("awaits review"))
FOUND_INSIDE = Mark("found", "shield-alert", _("open finding in it"))
WAITS_INSIDE = Mark("waits", "inbox", _("awaits review in it"))
FLAGGED = Mark("flagged", "flag", _("flagged"))
TALKED_ABOUT = Mark("talk", "message-square", _("open conversation"))


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a memory or directory in a list or the tree. For a directory, `waits` and `found` describe the
    memories in it."""

    waits: bool = False  # a version awaits review
    found: str = ""  # `open` or `dismissed` findings
    flagged: bool = False
    kept: str = ""  # what keeps the memory or directory: `hold`, `pin` or empty
    talk: bool = False  # a conversation is not resolved
    is_directory: bool = False

    @property
    def shown(self) -> list[Mark]:
        """Return the marks, the most urgent first."""
        found = FOUND.get(self.found)
        is_open = self.found == FindingState.OPEN
        marks = (
            (FOUND_INSIDE if self.is_directory else found) if is_open else None,
            (WAITS_INSIDE if self.is_directory else WAITS) if self.waits else None,
            FLAGGED if self.flagged else None,
            found if self.found == FindingState.DISMISSED else None,
            KEPT.get(self.kept),
            TALKED_ABOUT if self.talk else None,
        )
        return [mark for mark in marks if mark]


UNMARKED = Marks()
MOST_INSIDE = 500
"""The most versions that await review, and the most open findings, from which directories are marked: the newest of a
store."""


@dataclass(frozen=True, slots=True)
class OfStore:
    """The facts from which the directories of a store are marked.

    `waiting` are the directories with memories that await review; `found` are those with open findings.
    """

    holds: Holds
    waiting: frozenset[str]
    found: frozenset[str]

    def directory(self, path: str) -> Marks:
        """Return the marks of a directory."""
        found = str(FindingState.OPEN) if path in self.found else ""
        return Marks(path in self.waiting, found, kept=kept_by(self.holds, "", path), is_directory=True)


def of_store(store_id: str, at: datetime) -> OfStore:
    """Return the marks of a store's directories, in three queries with a bounded number of rows."""
    newest = MemoryVersion.objects.filter(store_id=store_id).unreviewed().order_by("-seq")
    versions = newest.values_list("memory__path", "memory__deleted_at")[:MOST_INSIDE]
    waiting = {path for path, deleted_at in versions if deleted_at is None}
    open_ones = Finding.objects.of_store(store_id).open().newest().values("memory_id")[:MOST_INSIDE]
    memories = Memory.objects.filter(store_id=store_id, pk__in=open_ones).live()
    return OfStore(holds_of(store_id, at), _above(waiting), _above(memories.values_list("path", flat=True)))


def _above(places: Iterable[str]) -> frozenset[str]:
    return frozenset(directory for path in places for directory in paths.ancestors(path))


def marks_of(memories: Iterable[Memory], at: datetime, held: Mapping[str, Holds] | None = None) -> dict[str, Marks]:
    """Return {memory id: its marks}. `held` is {store: its holds}; the holds of other stores are queried."""
    memories = list(memories)
    if not memories:
        return {}
    stores = {memory.store_id for memory in memories}
    holds = {store: holds_of(store, at) for store in stores if not held or store not in held} | dict(held or {})
    ids = [memory.pk for memory in memories]
    waiting = _waiting(stores, ids)
    found, talked_about = found_in(stores, ids), _talked_about(stores, ids)
    return {
        memory.pk: Marks(
            waits=memory.pk in waiting,
            found=found.get(memory.pk, ""),
            flagged=memory.flagged,
            kept=kept_by(holds[memory.store_id], memory.pk, memory.path),
            talk=memory.pk in talked_about,
        )
        for memory in memories
    }


def kept_by(holds: Holds, memory_id: str, path: str) -> str:
    """Return what keeps a memory: `hold`, `pin` or "". If `memory_id` is "", return what keeps the directory at
    `path`."""
    if holds.is_empty:
        return ""
    if holds.stops_removal(memory_id, path):
        return str(HoldKind.HOLD)
    return str(HoldKind.PIN) if holds.stops_policies(memory_id, path) else ""


def found_in(stores: Iterable[str], memories: Sequence[str]) -> dict[str, str]:
    """Return {memory: `open` or `dismissed`} for the memories with unresolved findings. The value is `open` if at least
    one finding of the memory is open."""
    rows = Finding.objects.filter(store_id__in=stores, memory_id__in=memories).exclude(state=FindingState.RESOLVED)
    states = rows.order_by("state").values_list("memory_id", "state").distinct()
    return dict(sorted(states, key=lambda row: row[1] == FindingState.OPEN))


def _waiting(stores: Iterable[str], memories: Sequence[str]) -> frozenset[str]:
    """Return the ids of those `memories` that have a version awaiting review among their last LOOK_BACK versions."""
    of_memory = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("pk"))
    last = of_memory.filter(number__gt=OuterRef("version_count") - LOOK_BACK).unreviewed().newest()
    found = Memory.objects.filter(store_id__in=stores, pk__in=memories)
    waiting = found.annotate(waiting=Subquery(last.values("number")[:1])).exclude(waiting=None)
    return frozenset(waiting.values_list("pk", flat=True))


def _talked_about(stores: Iterable[str], memories: Sequence[str]) -> frozenset[str]:
    """Return the ids of the memories in `memories` that have an unresolved conversation."""
    comments = Comment.objects.filter(store_id__in=stores, memory_id__in=memories)
    unresolved = comments.first_ones().filter(resolved_at=None).values("thread")
    return frozenset(comments.filter(removed_at=None, thread__in=unresolved).values_list("memory_id", flat=True))
