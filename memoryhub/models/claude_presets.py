"""Presets of Claude runs: guidance and settings that people save for a memory store, each in several versions."""

from __future__ import annotations

from django.db import models

from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.stores import MemoryStore


class ClaudePresetQuerySet(models.QuerySet["ClaudePreset"]):
    def of_store(self, store_id: str) -> ClaudePresetQuerySet:
        return self.filter(store_id=store_id)

    def by_name(self) -> ClaudePresetQuerySet:
        return self.order_by("name", "id")


class ClaudePreset(models.Model):
    """Guidance and settings for Claude runs, under a name.

    `versions` has the versions that are kept, oldest first: {"number", "at", "by", "content"}. `by` is the name of the
    person who saved the version. `content` has the values that were saved from the form of a run.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    versions = PlainJSONField(default=list)
    changed_at = models.DateTimeField()

    objects = ClaudePresetQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
