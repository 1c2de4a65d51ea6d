"""Plans without the choices that a legal hold or a rule for sensitive text forbids, so that the rest can be applied.

What needs the path of a memory that therefore stays is left out too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import Change, Choice, Plan, State
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.rules.holds import Holds
from memoryhub.actions.core.rules.ruling import Ruling
from memoryhub.actions.findings import refusals
from memoryhub.models import Hold, Memory, MemoryText
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

TEXTS_AT_ONCE = 50


def without_refused(plan: Plan, now: datetime) -> Plan:
    """Return the plan without the choices that are forbidden now. The plan keeps its digest."""
    return _without_taken(_without_blocked(_without_held(plan, now)))


# ------------------------------------------------------------------------------------------------ legal holds


def _without_held(plan: Plan, now: datetime) -> Plan:
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
    return replace(_left(change, refused), held=next(iter(refused.values()))) if refused else change


def _left(change: Change, refused: Mapping[Choice, object]) -> Change:
    choices = tuple(choice for choice in change.choices if choice not in refused)
    return replace(change, choices=choices, refused=(*change.refused, *refused))


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


# ------------------------------------------------------------------------------------------------ sensitive text


@dataclass(frozen=True, slots=True)
class _Screen:
    """The rules of a store, and the stored texts of some changes by id."""

    rules: Ruling
    texts: Mapping[str, str]

    def against(self, change: Change, choice: Choice) -> ToolError | None:
        """Return why the rules forbid a choice; None if they do not."""
        now, new = change.now, change.chosen(choice)
        if not change.effects(choice) or not new.is_there:
            return None
        path = str(new.path)
        blocked = refusals.of_path(self.rules, path) if path != now.path else None
        if blocked or not refusals.blocks_texts(self.rules) or (now.is_there and now.sha256 == new.sha256):
            return blocked
        text = self._content(new)
        return refusals.of_text(self.rules, path, self._content(now), text) if text is not None else None

    def _content(self, state: State) -> str | None:
        return state.content if state.content is not None else self.texts.get(state.text or "")


def _without_blocked(plan: Plan) -> Plan:
    rules = refusals.rules_of(plan.store) if plan.changes else None
    if rules is None or not rules.kept_out:
        return plan
    found = list[Change]()
    for part in plans.in_parts(plan.changes, TEXTS_AT_ONCE):
        screen = _Screen(rules, _texts(plan.store, part) if refusals.blocks_texts(rules) else {})
        for change in part:
            blocked = {choice: why for choice in change.choices if (why := screen.against(change, choice))}
            found.append(replace(_left(change, blocked), blocked=next(iter(blocked.values()))) if blocked else change)
    return replace(plan, changes=tuple(found))


def _texts(store_id: str, changes: list[Change]) -> Mapping[str, str]:
    states = [state for one in changes for state in (one.now, one.then, one.before) if state is not None]
    return MemoryText.objects.contents(store_id, [state.text for state in states if state.text])


# ------------------------------------------------------------------------------------------------ paths


def _without_taken(plan: Plan) -> Plan:
    """Return the plan without the choices that need the path of a memory that must stay where it is."""
    changes, before = plan.changes, -1
    stay = _staying(changes)
    while len(stay) > before:
        changes, before = tuple(_apart(change, stay) for change in changes), len(stay)
        stay = _staying(changes)
    return replace(plan, changes=changes)


def _staying(changes: Iterable[Change]) -> frozenset[str]:
    return frozenset(str(one.now.path) for one in changes if one.refused and one.now.is_there and _stays(one))


def _stays(change: Change) -> bool:
    return change.choices[0] == Choice.KEEP


def _apart(change: Change, stay: Collection[str]) -> Change:
    taken = {choice: why for choice in change.choices if (why := _taken(change, choice, stay))} if stay else {}
    return replace(_left(change, taken), blocked=change.blocked or next(iter(taken.values()))) if taken else change


def _taken(change: Change, choice: Choice, stay: Collection[str]) -> ToolError | None:
    new = change.chosen(choice).path
    if new is None or new == change.now.path:
        return None
    place = next((one for one in (new, *paths.ancestors(new)) if one in stay and one != change.now.path), None)
    if place is None:
        return None
    return ToolError(results.already_exists(new) if place == new else results.cannot_create(new, place))
