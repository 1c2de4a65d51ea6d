"""Runs remove exactly what the rehearsal lists, whatever the store, the policies and the clock."""

import random
from datetime import timedelta

import pytest
from django.db import connection, transaction

from memoryhub.actions.retention import rehearsal, runs
from memoryhub.actions.verification.verify import verify
from memoryhub.models import RunState
from tests.actions.retention.stores import (
    BEGIN,
    YEAR,
    Shot,
    act,
    check_shots,
    done_by,
    finished,
    grown_store,
    listed,
    plainly_due,
    random_rules,
)  # fmt: skip
from tests.support.long import LONG, tried

pytestmark = pytest.mark.django_db
STORES, ROUNDS = (tried(20), 50 if LONG else 8) if connection.vendor == "sqlite" else (tried(10), 25 if LONG else 8)
"""A thousand rounds in the long form, fewer on the slower database: each has policies and a clock of its own."""


@pytest.mark.parametrize("seed", range(STORES))
def test_a_run_removes_what_the_rehearsal_lists_and_a_second_one_nothing(seed: int) -> None:
    dice = random.Random(seed)
    store = grown_store(dice)
    did: set[str] = set()
    for number in range(ROUNDS):
        with transaction.atomic():
            at = BEGIN + YEAR + dice.choice([
                timedelta(hours=dice.randint(0, 24 * 90)), timedelta(hours=dice.randint(0, 24 * 90)),
                -YEAR, 10 * YEAR, timedelta(hours=-dice.randint(0, 24 * 300)),
            ])  # fmt: skip
            random_rules(dice, store, at)
            items = list(rehearsal.rehearse(store.pk, at))
            before = Shot.of(store, at)
            expected = plainly_due(store, at) - before.held
            assert {item.memory for item in items if item.removal == "expire"} == expected
            if items:
                run = finished(store.pk, at)
                assert (run.state, run.skipped, run.expected) == (RunState.DONE, 0, len(items))
                assert done_by(run) == listed(items)
                assert [run.expired, run.purged, run.versions, run.entries, run.bytes] == list(rehearsal.totals(items))
                did |= {item.removal for item in items}
            check_shots(before, Shot.of(store, at), items)
            with pytest.raises(runs.NothingDue):
                runs.start(store.pk, act(at), at)
            if number % 20 == 0:
                assert verify(store.pk)[1] is None
            transaction.set_rollback(True)
        runs._plans.known.clear()
    assert len(did) >= 2, did
