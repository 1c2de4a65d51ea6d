"""Removes the lines of a finding from their memory. The act can also undo and flag what agents wrote after reading
them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from memoryhub.actions.core import plans, settling, tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.plans import Change, Choice, Plan, PlanChanged, State
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Done
from memoryhub.actions.history.emptied import emptied_by
from memoryhub.actions.history.replay import content_of
from memoryhub.actions.history.undo_plan import undo_plan
from memoryhub.models import Finding, Memory
from memoryhub.pure.text.line_removal import without_lines


@dataclass(frozen=True, slots=True)
class TakeOut:
    """A plan that removes the lines with a finding's value from its memory."""

    change: Change  # the change of that memory
    rest: Plan  # the plan for the other memories with undone versions
    text: str  # the memory's text after the undos
    lines: tuple[int, ...]  # the lines of `text` to remove
    emptied: tuple[str, ...]  # the unreviewed versions of which no line is left

    @property
    def plan(self) -> Plan:
        return replace(self.rest, changes=(self.change, *self.rest.changes))

    @property
    def is_whole(self) -> bool:
        """Return whether the plan leaves no text in the memory."""
        return not (self.change.then.content or "").strip()


def plan_of(store_id: str, finding_id: str, versions: Collection[str] = ()) -> TakeOut | None:
    """Return the plan that removes the lines of a finding from its memory. The plan also undoes `versions` (ids).

    Return None if the finding is in a path, if the memory is in the trash, if its text does not contain the finding's
    value, or if that value is no longer known.
    """
    finding = Finding.objects.of_store(store_id).filter(pk=finding_id, in_path=False).first()
    memory = Memory.objects.among(store_id, [finding.memory_id]).first() if finding else None
    if finding is None or memory is None or not memory.is_live or not finding.fingerprint:
        return None
    undone = undo_plan(store_id, versions)
    now = plans.of_memory(memory)
    own = [change for change in undone.changes if change.memory == memory.pk]
    left = next((change.then for change in own if not change.problem and change.then.is_there), now)
    text = content_of(store_id, left)
    value = settling.values_of(store_id, [finding]).get(finding.pk)
    removed = without_lines(text, settling.places_of(finding, value, text)) if text is not None else None
    if text is None or removed is None or not removed.lines:
        return None
    data = removed.text.encode()
    then = State(left.path, None, len(data), sha256(data).hexdigest(), removed.text)
    cancelled = frozenset[str]().union(*(change.cancelled for change in own))
    change = Change(
        memory.pk, memory.head_id, memory.version_count, now, then, cancelled=cancelled, choices=(Choice.APPLY,)
    )
    rest = replace(undone, changes=tuple(change for change in undone.changes if change.memory != memory.pk))
    emptied = [version for version in emptied_by(memory, removed.text) if version not in versions]
    return TakeOut(change, rest, text, removed.lines, tuple(emptied))


def take_out(
    store_id: str,
    finding_id: str,
    choices: Mapping[str, Choice],
    digest: str,
    act: Act,
    *,
    versions: Collection[str] = (),
    told: Mapping[str, object] | None = None,
    flagged: Collection[str] = (),
) -> Done:
    """Remove the lines of a finding from their memory, by the plan with this digest. This resolves the finding.

    The same entry undoes `versions`, and flags the memories of the versions `flagged`. An unreviewed version of which
    no line is left becomes reverted. `told` is added to the entry's input. Raises PlanChanged and ToolError.
    """
    with tree.locked(store_id, act) as store:
        taken = plan_of(store_id, finding_id, versions)
        if taken is None:
            raise PlanChanged(Plan(store_id, ()))
        kind = Finding.objects.of_store(store_id).values_list("kind", flat=True).get(pk=finding_id)
        named = {"finding": finding_id, "kinds": [kind], "lines": list(taken.lines), **(told or {})}
        return apply_plan.carry_out(
            store, taken.plan, versions, choices, digest,
            command="take_out", told=named, flagged=flagged, memory=taken.change.memory, emptied=taken.emptied,
        )  # fmt: skip
