"""Keys take turns at the thread that commits, and leave places to others."""

import random
import threading
import time
from itertools import combinations
from typing import Any

import pytest

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import _Job, turns
from memoryhub.actions.core.transactions.turns import Lines
from memoryhub.pure import request_ids
from tests.support.long import some


def test_keys_take_turns_however_many_calls_one_of_them_has_waiting() -> None:
    lines: Lines[_Job[Any]] = Lines()
    names = {}
    for name, whose in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c"), ("b2", "b")]:
        job = _Job(lambda: None)
        names[job] = name
        lines.put(job, whose)
    assert [names[lines.get()[1]] for _ in range(lines.all_waiting())] == ["a1", "b1", "c1", "a2", "b2", "a3"]


def served(lines: Lines[str], seconds: dict[str, float], turns: int) -> list[str]:
    """Who was served, where each job of a key takes so long and the key has another one at once."""
    order = []
    for _ in range(turns):
        whose, job = lines.get()
        order.append(job)
        lines.took(whose, seconds[job])
        lines.put(job, whose)
    return order


def test_a_key_whose_calls_take_long_gets_no_more_time_than_others() -> None:
    lines: Lines[str] = Lines()
    for whose in ("long", "one", "two"):
        lines.put(whose, whose)
    order = served(lines, {"long": 1.0, "one": 0.1, "two": 0.1}, 50)
    assert order[0] == "long"
    assert order.count("long") in (3, 4), order


def test_whoever_comes_seldom_waits_for_the_call_that_runs_alone() -> None:
    lines: Lines[str] = Lines()
    for number in range(40):
        lines.put(f"long {number}", "busy")
    for number in range(5):
        whose, job = lines.get()
        assert job == f"long {number}"
        lines.put("mine", "seldom")
        lines.took(whose, 0.8)
        whose, job = lines.get()
        assert job == "mine"
        lines.took(whose, 0.001)


def test_nobody_saves_turns_up() -> None:
    """A key that was away while another one worked for an hour does not get the next hour for itself."""
    lines: Lines[str] = Lines()
    lines.put("worker", "worker")
    served(lines, {"worker": 1.0}, 3600)
    lines.put("back", "back")
    order = served(lines, {"worker": 1.0, "back": 1.0}, 20)
    assert 9 <= order.count("back") <= 11, order


def test_however_many_new_ones_come_nobody_waits_for_ever() -> None:
    """There were always some who had had nothing yet, and whoever had had something came after all of them."""
    lines: Lines[str] = Lines()
    lines.put("known", "known")
    served(lines, {"known": 0.03}, 1)
    for number in range(20):
        lines.put("new", f"new {number}")
    for number in range(20, 400):
        whose, job = lines.get()
        if job == "known":
            break
        lines.took(whose, 0.005)
        lines.put("new", f"new {number}")
    assert job == "known"
    assert number < 20 + 2 * 21 * 0.03 / 0.005, "about its share among 21"


@pytest.mark.parametrize("seed", some(range(60), 3))
def test_of_those_who_always_wait_nobody_gets_more_time_and_each_job_is_served_once(seed: int) -> None:
    """Random cases: keys of quick and of slow jobs, some that come now and then, and a crowd of ever new ones."""
    chance = random.Random(seed)
    costs = [chance.choice([0.001, 0.005, 0.02, 0.1, 0.5, 2.0]) for _ in range(chance.randint(2, 10))]
    always = set(chance.sample(range(len(costs)), chance.randint(2, len(costs))))
    lines: Lines[int] = Lines(most_at_once=chance.choice([None, 3]))
    jobs: list[tuple[object, float]] = []
    served_jobs: list[int] = []

    def put(whose: object, cost: float) -> None:
        jobs.append((whose, cost))
        lines.put(len(jobs) - 1, whose)

    def serve() -> object:
        whose, job = lines.get()
        assert jobs[job][0] == whose
        served_jobs.append(job)
        lines.took(whose, jobs[job][1])
        return whose

    for whose in always:
        for _ in range(chance.randint(2, 6)):
            put(whose, costs[whose])
    crowd = chance.choice([0, chance.randint(1, 60)])
    for number in range(crowd):
        put(f"new {number}", 0.01)
    had = dict.fromkeys(range(len(costs)), 0.0)
    least, most = {}, {}
    for turn in range(600):
        for whose, cost in enumerate(costs):
            if whose not in always and not lines.waiting(whose) and chance.random() < 0.05:
                put(whose, cost)
        whose = serve()
        if whose in always:
            put(whose, costs[whose])
        elif isinstance(whose, str):
            put(f"new {crowd + turn}", 0.01)
        had[whose] = had.get(whose, 0.0) + jobs[served_jobs[-1]][1]
        for one, other in combinations(sorted(always), 2):
            ahead = had[one] - had[other]
            least[one, other] = min(least.get((one, other), ahead), ahead)
            most[one, other] = max(most.get((one, other), ahead), ahead)
    for (one, other), ahead in most.items():
        assert ahead - least[one, other] <= 2 * (costs[one] + costs[other]) + 0.02
    while lines.all_waiting():
        serve()
    assert sorted(served_jobs) == list(range(len(jobs)))
    assert not lines._ready and not lines._beside and not lines._at_once and not lines._raised


def test_times_are_forgotten_where_they_no_longer_count() -> None:
    lines: Lines[int] = Lines()
    for number in range(5000):
        lines.put(number, number)
        whose, _ = lines.get()
        lines.took(whose, 0.0)
    assert len(lines._had) <= turns.MOST_KEPT


