"""Facts about a proposal: the rules that held it back, what stops its merge, and other proposals about its
memories."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from memoryhub.actions.core.plans import Plan
from memoryhub.models import MemoryStore, Proposal, ProposalState, ProposedChange
from memoryhub.web.path_rules.rules import rules_before
from memoryhub.web.path_rules.sentences import names_in, sentence
from memoryhub.web.proposals.preview import Row
from memoryhub.web.proposals.rows import Outline
from memoryhub.web.undo.stopped import over_limits, refused

MOST_OTHERS = 20
"""The most other proposals that are listed for one memory."""


@dataclass(frozen=True, slots=True)
class Held:
    """A rule that held changes back, with the number and the sentence that it had then. `count` is the number of
    memories whose changes it held back."""

    number: int
    sentence: str
    count: int


def checked(
    store: MemoryStore, proposal: Proposal, outlines: Sequence[Outline], plan: Plan, rows: Sequence[Row]
) -> tuple[list[Row], list[Held]]:
    """Return the rows of a proposal, and the path rules that held the proposal back. If the proposal is open, each row
    also has a sentence on what stops the merge, and the numbers of other open proposals about its memory."""
    held = _held(store, outlines)
    if not proposal.is_open:
        return [*rows], held
    stopped, others = _stopped(store, plan), _others(proposal, plan)
    names = [row.row.change.memory for row in rows]
    return [
        replace(row, stopped=stopped.get(name, ""), others=others.get(name, ()))
        for row, name in zip(rows, names, strict=True)
    ], held


def _held(store: MemoryStore, outlines: Sequence[Outline]) -> list[Held]:
    known = {max(one.calls.values()): one.rule for one in outlines if one.rule}
    then = rules_before(store, known) if known else {}
    counts: dict[tuple[int, str], int] = defaultdict(int)
    names = names_in(store, {rule for rules in then.values() for rule in rules}) if then else {}
    for one in outlines:
        rules = then.get(max(one.calls.values()), ())
        if one.rule and one.rule <= len(rules):
            counts[one.rule, sentence(rules[one.rule - 1], names)] += 1
    return [Held(number, words, count) for (number, words), count in sorted(counts.items())]


def _stopped(store: MemoryStore, plan: Plan) -> dict[str, str]:
    """Return {memory: a sentence on what stops its change}: a limit, a legal hold or a rule for sensitive text."""
    return over_limits(store, plan, lambda change: change.choices[0]) | refused(plan, timezone.now())


def _others(proposal: Proposal, plan: Plan) -> dict[str, list[int]]:
    memories = [change.memory for change in plan.changes if change.now.is_there]
    if not memories:
        return {}
    waiting = Proposal.objects.of_store(proposal.store_id).of_state(ProposalState.OPEN).exclude(pk=proposal.pk)
    changes = ProposedChange.objects.filter(store_id=proposal.store_id, memory__in=memories)
    pairs = set(changes.filter(proposal__in=waiting.values("pk")).values_list("proposal", "memory"))
    numbers = dict(waiting.filter(pk__in={pk for pk, _ in pairs}).values_list("pk", "number")) if pairs else {}
    found: dict[str, list[int]] = defaultdict(list)
    for pk, memory in pairs:
        if pk in numbers:
            found[str(memory)].append(numbers[pk])
    return {memory: sorted(some)[:MOST_OTHERS] for memory, some in found.items()}
