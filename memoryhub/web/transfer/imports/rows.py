"""Data for the pages of imports: the progress, the comparison with the store, and the outcome of each memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history.undone import undoing
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing.preview import AFTER_MEMORIES, CHOICES, RULES
from memoryhub.models import AuditEntry, Import, ImportItem, ImportState, MemoryStore
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.texts.kinds import label
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions.undone import Undone

SIZE = 100

FOUND: dict[str, tuple[Promise, str]] = {
    "conflict": (_("Different text here"), "warning"), "new": (_("New"), "created"),
    "trash": (_("New, in the trash"), "neutral"), "same": (_("Already here"), "neutral"),
    "proposal": (_("Open proposal"), "created"), "decided": (_("Decided proposal"), "created"),
    "refused": (_("Left out"), "refused"),
}  # fmt: skip
OUTCOMES: dict[str, tuple[Promise, str]] = {
    "taken": (_("Imported"), "created"), "replaced": (_("Replaced"), "modified"),
    "beside": (_("Kept both"), "created"),
    "changed": (_("Kept: it was changed in the meantime"), "warning"), "same": (_("Already here"), "neutral"),
    "skipped": (_("Skipped"), "neutral"), "refused": (_("Left out"), "refused"), "": (_("Not done"), "neutral"),
}  # fmt: skip
LABELS: dict[str, dict[str, Promise]] = {
    "conflict": {"skip": _("Keep as it is"), "take": _("Replace"), "beside": _("Keep both")},
    "new": {"take": _("Import"), "skip": _("Skip")},
    "trash": {"take": _("Import"), "skip": _("Skip")},
    "proposal": {"take": _("Import"), "skip": _("Skip")},
    "decided": {"take": _("Import"), "skip": _("Skip")},
}
SOURCES: dict[str, Promise] = {
    "zip": _("ZIP archive"), "jsonl": _("JSON Lines"), "git": _("Git stream"), "directory": _("Directory"),
    "api": _("Another memory store"), "text": _("One text"),
}  # fmt: skip
TONES = {
    "reading": "neutral", "preview": "flagged", "running": "modified", "done": "ok", "cancelled": "neutral",
    "failed": "error",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """Memories of an import that had the same result in the comparison or, after the import, the same outcome."""

    name: str
    label: str | Promise
    tone: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """An import in numbers; `per_cent` is the progress of the current step."""

    job: Import
    groups: Sequence[Group]
    per_cent: int
    is_at_work: bool
    source: str | Promise
    tone: str
    copied: MemoryStore | None = None
    """The memory store that was copied, if it still exists."""

    @property
    def taken(self) -> int:
        """Return the number of memories that would be imported, or that were imported."""
        names = (
            ("new", "trash", "proposal", "decided")
            if self.job.state == ImportState.PREVIEW
            else ("taken", "replaced", "beside")
        )
        return sum(group.count for group in self.groups if group.name in names)

    @property
    def memories_taken(self) -> tuple[int, int]:
        """Return the number of memories that were imported, and the size of their newest texts together."""
        items = ImportItem.objects.filter(job=self.job, outcome__in=("taken", "replaced", "beside"))
        found = items.exclude(found__in=AFTER_MEMORIES).aggregate(count=Count("number"), bytes=Sum("size"))
        return found["count"], found["bytes"] or 0

    @property
    def proposals_taken(self) -> int:
        return ImportItem.objects.filter(job=self.job, is_proposal=True, outcome="taken").count()

    @property
    def into_trash(self) -> int:
        """Return how many imported memories went into the trash."""
        return ImportItem.objects.filter(job=self.job, found="trash", outcome="taken").count()

    @property
    def conflicts(self) -> int:
        return sum(group.count for group in self.groups if group.name == "conflict")

    @property
    def is_preview(self) -> bool:
        return bool(self.job.state == ImportState.PREVIEW)

    @property
    def is_over(self) -> bool:
        return self.job.state not in importing.OPEN


@dataclass(frozen=True, slots=True)
class Row:
    """One memory of an import."""

    item: ImportItem
    label: str | Promise
    tone: str
    reason: str
    options: Sequence[tuple[str, str | Promise, bool]]  # (value, label, chosen)
    memory: str = ""  # a URL
    entry: str = ""  # a URL
    came_to: str = ""  # the memory's path in the store, if it differs from the imported path

    @property
    def has_difference(self) -> bool:
        return self.item.found == "conflict" and self.item.outcome == ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows. `next` is the number of the last item on the page, or None if there are no more."""

    rows: Sequence[Row]
    next: int | None