def test_only_so_many_jobs_of_a_key_run_at_once_and_each_gets_its_turn() -> None:
    lines: Lines[int] = Lines(most_at_once=2)
    for number in range(5):
        lines.put(number, "busy")
    assert lines.waiting("busy") == lines.all_waiting() == 5
    running = [lines.get()[1], lines.get()[1]]
    assert lines.empty()
    lines.put(99, None)
    running.append(lines.get()[1])
    for _ in range(3):
        lines.took("busy", 1.0)
        running.append(lines.get()[1])
    assert running == [0, 1, 99, 2, 3, 4]
    for whose in ("busy", "busy", None):
        lines.took(whose, 1.0)
    assert not lines._at_once and not lines._beside


def test_a_key_of_slow_jobs_rests_and_all_of_its_jobs_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever calls once a second would each time find a slow job running, which cannot be interrupted."""
    monkeypatch.setattr(turns, "LONGEST_REST", 0.3)
    lines: Lines[int] = Lines(slow_ones_rest=True)
    for number in range(6):
        lines.put(number, "slow")
    order = []
    while not lines.empty():
        whose, job = lines.get()
        order.append(job)
        lines.took(whose, 0.8)
    assert order == [0, 1, 2], "so much is everybody's right at once"
    lines.put(99, "other")
    assert lines.get() == ("other", 99)
    lines.took("other", 0.001)
    began = time.monotonic()
    assert lines.get() == ("slow", 3)
    assert time.monotonic() - began > 0.1
    for number in (3, 4):
        lines.took("slow", 0.8)
        assert lines.get() == ("slow", number + 1)
    lines.took("slow", 0.8)
    assert lines.all_waiting() == 0 and not lines._at_once


def test_a_rest_ends_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a timer's thread that ended it: on a machine without room for one the key rested for ever."""

    def no_room(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(turns, "LONGEST_REST", 0.1)
    lines: Lines[int] = Lines(slow_ones_rest=True)
    for number in range(4):
        lines.put(number, "slow")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_room)
        for _ in range(3):
            lines.get()
            lines.took("slow", 0.8)
        assert lines.empty()
        assert lines.get() == ("slow", 3)


def test_a_job_that_joins_others_is_quick() -> None:
    lines: Lines[int] = Lines(slow_ones_rest=True)
    assert lines.get_quick() is None
    lines.put(1, "key")
    assert lines.get_quick() == ("key", 1)
    lines.took("key", turns.SLOW)
    lines.put(2, "key")
    assert lines.get_quick() is None, "its last job was slow"
    assert lines.get() == ("key", 2)


def test_the_time_of_work_is_charged_even_if_it_fails() -> None:
    lines: Lines[str] = Lines()

    def works() -> str:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return "done"

    def fails() -> None:
        works()
        raise ValueError

    for key, work in (("one", works), ("other", fails)):
        lines.put(key, key)
        assert lines.get() == (key, key)
        if work is works:
            assert lines.run(work, key) == "done"
        else:
            with pytest.raises(ValueError):
                lines.run(work, key)
        assert lines._had[key] >= 0.02


def test_quick_jobs_never_rest() -> None:
    lines: Lines[int] = Lines(slow_ones_rest=True)
    for number in range(1000):
        lines.put(number, "quick")
        assert lines.get() == ("quick", number)
        lines.took("quick", turns.SLOW / 2)


def test_a_key_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    monkeypatch.setattr(transactions, "_jobs", Lines())

    def taken(whose: str) -> bool:
        return transactions.answer_together(lambda: None, lambda *_: None, whose=whose, most_waiting=8)

    assert [taken("busy") for _ in range(8)] == [True] * 4 + [False] * 4
    assert [taken("other") for _ in range(5)] == [True] * 4 + [False]


def test_more_requests_than_may_wait_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs, jobs = threading.Event(), Lines()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    monkeypatch.setattr(transactions, "_jobs", jobs)
    taken = [transactions.answer_together(lambda: None, lambda *_: None, most_waiting=2) for _ in range(2)]
    assert taken == [False, False], "without a committer there is nobody to take them"
    committer_runs.set()
    taken = [transactions.answer_together(lambda: None, lambda *_: None, most_waiting=2) for _ in range(3)]
    assert taken == [True, True, False]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_of_a_job_however_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that were not tried stayed counted for ever, and those that were run again were counted twice."""
    jobs: Lines[_Job[Any]] = Lines()
    monkeypatch.setattr(transactions, "_jobs", jobs)

    def fails() -> None:
        raise ValueError

    def answered(work: Any, *, arrived: float = float("inf")) -> _Job[Any]:
        job = _Job(work, "key")
        job.arrived = arrived
        jobs.put(job, "key")
        transactions._answer([jobs.get()[1]])
        assert not jobs._at_once and jobs.all_waiting() == 0
        return job

    assert answered(lambda: 1).result == 1
    assert isinstance(answered(fails).error, ValueError)
    assert answered(lambda: 1, arrived=float("-inf")).error, "it waited in vain for another process"


def test_work_in_the_committer_has_the_trace_of_its_own_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The committer answers whole requests too, and the thread would keep the trace of the last one."""

    def commit(jobs: list[_Job[Any]]) -> None:
        request_ids.trace.set("of another request")
        for job in jobs:
            job.run_alone()

    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    monkeypatch.setattr(transactions, "_commit", commit)
    monkeypatch.setattr(transactions, "_jobs", Lines[_Job[Any]]())
    threading.Thread(target=transactions._commit_forever, daemon=True).start()
    for trace in ("of the first", "", None):
        request_ids.trace.set(trace)
        assert transactions.together(request_ids.trace.get) == trace
