"""Directories, memories, their texts and versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import models
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.lookups import Exact

from memoryhub.models.audit import UNINDEXED_PATH, AuditEntry, at_or_beneath
from memoryhub.models.fields import IdField, Literal, PathField, PlainJSONField
from memoryhub.models.rows import RowOfStore, within_store
from memoryhub.models.stores import MemoryStore
from memoryhub.pure.protocol import paths


class Operation(models.TextChoices):
    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


class ReviewState(models.TextChoices):
    UNREVIEWED = "unreviewed"
    APPROVED = "approved"
    REVERTED = "reverted"
    EDITED = "edited"


class DirectoryQuerySet(models.QuerySet["Directory"]):
    def in_directory(self, directory: Directory) -> DirectoryQuerySet:
        """Return the direct children of a directory, in code-point order."""
        return self.filter(store_id=directory.store_id, parent=directory).order_by("path")

    def at(self, path: str) -> DirectoryQuerySet:
        return self.filter(path=path)

    def at_any(self, places: Collection[str]) -> DirectoryQuerySet:
        """Return the directories at these paths, parents first."""
        return self.filter(path__in=places).order_by("path")


class Directory(RowOfStore):
    """A directory. Its row exists while a live memory is in it, at any depth. The row of the root, `""`, always
    exists."""

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="directories")
    path = PathField()
    parent = within_store("self", null=True)
    memory_count = models.BigIntegerField(default=0)
    total_bytes = models.BigIntegerField(default=0)
    changed_at = models.DateTimeField()

    objects = DirectoryQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "path"], name="directory_path")]
        indexes = [models.Index(fields=["store", "parent", "path"], name="directory_children")]

    def __str__(self) -> str:
        return self.path or "/"

    @property
    def name(self) -> str:
        return paths.name(self.path)


class MemoryQuerySet(models.QuerySet["Memory"]):
    def among(self, store_id: str, ids: Collection[str]) -> MemoryQuerySet:
        """Return those memories of a store whose ids are in `ids`."""
        return self.filter(store_id=store_id, pk__in=ids)

    def live(self) -> MemoryQuerySet:
        return self.filter(deleted_at=None)

    def in_trash(self) -> MemoryQuerySet:
        return self.filter(deleted_at__isnull=False)

    def in_directory(self, directory: Directory) -> MemoryQuerySet:
        """Return the memories directly in a directory, in code-point order."""
        return self.filter(store_id=directory.store_id, directory=directory).order_by("name")

    def at(self, path: str) -> MemoryQuerySet:
        return self.live().filter(path=path)

    def under(self, prefix: str) -> MemoryQuerySet:
        """Return the live memories under a directory."""
        low, high = paths.subtree(prefix)
        return self.live().filter(path__gte=low, path__lt=high)

    def flagged_among(self, stores: Iterable[str], ids: Iterable[str]) -> frozenset[str]:
        """Return the ids of those memories in `ids` that are flagged."""
        found = self.filter(store_id__in=set(stores), pk__in=set(ids), flagged=True)
        return frozenset(found.values_list("pk", flat=True))

    def with_last_change(self) -> MemoryQuerySet:
        """Annotate `changed_seq` (the seq of the entry that made the newest version), `changed_by` (the label of that
        entry's actor), and `changed_origin` (the version's origin; None: it was not imported)."""
        head = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), pk=OuterRef("head_id"))
        entry = AuditEntry.objects.filter(chain=OuterRef("store_id"), seq=OuterRef("changed_seq"))
        with_seq = self.annotate(
            changed_seq=Subquery(head.values("seq")[:1]), changed_origin=Subquery(head.values("origin")[:1])
        )
        return with_seq.annotate(changed_by=Subquery(entry.values("label")[:1]))


class Memory(RowOfStore):
    """A text at a path. The memory keeps its id when it is renamed. If `deleted_at` is set, the memory is in the trash.

    `version_count` is the number of the newest version. `removed_versions` counts the versions that retention removed.
    `expired_by` is the retention run that moved the memory to the trash (null: none did). `waiting_notes` counts the
    notes to an agent that no view of the memory has delivered yet.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="memories")
    directory = within_store("memoryhub.Directory", null=True)
    path = PathField()
    name = PathField()
    head = within_store("memoryhub.MemoryVersion")
    text = within_store("memoryhub.MemoryText", null=True)
    size = models.BigIntegerField()
    sha256 = models.TextField()
    version_count = models.BigIntegerField(default=1)
    removed_versions = models.BigIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    last_read_at = models.DateTimeField(null=True)
    last_read_seq = models.BigIntegerField(null=True)
    read_count = models.BigIntegerField(default=0)
    flagged = models.BooleanField(default=False)
    deleted_at = models.DateTimeField(null=True)
    expired_by = IdField(null=True)
    restored_at = models.DateTimeField(null=True)
    waiting_notes = models.BigIntegerField(default=0, db_default=0)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["store", "path"], condition=Q(deleted_at=None), name="memory_live_path")
        ]
        indexes = [
            models.Index(fields=["store", "directory", "name"], name="memory_in_directory"),
            models.Index(
                fields=["store", "deleted_at", "id"], condition=Q(deleted_at__isnull=False), name="memory_in_trash"
            ),
        ]

    def __str__(self) -> str:
        return str(self.path)

    @property
    def is_live(self) -> bool:
        return self.deleted_at is None

    @property
    def redacted_at(self) -> datetime | None:
        """Return when a version of the memory was last redacted; None if none was, or if the entry of that redaction
        was removed."""
        versions = MemoryVersion.objects.of_memory(self).filter(redacted_seq__isnull=False)
        seq = versions.order_by("-redacted_seq").values_list("redacted_seq", flat=True).first()
        if seq is None:
            return None
        return AuditEntry.objects.filter(chain=self.store_id, seq=seq).values_list("at", flat=True).first()

    @property
    def is_hidden(self) -> bool:
        """Return whether directory views leave the memory out: its name, or the name of a directory above it, is
        hidden."""
        return any(paths.is_hidden(name) for name in self.path.split("/")[1:])


