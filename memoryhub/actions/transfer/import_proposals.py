"""Opens the proposals of an import again, in a locked store, by the memories and texts that the store has."""

import hashlib
from datetime import datetime
from typing import Any

from memoryhub.actions.core import audit, proposing, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.transfer.preview import require_path
from memoryhub.models import Agent, Import, ImportItem, MemoryVersion
from memoryhub.protocol.errors import ToolError


def opened(store: Tree, job: Import, item: ImportItem) -> Record:
    """Open a proposal with the changes of an item; return the record of its entry.

    The same rules hold as for an agent that proposes. The agent is the source's, if this hub has it. Raises ToolError.
    """
    agent = item.memory if Agent.objects.filter(pk=item.memory).exists() else ""
    proposing.require_size([], [Wanted(None, change["path"], change["content"]) for change in item.history])
    changes = [_wanted(store, change) for change in item.history]
    at = datetime.fromisoformat(item.history[0]["at"])
    proposal = proposing.opened(store, key="", agent=agent or "", session=None, at=at if at <= store.at else None)
    for number, (change, base) in enumerate(changes, 1):
        proposing.row(store, proposal, number, change, base).save(force_insert=True)
    details = {"import": job.pk, "number": proposal.number, "proposal": proposal.pk, "item": item.number}
    return Record("import_proposal", input=audit.to_json(details))


def _wanted(store: Tree, told: dict[str, Any]) -> tuple[Wanted, str | None]:
    """Return a change, and the version that has the text that the agent saw (None: the memory is new)."""
    for path in filter(None, (told["path"], told["memory"], told["new_path"])):
        require_path(path)
    memory = tree.memory_at(store, told["memory"]) if told["memory"] is not None else None
    if told["memory"] is not None and memory is None:
        raise ToolError(f"The memory {told['memory']} is not in this memory store.")
    base = _base(store, memory, told["base"]) if memory else None
    if memory is not None and base is None:
        raise ToolError(f"The text of {memory.path} that the agent saw is not in this memory store.")
    content = told["content"]
    if content is not None:
        content = findings.screen(store, told["path"], None, content).text
    change = Wanted(memory, told["path"], content, told["new_path"], told["deletes"])
    proposing.require_possible(store, change)
    return change, base


def _base(store: Tree, memory: StoredMemory, text: str | None) -> str | None:
    """Return the newest version of a memory with a text, as it is or as the store's rules let it be stored, or None."""
    if text is None:
        return None
    kept = findings.screen(store, memory.path, None, text).text
    sums = {hashlib.sha256(one.encode()).hexdigest() for one in (text, kept)}
    same = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory.id, sha256__in=sums)
    return same.order_by("-number").values_list("pk", flat=True).first()
