"""What would refuse a plan, as sentences: limits of the memory store, legal holds and the rules for sensitive text."""

from collections.abc import Callable
from datetime import datetime

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import Change, Choice, Plan
from memoryhub.actions.core.rules import limits
from memoryhub.actions.core.rules.limits import Limits
from memoryhub.actions.history.refused import without_refused
from memoryhub.models import Hold, HubSettings, Memory, MemoryStore
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.tool_errors import in_words


def over_limits(store: MemoryStore, plan: Plan, choice_of: Callable[[Change], Choice]) -> dict[str, str]:
    """Return {memory: a sentence on the limit that stops its change}, for the choices that `choice_of` returns.

    For each change, it is assumed that all changes before it are made, and that memories are deleted and become
    smaller before others come back or become larger.
    """
    most, found = _limits_of(store), dict[str, str]()
    kept = _kept(plan, most)
    memories, total = store.memory_count, store.total_bytes
    steps = [(change, change.now, change.chosen(choice_of(change))) for change in plan.changes]
    for change, now, then in sorted(steps, key=lambda step: step[2].size - step[1].size):
        old, new = (state.size if state.is_there else None for state in (now, then))
        if new is not None and not then.same(now):
            try:
                limits.check_versions(most, change.path, kept.get(change.memory, 0))
                if old is not None and then.sha256 == now.sha256:
                    continue
                limits.check(most, then.path or "", old_size=old, new_size=new, memories=memories, total_bytes=total)
            except ToolError as error:
                found[change.memory] = in_words(error)
                continue
        memories, total = memories + (new is not None) - (old is not None), total + (new or 0) - (old or 0)
    return found


def _kept(plan: Plan, most: Limits) -> dict[str, int]:
    """Return {memory: the number of its kept versions} for the memories that may have reached the limit of versions."""
    found = dict[str, int]()
    if most.versions is not None:
        many = [change.memory for change in plan.changes if change.number >= most.versions]
        for part in plans.in_parts(many):
            rows = Memory.objects.among(plan.store, part).values_list("pk", "version_count", "removed_versions")
            found |= {pk: count - removed for pk, count, removed in rows}
    return found


def refused(plan: Plan, now: datetime) -> dict[str, str]:
    """Return {memory: a sentence on the legal hold or the rule for sensitive text that forbids the proposed choice}."""
    offered = {change.memory: change.choices[0] for change in plan.changes}
    changes = [one for one in without_refused(plan, now).changes if offered[one.memory] in one.refused]
    return {one.memory: in_words(_error_of(one, offered[one.memory])) for one in changes}


def _error_of(change: Change, choice: Choice) -> ToolError:
    if change.held is None:
        return change.blocked or ToolError("")
    return ToolError(_held(change, change.held, is_there=change.chosen(choice).is_there))


def _held(change: Change, hold: Hold, *, is_there: bool) -> str:
    if hold.freezes:
        return results.frozen(change.path, " ".join(hold.reason.split()))
    return results.held_in(change.path, hold.path or "") if is_there else results.held(change.path)


def _limits_of(store: MemoryStore) -> Limits:
    hub = HubSettings.current()
    return Limits(*(_limit(store, hub, name) for name in Limits._fields))


def _limit(store: MemoryStore, hub: HubSettings, name: str) -> int | None:
    own: int | None = getattr(store, f"limit_{name}")
    return hub.limit(name) if own is None else own
