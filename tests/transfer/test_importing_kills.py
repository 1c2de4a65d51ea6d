"""Killed at any statement, an import leaves every memory whole or not there, and goes on where it was."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from memoryhub.actions.core import sql
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import writes
from memoryhub.models import AuditEntry, Import, Memory, MemoryVersion
from tests.support.fixtures import new_person
from tests.transfer import trips
from tests.transfer.hostile import archive

KILLS = 25


class Killed(BaseException):
    """As if the process were no more: nothing that catches errors catches it."""


class Axe:
    """Lets so many statements of the import pass, then falls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        saved = writes.Memory.save

        def counted(run: Callable[..., None]) -> Callable[..., None]:
            def counting(*values: Any, **options: Any) -> None:
                self.count()
                run(*values, **options)

            return counting

        def saving(memory: Memory, *args: Any, **kwargs: Any) -> None:
            self.count()
            saved(memory, *args, **kwargs)

        for name in ("run", "run_later", "add"):
            monkeypatch.setattr(sql, name, counted(getattr(sql, name)))
        monkeypatch.setattr(Memory, "save", saving)

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


def whole(job: Import) -> None:
    """Every memory that is there has its versions, texts and entry; and none is there twice."""
    told = AuditEntry.objects.of_chain(job.store_id).filter(command="import", ok=True)
    memories = {memory.pk: memory for memory in Memory.objects.filter(store_id=job.store_id)}
    assert sorted(filter(None, told.values_list("memory", flat=True))) == sorted(memories)
    for memory in memories.values():
        assert MemoryVersion.objects.filter(memory=memory).count() == memory.version_count - memory.removed_versions


@pytest.mark.django_db(transaction=True)
def test_an_import_is_killed_at_random_places_and_goes_on(
    own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    source = trips.lived_in(new_person("Alice"))
    histories = trips.exported(source, "jsonl")
    target, chance = trips.new_store("Target"), random.Random(7)
    monkeypatch.setattr(importing, "MOST_ITEMS", 4)
    plain = archive(*[(f"d{number % 3}/{number}.md", b"text %d" % number) for number in range(30)])
    jobs = [trips.prepared(target, histories), trips.prepared(target, plain)]
    axe, kills = Axe(monkeypatch), 0
    for job in jobs:
        axe.left = -1
        importing.start(job.pk, trips.act(45))
        more = True
        while more:
            axe.left = chance.randint(1, 45) if kills < KILLS else -1
            try:
                more = importing.step(job.pk, trips.act(46).at)
            except Killed:
                kills += 1
                assert not transaction.get_connection().in_atomic_block
                whole(job)
        job.refresh_from_db()
        assert job.state == "done" and set(trips.outcomes(job).values()) == {"taken"}
    axe.left = -1
    assert kills >= 10
    assert Memory.objects.filter(store=target).count() == 34
    trips.require_verified(target, own_checkpoints)


@pytest.mark.django_db(transaction=True)
def test_cancelled_in_the_middle_what_came_stays_and_the_rest_does_not_come(own_checkpoints: Path) -> None:
    target = trips.new_store("Target")
    job = trips.prepared(target, archive(*[(f"{number}.md", b"text") for number in range(80)]))
    importing.start(job.pk, trips.act(45))
    assert importing.step(job.pk, trips.act(46).at)
    done = Import.objects.get(pk=job.pk).done_count
    importing.cancel(job.pk, trips.act(47))
    assert not importing.step(job.pk, trips.act(48).at)
    assert 0 < done <= importing.MOST_ITEMS and Memory.objects.filter(store=target).count() == done
    whole(job)
    trips.require_verified(target, own_checkpoints)
