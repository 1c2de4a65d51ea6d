"""The notes of deletions in an import: an entry that imports a memory into the trash gets the deletion's note."""

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.transfer.importing.preview import is_deleted
from memoryhub.models import ImportItem

KEY = "note"
"""The name of the note in the last version of an item."""


def commit(store: Tree, item: ImportItem, record: Record) -> int:
    """Write the entry of an item. If the item brings a memory into the trash, the entry has the note of that
    deletion."""
    act, note = store.act, item.history[-1].get(KEY) if item.history else None
    if note and is_deleted(item):
        store.act = act._replace(note=store.ruling.masked(note))
    try:
        return tree.commit(store, record)
    finally:
        store.act = act
