"""Applies a plan that restores, undoes or merges, with a person's choices, with one audit entry."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryhub.actions.core import audit, plans, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.plans import (
    MOST_NAMED,
    Change,
    Choice,
    Plan,
    PlanChanged,
    Problem,
    State,
    TooMuch,
    named_ids,
)
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import Kept, ScreenedPath
from memoryhub.actions.history import ahead, undone
from memoryhub.actions.history.restore import restore_plan
from memoryhub.actions.history.undo_plan import entry_versions, session_versions, undo_plan
from memoryhub.actions.memories import selection
from memoryhub.actions.review import decisions
from memoryhub.models import Decision, Memory, MemoryVersion, Operation
from memoryhub.pure import ids
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

__all__ = [
    "MOST_NAMED", "Change", "Choice", "Done", "Plan", "PlanChanged", "Problem", "State", "TooMuch", "entry_versions",
    "named_ids", "restore", "restore_plan", "session_versions", "undo", "undo_plan",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an act: the entry's seq, how many versions the act made (`count`), and how many memories it
    flagged.

    `memory` and `version` are set only if the act changed exactly one memory.
    """

    seq: int
    memory: str | None
    version: str | None
    count: int
    flagged: int = 0


def restore(
    store_id: str,
    seq: int,
    choices: Mapping[str, Choice],
    digest: str,
    act: Act,
    *,
    path: str | None = None,
    memory: str | None = None,
) -> Done:
    """Restore a memory, a directory (`path`) or the whole store to its state after the entry `seq`.

    `memory` and `path` are None for the whole store. `choices` is {memory id: choice}. Raises PlanChanged if the digest
    of the plan is no longer `digest`; TooMuch if too many memories would change; ToolError, for example if a choice is
    missing. After an error, nothing was done.
    """

    def planned() -> Plan:
        return restore_plan(store_id, seq, path=path, memory=memory)

    before = ahead.planned(store_id, planned)
    with tree.locked(store_id, act) as store:
        store.clean = before.clean
        plan = as_shown(before.plan if before.holds(store, None) else planned(), digest)
        kept = apply(store, plan, choices)
        details = {"seq": seq, "path": path, "memory": memory, "kept": named_ids(kept)}
        return _commit(store, "restore_moment", details, path)


def put_back(store_id: str, seq: int, act: Act) -> list[str]:
    """Restore the store to its state after entry `seq`, with the proposed choices.

    Use it only in a trial, inside `without_effect`. Return the paths of the live memories that are not restored,
    because their text is gone. Raises TooMuch and ToolError.
    """
    with tree.locked(store_id, act) as store:
        plan = restore_plan(store_id, seq)
        kept = set(apply(store, plan, {}))
        if store.made:
            _commit(store, "restore_moment", {"seq": seq}, None)
        return [change.path for change in plan.changes if change.memory in kept and change.path]


def undo(
    store_id: str,
    versions: Collection[str],
    choices: Mapping[str, Choice],
    digest: str,
    act: Act,
    *,
    command: str = "undo",
    told: Mapping[str, object] | None = None,
    flagged: Collection[str] = (),
    reopens: bool = True,
) -> Done:
    """Undo versions by the plan with this digest. Raises the same errors as `restore`.

    Undone versions that awaited review become reverted, and so do later versions that a choice drops. The same entry
    flags the memories of the versions `flagged`. `told` names the undone session or entry, and is added to the entry's
    input. If an earlier undo is undone, its flags are removed, and with `reopens`, the versions that it reverted await
    review again.
    """
    before = ahead.planned(store_id, lambda: undo_plan(store_id, versions))
    with tree.locked(store_id, act) as store:
        store.clean = before.clean
        plan = before.plan if before.holds(store, versions) else undo_plan(store_id, versions)
        return carry_out(
            store, plan, versions, choices, digest, command=command, told=told, flagged=flagged, reopens=reopens
        )


