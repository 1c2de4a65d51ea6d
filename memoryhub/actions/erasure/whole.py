"""Removes whole memories permanently: all their versions, and the texts in the entries of the calls that wrote them."""

from collections.abc import Sequence
from contextlib import suppress

from memoryhub.actions import figures
from memoryhub.actions.claude_runs import runs as claude_runs
from memoryhub.actions.core import audit, proposed_texts, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.audit.evidence import Evidence
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure import redaction, sqlite_remains
from memoryhub.actions.memories import commands
from memoryhub.actions.retention import removal
from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure import ids
from memoryhub.pure.protocol.commands import Delete
from memoryhub.pure.protocol.errors import ToolError


def remove_memories(store_id: str, memories: Sequence[str], act: Act) -> int:
    """Remove memories permanently, and remove their texts from the audit. Return how many memories were removed.

    Memories under a legal hold, and those that no longer exist, are left out. The removal of each memory has its own
    entry. A live memory is first moved to the trash, which makes one more entry. The entries keep the paths and
    authors.
    """
    act = act._replace(group=act.group or ids.new_id(ids.GROUP, act.at))
    done = 0
    for memory_id in memories:
        with suppress(Memory.DoesNotExist, ToolError), tree.locked(store_id, act) as store:
            _delete(store, Memory.objects.get(store_id=store_id, pk=memory_id))
    figures.count_up_to_now(store_id)
    for memory_id in memories:
        with suppress(Memory.DoesNotExist, ToolError), tree.locked(store_id, act) as store:
            _remove(store, Memory.objects.in_trash().get(store_id=store_id, pk=memory_id))
            done += 1
    sqlite_remains.scrub_small()
    return done


def _delete(store: Tree, memory: Memory) -> None:
    holds.require_free(store, [(memory.pk, memory.path)])
    if memory.is_live:
        done = commands.delete(store, Delete(memory.path))
        tree.commit(store, done._replace(answer=None, rendered=False, input=audit.to_json({"path": memory.path})))


def _remove(store: Tree, memory: Memory) -> None:
    holds.require_free(store, [(memory.pk, memory.path)])
    evidence = Evidence(store)
    _redact_calls(store, memory, evidence)
    removed = removal.purge(store, memory.pk, evidence)
    details = audit.to_json({"versions": removed.versions, "size": removed.bytes})
    claude_runs.stop_redacted(store)
    sqlite_remains.note(store.act.at)
    tree.commit(
        store, Record("purge", path=memory.path, memory=memory.pk, redactions=removed.redactions, input=details)
    )


def _redact_calls(store: Tree, memory: Memory, evidence: Evidence) -> None:
    """Remove a memory's texts from the entries: where calls wrote or proposed them, and where refusals quoted them.

    Proposed texts of the memory are removed too.
    """
    versions = list(MemoryVersion.objects.of_memory(memory).order_by("number"))
    seqs = {version.seq for version in versions} | proposed_texts.remove(store, memory.pk, versions)
    redaction.redact_calls(store, redaction.calls_at(store, versions), seqs, evidence)
