"""Ends a dream: its copy becomes a new memory store, or a proposal for the original store.

The proposal is merged at once if path rules allow every change and nothing conflicts. Otherwise a person decides about
it.
"""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from memoryhub.actions.claude_runs import dreams, events, made, work
from memoryhub.actions.claude_runs.made import Proposed
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.plans import PlanChanged, TooMuch
from memoryhub.actions.core.rules import path_rules
from memoryhub.actions.core.rules.path_rules import Change
from memoryhub.actions.core.tree import NoSuchStore, Tree
from memoryhub.actions.findings import scans
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.decide import AlreadyDecided
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.stores import copies
from memoryhub.models import (
    Agent,
    ClaudeRun,
    ClaudeRunState,
    Door,
    Finding,
    FindingState,
    MemoryStore,
    Proposal,
    ProposedChange,
)
from memoryhub.pure.path_rules import Verb
from memoryhub.pure.protocol.errors import ToolError

_LONGEST_NAME = 200


def finish(run_id: str, worker: str, at: datetime) -> None:
    """End a dream on which a worker works, and turn the dream's copy of the store into the result.

    There is no result if the dream was canceled, if its key may not dream any more, or if its store was archived.
    Raises LostRun, CopyGone and NoSuchStore.
    """
    run = ClaudeRun.objects.get(pk=run_id)
    found, agent = made.made_of(run), Agent.objects.get(pk=run.agent)
    act = Act(Actor.key(run.key, agent), Door.API, at, session=made.session_of(run))
    proposed, problem = Proposed(), ""
    with tree.locked(run.store_id, act) as store, work.own(run_id, worker) as own:
        if own.stop_asked:
            events.end(own, ClaudeRunState.STOPPED, at)
            return
        if not work.may_go_on(own):
            events.end(own, ClaudeRunState.FAILED, at, problem="not_allowed")
            return
        if store.archived:
            events.end(own, ClaudeRunState.FAILED, at, problem="archived")
            return
        made.require_copy(own)
        if dreams.updates(own):
            proposed = made.propose_in(store, own, found)
            problem = "not_proposed" if proposed.error else ""
        else:
            _keep(store, own)
        events.end(own, ClaudeRunState.FINISHED, at, problem=problem)
    if proposed.number is not None and not proposed.left_out:
        _merge(run.store_id, proposed.number, act)


def _keep(store: Tree, run: ClaudeRun) -> None:
    """Turn the copy on which a dream worked into a memory store of its own."""
    original = MemoryStore.objects.get(pk=store.store)
    name = _("%(name)s, dreamt on %(day)s") % {"name": original.name[:_LONGEST_NAME], "day": f"{store.at:%Y-%m-%d}"}
    copies.keep(store, str(run.copy), name)
    # Pages of the copy masked what was found in the original after it was copied. Now only findings of its own count.
    found = Finding.objects.of_store(store.store).filter(at__gte=run.created_at).exclude(state=FindingState.DISMISSED)
    if kinds := set(found.order_by().values_list("kind", flat=True).distinct()):
        scans.start(str(run.copy), kinds, store.act._replace(session=None))
    tree.commit(store, Record("keep_dream", input=audit.to_json({"run": run.pk, "copy": run.copy, "name": name})))


def _merge(store_id: str, number: int, act: Act) -> None:
    """Merge the proposal `number` if path rules allow all its changes, and none of them needs a person's choice.

    Otherwise do nothing.
    """
    try:
        with tree.locked(store_id, act) as store:
            proposal = Proposal.objects.of_store(store_id).get(number=number)
            plan = proposal_plan(proposal)
            if not plan.is_empty and not plan.has_problems and _are_allowed(store, proposal):
                decide.merge(store_id, number, {}, plan.digest, act)
    except (ToolError, TooMuch, PlanChanged, AlreadyDecided, NoSuchStore):
        pass


def _are_allowed(store: Tree, proposal: Proposal) -> bool:
    # Not only the changes of the dream: a call of the agent that a rule holds back may have joined the proposal.
    found = ProposedChange.objects.of_proposal(proposal)
    return all(path_rules.allow(store, verb, [change]) for one in found for verb, change in _changes(store, one))


def _changes(store: Tree, one: ProposedChange) -> Sequence[tuple[Verb, Change]]:
    memory = tree.memory_by_id(store, one.memory) if one.memory is not None else None
    if memory is None:
        return [(Verb.CREATE, Change(one.new_path or one.path))]
    if one.deletes:
        return [(Verb.DELETE, Change(memory.path, memory))]
    changes = []
    if one.content is not None:
        text = one.content
        changes.append((Verb.EDIT, Change(memory.path, memory, lambda: text)))
    if one.new_path is not None:
        changes += [(Verb.RENAME, Change(memory.path, memory)), (Verb.CREATE, Change(one.new_path, memory))]
    return changes
