"""What an evaluation of memory writes: the copies that it works on, the tokens that it uses, and its results."""

from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.db.models import F

from memoryhub import ids
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import runs
from memoryhub.actions.claude_runs.work import OverBudget
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories.calls import Caller
from memoryhub.actions.stores import copies
from memoryhub.models import Access, Agent, ClaudeDay, ClaudeEvaluation, Key, MemoryStore

AGENT = "Claude (evaluations)"
MOST = 100
"""The most evaluations of a store that are kept: the newest."""


def copied(store_id: str, act: Act) -> str:
    """Make a throw-away copy of a store as it is; return its id. Raises ToolError if the store is archived,
    TooManyCopies, and tree.NoSuchStore."""
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        copy, seq = runs.new_copy(store, proposes=True), store.head.last_seq
    while copies.fill(copy, store_id, seq, act.at) is None:
        pass
    return copy


def caller(store_id: str, act: Act) -> Caller:
    """Return the caller as which the model acts: an agent of its own, with a key whose secret no one knows."""
    agent = Agent.objects.filter(name=AGENT).first()
    if agent is None:
        agent = keys_and_roles.create_agent(AGENT, actor=act.actor, door=act.door, at=act.at)
    key = Key.objects.usable(act.at).filter(agent=agent, access=Access.WRITE, stores=store_id).first()
    if key is None:
        store = MemoryStore.objects.get(pk=store_id)
        key, _ = keys_and_roles.issue_key(agent, stores=[store], name=AGENT, actor=act.actor, door=act.door, at=act.at)
    return Caller(key.pk, agent.pk, agent.name, Access.WRITE, stale=True, reaches=True)


def use(tokens: int, at: datetime) -> None:
    """Count tokens of all runs of a day. Raises OverBudget, and counts none, if they are too many."""
    most = settings.MEMORYHUB_CLAUDE_DAY_TOKENS
    with writing():
        day, _ = ClaudeDay.objects.select_for_update().get_or_create(day=at.date())
        if most is not None and tokens > 0 and day.tokens + tokens > most:
            raise OverBudget("over_day_budget")
        ClaudeDay.objects.filter(pk=day.pk).update(tokens=F("tokens") + max(tokens, -day.tokens))


def keep(store_id: str, model: str, results: Mapping[str, bool], tokens: int, act: Act) -> ClaudeEvaluation:
    """Store the results of an evaluation, and forget the oldest beyond MOST. Raises tree.NoSuchStore."""
    with tree.locked(store_id, act) as store:
        made = ClaudeEvaluation.objects.create(
            id=ids.new_id(ids.EVALUATION, act.at), store_id=store_id, model=model, at=act.at, tokens=tokens,
            results=dict(results),  # type: ignore[misc]
        )  # fmt: skip
        old = list(ClaudeEvaluation.objects.of_store(store_id).values_list("pk", flat=True)[MOST:])
        ClaudeEvaluation.objects.filter(pk__in=old).delete()
        details = {"model": model or "scripted", "passed": sum(results.values()), "count": len(results)}
        tree.commit(store, Record("evaluate_memory", input=audit.to_json(details)))
    return made
