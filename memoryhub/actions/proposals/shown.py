"""When an agent views a path, describes the changes that this agent has proposed there and that still wait.

This is only for stores with the setting `shows_proposed`. The description is not a part of the viewed text, and is
stored nowhere.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q

from memoryhub.actions.core.audit import Actor
from memoryhub.actions.core.rules.sight import sees, sight_in
from memoryhub.actions.core.transactions import remembered
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.memories.calls import Viewed
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.actions.proposals.steps import bases_of, is_gone, wishes_of
from memoryhub.models import Proposal, ProposalState, ProposedChange
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.text.hunks import hunks
from memoryhub.pure.text.matching import Work, cost_of_matching
from memoryhub.pure.text.merging import lines_of
from memoryhub.pure.text.proposed import OutOfWork, Wish, joined

MOST_NAMED = 20
"""The most changes that one description names."""
MOST_CHARACTERS = 4_000
"""The most characters of the lines in one description."""
WORK = 100_000
"""The work for all comparisons of one description: about a tenth of a second."""


class _Waiting(NamedTuple):
    """The changes of one memory in one proposal."""

    number: int
    steps: Sequence[ProposedChange]


def proposed_there(store_id: str, viewed: Viewed, actor: Actor, at: datetime) -> str:
    """Return a description of what an agent has proposed at the viewed path; "" if nothing waits.

    If a directory or nothing is at the path, the paths under it count too.
    """
    agent = str(actor.author_id)
    with snapshot():
        numbers = remembered.read(lambda: _open(store_id, agent), "proposed", store_id, agent)
        waiting = list(_there(store_id, viewed, numbers, actor, at)) if numbers else []
        if not waiting:
            return ""
        lines = _lines(store_id, viewed, waiting)
    return "".join(f"\n{line}" for line in lines)


def _open(store_id: str, agent: str) -> tuple[tuple[str, int], ...]:
    """Return (id, number) of the open proposals of an agent, the oldest first."""
    found = Proposal.objects.of_store(store_id).of_state(ProposalState.OPEN).filter(agent=agent)
    return tuple(found.order_by("number").values_list("pk", "number"))


def _there(
    store_id: str, viewed: Viewed, numbers: Collection[tuple[str, int]], actor: Actor, at: datetime
) -> Iterator[_Waiting]:
    """Yield the proposed changes at the viewed path that still wait, except those that the agent does not see."""
    low, high = paths.subtree(viewed.path)
    under = Q(path__gte=low, path__lt=high) | Q(new_path__gte=low, new_path__lt=high)
    place = Q(memory=viewed.memory) if viewed.memory else under | Q(path=viewed.path) | Q(new_path=viewed.path)
    changes = ProposedChange.objects.filter(place, store_id=store_id, proposal__in=[pk for pk, _ in numbers])
    sight = sight_in(store_id, actor, at)
    by_proposal: dict[str, list[ProposedChange]] = {}
    for change in changes.order_by("proposal", "number").defer("content"):
        if sees(sight, change.path, change.new_path or change.path):
            by_proposal.setdefault(change.proposal, []).append(change)
    for pk, number in numbers:
        yield from (_Waiting(number, steps) for steps in by_memory(by_proposal.get(pk, ())).values())


def _lines(store_id: str, viewed: Viewed, waiting: Sequence[_Waiting]) -> Iterator[str]:
    is_whole = viewed.memory is not None or all(one.steps[-1].path == viewed.path for one in waiting)
    room, work = MOST_CHARACTERS, Work(WORK)
    for one in waiting[:MOST_NAMED]:
        differing, shown = _differing(store_id, one.steps, work) if is_whole else (), list[str]()
        for line in differing:
            room -= len(line)
            if room < 0:
                break
            shown.append(line)
        yield results.waiting(one.number, _words(one.steps) + _about(len(shown), len(differing)))
        yield from shown
    if left := waiting[MOST_NAMED:]:
        yield results.waiting(left[0].number, f"make more changes here, which are not named: {len(left)}")


def _about(shown: int, of: int) -> str:
    """Return the sentence before a list of changed lines.

    The list has the first `shown` lines of all `of` changed lines. The sentence says how many lines are left out.
    """
    less = f", of which {of - shown:,} more are not shown" if shown < of else ""
    return f". It would remove the lines with - and add those with +{less}" if of else ""


def _words(steps: Sequence[ProposedChange]) -> str:
    """Return the changes of one memory in words, for the agent that made them."""
    path, last = paths.to_tool(steps[-1].path), steps[-1]
    moves = [step for step in steps if step.new_path is not None]
    if last.deletes:
        return f"delete {path}"
    if last.memory is None:
        return f"create {path}"
    writes = len(moves) < len(steps)
    moved = f"rename {path} to {paths.to_tool(str(moves[-1].new_path))}" if moves else ""
    return f"{moved}, and change it" if moved and writes else moved or f"change {path}"


def _differing(store_id: str, steps: Sequence[ProposedChange], work: Work) -> Sequence[str]:
    """Return the lines that the changes of one memory remove and add, each with a sign in front."""
    if steps[-1].deletes:
        return ()
    whole = list(
        ProposedChange.objects.filter(store_id=store_id, pk__in=[step.pk for step in steps]).order_by("number")
    )
    if whole[-1].memory is None:
        return [*_signed("+", lines_of(whole[-1].content or ""))]
    bases = bases_of(store_id, whole)
    wishes: Mapping[str, Wish] = {} if is_gone(whole, bases) else wishes_of(whole, bases)
    if not wishes or not work.opens(sum(cost_of_matching(*wish) for wish in wishes.values())):
        return ()
    try:
        seen, wanted = joined(wishes.values(), work).wish
    except OutOfWork:
        return ()
    before, after, found = lines_of(seen), lines_of(wanted), list[str]()
    for first, end, start, stop in hunks(seen, wanted):
        found += _signed(" ", before[max(0, first - 1) : first])
        found += _signed("-", before[first:end])
        found += _signed("+", after[start:stop])
    return found


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    return (f"{sign} " + line.removesuffix("\n") for line in lines)
