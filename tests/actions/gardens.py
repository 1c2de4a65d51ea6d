"""A store of which a part is due, for the tests of runs."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import AuditEntry, Memory, MemoryStore, RetentionPolicy, Run
from memoryhub.pure.protocol.commands import Create
from tests.actions.retention.stores import BEGIN, DAY, act, do, new_store

LATER = BEGIN + 100 * DAY


@pytest.fixture(autouse=True)
def no_plans() -> Iterator[None]:
    yield
    runs._plans.known.clear()


@pytest.fixture
def garden(db: None) -> MemoryStore:
    """20 memories of which the first 3, in /old, have not been touched for 100 days."""
    store = new_store()
    for number in range(3):
        do(store, Create(f"/old/{number}.md", "old\n" * (number + 1)), BEGIN + timedelta(hours=number))
    for number in range(17):
        do(store, Create(f"/new/{number}.md", "new\n"), LATER - timedelta(hours=17 - number))
    return store


def expire(store: MemoryStore | None, days: int = 30, pattern: str = "", **more: Any) -> RetentionPolicy:
    made = PolicySettings("Old ones", pattern, expire_unread_days=days, **more)
    return policies.save_policy(store.pk if store else None, made, act(LATER))


def started(store: MemoryStore, at: datetime = LATER) -> Run:
    return runs.start(store.pk, act(at), at)


def to_the_end(run: Run, at: datetime = LATER) -> Run:
    while runs.step(run.pk, at):
        pass
    run.refresh_from_db()
    return run


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.pk).newest()[0]


def told(entry: AuditEntry) -> dict[str, Any]:
    return dict(json.loads(entry.input or "{}"))


def live(store: MemoryStore) -> set[str]:
    return set(Memory.objects.live().filter(store=store, path__startswith="/old").values_list("path", flat=True))
