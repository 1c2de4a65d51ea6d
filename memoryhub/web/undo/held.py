"""Plans without the choices that a legal hold forbids, so that the rest can be undone or restored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from memoryhub.actions.core import plans
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.history.apply_plan import Change, Choice, Plan
from memoryhub.models import Hold, Memory


def without_held(plan: Plan, now: datetime) -> Plan:
    """Return the plan without the choices that a legal hold forbids now. The plan keeps its digest."""
    in_force = holds.holds_of(plan.store, now) if plan.changes else Holds()
    if not in_force.legal_memories and not in_force.legal_places:
        return plan
    trash = _paths_in_trash(plan)
    return replace(plan, changes=tuple(_allowed(change, in_force, trash) for change in plan.changes))


def _paths_in_trash(plan: Plan) -> dict[str, str]:
    """Return {memory: its path in the trash} for the memories of the plan that are in the trash."""
    found: dict[str, str] = {}
    for part in plans.in_parts(change.memory for change in plan.changes if not change.now.is_there):
        found.update(Memory.objects.among(plan.store, part).values_list("pk", "path"))
    return found


def _allowed(change: Change, in_force: Holds, trash: Mapping[str, str]) -> Change:
    refused = dict(_refused(change, in_force, trash))
    if not refused:
        return change
    choices = tuple(choice for choice in change.choices if choice not in refused)
    return replace(change, choices=choices, refused=tuple(refused), held=next(iter(refused.values())))


def _refused(change: Change, in_force: Holds, trash: Mapping[str, str]) -> Iterator[tuple[Choice, Hold]]:
    """Yield each choice that a legal hold forbids, with this hold."""
    for choice in change.choices:
        if hold := _hold_against(change, choice, in_force, trash):
            yield choice, hold


def _hold_against(change: Change, choice: Choice, in_force: Holds, trash: Mapping[str, str]) -> Hold | None:
    old, new = change.now.path, change.chosen(choice).path
    if not change.effects(choice):
        return None
    if old is None and new is not None and change.memory in trash:
        returns = in_force.stops_return(change.memory, trash[change.memory], new)
        return returns or in_force.stops_changes(change.memory, new)
    if old is not None and new is None:
        return in_force.stops_removal(change.memory, old)
    frozen = in_force.stops_changes(change.memory, old or new or "")
    moves = old is not None and new is not None and old != new
    return frozen or (in_force.stops_move(change.memory, str(old), str(new)) if moves else None)
