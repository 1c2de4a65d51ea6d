"""Evaluations of memory: people and a command start them, and a worker writes the result of each case.

Each write of a worker is one short transaction, in which the evaluation must still be the worker's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.db.models import F

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import configuration, runs
from memoryhub.actions.claude_runs.runs import NotNow
from memoryhub.actions.claude_runs.work import LostRun, OverBudget, Seen
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories.calls import Caller
from memoryhub.actions.stores import copies, delete
from memoryhub.models import (
    Access,
    Agent,
    ClaudeDay,
    ClaudeEvaluation,
    ClaudeRunState,
    Door,
    Key,
    Memory,
    User,
)
from memoryhub.models.access import EVALUATIONS_KEY
from memoryhub.pure import ids

_ABOUT = "Claude in the evaluations of memory of this hub, which run on copies of memory stores."
PLACE = "/evaluation"
"""The directory in which the suite writes its memories."""
MOST = 100
"""The most evaluations of a store that are kept: the newest."""


class Taken(Exception):
    """The memory store already has a memory at PLACE, or under it, where the cases of an evaluation write."""


class Stopped(Exception):
    """A person stopped the evaluation."""


def start(store_id: str, model: str, user: User | None, act: Act, worker: str = "") -> ClaudeEvaluation:
    """Start an evaluation, and return it. Earlier evaluations that did not finish are deleted.

    The evaluation waits for a worker, unless `worker` names the process that runs it. `model` is "" for the scripted
    model. `user` is None if a command starts the evaluation. Raises tree.NoSuchStore; ToolError if the store is
    archived; Taken if it has memories at PLACE; and NotNow if another evaluation has not ended.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        there = Memory.objects.live().filter(store_id=store_id)
        if there.filter(path=PLACE).exists() or there.under(PLACE).exists():
            raise Taken
        if ClaudeEvaluation.objects.of_store(store_id).going_on().exists():
            raise NotNow
        ClaudeEvaluation.objects.of_store(store_id).exclude(state=ClaudeRunState.FINISHED).delete()
        made = ClaudeEvaluation.objects.create(
            id=ids.new_id(ids.EVALUATION, act.at), store_id=store_id, model=model, at=act.at, started_by=user,
            state=ClaudeRunState.RUNNING if worker else ClaudeRunState.WAITING, worker=worker, seen_at=act.at,
        )  # fmt: skip
        tree.commit(store, Record("start_evaluation", input=audit.to_json({"model": model or "scripted"})))
    return made


def stop(store_id: str, act: Act) -> None:
    """Stop the store's evaluation: a waiting one at once, a running one within about a second.

    Raises NotNow if no evaluation waits or runs, or if a person has stopped it before; tree.NoSuchStore if there is no
    such store.
    """
    with tree.locked(store_id, act) as store:
        one = ClaudeEvaluation.objects.of_store(store_id).going_on().select_for_update().first()
        if one is None or one.stop_asked:
            raise NotNow
        if one.state == ClaudeRunState.WAITING:
            ClaudeEvaluation.objects.filter(pk=one.pk).update(state=ClaudeRunState.STOPPED)
        else:
            ClaudeEvaluation.objects.filter(pk=one.pk).update(stop_asked=True)
        tree.commit(store, Record("stop_evaluation", input=audit.to_json({"model": one.model or "scripted"})))


def claim(worker: str, at: datetime) -> ClaudeEvaluation | None:
    """Assign the oldest waiting evaluation to a worker, and return it.

    None if no evaluation waits, or if another worker was faster.
    """
    waiting = ClaudeEvaluation.objects.filter(state=ClaudeRunState.WAITING, store__deleted_at=None)
    first = waiting.order_by("id").first()
    if first is None:
        return None
    with writing():
        own = ClaudeEvaluation.objects.filter(pk=first.pk, state=ClaudeRunState.WAITING)
        return first if own.update(state=ClaudeRunState.RUNNING, worker=worker, seen_at=at) else None


@contextmanager
def own(evaluation_id: str, worker: str) -> Iterator[ClaudeEvaluation]:
    """Open a transaction, lock the evaluation and yield it. Raises LostRun if it is no longer the worker's."""
    with writing():
        rows = ClaudeEvaluation.objects.select_for_update(of=("self",)).filter(store__deleted_at=None)
        one = rows.filter(pk=evaluation_id, state=ClaudeRunState.RUNNING, worker=worker).first()
        if one is None:
            raise LostRun(evaluation_id)
        yield one


def seen(evaluation_id: str, worker: str, at: datetime) -> None:
    """Record that the worker still works on the evaluation. Raises Stopped and LostRun."""
    with own(evaluation_id, worker) as one:
        if one.stop_asked:
            raise Stopped
        ClaudeEvaluation.objects.filter(pk=one.pk).update(seen_at=at)


def may_go_on(one: ClaudeEvaluation) -> bool:
    """Return whether the person who started the evaluation may still run Claude on its store."""
    user = User.objects.filter(pk=one.started_by_id).first()
    return user is not None and configuration.may_run(user, one.store)


