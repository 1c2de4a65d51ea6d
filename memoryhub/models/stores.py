"""Memory stores, the trees of memories that agents and people work on, and the settings of the hub for all stores."""

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
        """Return the stores in which a person has a role; all stores for a superuser."""
        return self if user.is_superuser else self.filter(members__user=user)

    def administered_by(self, user: User) -> MemoryStoreQuerySet:
        """Return the stores in which a person is an admin; all stores for a superuser."""
        return self if user.is_superuser else self.filter(members__user=user, members__role="admin")

    def reviewed_by(self, user: User) -> MemoryStoreQuerySet:
        """Return the stores in which a person may decide about waiting versions and proposals; all stores for a
        superuser."""
        return self if user.is_superuser else self.filter(members__user=user, members__role__in=("curator", "admin"))

    def reached_by(self, key: str) -> MemoryStoreQuerySet:
        """Return the stores for which a key was issued. `key` is the key's id."""
        return self.filter(keystore__key=key)

    def active(self) -> MemoryStoreQuerySet:
        return self.filter(archived_at=None)

    def archived(self) -> MemoryStoreQuerySet:
        return self.filter(archived_at__isnull=False)

    def named_like(self, words: str) -> MemoryStoreQuerySet:
        """Return the stores whose name contains these words, ignoring case."""
        return self.filter(name__icontains=words)

    def following(self, store: MemoryStore) -> MemoryStoreQuerySet:
        """Return the stores that come after `store` in the order of `by_name`."""
        return self.filter(Q(name__gt=store.name) | Q(name=store.name, id__gt=store.id))

    def older_than(self, at: datetime, store_id: str) -> MemoryStoreQuerySet:
        """In the order of `newest_first`, return the stores after the store `store_id`, which was created at `at`."""
        return self.filter(created_at__lte=at).exclude(created_at=at, id__gte=store_id)

    def newest_first(self) -> MemoryStoreQuerySet:
        return self.order_by("-created_at", "-id")

    def by_name(self) -> MemoryStoreQuerySet:
        return self.order_by("name", "id")


_Stores = models.Manager.from_queryset(MemoryStoreQuerySet)


class PresentStores(_Stores["MemoryStore"]):
    """The stores that are not deleted, including throw-away copies."""

    def get_queryset(self) -> models.QuerySet[MemoryStore]:
        return super().get_queryset().filter(deleted_at=None)


class ListedStores(PresentStores):
    """The stores that lists and doors know: stores that are neither deleted nor throw-away copies."""

    def get_queryset(self) -> models.QuerySet[MemoryStore]:
        return super().get_queryset().filter(copy_of=None)


class Governed(Sealed):
    """The settings that both a memory store and the hub have: limits (null: not set here) and `rules` for kinds of
    sensitive text."""

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
    """A tree of memories with its settings and counters. `updated_at` changes with its settings, not with its memories.

    `path_rules` say what agents may change (see the package `path_rules`). `last_removed_proposal` is the highest
    number of the proposals that retention removed. With `records_views`, an audit entry is written for each page that
    shows a person texts of the store's memories. A store with `deleted_at` is invisible to everyone, and its rows are
    being removed. If the store is a throw-away copy, on which a Claude run works, `copy_of` is the id of its original.
    People with a role in the original may view the copy.
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
    proposes_without_error = models.BooleanField(default=False)
    shows_proposed = models.BooleanField(default=False)
    mails_comments = models.BooleanField(default=False)
    records_views = models.BooleanField(default=False)
    path_rules = PlainJSONField(default=list)
    memory_count = models.BigIntegerField(default=0)
    total_bytes = models.BigIntegerField(default=0)
    last_removed_proposal = models.BigIntegerField(default=0)
    deleted_at = models.DateTimeField(null=True)
    copy_of = IdField(null=True)

    objects = ListedStores()
    present = PresentStores()
    every = MemoryStoreQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at", "id"], name="store_by_creation")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    def limit(self, name: str) -> int | None:
        """Return the limit with this name: the store's own, or else the hub's. None means that there is no limit."""
        own: int | None = getattr(self, f"limit_{name}")
        return HubSettings.current().limit(name) if own is None else own


class HubSettingsQuerySet(SealedQuerySet["HubSettings"]):
    """A query of HubSettings. A model that is `Sealed` needs a `SealedQuerySet`."""


class HubSettings(Governed):
    """The settings that superusers make for the hub and all stores, in one row.

    A limit that is null has the value of settings.py. `rules` say what happens to sensitive text of each kind; a
    store's own `rules` take precedence. `checked_at` is when the retention policies were last checked. `scrub_since` is
    the moment of a redaction whose value may still be in unused parts of SQLite's file. To remove the value, the hub
    rewrites the file: a small file at once, a large one at the hour `scrub_hour` (UTC) or when a person asks for it
    (`scrub_asked`). `scrub_begun_at` is when the hub last began to rewrite the file.

    `backups` has the settings of the scheduled backups, and `backup_last` the result of the last one. In a restored
    hub, `backup_last` also has the mark that the restore gave to the hub (see `actions.backups.make`). `backup_asked`
    says that a person has asked for a backup; `backup_begun_at` is when the last one began. `claude_role` is the lowest
    role in a memory store that lets a person start Claude runs in that store ("": no one may). With `second_person`,
    acts that cannot be undone need the permission of a second person.
    """

    OUTSIDE: ClassVar = dict.fromkeys(
        (
            "checked_at", "scrub_since", "scrub_asked", "scrub_begun_at", "backup_last", "backup_asked",
            "backup_begun_at",
        ),
        "marks of the background work",
    )  # fmt: skip

    id = models.IntegerField(primary_key=True, default=1)
    checked_at = models.DateTimeField(null=True)
    scrub_since = models.DateTimeField(null=True)
    scrub_hour = models.IntegerField(default=3, db_default=3)
    scrub_asked = models.BooleanField(default=False, db_default=False)
    scrub_begun_at = models.DateTimeField(null=True)
    backups = PlainJSONField(default=dict)
    backup_last = PlainJSONField(default=dict)
    backup_asked = models.BooleanField(default=False, db_default=False)
    backup_begun_at = models.DateTimeField(null=True)
    claude_role = models.CharField(max_length=7, default="admin", db_default="admin", blank=True)
    second_person = models.BooleanField(default=False, db_default=False)

    objects = HubSettingsQuerySet.as_manager()

    @classmethod
    def current(cls) -> HubSettings:
        """Return the row of settings. If no setting was ever saved, return an unsaved row with the defaults."""
        return cls.objects.filter(pk=1).first() or cls()

    def limit(self, name: str) -> int | None:
        own: int | None = getattr(self, f"limit_{name}")
        default: int | None = settings.MEMORYHUB_LIMITS[name]
        return default if own is None else own


class RefusalWindow(models.Model):
    """The refused requests of a key since the moment `since`.

    `written` of them have an audit entry of their own; `counted` of them are only counted. See
    `actions.memories.refusals`.
    """

    key = IdField(primary_key=True)
    since = models.DateTimeField()
    written = models.BigIntegerField(default=0)
    counted = models.BigIntegerField(default=0)
    door = models.CharField(max_length=7)


class CallWindow(RowOfStore):
    """The calls of a key in a store in the last minute. They are counted only if the store limits them."""

    pk = models.CompositePrimaryKey("store", "key")
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    key = IdField()
    seconds = PlainJSONField(default=list)
