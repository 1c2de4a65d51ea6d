"""Receipts with facts from the audit entries of their erasures: who erased, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from memoryhub.models import AuditEntry, MemoryStore, Receipt, User


@dataclass(frozen=True, slots=True)
class Listed:
    """A receipt of a store, with facts from its audit entry. If this entry was removed, only the name of the person is
    known."""

    receipt: Receipt
    store: MemoryStore
    who: str
    note: str  # as in the entry; later erasures mask it there


def listed(receipts: Sequence[Receipt], stores: Mapping[str, MemoryStore]) -> list[Listed]:
    """Return the receipts in order, each with its store, author and note. `stores` is {id: store}."""
    wanted = Q(pk__in=())
    for receipt in receipts:
        wanted |= Q(chain=receipt.store, seq=receipt.content.get("entry"))
    columns = ("chain", "seq", "label", "note")
    entries = {(one.chain, one.seq): one for one in AuditEntry.objects.filter(wanted, command="erase").only(*columns)}
    people = User.objects.in_bulk({receipt.content.get("by") for receipt in receipts} - {None})
    rows = []
    for receipt in receipts:
        entry, by = entries.get((receipt.store, receipt.content.get("entry"))), people.get(receipt.content.get("by"))
        who = entry.label if entry else str(by or "")
        rows.append(Listed(receipt, stores[receipt.store], who or "", (entry.note if entry else "") or ""))
    return rows
