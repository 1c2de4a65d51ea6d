"""Runs that are killed anywhere: every memory is kept or in the trash with its entry, and the next run finishes."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.sql import statements
from memoryhub.actions.retention import policies, rehearsal, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.verification.verify import verify
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, Run, RunItem, RunState
from memoryhub.pure.protocol.commands import Create, Delete, StrReplace
from tests.actions.retention.stores import BEGIN, DAY, YEAR, Shot, act, check_shots, do, done_by, listed, new_store
from tests.support.long import LONG

NOW = BEGIN + YEAR
KILLS = 50 if LONG else 4


class Killed(Exception):
    """Stands for the end of the process."""


def full_store(memories: int = 3, *, pinned: bool = True) -> MemoryStore:
    """Something of everything is due: expiry, purges, old versions, and entries unless one memory is pinned."""
    store = new_store()
    for number in range(memories):
        for directory in ("old", "trash", "edited"):
            do(store, Create(f"/{directory}/{number}.md", f"{number}\n"), BEGIN + DAY)
        do(store, Delete(f"/trash/{number}.md"), BEGIN + 2 * DAY)
        for edit in range(3):
            do(store, StrReplace(f"/edited/{number}.md", "\n", f" {edit}\n"), BEGIN + 3 * DAY)
    made = act(NOW)
    policies.save_policy(store.pk, PolicySettings("old", "/old/", expire_older_days=100), made)
    policies.save_policy(store.pk, PolicySettings("trash", "/trash/", trash_days=100), made)
    policies.save_policy(store.pk, PolicySettings("versions", "/edited/", keep_versions=1), made)
    policies.save_policy(store.pk, PolicySettings("entries", keep_entry_days=300), made)
    if pinned:
        holds.place(store.pk, made, kind=HoldKind.PIN, reason="x", path="/old/0.md")
    return store


@contextmanager
def killed_at(statement: int) -> Iterator[None]:
    """Ends everything at the so many-th statement, before or after the database has done it."""
    left = [statement]

    def count(done: Callable[[], Any]) -> Any:
        left[0] -= 1
        if left[0] == 0 and statement % 2:
            raise Killed
        result = done()
        if left[0] == 0:
            raise Killed
        return result

    def orm(execute: Any, query: str, params: Any, many: bool, context: Any) -> Any:
        return count(lambda: execute(query, params, many, context))

    def direct(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *one, **options: count(lambda: original(*one, **options))

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(orm):
        for name in ("_run", "_run_many"):
            patch.setattr(statements, name, direct(getattr(statements, name)))
        yield


def check_whole(store: MemoryStore, run: Run) -> None:
    """Each memory is live, or in the trash with the entry that put it there; the run counts what it did."""
    items = list(RunItem.objects.filter(run=run, skipped=""))
    expired = {item.memory: item.seq for item in items if item.removal == "expire"}
    trash = Memory.objects.in_trash().filter(store=store, expired_by=run.pk)
    assert set(trash.values_list("pk", flat=True)) == expired.keys()
    entries = AuditEntry.objects.of_chain(store.pk).filter(group=run.pk, command="expire")
    assert dict(entries.values_list("memory", "seq")) == expired
    run.refresh_from_db()
    assert run.expired == len(expired)
    assert run.versions == sum(item.count for item in items if item.removal == "versions")
    assert run.purged == AuditEntry.objects.of_chain(store.pk).filter(group=run.pk, command="purge").count()
    assert verify(store.pk)[1] is None


@pytest.mark.django_db
def test_a_run_that_is_killed_anywhere_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST", 3)
    dice, store, killed = random.Random(5), full_store(pinned=False), 0
    items = list(rehearsal.rehearse(store.pk, NOW))
    before = Shot.of(store, NOW)
    assert {item.removal for item in items} == {"expire", "purge", "versions", "entries"}
    while killed < KILLS:
        with transaction.atomic():
            run = runs.start(store.pk, act(NOW), NOW)
            runs.allow(run.pk, act(NOW))
            while Run.objects.get(pk=run.pk).state == RunState.RUNNING:
                try:
                    with killed_at(dice.randint(1, 240)):  # the longest step has some 130 statements, with a new plan
                        while runs.step(run.pk, NOW):
                            pass
                except Killed:
                    killed += 1
                    runs._plans.known.clear()  # the next process knows nothing of it
                    check_whole(store, run)
            check_whole(store, run)
            assert sorted(done_by(run)) == sorted(listed(items))
            check_shots(before, Shot.of(store, NOW), items)
            transaction.set_rollback(True)


@pytest.mark.push
@pytest.mark.skipif(connection.vendor != "sqlite", reason="a forked process disturbs PostgreSQL's driver in its parent")
@pytest.mark.django_db(transaction=True)
def test_a_process_that_dies_in_a_run_leaves_it_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST", 1)
    store = full_store(memories=6)
    run = runs.start(store.pk, act(NOW), NOW)
    runs.allow(run.pk, act(NOW))
    dice, items = random.Random(9), list(rehearsal.rehearse(store.pk, NOW))
    for _ in range(4):
        connection.close()
        child = os.fork()
        if child == 0:
            _run_until_killed(run.pk)
        time.sleep(dice.uniform(0.01, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        check_whole(store, run)
    runs._plans.known.clear()
    while runs.step(run.pk, NOW):
        pass
    check_whole(store, run)
    assert sorted(done_by(run)) == sorted(listed(items)) and run.state == RunState.DONE
    with pytest.raises(runs.NothingDue):
        runs.start(store.pk, act(NOW), NOW)


def _run_until_killed(run_id: str) -> None:
    """The child's whole life."""
    try:
        runs._plans.known.clear()
        while runs.step(run_id, NOW):
            time.sleep(0.002)
        time.sleep(60)
    finally:
        os._exit(0)
