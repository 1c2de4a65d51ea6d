"""Runs of the retention policies: a run removes all items that are due, in short transactions.

People can stop a run, allow a run that a `Guard` stopped, and undo a run.
"""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import my_turn, writing
from memoryhub.actions.retention import rehearsal
from memoryhub.actions.retention.rehearsal import Item
from memoryhub.actions.retention.runs import clock, items as run_items, undoing
from memoryhub.models import Door, Guard, HubSettings, Memory, MemoryStore, Removal, RetentionPolicy, Run, RunState
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain, ids
from memoryhub.pure.retention_rules import TRASH

OPEN = (RunState.WAITING, RunState.RUNNING)
PEACE = timedelta(days=1)
"""After a run of a store was cancelled, no run of that store begins by itself for this time."""
MANY = 50
"""A run that would remove more memories than this from a store asks a person first."""


class NothingDue(Exception):
    """Nothing is due, so no run was created."""


class AlreadyOpen(Exception):
    """Another run of the store (`run`) is still open."""

    def __init__(self, run: Run) -> None:
        super().__init__("a run is not over yet")
        self.run = run


class NotOpen(Exception):
    """The run has ended, or is not in the state that the act needs."""


def start(store_id: str | None, act: Act, at: datetime) -> Run:
    """Create a run for all items that are due in a store (None: in the hub's audit). Return the run.

    If one of the reasons in `Guard` applies, the run waits for a person. Raises NothingDue, AlreadyOpen and
    NoSuchStore.
    """
    moved = clock.has_moved(at)
    run = _start(store_id, act, at, moved)
    if not moved:
        clock.accept(at)
    return run


def _start(store_id: str | None, act: Act, at: datetime, clock_moved: bool) -> Run:
    items = list(rehearsal.rehearse(store_id, at))
    if not items:
        raise NothingDue
    person = act.actor.id if act.actor.kind == ActorKind.USER else None
    with writing():
        store = _locked(store_id, act)
        if (running := Run.objects.of_store(store_id).open().first()) is not None:
            raise AlreadyOpen(running)
        guard = Guard.CLOCK if clock_moved else Guard.MANY if _many(store, items) else ""
        run = Run(
            id=ids.new_id(ids.RUN, act.at),
            store_id=store_id,
            at=at,
            guard=guard,
            started_by_id=person,
            state=RunState.WAITING if guard else RunState.RUNNING,
            started_at=act.at,
            expected=len(items),
        )
        run.save(force_insert=True)
        if person:
            details = {"run": run.pk, "as_of": chain.moment(at), "items": len(items), "state": [None, run.state]}
            _write_entry(store, act, "start_run", details)
    _plans.keep(run.pk, items)
    return run


def _many(store: tree.Tree | None, items: Iterable[Item]) -> bool:
    """Return whether a run would remove more than a quarter of a store's memories, or more than MANY memories."""
    if store is None:
        return False
    expiring = trash = 0
    for item in items:
        expiring += item.removal == Removal.EXPIRE
        trash += item.removal == Removal.PURGE and item.rule == TRASH
    count, there = expiring + trash, store.memories + trash
    return count * 4 > there or count > MANY


def step(run_id: str, at: datetime) -> bool:
    """Process the next items of a run in one short transaction. Return whether the run continues."""
    run = Run.objects.get(pk=run_id)
    if run.state != RunState.RUNNING:
        return False
    plan = _plans.of(run)
    act = Act(Actor.system("retention"), Door.COMMAND, at, group=run.pk)
    with writing(), my_turn():
        try:
            store = _locked(run.store_id, act)
        except tree.NoSuchStore:
            return False
        run = Run.objects.get(pk=run_id)
        if run.state != RunState.RUNNING:
            return False
        progress = run_items.do_some(store, run, plan, at)
        if progress.done == len(plan):
            run.state, run.ended_at = RunState.DONE, at
        run.save(update_fields=["state", "ended_at", *progress.counters])
    for _ in range(progress.done):
        plan.popleft()
    if plan and progress.part:
        plan[0].count -= progress.part
    if run.state == RunState.DONE:
        _plans.forget(run_id)
    return run.state == RunState.RUNNING


def allow(run_id: str, act: Act) -> None:
    """Allow a run that a guard stopped: the run continues. Raises NotOpen if it does not wait.

    The run's moment can be later than this act, because the clock was ahead. The run then continues with the moment of
    this act.
    """
    with writing():
        run, store = _opened(run_id, act, RunState.WAITING)
        details = {"run": run.pk, "guard": run.guard, "state": [run.state, RunState.RUNNING]}
        if act.at < run.at:
            details["as_of"] = [chain.moment(run.at), chain.moment(act.at)]
            run.at = act.at
            _plans.forget(run_id)
        run.state, run.guard_allowed_by_id = RunState.RUNNING, _person(act)
        run.save(update_fields=["state", "at", "guard_allowed_by_id"])
        _write_entry(store, act, "allow_run", details)
        if run.guard == Guard.CLOCK:
            HubSettings.objects.update_or_create(pk=1, defaults={"checked_at": act.at})


