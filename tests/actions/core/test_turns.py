"""Keys take turns at the thread that commits, and leave places to others."""

import threading
from typing import Any

import pytest

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import _Job
from memoryhub.actions.core.turns import Lines


def test_keys_take_turns_however_many_calls_one_of_them_has_waiting() -> None:
    lines: Lines[_Job[Any]] = Lines()
    names = {}
    for name, whose in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c"), ("b2", "b")]:
        job = _Job(lambda: None)
        names[job] = name
        lines.put(job, whose)
    assert [names[lines.get()] for _ in range(lines.qsize())] == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_key_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    monkeypatch.setattr(transactions, "_jobs", Lines())

    def taken(whose: str) -> bool:
        return transactions.answer_together(lambda: None, lambda *_: None, whose=whose, most_waiting=8)

    assert [taken("busy") for _ in range(8)] == [True] * 6 + [False] * 2
    assert [taken("other") for _ in range(3)] == [True, True, False]