def carry_out(
    store: Tree,
    plan: Plan,
    versions: Collection[str],
    choices: Mapping[str, Choice],
    digest: str,
    *,
    command: str,
    told: Mapping[str, object] | None,
    flagged: Collection[str],
    reopens: bool = True,
    memory: str | None = None,
    emptied: Collection[str] = (),
) -> Done:
    """Apply a plan that undoes versions, as `undo` does, in a locked store.

    `emptied` are versions of which no line is left after the plan: they become reverted too if they awaited review. The
    entry names `memory` and its new version. If `memory` is None and only one memory gets a version, it names that one.
    """
    kept = apply(store, as_shown(plan, digest), choices)
    cancelled = (change.cancelled for change in plan.changes if change.memory not in kept)
    meant = undone.consequences(store.store, set(versions).union(*cancelled), kept)
    reverted = _awaiting(store.store, meant.versions, kept)
    settled = _awaiting(store.store, {*emptied, *_dropped(plan, choices)} - meant.versions, kept)
    reverted += settled
    decisions.mark(store, reverted, Decision.REVERTED, store.act.note or "")
    named = {"versions": named_ids(versions), "reverted": named_ids([version for _, version in reverted])}
    if settled:
        named["settled"] = named_ids([version for _, version in settled])
    flags = {
        "flagged": decisions.put_flags(store, flagged),
        "unflagged": decisions.remove_flags_of(store, meant.undos, but=kept),
    }
    named |= {name: ids for name, ids in flags.items() if ids}
    if meant.undos and reopens:
        store.act = store.act._replace(group=store.act.group or ids.new_id(ids.GROUP, store.at))
    done = _commit(store, command, {**named, **(told or {}), "kept": named_ids(kept)}, None, memory)
    for seq in sorted(meant.undos) if reopens else ():
        decisions.reopen(store.store, seq, store.act, but={*kept, *meant.undos[seq], *meant.versions})
    return replace(done, flagged=len(flags["flagged"]))


def as_shown(plan: Plan, digest: str) -> Plan:
    """Return the plan if it has this digest; else raise PlanChanged."""
    if plan.digest != digest:
        raise PlanChanged(plan)
    return plan


def _awaiting(store_id: str, versions: Collection[str], kept: Sequence[str]) -> list[tuple[str, str]]:
    """Return (memory, version) for each of the given versions that awaits review.

    Versions of the memories `kept` are left out.
    """
    found: list[tuple[str, str]] = []
    for part in plans.in_parts(sorted(versions)):
        waiting = MemoryVersion.objects.among(store_id, part).unreviewed()
        found += waiting.exclude(memory_id__in=kept).values_list("memory_id", "pk")
    return found


def _dropped(plan: Plan, choices: Mapping[str, Choice]) -> set[str]:
    """Return the ids of the versions after the undone ones whose changes the choices drop."""
    dropped: set[str] = set()
    for change in plan.changes:
        choice = _choice(change, choices)
        state = change.chosen(choice)
        if not state.same(change.now) and (choice == Choice.BEFORE or not state.is_there):
            dropped.update(version.pk for version in change.later)
    return dropped


def _commit(
    store: Tree, command: str, details: Mapping[str, object], path: str | None, memory: str | None = None
) -> Done:
    made, version = tuple(store.made), None
    of_memory = MemoryVersion.objects.among(store.store, [one.id for one in made[:1]]) if len(made) == 1 else None
    if memory is not None:
        of_memory = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory, seq=store.seq)
    if of_memory is not None:
        version, memory, path = of_memory.values_list("pk", "memory_id", "path").get()
    record = Record(
        command, path=path or None, memory=memory, version=version, versions=made, input=audit.to_json(dict(details))
    )
    return Done(tree.commit(store, record), memory, version, len(made))


# ------------------------------------------------------------------------------------------------ applying


def apply(store: Tree, plan: Plan, choices: Mapping[str, Choice]) -> list[str]:
    """Apply the choices in a locked store. Return the ids of the memories for which the choice is KEEP."""
    tree.require_active(store)
    chosen = [(change, _choice(change, choices)) for change in plan.changes]
    wanted = [(change, change.chosen(choice)) for change, choice in chosen if choice != Choice.KEEP]
    wanted = [(change, state) for change, state in wanted if not state.same(change.now)]
    leaving = [(change, state) for change, state in wanted if change.now.is_there and change.now.path != state.path]
    _require_versions(store, [change for change, state in wanted if state.is_there])
    _require_not_held(store, leaving)
    _require_may_return(store, {change.memory: str(state.path) for change, state in wanted if _returns(change, state)})
    tree.take_out(store, [_stored(change) for change, _ in leaving])
    # What becomes smaller comes first, so that no limit is exceeded on the way to a state that keeps it.
    growing = sorted(wanted, key=lambda one: one[1].size - one[0].now.size)
    for step in (_delete, _rewrite, _place):
        for change, state in growing:
            step(store, change, state)
    return sorted(change.memory for change, choice in chosen if choice == Choice.KEEP)


