"""Imports: the memories that were uploaded, the choice that a person made for each, and the progress."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, PathField, PlainJSONField
from memoryhub.models.stores import MemoryStore


class ImportState(models.TextChoices):
    ARRIVING = "arriving", _("Being read")
    READING = "reading", _("Being read")
    PREVIEW = "preview", _("Preview")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")
    FAILED = "failed", _("Failed")


class Import(models.Model):
    """An import of memories into the directory `place` of a store. `group` is the group of its audit entries.

    `copied_from` is the id of the memory store of this hub that is copied (null: the memories have another source).
    `actors` names the authors of the imported versions: {id: label}. `memory_count` is the number of items,
    `byte_count` the size of their texts, and `done_count` the number of finished items. `told` is the last state that
    was reported to webhooks.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    state = models.CharField(max_length=9, choices=ImportState.choices)
    source = models.CharField(max_length=10)
    name = models.TextField(default="", blank=True)
    place = PathField(default="", blank=True)
    actors = PlainJSONField(default=dict)
    actor = PlainJSONField(default=dict)
    door = models.CharField(max_length=7)
    group = IdField(null=True)
    copied_from = IdField(null=True)
    problem = models.TextField(default="", blank=True)
    memory_count = models.BigIntegerField(default=0)
    byte_count = models.BigIntegerField(default=0)
    done_count = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    told = models.CharField(max_length=9, default="", blank=True)

    class Meta:
        indexes = [models.Index(fields=["store", "id"], name="import_of_store")]

    def __str__(self) -> str:
        return self.name


class ImportItem(models.Model):
    """One memory of an import: how it compares with the store (`found`), the person's choice, and the outcome.

    `met` is the version that was at the item's path when the item was compared (null: none). `memory` is the id that
    the source gives the memory. `history` holds the memory's versions, oldest first, if the source includes them.
    `version_count` counts the versions at the source, including those that were removed there. `comment_count` counts
    the comments in `history`. The texts in `history` and `content` are cleared when the import ends.

    An item that `is_proposal` is a proposal instead of a memory: `history` has its changes, `path` is the path of the
    first change, and `memory` is the agent's id.
    """

    pk = models.CompositePrimaryKey("job", "number")
    job = models.ForeignKey(Import, models.CASCADE, db_index=False, related_name="items")
    number = models.BigIntegerField()
    path = PathField()
    found = models.CharField(max_length=20)
    choice = models.CharField(max_length=20)
    reason = models.TextField(default="", blank=True)
    content = models.TextField(null=True)
    size = models.BigIntegerField(default=0)
    memory = IdField(null=True)
    met = IdField(null=True)
    history = PlainJSONField(default=list)
    version_count = models.BigIntegerField(default=1)
    comment_count = models.BigIntegerField(default=0)
    is_proposal = models.BooleanField(default=False)
    seq = models.BigIntegerField(null=True)
    outcome = models.CharField(max_length=20, default="", blank=True)
