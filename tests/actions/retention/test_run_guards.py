"""Guards of runs, which stop and ask; the background work and the command that run the policies."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memoryhub.actions import figures
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.retention.runs import clock
from memoryhub.background import tasks
from memoryhub.models import (
    AuditEntry,
    Guard,
    HubSettings,
    Memory,
    MemoryStore,
    Run,
    RunState,
)
from memoryhub.pure.protocol.commands import Create
from tests.actions.gardens import LATER, expire, garden, live, newest, no_plans, started, to_the_end, told
from tests.actions.retention.stores import BEGIN, DAY, YEAR, act, do, new_store

__all__ = ["garden", "no_plans"]
pytestmark = pytest.mark.django_db


def test_unusually_many_memories_wait_for_a_person(garden: MemoryStore) -> None:
    do(garden, Create("/old/3.md", "x\n"), BEGIN)
    do(garden, Create("/old/4.md", "x\n"), BEGIN)
    do(garden, Create("/old/5.md", "x\n"), BEGIN)  # 6 of 23
    expire(garden)
    run = started(garden)
    assert (run.state, run.guard) == (RunState.WAITING, Guard.MANY)
    assert not runs.step(run.pk, LATER) and len(live(garden)) == 6
    with pytest.raises(runs.AlreadyOpen):
        started(garden)
    runs.allow(run.pk, act(LATER))
    assert newest(garden).command == "allow_run"
    assert told(newest(garden))["state"] == ["waiting", "running"]
    assert to_the_end(run).expired == 6
    with pytest.raises(runs.NotOpen):
        runs.allow(run.pk, act(LATER))


@pytest.mark.parametrize(("more", "guard"), [(47, ""), (48, Guard.MANY)])
def test_more_than_fifty_of_a_large_store_wait_too(garden: MemoryStore, more: int, guard: str) -> None:
    for number in range(more):
        do(garden, Create(f"/old/more-{number}.md", "x\n"), BEGIN)
    for number in range(150):
        do(garden, Create(f"/kept/{number}.md", "x\n"), LATER)
    expire(garden)
    run = started(garden)
    assert (run.expected, run.guard) == (more + 3, guard)


def test_a_clock_that_went_ten_years_forward_stops_the_run(garden: MemoryStore) -> None:
    expire(garden)
    assert runs.due_runs(LATER) and HubSettings.current().checked_at == LATER
    future = LATER + 10 * YEAR
    to_the_end(Run.objects.get())
    [run] = runs.due_runs(future)
    assert (run.guard, run.state, HubSettings.current().checked_at) == (Guard.CLOCK, RunState.WAITING, LATER)
    runs.cancel(run.pk, act(LATER + DAY))
    assert runs.due_runs(LATER + timedelta(hours=2)) == []
    assert Memory.objects.live().filter(store=garden).count() == 17


def test_a_clock_that_was_put_right_expires_no_more_than_it_would_have(garden: MemoryStore) -> None:
    expire(garden)
    [first] = runs.due_runs(LATER)
    to_the_end(first)
    [run] = runs.due_runs(LATER + 10 * YEAR)
    runs.allow(run.pk, act(LATER + timedelta(hours=3)))
    to_the_end(run, LATER + timedelta(hours=3))
    assert (run.state, run.expired, run.at) == (RunState.DONE, 0, LATER + timedelta(hours=3))


def test_a_clock_that_went_back_a_year_stops_too(garden: MemoryStore) -> None:
    policies.save_policy(garden.pk, PolicySettings("p", expire_older_days=1), act(LATER))
    assert clock.has_moved(LATER - YEAR) and clock.has_moved(LATER + 25 * timedelta(hours=1))
    assert not clock.has_moved(LATER + timedelta(hours=24)) and not clock.has_moved(LATER - DAY)
    clock.accept(LATER + 3 * DAY)
    assert clock.has_moved(LATER) and not clock.has_moved(LATER + 2 * DAY)


def test_entries_from_when_the_clock_was_ahead_stop_no_run_for_a_year_once_it_is_right(garden: MemoryStore) -> None:
    expire(garden)
    clock.accept(LATER)
    quiet = new_store()
    do(quiet, Create("/a.md", "x\n"), LATER + YEAR)  # its newest entry from now on
    [run] = runs.due_runs(LATER + timedelta(hours=1))
    assert (run.guard, run.state) == ("", RunState.RUNNING)
    assert not runs.due_runs(LATER + timedelta(hours=2)) and not clock.has_moved(LATER + timedelta(hours=3))


def test_nobody_is_asked_again_for_a_day_after_a_run_was_cancelled(garden: MemoryStore) -> None:
    expire(garden)
    [run] = runs.due_runs(LATER)
    assert runs.due_runs(LATER + timedelta(hours=1)) == []
    runs.cancel(run.pk, act(LATER))
    assert [entry.command for entry in AuditEntry.objects.of_chain(garden.pk).newest()[:1]] == ["cancel_run"]
    assert runs.due_runs(LATER + timedelta(hours=23)) == []
    assert len(runs.due_runs(LATER + timedelta(hours=25))) == 1


def test_without_policies_a_look_makes_nothing(garden: MemoryStore) -> None:
    assert runs.due_runs(LATER) == [] and not Run.objects.exists()


def test_the_background_work_looks_once_an_hour_and_goes_on_each_time(
    garden: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "PAUSE", 0)
    monkeypatch.setattr(tasks.timezone, "now", lambda: LATER)
    expire(garden)
    seconds = [0.0]
    runner = tasks.runner(lambda: LATER, lambda: seconds[0])
    runner.run_due()
    assert Run.objects.get().state == RunState.DONE
    do(garden, Create("/old/0.md", "x\n"), BEGIN)
    seconds[0] = 59 * 60
    runner.run_due()
    assert Run.objects.count() == 1
    seconds[0] = 60 * 60
    runner.run_due()
    assert Run.objects.count() == 2


def test_a_run_begins_when_all_entries_before_it_are_counted_and_waits_for_no_later_ones(
    garden: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    expire(garden)
    [first] = runs.due_runs(LATER)
    has_counted = [False]
    monkeypatch.setattr(figures, "catch_up", lambda: has_counted[0])
    found = tasks.OpenRuns()
    assert found.find() == []
    has_counted[0] = True
    assert found.find() == [first.pk]
    has_counted[0] = False
    assert found.find() == [first.pk], "calls go on meanwhile"
    another = new_store()
    do(another, Create("/old.md", "x\n"), BEGIN)
    expire(another)
    other = started(another)
    runs.allow(other.pk, act(LATER))
    assert found.find() == [first.pk]
    has_counted[0] = True
    assert sorted(found.find()) == sorted([first.pk, other.pk])


def test_a_run_takes_few_steps_while_others_write_and_hurries_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep: list[float] = []
    monkeypatch.setattr(runs, "step", lambda run, at: True)
    monkeypatch.setattr(tasks.time, "sleep", asleep.append)
    monkeypatch.setattr(pace, "others_write", lambda: False)
    assert tasks._run("run") and asleep == []
    monkeypatch.setattr(pace, "others_write", lambda: True)
    assert tasks._run("run") and asleep[0] == pytest.approx(tasks.RUN_EVERY, abs=0.1)
    monkeypatch.setattr(runs, "step", lambda run, at: False)
    assert not tasks._run("run") and len(asleep) == 1


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("expire_memories", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_rehearses_and_runs(garden: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    expire(garden)
    said = command("--dry-run", "--store", garden.pk)
    assert "expire /old/1.md (1; unread 30, since 2025-03-01 13:00:00)" in said
    assert "3 memories into the trash" in said and not Run.objects.exists()
    assert "3 memories into the trash" in command()
    assert "nothing is due" in command("--store", garden.pk)
    with pytest.raises(CommandError, match="There is no memory store"):
        command("--store", "memstore_x")


def test_the_command_stops_where_a_guard_asks_unless_it_is_allowed(
    garden: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    expire(garden, days=1, pattern="/old/")
    expire(garden, pattern="/new/", days=30)
    clock.accept(LATER - 2 * DAY)
    with pytest.raises(CommandError, match="the clock moved"):
        command()
    assert len(live(garden)) == 3
    assert "3 memories into the trash" in command("--allow")
