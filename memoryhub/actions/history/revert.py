"""Reverts versions that agents wrote, as a decision of the review, and takes such decisions back."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryhub.actions.core import plans, tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Choice, Plan
from memoryhub.actions.history.refused import without_refused
from memoryhub.actions.review import decisions
from memoryhub.actions.review.verbs import ANSWERS
from memoryhub.models import AuditEntry, MemoryVersion, ReviewState
from memoryhub.pure import ids


class NeedsChoice(Exception):
    """Later changes overlap with the reverted ones, so a person has to choose. Nothing was done; `plan` has the
    choices."""

    def __init__(self, plan: Plan) -> None:
        super().__init__("later changes overlap with it")
        self.plan = plan


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many versions were left out: because later edits overlap them, or because a legal hold or a rule for
    sensitive text forbids the change of their memories."""

    overlapping: int = 0
    forbidden: int = 0

    @property
    def count(self) -> int:
        return self.overlapping + self.forbidden


def revert(store_id: str, version_id: str, act: Act) -> decisions.Done:
    """Revert one version that awaits review.

    Raises decisions.Decided if it awaits no review; NeedsChoice if later changes overlap with it.
    """
    with tree.locked(store_id, act) as store:
        version = MemoryVersion.objects.filter(store_id=store_id, pk=version_id).first()
        if version is None or version.review_state != ReviewState.UNREVIEWED:
            raise decisions.Decided(decisions.last_decision(store_id, version_id))
        plan = apply_plan.undo_plan(store_id, [version_id])
        if plan.has_problems:
            raise NeedsChoice(plan)
        return _revert(store, [version_id], plan)


def revert_many(store_id: str, versions: Sequence[str], act: Act) -> tuple[decisions.Done | None, Skipped]:
    """Revert the versions that still await review, except in memories in which a person has to choose, or in which a
    legal hold or a rule for sensitive text forbids the change.

    Return (result, versions left out). The result is None if nothing was reverted.
    """
    with tree.locked(store_id, act) as store:
        waiting = dict(_waiting(store_id, versions))
        overlapping, forbidden = 0, 0
        while waiting:
            plan = apply_plan.undo_plan(store_id, sorted(waiting))
            met = {change.memory for change in plan.changes if change.problem}
            refused = {change.memory for change in without_refused(plan, act.at).changes if change.refused} - met
            if not met and not refused:
                return _revert(store, sorted(waiting), plan), Skipped(overlapping, forbidden)
            overlapping += sum(memory in met for memory in waiting.values())
            forbidden += sum(memory in refused for memory in waiting.values())
            waiting = {pk: memory for pk, memory in waiting.items() if memory not in met | refused}
        return None, Skipped(overlapping, forbidden)


def _memories(store_id: str, versions: Sequence[str]) -> list[tuple[str, str]]:
    """Return (version, memory) for each of these versions."""
    found: list[tuple[str, str]] = []
    for part in plans.in_parts(versions):
        found += MemoryVersion.objects.among(store_id, part).values_list("pk", "memory_id")
    return found


def _waiting(store_id: str, versions: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for part in plans.in_parts(versions):
        unreviewed = MemoryVersion.objects.among(store_id, part).unreviewed()
        found += unreviewed.values_list("pk", "memory_id")
    return found


def _revert(store: Tree, versions: Sequence[str], plan: Plan) -> decisions.Done:
    """Apply a plan that was made in the same transaction, and return the result."""
    choices = {change.memory: Choice.APPLY for change in plan.changes}
    details = {"versions": list(versions)}
    done = apply_plan.carry_out(store, plan, versions, choices, plan.digest, command="revert", told=details, flagged=())
    return decisions.Done(done.seq, tuple(versions))


def take_back(store_id: str, seq: int, act: Act, *, only: str = "") -> int | None:
    """Take back the decision of entry `seq`: the versions that it approved or reverted await review again.

    `only` is the id of a version: an approval is taken back only for this version, and a reversal only for the memory
    of this version. Return the seq of the last entry that this function wrote. Return None if others have decided
    since, or if the entry is neither an approval nor a reversal. Raises NeedsChoice if later changes overlap with a
    version that the reversal wrote; also raises ToolError.
    """
    act = act._replace(group=act.group or ids.new_id(ids.GROUP, act.at))
    with writing():
        tree.lock(store_id, act)
        entry = AuditEntry.objects.of_chain(store_id).of_seqs([seq]).only("chain", "seq", "command").first()
        if entry is None or entry.command not in {verb.name for verb in ANSWERS}:
            return None
        made = apply_plan.entry_versions(store_id, seq) if entry.command == "revert" else []
        if only and entry.command == "revert":
            only = dict(_memories(store_id, [only])).get(only, only)
            made = [pk for pk, memory in _memories(store_id, made) if memory == only]
        if made:
            plan = apply_plan.undo_plan(store_id, made)
            if plan.has_problems:
                raise NeedsChoice(plan)
            apply_plan.undo(store_id, made, {}, plan.digest, act, told={"entry": seq}, reopens=False)
        again = decisions.reopen(store_id, seq, act, only=only)
        return again.seq if again else None
