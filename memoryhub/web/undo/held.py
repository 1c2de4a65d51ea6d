"""Plans without the choices that a legal hold forbids, so that the rest can be undone or restored."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.history.apply_plan import Change, Choice, Plan
from memoryhub.models import Hold


def without_held(plan: Plan, now: datetime) -> Plan:
    """Return the plan without the choices that a legal hold forbids now. The digest of the plan stays the same."""
    in_force = holds.holds_of(plan.store, now) if plan.changes else Holds()
    if not in_force.legal_memories and not in_force.legal_places:
        return plan
    return replace(plan, changes=tuple(_allowed(change, in_force) for change in plan.changes))


def _allowed(change: Change, in_force: Holds) -> Change:
    refused = dict(_refused(change, in_force))
    if not refused:
        return change
    choices = tuple(choice for choice in change.choices if choice not in refused)
    return replace(change, choices=choices, refused=tuple(refused), held=next(iter(refused.values())))


def _refused(change: Change, in_force: Holds) -> Iterator[tuple[Choice, Hold]]:
    """Yield each choice that a legal hold forbids, with this hold."""
    for choice in change.choices:
        if hold := _hold_against(change, choice, in_force):
            yield choice, hold


def _hold_against(change: Change, choice: Choice, in_force: Holds) -> Hold | None:
    old, new = change.now.path, change.chosen(choice).path
    if not change.effects(choice):
        return None
    if old is not None and new is None:
        return in_force.stops_removal(change.memory, old)
    frozen = in_force.stops_changes(change.memory, old or new or "")
    moves = old is not None and new is not None and old != new
    return frozen or (in_force.stops_move(change.memory, str(old), str(new)) if moves else None)
