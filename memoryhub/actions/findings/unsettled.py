"""In earlier versions of the hub, people could mark a finding as resolved although its value still existed. This module
checks such findings."""

from datetime import datetime

from memoryhub.actions.core import settling, tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions import pace
from memoryhub.models import Door, Finding, FindingState, Memory

STEP = 100
"""The most findings that one short transaction checks."""


def step(at: datetime) -> bool:
    """Check at most STEP findings that people marked as resolved. Return whether to call this function again.

    A finding is opened again if its value is still in its memory.
    """
    store_id = _next_store()
    if store_id is None:
        return False
    act = Act(Actor.system("findings"), Door.COMMAND, at)
    try:
        with tree.locked(store_id, act) as store:
            rows = Finding.objects.of_store(store_id).filter(is_settled=False).order_by("id")[:STEP]
            findings: list[Finding] = []
            standing: list[Finding] = []
            for finding in pace.some(rows):
                findings.append(finding)
                if _stands(store_id, finding):
                    standing.append(finding)
            settling.write(store.head, act, store_id, standing, FindingState.OPEN, {"because": "the text still stands"})
            Finding.objects.of_store(store_id).filter(pk__in=[one.pk for one in findings]).update(is_settled=True)
    except tree.NoSuchStore:
        return False
    return True


def _next_store() -> str | None:
    unsettled = Finding.objects.filter(is_settled=False).order_by("store_id")
    return unsettled.values_list("store_id", flat=True).first()


def _stands(store_id: str, finding: Finding) -> bool:
    """Return whether the newest version of a live memory still contains the finding's value."""
    memory = Memory.objects.live().filter(store_id=store_id, pk=finding.memory_id).select_related("text").first()
    if memory is None or finding.fingerprint is None or finding.state != FindingState.RESOLVED:
        return False
    text = memory.path if finding.in_path else memory.text.content if memory.text else ""
    value = settling.values_of(store_id, [finding]).get(finding.pk)
    return settling.count_of(finding, value, text) > 0
