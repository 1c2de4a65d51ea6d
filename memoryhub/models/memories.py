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
from memoryhub.protocol import paths


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
        """Its direct children, in code-point order."""
        return self.filter(store_id=directory.store_id, parent=directory).order_by("path")

    def at(self, path: str) -> DirectoryQuerySet:
        return self.filter(path=path)

    def at_any(self, places: Collection[str]) -> DirectoryQuerySet:
        """Those at the paths, the highest first."""
        return self.filter(path__in=places).order_by("path")


class Directory(RowOfStore):
    """A directory exists while a live memory lies beneath it (the root, `""`, as long as its store)."""

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
        """Those of a store that have one of some ids."""
        return self.filter(store_id=store_id, pk__in=ids)

    def live(self) -> MemoryQuerySet:
        return self.filter(deleted_at=None)

    def in_trash(self) -> MemoryQuerySet:
        return self.filter(deleted_at__isnull=False)

    def in_directory(self, directory: Directory) -> MemoryQuerySet:
        """Those directly in it, in code-point order."""
        return self.filter(store_id=directory.store_id, directory=directory).order_by("name")

    def at(self, path: str) -> MemoryQuerySet:
        return self.live().filter(path=path)

    def under(self, prefix: str) -> MemoryQuerySet:
        """The live ones beneath a directory's path, as a range: LIKE folds case on SQLite."""
        low, high = paths.subtree(prefix)
        return self.live().filter(path__gte=low, path__lt=high)

    def flagged_among(self, stores: Iterable[str], ids: Iterable[str]) -> frozenset[str]:
        """The ids of those that are flagged, of a page's few in some stores."""
        found = self.filter(store_id__in=set(stores), pk__in=set(ids), flagged=True)
        return frozenset(found.values_list("pk", flat=True))

    def with_last_change(self) -> MemoryQuerySet:
        """With `changed_seq` and `changed_by`: the entry that made the head, and what its actor was called then."""
        head = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), pk=OuterRef("head_id"))
        entry = AuditEntry.objects.filter(chain=OuterRef("store_id"), seq=OuterRef("changed_seq"))
        with_seq = self.annotate(changed_seq=Subquery(head.values("seq")[:1]))
        return with_seq.annotate(changed_by=Subquery(entry.values("label")[:1]))


class Memory(RowOfStore):
    """A text at a path. The id survives renames; `deleted_at` puts it in the trash, where it has no directory.

    `version_count` is the number of the newest version, `removed_versions` how many of them retention has removed.
    `expired_by` is the run that put it into the trash, if one did.
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
        """When something of its versions was redacted last, as far as the entry that tells it is still there."""
        versions = MemoryVersion.objects.of_memory(self).filter(redacted_seq__isnull=False)
        seq = versions.order_by("-redacted_seq").values_list("redacted_seq", flat=True).first()
        if seq is None:
            return None
        return AuditEntry.objects.filter(chain=self.store_id, seq=seq).values_list("at", flat=True).first()

    @property
    def is_hidden(self) -> bool:
        """Left out of a directory view, for itself or for a directory above it."""
        return any(paths.is_hidden(name) for name in self.path.split("/")[1:])


class MemoryTextQuerySet(models.QuerySet["MemoryText"]):
    def contents(self, store_id: str, ids: Iterable[str]) -> dict[str, str]:
        """The texts of a store by their ids; what has been redacted meanwhile is missing."""
        return dict(self.filter(store_id=store_id, pk__in=ids).values_list("pk", "content"))


class MemoryText(RowOfStore):
    """A text, byte for byte as it was written; versions that only rename point to the same row."""

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
        """The versions that one audit entry made, in the order in which its digest was computed."""
        return self.filter(store_id=chain, seq=seq).order_by("id")

    def newest(self) -> MemoryVersionQuerySet:
        return self.order_by("-number")

    def as_of(self, seq: int) -> MemoryVersionQuerySet:
        """The tree after an entry: what was current then and not deleted."""
        current = Q(superseded_seq=None) | Q(superseded_seq__gt=seq)
        return self.filter(current, seq__lte=seq).exclude(operation=Operation.DELETED)

    def among(self, store_id: str, ids: Collection[str]) -> MemoryVersionQuerySet:
        """Those of a store that have one of some ids."""
        return self.filter(store_id=store_id, pk__in=ids)

    def at(self, path: str) -> MemoryVersionQuerySet:
        return self.filter(path=path)

    def under(self, prefix: str) -> MemoryVersionQuerySet:
        """Those with a path beneath a directory's, as a range: LIKE folds case on SQLite."""
        low, high = paths.subtree(prefix)
        return self.filter(path__gte=low, path__lt=high)

    def about(self, path: str) -> MemoryVersionQuerySet:
        """Those at a path (with a final slash: beneath it) among few that another index finds."""
        return self.filter(at_or_beneath(UNINDEXED_PATH, path))

    def between(self, after: int, last: int) -> MemoryVersionQuerySet:
        """Those made by the entries that follow `after`, up to and with `last`."""
        return self.filter(seq__gt=after, seq__lte=last)

    def unreviewed(self) -> MemoryVersionQuerySet:
        """What agents wrote and nobody has looked at; the literal lets SQLite use the index made for it."""
        return self.filter(Exact(F("review_state"), Literal(ReviewState.UNREVIEWED.value)))


class MemoryVersion(RowOfStore):
    """What a memory was after one operation. Immutable but for redaction, `superseded_seq` and `review_state`.

    `origin` stands where an import brought the version with its history: {"import": …, "type": …, "id": …}, the import
    and the API's form of the actor that its source names. `created_at` is then the source's moment, too.

    `redacted_seq` is the newest entry that redacted something of it; `redacted_at` is set where all of it is gone. With
    a `seal` the entry that made it has been removed, and the seal speaks for it.
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
        ]

    def __str__(self) -> str:
        return f"{self.path} #{self.number}"

    @property
    def awaits_review(self) -> bool:
        return bool(self.review_state == ReviewState.UNREVIEWED)

    @property
    def content(self) -> str | None:
        """The text; null where the operation was `deleted` or the version is redacted."""
        return str(self.text.content) if self.text_id else None
