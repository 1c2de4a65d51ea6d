"""Work in the background gives way to whoever else writes, and is not slowed down when no one does."""

import threading
import time

import pytest
from django.utils import timezone

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import writes
from memoryhub.background.runner import Runner, Task
from memoryhub.models import Import
from tests.transfer import trips
from tests.transfer.hostile import archive

HELD = 0.15


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test has written just before."""
    monkeypatch.setattr(pace._Last, "asked", float("-inf"))
    monkeypatch.setattr(pace._Last, "rest_until", float("-inf"))


def write(seconds: float = 0.0) -> None:
    with transactions.writing():
        time.sleep(seconds)


def by_another() -> None:
    """Another thread of this process asks for the lock."""
    asking = threading.Thread(target=pace.arrive)
    asking.start()
    asking.join()


def took(again: bool = True) -> float:
    began = time.monotonic()
    write()
    return time.monotonic() - began


@pytest.mark.django_db
def test_work_that_gives_way_rests_as_long_as_it_wrote_but_only_while_others_write() -> None:
    with pace.giving_way():
        write(HELD)
        assert took() < HELD / 2, "no one else writes"
        write(HELD)
        by_another()
        assert took() >= HELD * 0.8
    write(HELD)
    assert took() < HELD / 2, "what does not give way never rests"


@pytest.mark.django_db
def test_a_command_rests_always_because_it_does_not_see_who_writes() -> None:
    with pace.giving_way(to_other_processes=True):
        write(HELD)
        assert took() >= HELD * 0.8


def test_a_transaction_takes_up_less_if_its_work_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(pace.time, "monotonic", lambda: next(now) / 100)
    with pace.giving_way():
        monkeypatch.setattr(pace, "others_write", lambda: True)
        assert len([*pace.some(range(9), 0.015)]) == 2
        assert len([*pace.some(range(9))]) == 3


@pytest.mark.django_db
def test_everything_in_the_background_gives_way() -> None:
    seen: list[str] = []
    task = Task("imports", lambda now: seen.append(pace._way()))
    Runner([task], timezone.now, time.monotonic).run_due()
    assert seen == ["asked"] and pace._way() == ""


@pytest.mark.django_db
def test_a_step_of_an_import_takes_up_less_while_others_write(monkeypatch: pytest.MonkeyPatch) -> None:
    job = trips.prepared(trips.new_store("Target"), archive(*[(f"{number}.md", b"text") for number in range(90)]))
    importing.start(job.pk, trips.act(45))
    monkeypatch.setattr(importing, "_size", pace.Size(importing.MOST_ITEMS))
    monkeypatch.setattr(pace, "LONG", 30.0)
    bring = writes.bring

    def slowly(*what: object) -> None:
        time.sleep(pace.SHORT / 2)
        bring(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(writes, "bring", slowly)

    def step() -> int:
        before = Import.objects.get(pk=job.pk).done_count
        importing.step(job.pk, trips.act(46).at)
        return Import.objects.get(pk=job.pk).done_count - before

    with pace.giving_way():
        monkeypatch.setattr(pace, "others_write", lambda: True)
        assert 1 <= step() <= 3 and importing._size.next == 10, "nor are many texts read and screened the next time"
        assert 1 <= step() <= 3
        monkeypatch.setattr(pace, "others_write", lambda: False)
        assert [step() for _ in range(3)] == [10, 20, 40]
