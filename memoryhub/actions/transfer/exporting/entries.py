"""Writes the audit entry of an export of entries or of a table. Also finds earlier exports."""

from collections.abc import Collection, Sequence

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HUB, AuditEntry, MemoryStore
from memoryhub.models.audit import LAST_SEQ

FOUND = "the results of a search"
"""The table whose export contains lines of memories. Other tables contain no texts."""


def handed_out(store_id: str, since: int, versions: Collection[str], until: int = LAST_SEQ) -> list[str]:
    """Return the commands with which texts of a store were downloaded between the entries `since` and `until`.

    A download of a single version that is in `versions` does not count.
    """
    later = AuditEntry.objects.of_chain(store_id).between(since, until)
    whole = later.filter(command__in=("export", "collect", "export_audit")).exclude(version__in=versions)
    found = set(whole.values_list("command", flat=True).distinct())
    if later.of_command("export_table").filter(input__contains=FOUND).exists():
        found.add("export_table")
    at = later.oldest().values_list("at", flat=True).first()
    of_hub = AuditEntry.objects.of_chain(HUB).of_command("export_audit").filter(input__contains=store_id)
    if at is not None and of_hub.filter(at__gte=at).exists():
        found.add("export_audit")
    return sorted(str(command) for command in found)


def export_audit(chains: Sequence[str], filter: str, format: str, act: Act, *, signed: bool = False) -> tuple[str, int]:
    """Record an export of audit entries; return (chain, seq) of the record. `filter` is the text that the person typed.

    The record is in the chain of the exported store, or in the hub's chain if the export is not of exactly one store.
    """
    details = {"chains": list(chains), "filter": filter, "format": format, **({"signed": True} if signed else {})}
    record = Record("export_audit", input=audit.to_json(details))
    if len(chains) == 1 and MemoryStore.objects.filter(pk=chains[0]).exists():
        with tree.locked(chains[0], act) as store:
            return chains[0], tree.commit(store, record)
    with writing():
        return HUB, audit.on_hub(act, record)


def export_table(store_id: str | None, table: str, format: str, act: Act, **details: object) -> int:
    """Record an export of a table, and return the seq of the entry.

    The entry is in the chain of the store (None: of the hub).
    """
    record = Record("export_table", input=audit.to_json({"table": table, "format": format, **details}))
    if store_id is None:
        with writing():
            return audit.on_hub(act, record)
    with tree.locked(store_id, act) as store:
        return tree.commit(store, record)
