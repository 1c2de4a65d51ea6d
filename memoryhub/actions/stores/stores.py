"""Memory stores: how people create, edit and archive them. Each act has an entry in the store's own chain."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.rules.roles import write_role
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Directory, Door, MemoryStore, Role, User
from memoryhub.pure import ids
from memoryhub.pure.limits import COLUMNS

ANSWERS = ("overwrite_on_create", "proposes_without_error", "shows_proposed", "mails_comments", "records_views")
"""The settings that are yes or no."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The settings of a store that people choose. If a limit is None, the hub's limit applies."""

    name: str
    description: str = ""
    overwrite_on_create: bool = False
    proposes_without_error: bool = False
    shows_proposed: bool = False
    mails_comments: bool = False
    records_views: bool = False
    limits: Mapping[str, int | None] = field(default_factory=dict)
    """Limits by column; a missing limit counts as None."""

    @classmethod
    def of(cls, store: MemoryStore) -> "StoreSettings":
        limits = {column: getattr(store, column) for column in COLUMNS}
        answers = {name: getattr(store, name) for name in ANSWERS}
        return cls(store.name, store.description, limits=limits, **answers)

    def as_json(self) -> dict[str, Any]:
        """Return {column: value} of the settings."""
        own: dict[str, Any] = {"name": self.name, "description": self.description}
        own |= {name: getattr(self, name) for name in ANSWERS}
        return own | {column: self.limits.get(column) for column in COLUMNS}


def create_store(
    settings: StoreSettings,
    *,
    actor: Actor,
    door: Door,
    at: datetime,
    admin: User | None = None,
    metadata: Mapping[str, str] | None = None,
) -> MemoryStore:
    """Create an empty store with its root directory and its chain, and return it.

    `admin` gets the role of an admin in the store (None: no one gets it).
    """
    act = Act(actor, door, at)
    with writing():
        store = add_store(settings, metadata or {}, at)
        head = audit.open_chain(store.id)
        audit.append(head, act, creation(store))
        if admin is not None:
            write_role(store, admin, Role.ADMIN, at)
            details = {"user": admin.id, "email": admin.email, "before": None, "role": Role.ADMIN}
            audit.append(head, act, Record("set_role", input=audit.to_json(details)))
    return store


def add_store(settings: StoreSettings, metadata: Mapping[str, str], at: datetime, **more: Any) -> MemoryStore:
    """Add the rows of an empty store, and return the store. `more` are further columns.

    The caller adds the store's chain and its first entry.
    """
    store = MemoryStore.objects.create(
        id=ids.new_id(ids.MEMORY_STORE, at),
        created_at=at,
        updated_at=at,
        metadata=dict(metadata),  # type: ignore[misc]
        **settings.as_json(),
        **more,
    )
    Directory.objects.create(id=ids.new_id(ids.DIRECTORY, at), store=store, path="", changed_at=at)
    return store


def creation(store: MemoryStore) -> Record:
    """Return the record of a store's first entry."""
    details = StoreSettings.of(store).as_json() | ({"metadata": store.metadata} if store.metadata else {})
    return Record("create_store", input=audit.to_json(details))


def edit_store(
    store: MemoryStore,
    settings: StoreSettings,
    *,
    actor: Actor,
    door: Door,
    at: datetime,
    only: Collection[str] | None = None,
) -> None:
    """Change all settings of a store, or only those named in `only`.

    The entry has each changed setting, before and after. Without a change, nothing is written. Raises ToolError for an
    archived store.
    """
    after = {name: value for name, value in settings.as_json().items() if only is None or name in only}
    with tree.locked(store.id, Act(actor, door, at)) as locked:
        before = StoreSettings.of(MemoryStore.objects.get(pk=store.pk)).as_json()  # not what the person saw
        changes = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
        if not changes:
            return
        tree.require_active(locked)
        MemoryStore.objects.filter(pk=store.pk).update(updated_at=at, **after)
        tree.commit(locked, Record("edit_store", input=audit.to_json(changes)))


def set_archived(store: MemoryStore, archived: bool, *, actor: Actor, door: Door, at: datetime) -> None:
    """Archive or unarchive a store. Without a change, nothing is written.

    An archived store can be read, and its memories can be deleted.
    """
    with tree.locked(store.id, Act(actor, door, at)) as locked:
        record = archiving(locked, archived)
        if record is not None:
            tree.commit(locked, record)


def archiving(store: Tree, archived: bool) -> Record | None:
    """Archive or unarchive a locked store. Return the record for its entry, or None if nothing changes."""
    if store.archived == archived:
        return None
    MemoryStore.objects.filter(pk=store.store).update(archived_at=store.at if archived else None, updated_at=store.at)
    return Record("archive_store" if archived else "unarchive_store")
