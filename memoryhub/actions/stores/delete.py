"""Deletes a memory store. The store is hidden at once, and its rows are deleted later. Its audit is closed and stays.

The audit entries of a throw-away copy are removed too, because they contain texts.
"""

from collections.abc import Sequence

from django.db import models
from django.db.models import Q

from memoryhub.actions import figures
from memoryhub.actions.core import audit, sql, tree
from memoryhub.actions.core.audit import Act, Record, own_texts
from memoryhub.actions.core.transactions import pace, writing
from memoryhub.actions.core.tree import NoSuchStore, Tree
from memoryhub.actions.retention import removal
from memoryhub.models import (
    Activity,
    AuditChain,
    ClaudeEvent,
    ClaudeRun,
    Comment,
    Delivery,
    DeliveryState,
    Directory,
    Finding,
    Growth,
    IdempotentCall,
    ImportItem,
    Invitation,
    KeyStore,
    Member,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Notice,
    Proposal,
    ProposedChange,
    Review,
    RunItem,
    Webhook,
    WebhookCursor,
)
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

COMMAND = "delete_store"
PIECE = 500
"""The most rows that one short transaction deletes."""
_size = pace.Size(PIECE)

HEAVY: tuple[tuple[type[models.Model], str], ...] = (
    (ImportItem, "job__store"), (RunItem, "run__store"), (ClaudeEvent, "run__store"),
    (ClaudeRun, "store"), (Review, "store"), (Finding, "store"),
    (Comment, "store"), (Notice, "store"),
    (ProposedChange, "store"), (Proposal, "store"),
    (MemoryVersion, "store"), (MemoryText, "store"), (Memory, "store"), (Directory, "store"),
    (IdempotentCall, "store"), (Activity, "store"), (Growth, "store"),
)  # fmt: skip
"""The tables that can have many rows of one store, each with the lookup that leads from a row to its store.

Rows of other tables are deleted with the store's row.
"""


def delete(store: Tree) -> Record:
    """Mark a locked store and its throw-away copies as deleted. Return the record of the store's last entry.

    The caller commits the record. Raises ToolError if anything in the store has a legal hold.
    """
    held = sql.one(sql.LEGAL_HOLDS, store.store, store.now)
    if held is not None:
        raise ToolError(results.held(_place(store.store, *held)))
    row = MemoryStore.present.get(pk=store.store)
    for copy in MemoryStore.present.filter(copy_of=store.store).order_by("pk"):
        delete_copy(copy.pk, store.act)
    MemoryStore.present.filter(pk=store.store).update(deleted_at=store.at)
    AuditChain.objects.filter(pk=store.store).update(closed_at=store.at)
    for rows in (Member.objects, KeyStore.objects, Invitation.objects):
        rows.filter(store_id=store.store).delete()
    details = {"name": row.name, "memories": store.memories, "bytes": store.total_bytes}
    return Record(COMMAND, input=audit.to_json(details))


def delete_store(store_id: str, *, act: Act) -> int:
    """Delete a store; return the seq of the entry that closes its chain. Raises ToolError and tree.NoSuchStore."""
    with tree.locked(store_id, act) as store:
        return tree.commit(store, delete(store))


def delete_copy(copy_id: str, act: Act) -> None:
    """Delete a throw-away copy with its audit entries; do nothing if the store is no longer a copy.

    If the original is changed too, lock the original first.
    """
    act = act._replace(session=None, token=None, note=None)
    with writing():
        try:
            last = tree.lock(copy_id, act).head.last_seq
        except NoSuchStore:
            return
        if MemoryStore.objects.filter(pk=copy_id).exists():
            return  # what Claude made of it was kept as a memory store
        # Removed at once, because no one could erase a text from these entries later.
        while removal.remove_entries(copy_id, last, act, of_copy=True):
            pass
        delete_store(copy_id, act=act)


def _place(store_id: str, memory: str | None, path: str | None) -> str:
    """Return the path that a hold covers ("": the whole store). For a hold on a memory, this is the path of the
    memory."""
    if memory is None:
        return path or ""
    return str(Memory.objects.filter(store_id=store_id, pk=memory).values_list("path", flat=True).first() or "")


# ------------------------------------------------------------------------------------------------ deleting the rows


def deleted_stores() -> list[str]:
    """Return the ids of deleted stores that still have rows, in the order of their deletion."""
    gone = MemoryStore.every.filter(deleted_at__isnull=False)
    return list(gone.order_by("deleted_at", "pk").values_list("pk", flat=True))


def step(store_id: str) -> bool:
    """Delete the next rows of a deleted store in one short transaction; return whether to call this again at once.

    Rows are deleted only after the store's entries were counted for the metrics and read for the webhooks. The store's
    own row is deleted last.
    """
    if MemoryStore.every.filter(pk=store_id, copy_of=None).exists() and figures.meter_deleted(store_id):
        return True
    if not _is_read(store_id):
        return False
    for model, store in HEAVY:
        with writing():
            rows = model._default_manager.filter(**{store: store_id}).values_list("pk", flat=True)
            if there := list(rows[: min(PIECE, _size.next)]):
                texts = _leave(store_id, there) if model is MemoryVersion else []
                named = {} if "__" in store else {store: store_id}
                gone = model._default_manager.filter(**named, pk__in=there)
                gone._raw_delete(gone.db)  # no other rows depend on these rows
                _drop(store_id, texts)
                _size.learn(len(there), len(there))
                return True
    if _is_waiting(store_id):
        return False
    with writing():
        MemoryStore.every.filter(pk=store_id, deleted_at__isnull=False).delete()
    return False


def _leave(store_id: str, ids: Sequence[str]) -> list[str]:
    """Store the complete inputs of the entries that made these versions. Return the ids of the versions' texts.

    An entry's input can lack a text, because the version has it. So call this function before the versions are deleted.
    """
    versions = MemoryVersion.objects.among(store_id, ids).values_list("seq", "text_id")
    own_texts.copy_back(store_id, [seq for seq, _ in versions])
    return sorted({text for _, text in versions if text})


def _drop(store_id: str, texts: Sequence[str]) -> None:
    """Delete those of the given texts that no version uses any more."""
    if not texts:
        return
    used = MemoryVersion.objects.filter(store_id=store_id, text_id__in=texts).values_list("text_id", flat=True)
    MemoryText.objects.filter(store_id=store_id, pk__in=set(texts).difference(used)).delete()


def _is_read(store_id: str) -> bool:
    """Return whether every entry of the store was read for the webhooks.

    Also True if neither the store nor the hub has an active webhook.
    """
    if not Webhook.objects.active().filter(Q(store=None) | Q(store=store_id)).exists():
        return True
    read = WebhookCursor.objects.filter(pk=store_id).values_list("seq", flat=True).first() or 0
    return bool(read >= AuditChain.objects.values_list("last_seq", flat=True).get(pk=store_id))


def _is_waiting(store_id: str) -> bool:
    """Return whether a delivery waits for one of the store's active webhooks."""
    active = Webhook.objects.active().filter(store=store_id).values("pk")
    return Delivery.objects.filter(webhook__in=active, state=DeliveryState.WAITING).exists()
