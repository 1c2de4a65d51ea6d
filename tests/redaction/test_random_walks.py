"""`verify_audit` is right after any walk over the acts of all doors: nothing that the hub does looks like tampering.

`MEMORYHUB_WALKS` says how many walks there are (3, on PostgreSQL 1, and 2,000 in the long form),
`MEMORYHUB_FIRST_WALK` the seed of the first.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from memoryhub.actions.core.audit import keys
from tests.redaction import walks, walks_further, walks_people
from tests.redaction.walks import Walk
from tests.support.long import LONG
from tests.support.tampering import undone

pytestmark = pytest.mark.django_db

WALKS = int(os.environ.get("MEMORYHUB_WALKS") or (2_000 if LONG else 3 if connection.vendor == "sqlite" else 1))
FIRST = int(os.environ.get("MEMORYHUB_FIRST_WALK", "1"))
STEPS = 35
MANY = 1_000
"""After so many walks every act has been done, and not only been refused."""
ACTS = walks.ACTS | walks_further.ACTS | walks_people.ACTS
REFUSED = (*walks.REFUSED, *walks_people.REFUSED)


def test_the_audit_is_right_after_any_walk_over_all_acts() -> None:
    acts, wrong = set[str](), list[int]()
    for seed in range(FIRST, FIRST + WALKS):
        with walked(seed) as walk:
            acts.update(walk.done)
            if walk.problems():
                wrong.append(seed)
    assert not {seed: first_problem(seed) for seed in wrong}
    assert WALKS < MANY or not sorted(set(ACTS) - acts), "these acts were never done, only refused"


@contextmanager
def walked(seed: int, *, steps: int = STEPS) -> Iterator[Walk]:
    """A walk that has been gone, until the end of the block; then nothing of it is left."""
    key = keys.current()
    try:
        with undone():
            walk = Walk(seed)
            walk.begin()
            for _ in range(steps):
                walk.step(ACTS, REFUSED)
            yield walk
    finally:
        keys.use(key)


def first_problem(seed: int) -> str:
    """What is wrong in a walk, looked for after each act, so that the last one named is the first that is wrong."""
    with walked(seed, steps=0) as walk:
        for _ in range(STEPS):
            walk.step(ACTS, REFUSED)
            if problems := walk.problems():
                return f"after {walk.done}: {problems[0]}"
    return "it was right when it was gone again"
