"""What the tests of the pages of retention share: policies, memories whose time is over, and runs until they end."""

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.retention.runs import clock
from memoryhub.models import Memory, MemoryStore, RetentionPolicy, Run
from tests.support.fixtures import AT
from tests.web.memories.pages import act, write

HOSTILE_NAME = "<b onmouseover=alert(1)>“x”</b> {{ 7|add:7 }} \u202egnp"


def policy(store: MemoryStore | None, name: str = "Unread", pattern: str = "", **rules: Any) -> RetentionPolicy:
    return policies.save_policy(store.pk if store else None, PolicySettings(name, pattern, **rules), act())


def some(store: MemoryStore, count: int, directory: str = "/old") -> list[Memory]:
    """Memories that nobody has read since they were written, which is more than a year ago."""
    return [write(store, f"{directory}/{number}.md") for number in range(count)]


def in_days(days: int) -> int:
    """The days of a rule by which `some` are due in so many days."""
    return (timezone.now() - AT).days + days


def ran(store: MemoryStore, *, until: int = 100) -> Run:
    """A run that has begun now, with a clock that can be trusted, after so many steps (or its end)."""
    run = begun(store)
    if run.state == "waiting":
        runs.allow(run.pk, act()._replace(at=timezone.now()))
    for _ in range(until):
        if not runs.step(run.pk, timezone.now()):
            break
    run.refresh_from_db()
    return run


def begun(store: MemoryStore, at: datetime | None = None) -> Run:
    now = at or timezone.now()
    clock.accept(now)
    return runs.start(store.pk, act()._replace(at=now), now)


def url(name: str, *args: object) -> str:
    return reverse(name, args=list(args))
