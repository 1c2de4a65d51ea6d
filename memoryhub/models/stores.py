"""Memory stores: the trees of memories that agents and people work on, and what the hub sets for all of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.rows import RowOfStore
from memoryhub.models.sealed import Sealed, SealedQuerySet

if TYPE_CHECKING:
    from memoryhub.models.access import User


class MemoryStoreQuerySet(SealedQuerySet["MemoryStore"]):
    def visible_to(self, user: User) -> MemoryStoreQuerySet:
        """Those in which a person has a role; all of them for a superuser."""
        return self if user.is_superuser else self.filter(members__user=user)

    def reached_by(self, key: str) -> MemoryStoreQuerySet:
        """Those that a key reaches, by its id."""
        return self.filter(keystore__key=key)

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

    def older_than(self, at: datetime, store_id: str) -> MemoryStoreQuerySet:
        """In `newest_first`, those after the store of that moment and id."""
        return self.filter(created_at__lte=at).exclude(created_at=at, id__gte=store_id)

    def newest_first(self) -> MemoryStoreQuerySet:
        return self.order_by("-created_at", "-id")

    def by_name(self) -> MemoryStoreQuerySet:
        return self.order_by("name", "id")


_Stores = models.Manager.from_queryset(MemoryStoreQuerySet)


class PresentStores(_Stores["MemoryStore"]):
    """Those that have not been deleted: of the others only the background work knows, which takes their rows away."""

    def get_queryset(self) -> models.QuerySet[MemoryStore]:
        return super().get_queryset().filter(deleted_at=None)


class Governed(Sealed):
    """What may be set for one memory store or for all: limits (null: not set here), and what happens to sensitive text
    by kind."""

    limit_memory_bytes = models.BigIntegerField(null=True, blank=True)
    limit_memories = models.BigIntegerField(null=True, blank=True)
    limit_total_bytes = models.BigIntegerField(null=True, blank=True)
    limit_versions = models.BigIntegerField(null=True, blank=True)
    limit_view_characters = models.BigIntegerField(null=True, blank=True)
    limit_calls = models.BigIntegerField(null=True, blank=True)
    limit_audit_bytes = models.BigIntegerField(null=True, blank=True)
    limit_body_bytes = models.BigIntegerField(null=True, blank=True)
    rules = PlainJSONField(default=dict)

    class Meta:
        abstract = True


class MemoryStore(Governed):
    """A tree of memories with its settings and counters. `updated_at` moves with the store, not with its memories.

    With `deleted_at` it is there for nobody any more, and what it held is being removed.
    """

    HOME: ClassVar = "id"
    OUTSIDE: ClassVar = dict.fromkeys(("memory_count", "total_bytes"), "counted again from the memories")

    id = IdField(primary_key=True)
    name = models.CharField(max_length=255)
    description = models.TextField(default="", blank=True)
    metadata = PlainJSONField(default=dict)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    overwrite_on_create = models.BooleanField(default=False)
    memory_count = models.BigIntegerField(default=0)
    total_bytes = models.BigIntegerField(default=0)
    deleted_at = models.DateTimeField(null=True)

    objects = PresentStores()
    every = MemoryStoreQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at", "id"], name="store_by_creation")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    def limit(self, name: str) -> int | None:
        """The store's own limit, or the hub's, by a name of MEMORYHUB_LIMITS; null: there is none."""
        own: int | None = getattr(self, f"limit_{name}")
        return HubSettings.current().limit(name) if own is None else own


class HubSettingsQuerySet(SealedQuerySet["HubSettings"]):
    """The one row, or none."""


class HubSettings(Governed):
    """What a superuser sets for all stores, in one row: limits (null: those of settings.py) and rules.

    `rules` says what happens to sensitive text, by kind; a store's own `rules` come first. `checked_at` is when the
    retention policies were last looked at, `scrub_since` when something was redacted whose remains may still
    stand in unused parts of the database's file. A large file is written anew at `scrub_hour` (UTC), or when somebody
    has asked for it; `scrub_begun_at` is when that was last tried.
    """

    OUTSIDE: ClassVar = dict.fromkeys(
        ("checked_at", "scrub_since", "scrub_asked", "scrub_begun_at"), "marks of the background work"
    )

    id = models.IntegerField(primary_key=True, default=1)
    checked_at = models.DateTimeField(null=True)
    scrub_since = models.DateTimeField(null=True)
    scrub_hour = models.IntegerField(default=3, db_default=3)
    scrub_asked = models.BooleanField(default=False, db_default=False)
    scrub_begun_at = models.DateTimeField(null=True)

    objects = HubSettingsQuerySet.as_manager()

    @classmethod
    def current(cls) -> HubSettings:
        """The row, or one with nothing set where nobody has set anything yet."""
        return cls.objects.filter(pk=1).first() or cls()

    def limit(self, name: str) -> int | None:
        own: int | None = getattr(self, f"limit_{name}")
        default: int | None = settings.MEMORYHUB_LIMITS[name]
        return default if own is None else own


class RefusalWindow(models.Model):
    """The refused requests of a key since a moment: `written` have an audit entry, `counted` are
    counted without one; see `actions/refusals`."""

    key = IdField(primary_key=True)
    since = models.DateTimeField()
    written = models.BigIntegerField(default=0)
    counted = models.BigIntegerField(default=0)
    door = models.CharField(max_length=7)


class CallWindow(RowOfStore):
    """The calls of a key in a store in the last minute, counted where the store limits them; see `actions/limits`."""

    pk = models.CompositePrimaryKey("store", "key")
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    key = IdField()
    seconds = PlainJSONField(default=list)