def _choice(change: Change, choices: Mapping[str, Choice]) -> Choice:
    choice = choices.get(change.memory)
    if choice is None and change.problem and len(change.choices) > 1:
        raise ToolError(results.choice_missing(change.path))
    choice = choice or change.choices[0]
    if choice not in change.choices:
        raise ToolError(results.choice_missing(change.path))
    return choice


def _require_versions(store: Tree, changes: Sequence[Change]) -> None:
    """Raise ToolError for the first memory that has reached the limit of versions."""
    most = store.limits.versions
    for part in plans.in_parts(change.memory for change in changes if most is not None and change.number >= most):
        full = Memory.objects.among(store.store, part).order_by("path")
        tree.check_versions(store, map(selection.stored, full))


def _require_not_held(store: Tree, leaving: Sequence[tuple[Change, State]]) -> None:
    """Raise ToolError for the first memory that a legal hold keeps at its path."""
    gone = [(change.memory, str(change.now.path)) for change, state in leaving if not state.is_there]
    moved = [(str(change.now.path), str(state.path)) for change, state in leaving if state.is_there]
    if gone:
        holds.require_free(store, gone)
    if moved:
        holds.require_may_move(store, moved)


def _returns(change: Change, state: State) -> bool:
    return state.is_there and not change.now.is_there and not change.is_new


def _require_may_return(store: Tree, places: Mapping[str, str]) -> None:
    """Raise ToolError if a legal hold keeps a memory in the trash. `places` is {memory id: new path}."""
    for part in plans.in_parts(sorted(places)):
        trash = Memory.objects.among(store.store, part).order_by("path").values_list("pk", "path")
        holds.require_may_return(store, [(memory, path, places[memory]) for memory, path in trash])


def _stored(change: Change) -> StoredMemory:
    now = change.now
    return StoredMemory(
        change.memory, now.path or "", change.head, now.text or "", now.size, now.sha256, change.number, 0, ""
    )


def _delete(store: Tree, change: Change, state: State) -> None:
    if not state.is_there:
        tree.note_deleted(store, _stored(change))


def _rewrite(store: Tree, change: Change, state: State) -> None:
    """Give a memory the text of a state, if the state has the memory's current path."""
    if state.is_there and state.path == change.now.path:
        kept = _kept(store, change, state)
        tree.check_limits(store, str(state.path), old_size=change.now.size, new_size=kept.size)
        version = tree.restore_text(store, _stored(change), kept.text, kept.size, kept.sha256)
        findings.note(store, change.memory, version, kept.screened, returns=True)


def _place(store: Tree, change: Change, state: State) -> None:
    """Move a memory to the path of a state, or create it there. Raises ToolError if the path is not free."""
    if not state.is_there or state.path == change.now.path:
        return
    path = str(state.path)
    above = tree.memory_above(store, path)
    if above is not None:
        raise ToolError(results.cannot_create(path, above))
    if tree.is_taken(store, path):
        raise ToolError(results.already_exists(path))
    place = findings.screen_path(store, path)
    if change.is_new:
        _create(store, path, state.content or "", place)
        return
    kept = _kept(store, change, state)
    if not change.now.is_there or kept.size > change.now.size:  # a move alone exceeds no limit
        tree.check_limits(store, path, old_size=None, new_size=kept.size)
    operation = Operation.MODIFIED if change.now.is_there else Operation.CREATED
    tree.put(store, _stored(change), operation, path, kept.text, kept.size, kept.sha256)
    findings.note(store, change.memory, store.made[-1].id, kept.screened, place, returns=True)


def _create(store: Tree, path: str, content: str, place: ScreenedPath) -> None:
    screened = findings.screen_written(store, path, None, content)
    tree.check_limits(store, path, old_size=None, new_size=len(screened.text.encode()))
    memory = tree.add_memory(store, path, screened.text)
    findings.note(store, memory, store.made[-1].id, screened, place)


def _kept(store: Tree, change: Change, state: State) -> Kept:
    """Return the row of a state's text, screened by the current rules. A merged text gets a new row."""
    now, path = change.now, str(state.path)
    is_same = now.is_there and state.sha256 == now.sha256
    if state.text and (is_same or ahead.is_clean(store, change, state)):
        return Kept(state.text, state.size, state.sha256)
    old = findings.text_of(store, now.text) if now.is_there else None
    if state.text:
        return findings.screen_stored(store, change.memory, path, old, state.text, state.size, state.sha256)
    return findings.add_screened(store, change.memory, findings.screen_written(store, path, old, state.content or ""))