def cancel(run_id: str, act: Act) -> None:
    """End an open run. Items that it has removed stay removed. Raises NotOpen."""
    with writing():
        _cancel(*_opened(run_id, act, *OPEN), act)


def _cancel(run: Run, store: tree.Tree | None, act: Act) -> None:
    details = {"run": run.pk, "state": [run.state, RunState.CANCELLED]}
    run.state, run.ended_at = RunState.CANCELLED, act.at
    run.save(update_fields=["state", "ended_at"])
    _write_entry(store, act, "cancel_run", details)
    _plans.forget(run.pk)


def undo(run_id: str, act: Act) -> undoing.Done:
    """Restore the memories that the run expired, if they are still in the trash and their paths are free.

    An open run is cancelled first. The entries list the memories that could not be restored (`taken`). Raises ToolError
    if the store is archived; an open run is then not cancelled.
    """
    act = act._replace(group=act.group or ids.new_id(ids.GROUP, act.at))
    with writing():
        run, store = _opened(run_id, act, *RunState)
        if store is not None:
            tree.require_active(store)
        if run.state in OPEN:
            _cancel(run, store, act)
    return undoing.restore(run, act) if run.store_id else undoing.Done()


def due_runs(at: datetime) -> list[Run]:
    """Create a run for every store with due items, and for the hub's audit if it has due items. Return the runs.

    A store gets no run if its last run is still open or was cancelled recently.
    """
    moved = clock.has_moved(at)
    act = Act(Actor.system("retention"), Door.COMMAND, at)
    made = []
    for store_id in _concerned():
        if _is_left_in_peace(store_id, at):
            continue
        try:
            made.append(_start(store_id, act, at, moved))
        except (NothingDue, AlreadyOpen, tree.NoSuchStore):
            continue
    if not moved or not made:
        clock.accept(at)
    return made


def going_on() -> list[str]:
    """Return the ids of the running runs, oldest first."""
    return list(Run.objects.filter(state=RunState.RUNNING).order_by("pk").values_list("pk", flat=True))


def _concerned() -> list[str | None]:
    """Return the ids of the stores in which something may be due (None: the hub's own audit)."""
    policies = RetentionPolicy.objects.filter(paused=False)
    stores = MemoryStore.objects.order_by("pk")
    if policies.filter(store=None).exists():
        return [*stores.values_list("pk", flat=True), None]
    own = Exists(policies.filter(store=OuterRef("pk")))
    left = Exists(Memory.objects.in_trash().filter(store=OuterRef("pk"), expired_by__isnull=False))
    return list(stores.filter(own | left).values_list("pk", flat=True))


def _is_left_in_peace(store_id: str | None, at: datetime) -> bool:
    """Return whether the last run of a store (None: the hub's audit) is open or was cancelled recently."""
    last = Run.objects.of_store(store_id).newest().first()
    if last is None or last.state == RunState.DONE:
        return False
    return last.state in OPEN or last.ended_at is None or abs(at - last.ended_at) < PEACE


# ------------------------------------------------------------------------------------------------ internals


def _locked(store_id: str | None, act: Act) -> tree.Tree | None:
    """Lock a store and return its tree. For None, lock the hub's chain and return None."""
    if store_id is not None:
        return tree.lock(store_id, act)
    audit.lock_hub()
    return None


def _opened(run_id: str, act: Act, *states: RunState) -> tuple[Run, tree.Tree | None]:
    store_id = Run.objects.values_list("store_id", flat=True).get(pk=run_id)
    store = _locked(store_id, act)
    run = Run.objects.get(pk=run_id)
    if run.state not in states:
        raise NotOpen(run_id)
    return run, store


def _person(act: Act) -> str | None:
    return act.actor.id if act.actor.kind == ActorKind.USER else None


def _write_entry(store: tree.Tree | None, act: Act, command: str, details: dict[str, object]) -> None:
    record = Record(command, input=audit.to_json(details))
    if store is not None:
        tree.commit(store, record)
    else:
        audit.on_hub(act, record)


class _Plans:
    """The remaining items of open runs, in this process.

    If this process does not know the items of a run, the run is rehearsed again as of `run.at`.
    """

    def __init__(self) -> None:
        self.known: dict[str, deque[Item]] = {}
        self.lock = threading.Lock()

    def of(self, run: Run) -> deque[Item]:
        with self.lock:
            known = self.known.get(run.pk)
        return self.keep(run.pk, rehearsal.rehearse(run.store_id, run.at)) if known is None else known

    def keep(self, run_id: str, items: Iterable[Item] | Sequence[Item]) -> deque[Item]:
        plan = deque(items)
        with self.lock:
            return self.known.setdefault(run_id, plan)

    def forget(self, run_id: str) -> None:
        with self.lock:
            self.known.pop(run_id, None)


_plans = _Plans()
