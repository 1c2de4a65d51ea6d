"""Memory stores: the trees of memories that agents and people work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q

from memoryhub.models.fields import IdField, PlainJSONField

if TYPE_CHECKING:
    from memoryhub.models.access import User


class MemoryStoreQuerySet(models.QuerySet["MemoryStore"]):
    def visible_to(self, user: User) -> MemoryStoreQuerySet:
        """Those in which a person has a role; all of them for a superuser."""
        return self if user.is_superuser else self.filter(members__user=user)

    def active(self) -> MemoryStoreQuerySet:
        return self.filter(archived_at=None)

    def archived(self) -> MemoryStoreQuerySet:
        return self.filter(archived_at__isnull=False)

    def named_like(self, words: str) -> MemoryStoreQuerySet:
        """Those whose name has these words in it, whatever their case."""
        return self.filter(name__icontains=words)

    def following(self, store: MemoryStore) -> MemoryStoreQuerySet:
        """In `by_name`, those after a store."""
        return self.filter(Q(name__gt=store.name) | Q(name=store.name, id__gt=store.id))

    def by_name(self) -> MemoryStoreQuerySet:
        return self.order_by("name", "id")


class MemoryStore(models.Model):
    """A tree of memories with its settings and counters. `updated_at` moves with the store, not with its memories."""

    id = IdField(primary_key=True)
    name = models.CharField(max_length=255)
    description = models.TextField(default="", blank=True)
    metadata = PlainJSONField(default=dict)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    overwrite_on_create = models.BooleanField(default=False)
    limit_memory_bytes = models.BigIntegerField(null=True, blank=True)
    limit_memories = models.BigIntegerField(null=True, blank=True)
    limit_total_bytes = models.BigIntegerField(null=True, blank=True)
    limit_view_characters = models.BigIntegerField(null=True, blank=True)
    memory_count = models.BigIntegerField(default=0)
    total_bytes = models.BigIntegerField(default=0)

    objects = MemoryStoreQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at", "id"], name="store_by_creation")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    def limit(self, name: str) -> int:
        """The store's own limit, or the hub's: `memory_bytes`, `memories`, `total_bytes` or `view_characters`."""
        own = getattr(self, f"limit_{name}")
        return int(settings.MEMORYHUB_LIMITS[name] if own is None else own)
