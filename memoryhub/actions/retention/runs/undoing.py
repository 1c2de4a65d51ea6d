"""Undoes a run: memories that it expired and that are still in the trash go back to their paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import selection
from memoryhub.actions.memories.selection import restore as selection_restore
from memoryhub.actions.memories.selection.restore import Return, Thrown
from memoryhub.models import Memory, Removal, Run, RunItem
from memoryhub.pure.protocol.errors import ToolError

MOST = 50
"""The most memories that one transaction, with one entry, restores."""


@dataclass(slots=True)
class Done:
    """How many memories an undo of a run restored, and why it could not restore others."""

    count: int = 0
    refused: list[ToolError] = field(default_factory=list)


def restore(run: Run, act: Act) -> Done:
    """Restore the memories that the run expired. Raises ToolError for an archived store.

    This takes several short transactions, whose entries are one group.
    """
    store_id, done = str(run.store_id), Done()
    for memories in _expired(run):
        try:
            done.count += _restore(store_id, run, memories, act)
        except ToolError:  # one memory breaks a limit
            for memory in memories:
                _restore_alone(store_id, run, memory, act, done)
    return done


def _expired(run: Run) -> Iterator[list[str]]:
    """Yield the ids of the memories that the run expired, in lists of at most MOST."""
    items = RunItem.objects.filter(run_id=run.pk, removal=Removal.EXPIRE, skipped="").order_by("pk")
    last = 0
    while page := list(items.filter(pk__gt=last).values_list("pk", "memory")[:MOST]):
        last = page[-1][0]
        yield [memory for _, memory in page]


def _restore_alone(store_id: str, run: Run, memory: str, act: Act, done: Done) -> None:
    try:
        done.count += _restore(store_id, run, [memory], act)
    except ToolError as error:
        done.refused.append(error)
        with tree.locked(store_id, act) as store:
            tree.require_active(store)
            details = {"run": run.pk, "memories": 0, "memory": memory, "refused": error.message}
            tree.commit(store, Record("undo_run", memory=memory, input=audit.to_json(details)))


def _restore(store_id: str, run: Run, memories: Sequence[str], act: Act) -> int:
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        there = Memory.objects.in_trash().among(store_id, memories).filter(expired_by=run.pk)
        ids = tuple(there.values_list("pk", flat=True))
        if not ids:
            return 0
        plan = selection_restore.return_plan(store_id, Thrown(ids), store.at)
        for one in plan.free:
            selection_restore.put_back(store, one.memory, one.to)
        _write_entry(store, run, plan.free, [one for one in plan.returns if one.obstacle])
        return len(plan.free)


def _write_entry(store: Tree, run: Run, back: Sequence[Return], taken: Sequence[Return]) -> None:
    """Write one entry, with the restored memories (`back`) and those that stay in the trash (`taken`)."""
    single = back[0] if len(back) == 1 else None
    details = {
        "run": run.pk,
        "memories": len(back),
        "paths": [one.to for one in back][: selection.MOST_TOLD],
        "taken": [one.to for one in taken],
    }
    record = Record("undo_run", versions=tuple(store.made), input=audit.to_json(details))
    if single is not None:
        record = record._replace(path=single.to, memory=single.memory.id, version=store.made[0].id)
    tree.commit(store, record)
