"""Stores proposals: changes by agents that wait for a person because of a path rule. The tree does not change."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple, NoReturn

from django.db.models import Max

from memoryhub.actions.core import tree
from memoryhub.actions.core.hub import disk_space
from memoryhub.actions.core.rules.sight import day_of
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryStore, Proposal, ProposalOrigin, ProposalState, ProposedChange
from memoryhub.models.proposals import ProposalQuerySet
from memoryhub.pure import ids, path_rules
from memoryhub.pure.path_rules import PathRule
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ProposedByRule, ToolError

MOST_OPEN = 1_000
"""The most open proposals of a store."""
MOST_OF_AGENT = 100
"""The most open proposals of one agent in a store, so that one agent cannot use up MOST_OPEN."""
MOST_CHANGES = 100
"""The most changes of one proposal."""
MOST_BYTES = 2_000_000
"""The most bytes of the texts of one proposal."""


class Wanted(NamedTuple):
    """A change that an agent proposes for one memory. `memory` is None for a new memory.

    `content` is None if the text does not change, and `new_path` is None if the path does not change.
    """

    memory: StoredMemory | None
    path: str
    content: str | None = None
    new_path: str | None = None
    deletes: bool = False


def propose(store: Tree, rule: PathRule, changes: Sequence[Wanted]) -> NoReturn:
    """Propose changes that a path rule holds back: add them to the open proposal of the session, or to a new one.

    Never returns. Raises ToolError if a hold or a limit forbids the proposal; DiskFull if the disk is full; otherwise
    ProposedByRule, which is the answer of the call. After ProposedByRule, the call's entry must follow, because it
    seals the rows.
    """
    for change in changes:
        require_possible(store, change)
    proposal = _open(store)
    before = list(ProposedChange.objects.of_proposal(proposal)) if proposal else []
    newest = {one.memory or one.path: one for one in before}
    new = [change for change in changes if not _is_same(change, newest.get(_name(change)))]
    require_size(before, new)
    if proposal is None:
        actor = store.act.actor
        proposal = opened(store, key=str(actor.id), agent=str(actor.author_id), session=store.act.session)
    elif new:
        proposal.changed_at = max(store.at, proposal.changed_at + timedelta(microseconds=1))
        proposal.save(update_fields=["changed_at"])
    number_of_rule = path_rules.of_text(store.path_rules).rules.index(rule) + 1
    for number, change in enumerate(new, len(before) + 1):
        row(store, proposal, number, change, rule=number_of_rule).save(force_insert=True)
    is_error = not (store.proposes_without_error and store.act.door.has_tool)
    raise ProposedByRule(results.proposed(proposal.number, rule.reason, is_error=is_error))


def require_size(before: Sequence[ProposedChange], new: Sequence[Wanted]) -> None:
    """Raise ToolError if `before` and `new` together exceed MOST_CHANGES or MOST_BYTES.

    Raise DiskFull if no text can be stored now.
    """
    if len(before) + len(new) > MOST_CHANGES:
        raise ToolError(results.too_much_proposed(str(len(before) + len(new)), str(MOST_CHANGES)))
    texts = [*(change.content for change in before), *(change.content for change in new)]
    size = sum(len(text.encode()) for text in texts if text is not None)
    if size > MOST_BYTES:
        raise ToolError(results.too_much_proposed(f"{size:,} bytes", f"{MOST_BYTES:,}"))
    if any(change.content is not None for change in new):
        disk_space.require_room()


def require_possible(store: Tree, change: Wanted) -> None:
    """Raise ToolError if a hold or a limit forbids the change."""
    if change.memory is not None:
        tree.require_not_frozen(store, change.memory)
    if change.content is not None:
        old = change.memory
        tree.check_limits(
            store,
            change.path,
            old_size=old.size if old else None,
            new_size=len(change.content.encode()),
            versions=old.kept if old else 0,
        )


def _open(store: Tree) -> Proposal | None:
    """Return the newest open proposal of the acting session, or None.

    Calls without a session share one proposal per key.
    """
    return _of_session(store).of_state(ProposalState.OPEN).order_by("-number").first()


def opened_before(store: Tree) -> int:
    """Return how many proposals the acting session has opened in the store.

    Return 0 if the session has an open proposal, because its next change is added to that proposal.

    For calls without a session, the proposals of the same key on the same day (UTC) count.
    """
    if _open(store) is not None:
        return 0
    midnight = datetime.combine(day_of(store.at), time(), UTC)
    own = _of_session(store)
    return (own if store.act.session is not None else own.filter(opened_at__gte=midnight)).count()


def _of_session(store: Tree) -> ProposalQuerySet:
    actor, session = store.act.actor, store.act.session
    found = Proposal.objects.of_store(store.store).filter(agent=actor.author_id, session=session)
    return found.filter(key=actor.id) if session is None else found


def opened(
    store: Tree,
    *,
    key: str,
    agent: str,
    session: str | None,
    at: datetime | None = None,
    number: int | None = None,
    origin: ProposalOrigin | None = None,
) -> Proposal:
    """Open a proposal without changes, and return it. Raises ToolError if too many are open.

    `at` is the time of opening (None: now), and `number` is the proposal's number (None: the next one).
    """
    opened_at = at or store.at
    require_room(store, agent)
    return Proposal.objects.create(  # type: ignore[misc]
        id=ids.new_id(ids.PROPOSAL, opened_at),
        store_id=store.store,
        number=number or last_number(store.store) + 1,
        key=key,
        agent=agent,
        session=session,
        opened_at=opened_at,
        changed_at=store.at,
        origin=origin,
    )


def last_number(store_id: str) -> int:
    """Return the highest number that a proposal of a store has or had."""
    newest = Proposal.objects.of_store(store_id).aggregate(newest=Max("number"))["newest"] or 0
    removed = MemoryStore.present.values_list("last_removed_proposal", flat=True).get(pk=store_id)
    return int(max(newest, removed))


def require_room(store: Tree, agent: str) -> None:
    """Raise ToolError if the agent has MOST_OF_AGENT open proposals in the store, or the store has MOST_OPEN."""
    waiting = Proposal.objects.of_store(store.store).of_state(ProposalState.OPEN)
    count, of_agent = waiting.count(), waiting.filter(agent=agent).count()
    if of_agent >= MOST_OF_AGENT:
        raise ToolError(results.too_many_proposals_of_agent(of_agent))
    if count >= MOST_OPEN:
        raise ToolError(results.too_many_proposals(count))


def _name(change: Wanted) -> str:
    """Return the id of the change's memory, or the path if the memory does not exist yet."""
    return change.memory.id if change.memory else change.path


def _is_same(change: Wanted, earlier: ProposedChange | None) -> bool:
    """Return whether a change only repeats `earlier`, the last change of the same memory (or None)."""
    memory = change.memory
    wanted = (memory and memory.id, memory and memory.head, *change[1:])
    return earlier is not None and wanted == (
        earlier.memory,
        earlier.base,
        earlier.path,
        earlier.content,
        earlier.new_path,
        earlier.deletes,
    )


def row(
    store: Tree, proposal: Proposal, number: int, change: Wanted, base: str | None = None, rule: int | None = None
) -> ProposedChange:
    """Return the row of a change. `base` is the id of the version that the agent saw (None: the newest one).

    `rule` is the number of the rule that requires the proposal (None: no rule).
    """
    memory = change.memory
    return ProposedChange(
        id=ids.new_id(ids.PROPOSED_CHANGE, store.at),
        store_id=store.store,
        proposal=proposal.pk,
        number=number,
        seq=store.seq,
        memory=memory.id if memory else None,
        base=(base or memory.head) if memory else None,
        path=change.path,
        new_path=change.new_path,
        content=change.content,
        deletes=change.deletes,
        rule=rule,
    )