def summary(job: Import) -> Summary:
    by = "found" if _is_before(job) else "outcome"
    names = FOUND if by == "found" else OUTCOMES
    counted = (
        ImportItem.objects.filter(job=job).values(by).order_by().annotate(count=Count("number"), bytes=Sum("size"))
    )
    found = {row[by]: (row["count"], row["bytes"]) for row in counted}
    groups = [Group(name, label, tone, *found[name]) for name, (label, tone) in names.items() if name in found]
    per_cent = 100 * job.done_count // max(1, job.memory_count)
    is_at_work = job.state in (ImportState.ARRIVING, *importing.AT_WORK)
    return Summary(
        job,
        groups,
        min(99, per_cent) if is_at_work else per_cent,
        is_at_work,
        SOURCES.get(job.source, job.source),
        TONES.get(job.state, "neutral"),
        MemoryStore.objects.filter(pk=job.copied_from).first() if job.copied_from else None,
    )


def with_memories(imports: QuerySet[Import]) -> QuerySet[Import]:
    """Add `memories` to each import: the number of its memories, without proposals and path rules."""
    items = ImportItem.objects.filter(job=OuterRef("pk"), is_proposal=False).exclude(found=RULES)
    last = Subquery(items.order_by("-number").values("number")[:1])
    return imports.annotate(memories=Coalesce(last + 1, 0))


def undone(job: Import) -> Undone | None:
    """Return the act that undid an import, in whole or in part. Return None if there is no such act, or if it was
    itself undone."""
    if job.group is None:
        return None
    named = AuditEntry.objects.of_chain(job.store_id).filter(command="undo", ok=True, input__contains=job.pk)
    if not named.exists():
        return None
    items = ImportItem.objects.filter(job=job, seq__isnull=False).exclude(found__in=AFTER_MEMORIES)
    seqs = [seq for seq in items.values_list("seq", flat=True) if seq is not None]
    found = undoing(job.store_id, seqs) if seqs else {}
    newest = max((one.seq for one in found.values()), default=0)
    entry = AuditEntry.objects.of_chain(job.store_id).filter(seq=newest).first()
    return Undone(entry, len(found), len(set(seqs))) if entry else None


def page(job: Import, shown: str, after: int) -> Page:
    """Return the rows after the item number `after`, of the group `shown` (empty: all groups)."""
    items = ImportItem.objects.filter(job=job, number__gt=after).order_by("number").defer("content", "history")
    if job.state == ImportState.PREVIEW:
        items = items.exclude(found=RULES)
    if shown:
        items = items.filter(**{"found" if _is_before(job) else "outcome": shown})
    rows = list(items[: SIZE + 1])
    made = _memories(job, [row.seq for row in rows if row.seq is not None])
    return Page([_row(job, row, made) for row in rows[:SIZE]], rows[SIZE - 1].number if len(rows) > SIZE else None)


def _is_before(job: Import) -> bool:
    return job.state in (ImportState.ARRIVING, ImportState.READING, ImportState.PREVIEW)


def _row(job: Import, item: ImportItem, made: dict[int, tuple[str | None, str | None]]) -> Row:
    is_before = _is_before(job)
    name, tone = (FOUND if is_before else OUTCOMES).get(item.found if is_before else item.outcome, ("", "neutral"))
    if item.found == RULES and item.outcome == "same":
        name = gettext("There already")
    chosen = job.state == ImportState.PREVIEW
    options = [
        (choice, LABELS[item.found][choice], choice == item.choice)
        for choice in CHOICES.get(item.found, ())
        if chosen and item.found in LABELS
    ]
    memory, path = made.get(item.seq, (None, None)) if item.seq is not None else (None, None)
    return Row(
        item,
        name,
        tone,
        _reason(item),
        options,
        reverse("memory", args=[job.store_id, memory]) if memory else "",
        reverse("entry", args=[job.store_id, item.seq]) if item.seq is not None else "",
        path if path and path != item.path else "",
    )


def _reason(item: ImportItem) -> str:
    """Return why a memory is left out, or which kinds of sensitive text were found in it."""
    if item.found in ("refused", RULES) or item.outcome == "refused" or not item.reason:
        return in_words(ToolError(item.reason)) if item.reason else ""
    words = {"masked": gettext("Will be masked: %s"), "flagged": gettext("Flagged: %s")}
    parts = [part.partition(": ") for part in item.reason.split("; ")]
    reasons = [
        words[what] % ", ".join(label(kind) for kind in kinds.split(", "))
        for what, _sep, kinds in parts
        if what in words
    ]
    return " · ".join(reasons)


def _memories(job: Import, seqs: Sequence[int]) -> dict[int, tuple[str | None, str | None]]:
    """Return {seq of an entry: (id, path) of the memory that the entry names}."""
    found: dict[int, tuple[str | None, str | None]] = {}
    for part in in_parts(seqs):
        rows = AuditEntry.objects.of_chain(job.store_id).filter(seq__in=part, ok=True)
        found |= {seq: (memory, path) for seq, memory, path in rows.values_list("seq", "memory", "path")}
    return found
