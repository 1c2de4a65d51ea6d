"""The acts of keys on memory stores through the API: create, edit, archive and delete.

Each act has an entry in the chain of its store.
"""

from collections.abc import Mapping
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.transactions import together, writing
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.api import requests as asking
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import MemoryStore
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

MOST_PAIRS = 16
"""The most metadata pairs of a store."""


def create_store(asked: Asked, settings: StoreSettings, metadata: Mapping[str, str]) -> MemoryStore:
    """Create an empty store and return it. The hub's limits apply to it."""
    return together(lambda: _create(asked, settings, metadata), asked.caller.key)


def _create(asked: Asked, settings: StoreSettings, metadata: Mapping[str, str]) -> MemoryStore:
    with writing():
        store = stores.add_store(settings, metadata, asked.at)
        audit.open_chain(store.id)
        locked = tree.lock(store.id, asked.act)
        calls.note_use(locked, asked.caller, asked.session)
        tree.commit(locked, stores.creation(store))
    return store


def edit_store(
    store_id: str, asked: Asked, changes: Mapping[str, str], metadata: Mapping[str, str | None]
) -> MemoryStore:
    """Change a store's name, description and metadata pairs (None removes a pair), and return the store.

    Without a change, nothing is written. Raises ToolError for an archived store and for too many pairs.
    """
    record = Record("edit_store", input=audit.to_json({**changes, **({"metadata": metadata} if metadata else {})}))
    return asking.on_store(store_id, asked, record, lambda store: _edit(store, changes, metadata))


def _edit(
    store: Tree, changes: Mapping[str, str], metadata: Mapping[str, str | None]
) -> tuple[MemoryStore, Record | None]:
    tree.require_active(store)
    row = MemoryStore.objects.get(pk=store.store)
    after: dict[str, Any] = {**changes, "metadata": _patched(row.metadata, metadata)}
    differ = {name: [getattr(row, name), value] for name, value in after.items() if getattr(row, name) != value}
    if not differ:
        return row, None
    _write(row, store, {name: after[name] for name in differ})
    return row, Record("edit_store", input=audit.to_json(differ))


def _patched(pairs: Mapping[str, str], patch: Mapping[str, str | None]) -> dict[str, str]:
    """Return the metadata after a patch; raises ToolError for more than MOST_PAIRS pairs."""
    after = {name: value for name, value in {**pairs, **patch}.items() if value is not None}
    if len(after) > MOST_PAIRS:
        raise ToolError(results.too_many_pairs(len(after), MOST_PAIRS))
    return after


def archive_store(store_id: str, asked: Asked) -> MemoryStore:
    """Archive a store and return it. Do nothing if it is already archived."""
    return asking.on_store(store_id, asked, Record("archive_store"), lambda store: _archive(store, True))


def unarchive_store(store_id: str, asked: Asked) -> MemoryStore:
    """Unarchive a store and return it. Do nothing if it is not archived."""
    return asking.on_store(store_id, asked, Record("unarchive_store"), lambda store: _archive(store, False))


def _archive(store: Tree, archived: bool) -> tuple[MemoryStore, Record | None]:
    record = stores.archiving(store, archived)
    return MemoryStore.objects.get(pk=store.store), record


def delete_store(store_id: str, asked: Asked) -> None:
    """Delete a store with its memories and versions. Raises ToolError if anything in it has a legal hold."""
    asking.on_store(store_id, asked, Record(delete.COMMAND), lambda store: (None, delete.delete(store)))


def _write(row: MemoryStore, store: Tree, values: Mapping[str, Any]) -> None:
    """Update the row of a locked store, and set its `updated_at` to the time of the act."""
    values = {**values, "updated_at": store.at}
    MemoryStore.objects.filter(pk=row.pk).update(**values)
    for name, value in values.items():
        setattr(row, name, value)