class MemoryTextQuerySet(models.QuerySet["MemoryText"]):
    def contents(self, store_id: str, ids: Iterable[str]) -> dict[str, str]:
        """Return {id: text} for texts of a store. Texts that have been redacted or removed are missing."""
        return dict(self.filter(store_id=store_id, pk__in=ids).values_list("pk", "content"))


class MemoryText(RowOfStore):
    """A text, byte for byte as it was written.

    A version that only renames its memory shares the text of the previous version.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    content = models.TextField()

    objects = MemoryTextQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["store", "memory"], name="text_of_memory")]


class MemoryVersionQuerySet(models.QuerySet["MemoryVersion"]):
    def of_memory(self, memory: Memory) -> MemoryVersionQuerySet:
        return self.filter(store_id=memory.store_id, memory=memory)

    def of_entry(self, chain: str, seq: int) -> MemoryVersionQuerySet:
        """Return the versions that one audit entry made, in the order in which the entry's digest covers them."""
        return self.filter(store_id=chain, seq=seq).order_by("id")

    def newest(self) -> MemoryVersionQuerySet:
        return self.order_by("-number")

    def as_of(self, seq: int) -> MemoryVersionQuerySet:
        """Return the versions that formed the tree after the entry `seq`: the versions that were current then, without
        deletions."""
        current = Q(superseded_seq=None) | Q(superseded_seq__gt=seq)
        return self.filter(current, seq__lte=seq).exclude(operation=Operation.DELETED)

    def among(self, store_id: str, ids: Collection[str]) -> MemoryVersionQuerySet:
        """Return those versions of a store whose ids are in `ids`."""
        return self.filter(store_id=store_id, pk__in=ids)

    def at(self, path: str) -> MemoryVersionQuerySet:
        return self.filter(path=path)

    def under(self, prefix: str) -> MemoryVersionQuerySet:
        """Return the versions with a path under a directory."""
        low, high = paths.subtree(prefix)
        return self.filter(path__gte=low, path__lt=high)

    def about(self, path: str) -> MemoryVersionQuerySet:
        """Return the versions at a path or, if `path` ends with a slash, also under it. The index by path is not used.

        Use this when another index has already limited the query to few rows.
        """
        return self.filter(at_or_beneath(UNINDEXED_PATH, path))

    def between(self, after: int, last: int) -> MemoryVersionQuerySet:
        """Return the versions that were made by the entries after the seq `after`, up to and including the seq
        `last`."""
        return self.filter(seq__gt=after, seq__lte=last)

    def unreviewed(self) -> MemoryVersionQuerySet:
        """Return the versions that await review. The literal in the SQL lets SQLite use the partial index."""
        return self.filter(Exact(F("review_state"), Literal(ReviewState.UNREVIEWED.value)))


class MemoryVersion(RowOfStore):
    """The state of a memory after one operation.

    `origin` is set for a version that was imported with its history: the id of the import, and the author's type and id
    in the source. `created_at` is then the time in the source. `redacted_seq` is the newest entry that redacted a part
    of the version; `redacted_at` is set once all of it is redacted. A `seal` authenticates a version whose audit entry
    was removed.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="versions")
    memory = within_store("memoryhub.Memory")
    number = models.BigIntegerField()
    operation = models.CharField(max_length=8, choices=Operation.choices)
    path = PathField(null=True)
    text = within_store("memoryhub.MemoryText", null=True)
    size = models.BigIntegerField(null=True)
    sha256 = models.TextField(null=True)
    created_at = models.DateTimeField()
    seq = models.BigIntegerField()
    superseded_seq = models.BigIntegerField(null=True)
    review_state = models.CharField(max_length=10, choices=ReviewState.choices, null=True)
    salt = models.TextField(null=True)
    commitment = models.TextField()
    redacted_at = models.DateTimeField(null=True)
    redacted_by = models.TextField(null=True)
    redacted_seq = models.BigIntegerField(null=True)
    seal = models.TextField(null=True)
    origin = PlainJSONField(null=True)

    objects = MemoryVersionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "memory", "number"], name="version_number")]
        indexes = [
            models.Index(fields=["store", "seq", "id"], name="version_by_entry"),
            models.Index(fields=["store", "seq", "id"], condition=Q(origin__isnull=False), name="version_imported"),
            models.Index(fields=["store", "path", "seq"], name="version_by_path"),
            models.Index(
                fields=["store", "seq"], condition=Q(review_state=ReviewState.UNREVIEWED), name="version_unreviewed"
            ),
            models.Index(
                fields=["store", "memory"],
                condition=Q(review_state=None) | Q(review_state=ReviewState.APPROVED),
                name="version_of_people",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.path} #{self.number}"

    @property
    def awaits_review(self) -> bool:
        return bool(self.review_state == ReviewState.UNREVIEWED)

    @property
    def content(self) -> str | None:
        """Return the text; None for a deletion or a redacted version."""
        return str(self.text.content) if self.text_id else None