def copied(one: ClaudeEvaluation, worker: str, act: Act) -> str:
    """Make a throw-away copy of the store; return its id.

    Raises ToolError if the store is archived. Also raises TooManyCopies, LostRun and tree.NoSuchStore.
    """
    with tree.locked(one.store_id, act) as store, own(one.pk, worker):
        tree.require_active(store)
        copy, seq = runs.new_copy(store, proposes=True), store.head.last_seq
        ClaudeEvaluation.objects.filter(pk=one.pk).update(copy=copy)
    while copies.fill(copy, one.store_id, seq, act.at) is None:
        pass
    return copy


def caller(act: Act) -> Caller:
    """Return the caller for the model's tool calls on the throw-away copies.

    The calls have an agent and a key of their own. No one else can use this key: it reaches no memory store, and no one
    knows its secret.
    """
    name = EVALUATIONS_KEY
    agent = Agent.objects.filter(name=name).order_by("pk").first()
    if agent is None:
        agent = keys_and_roles.create_agent(name, description=_ABOUT, actor=act.actor, door=act.door, at=act.at)
    own = Key.objects.usable(act.at).filter(agent=agent, name=name, created_by=None, access=Access.WRITE)
    key = own.filter(all_stores=False, stores=None).first()
    if key is None:
        key, _ = keys_and_roles.issue_key(agent, name=name, actor=act.actor, door=act.door, at=act.at)
    return Caller(key.pk, agent.pk, agent.name, Access.WRITE, stale=True, reaches=True)


def use(tokens: int, at: datetime, used: int = 0) -> None:
    """Add `tokens` to the tokens that all runs together used on this day. A negative number takes tokens back.

    `used` is how many tokens this evaluation has used before. If the evaluation or the day would exceed its budget, add
    nothing and raise OverBudget.
    """
    of_run, of_day = settings.MEMORYHUB_CLAUDE_RUN_TOKENS, settings.MEMORYHUB_CLAUDE_DAY_TOKENS
    if of_run is not None and tokens > 0 and used + tokens > of_run:
        raise OverBudget("over_run_budget")
    with writing():
        day, _ = ClaudeDay.objects.select_for_update().get_or_create(day=at.date())
        if of_day is not None and tokens > 0 and day.tokens + tokens > of_day:
            raise OverBudget("over_day_budget")
        ClaudeDay.objects.filter(pk=day.pk).update(tokens=F("tokens") + max(tokens, -day.tokens))


def write(evaluation_id: str, worker: str, results: Mapping[str, bool], tokens: int) -> None:
    """Store the results so far, by case, and how many tokens the evaluation has used so far."""
    with own(evaluation_id, worker):
        ClaudeEvaluation.objects.filter(pk=evaluation_id).update(results=dict(results), tokens=tokens)


def end(evaluation_id: str, worker: str, state: ClaudeRunState, problem: str = "") -> None:
    """End an evaluation before all its cases have run. `problem` is the code of the reason."""
    with own(evaluation_id, worker):
        ClaudeEvaluation.objects.filter(pk=evaluation_id).update(state=state, problem=problem, worker="", copy=None)


def finish(one: ClaudeEvaluation, worker: str, act: Act) -> None:
    """End an evaluation, and delete the store's finished evaluations except the newest MOST.

    The results must be written already. Raises LostRun and tree.NoSuchStore.
    """
    with tree.locked(one.store_id, act) as store, own(one.pk, worker) as row:
        results = dict[str, bool](row.results)
        done = ClaudeRunState.FINISHED
        ClaudeEvaluation.objects.filter(pk=one.pk).update(state=done, worker="", copy=None)
        old = list(ClaudeEvaluation.objects.of_store(one.store_id).finished().values_list("pk", flat=True)[MOST:])
        ClaudeEvaluation.objects.filter(pk__in=old).delete()
        details = {"model": one.model or "scripted", "passed": sum(results.values()), "count": len(results)}
        tree.commit(store, Record("evaluate_memory", input=audit.to_json(details)))


def running() -> list[Seen]:
    """Return the ids of the running evaluations, and when the worker of each was last seen."""
    return list(ClaudeEvaluation.objects.filter(state=ClaudeRunState.RUNNING).values_list("pk", "seen_at"))


def interrupt(evaluation_id: str, seen_at: datetime | None, at: datetime) -> None:
    """Mark a running evaluation as interrupted, or as stopped if a person asked it to stop. Its copy is deleted.

    Do nothing if its worker was seen after the moment `seen_at`.
    """
    there = ClaudeEvaluation.objects.filter(pk=evaluation_id, state=ClaudeRunState.RUNNING, seen_at=seen_at)
    if (one := there.first()) is None:
        return
    state = ClaudeRunState.STOPPED if one.stop_asked else ClaudeRunState.INTERRUPTED
    with writing():
        is_done = there.filter(worker=one.worker).update(state=state, worker="", copy=None)
    if is_done and one.copy:
        delete.delete_copy(one.copy, Act(Actor.system("claude_runs"), Door.COMMAND, at))
