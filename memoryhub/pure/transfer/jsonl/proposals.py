"""Reads from JSON Lines the proposals of agents, and the decisions about them."""

from memoryhub.pure.transfer.bundle import (
    OUTCOMES,
    STATES,
    BundledChange,
    BundledDecision,
    BundledOutcome,
    BundledProposal,
    Refused,
)
from memoryhub.pure.transfer.jsonl.said import LONGEST_NAME, talks_of
from memoryhub.pure.transfer.jsonl.values import Line, author_of, moment_of, number_or_none, text, text_or_none

OPEN, DECIDED = "proposal", "decided_proposal"
"""The types of the lines. Decided proposals have one of their own: a reader that does not know them leaves them out."""
MOST_OPEN, MOST_CHANGES, LONGEST_REASON = 1_000, 100, 4_000
"""The most open proposals of an export, the most changes of a proposal, and the most characters of a reason."""


def proposal_of(line: Line) -> BundledProposal:
    """Return the proposal that a line describes. Raises Refused."""
    agent, changes = author_of(line.get("agent")), line.get("changes")
    if agent is None or not isinstance(changes, list) or not 0 < len(changes) <= MOST_CHANGES:
        raise Refused("A proposal has no agent, no changes or too many.")
    return BundledProposal(
        agent,
        moment_of(text(line, "opened_at")),
        tuple(map(_change_of, changes)),
        number_or_none(line, "number"),
        _decision_of(line) if line["type"] == DECIDED else None,
        talks_of(line, len(changes)),
    )


def _decision_of(line: Line) -> BundledDecision:
    state, by, reason = text(line, "state"), text_or_none(line, "decided_by"), text_or_none(line, "reason")
    if state not in STATES:
        raise Refused("A decided proposal is in a state that does not exist.")
    if len(by or "") > LONGEST_NAME or len(reason or "") > LONGEST_REASON:
        raise Refused("The reason of a decision, or the name of who made it, is too long.")
    return BundledDecision(state, moment_of(text(line, "decided_at")), by or "", reason or "")


def _change_of(value: object) -> BundledChange:
    if not isinstance(value, dict) or not isinstance(value.get("deletes"), bool):
        raise Refused("A change of a proposal is no object, or does not say whether it deletes.")
    names = ("memory", "base", "content", "new_path", "memory_id", "base_id")
    memory, base, content, new_path, memory_id, base_id = (text_or_none(value, name) for name in names)
    path, deletes, outcome = text_or_none(value, "path") or "", value["deletes"], _outcome_of(value)
    writes = content is not None or new_path is not None
    if not path or writes == deletes or (memory is None and content is None):
        raise Refused("A change of a proposal has no path, or contradicts itself.")
    return BundledChange(path, memory, base, content, new_path, deletes, memory_id, base_id, outcome)


def _outcome_of(value: Line) -> BundledOutcome:
    outcome, replaced = text_or_none(value, "outcome"), text_or_none(value, "replaced")
    edited = value.get("edited", False)
    if outcome not in (None, *OUTCOMES) or replaced not in (None, "whole", "part") or not isinstance(edited, bool):
        raise Refused("A change of a proposal has a result that does not exist.")
    return BundledOutcome(outcome, edited, replaced, text_or_none(value, "became"))
