"""Imports: what was uploaded, what to do with each of its memories, and the progress."""

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
    """Memories on their way into a store, beneath the directory `place`. `group` is that of the entries it makes.

    `actors` names those who wrote the versions of its history: {id: label}. `sha256` is of the bytes that were brought,
    `memory_count` and `byte_count` of what came in them, `done_count` how many items have been dealt with; `told` is
    the state that webhooks have been told of.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    state = models.CharField(max_length=9, choices=ImportState.choices)
    source = models.CharField(max_length=10)
    name = models.TextField(default="", blank=True)
    place = PathField(default="", blank=True)
    sha256 = models.TextField(default="", blank=True)
    actors = PlainJSONField(default=dict)
    actor = PlainJSONField(default=dict)
    door = models.CharField(max_length=7)
    group = IdField(null=True)
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
    """One memory of an import: what stands against it (`found`), what a person chose, and what came of it.

    `met` is the version that was the newest at its path when it was looked at; `memory` the id that its source gives.

    `history` are its versions, oldest first, where the source carries them; its texts, and `content`, are emptied when
    the import ends.
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
    sha256 = models.TextField(null=True)
    memory = IdField(null=True)
    met = IdField(null=True)
    history = PlainJSONField(default=list)
    version_count = models.BigIntegerField(default=1)
    seq = models.BigIntegerField(null=True)
    outcome = models.CharField(max_length=20, default="", blank=True)
