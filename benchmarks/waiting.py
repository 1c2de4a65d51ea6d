"""Adds proposals to a synthetic hub: open ones in every memory store, and decided ones in the large one."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import cycle, islice

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.proposing import MOST_OPEN
from memoryhub.models import (
    Comment,
    Door,
    Key,
    Memory,
    MemoryStore,
    Proposal,
    ProposalState,
    ProposedChange,
    User,
)
from memoryhub.pure import ids

FEWEST = 50
"""The fewest open proposals of a memory store: two pages of the list."""
ACTS, MEMORIES = 3, 200
"""How many entries of the audit open the proposals of a memory store, and the most memories that they are about."""
STATES = (ProposalState.MERGED, ProposalState.REFUSED, ProposalState.WITHDRAWN)
EACH = 40
"""For how many memories of the large store every memory store has one open proposal, up to the most."""


def add_proposals(store: MemoryStore, now: datetime) -> None:
    """Open equally many proposals in every memory store, and add ten times as many decided ones to the large one. The
    larger that store is, the more are open. The rare agent has one in every memory store."""
    *keys, rare = Key.objects.order_by("agent__folded_name")
    count = min(MOST_OPEN, max(FEWEST, store.memory_count // EACH))
    for one in MemoryStore.objects.order_by("pk"):
        states = [ProposalState.OPEN] * count
        assigned = User.objects.get(name="Ben" if one == store else "Ada")
        if one == store:
            states = [*islice(cycle(STATES), 10 * count), *states]
        plans = list(zip(states, cycle(keys), strict=False))
        plans[-count] = (ProposalState.OPEN, rare)
        size = -(-len(plans) // ACTS)
        for first in range(0, len(plans), size):
            _open(one, assigned, first, plans[first : first + size], now)


def _open(
    store: MemoryStore, assigned: User, before: int, plans: Sequence[tuple[ProposalState, Key]], now: datetime
) -> None:
    """Add proposals of these states by one entry; `before` are there already. A third of the open ones is assigned."""
    memories = list(Memory.objects.filter(store=store).live().order_by("pk").select_related("text")[:MEMORIES])
    with tree.locked(store.pk, Act(Actor.system("benchmark"), Door.COMMAND, now)) as locked:
        rows, changes, comments = list[Proposal](), list[ProposedChange](), list[Comment]()
        for number, (state, key) in enumerate(plans, before + 1):
            at = now - timedelta(days=20) + timedelta(seconds=number)
            is_open = state == ProposalState.OPEN
            rows.append(Proposal(
                id=ids.new_id(ids.PROPOSAL, at), store=store, number=number, state=state, key=key.pk,
                agent=key.agent_id, opened_at=at, changed_at=at, decided_at=None if is_open else now,
                seq=None if is_open else locked.seq,
                assigned_to=assigned if is_open and number % 3 == 0 else None,
            ))  # fmt: skip
            changes += _changes(rows[-1], memories[number % len(memories)], locked.seq, at)
            comment = ids.new_id(ids.COMMENT, at)
            comments.append(Comment(
                id=comment, store=store, proposal=rows[-1].pk, thread=comment, number=0, text="Why?", by=assigned,
                at=at, seq=locked.seq, agent=key.agent_id,
            ))  # fmt: skip
        Proposal.objects.bulk_create(rows)
        ProposedChange.objects.bulk_create(changes)
        Comment.objects.bulk_create(comments)
        tree.commit(locked, Record("import_proposal", input=audit.to_json({"number": before + 1})))


def _changes(proposal: Proposal, memory: Memory, seq: int, at: datetime) -> Iterator[ProposedChange]:
    """Yield a change of a line of a memory, and a new memory."""
    text = memory.text.content if memory.text else ""
    told = {"store_id": proposal.store_id, "proposal": proposal.pk, "seq": seq}
    yield ProposedChange(
        id=ids.new_id(ids.PROPOSED_CHANGE, at), number=1, memory=memory.pk, base=memory.head_id, path=memory.path,
        content=f"{text}Checked by {proposal.number}.\n", **told,
    )  # fmt: skip
    yield ProposedChange(
        id=ids.new_id(ids.PROPOSED_CHANGE, at), number=2, path=f"/proposed/{proposal.number}.md", content="New.\n",
        **told,
    )  # fmt: skip
