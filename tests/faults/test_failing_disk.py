"""A disk that fails under load, on SQLite: nothing is acknowledged that is not done, and the hub goes on by itself.

`recorder.c` lets calls of the system fail in all processes of the hub, as on a file system that has become read-only
after an error, or on a disk that cannot keep what it has taken.
"""

import random
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.faults import power
from tests.faults.clients import Load
from tests.faults.hub import Hub
from tests.faults.test_power_cuts import Recording
from tests.support.patience import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="it is about SQLite's files"),
]


@pytest.mark.parametrize("what", ["writes", "syncs"])
def test_while_the_disk_fails_nothing_is_acknowledged_and_afterwards_the_hub_goes_on(what: str, tmp_path: Path) -> None:
    (failures := tmp_path / "failures").mkdir()
    recording = Recording(tmp_path, power.compiled(tmp_path), None, random.Random(18), RECORDED_FAILS=str(failures))
    with recording.load() as load:
        for _ in range(5):
            load.wait_for(100)
            (failures / what).touch()
            wait_until(lambda: is_refused(load), 300)
            acknowledged = load.answered()
            time.sleep(10)
            assert load.answered() == acknowledged
            (failures / what).unlink()
            load.wait_for(100)
    calls = recording.journal.until(recording.journal.position())
    assert recording.problems_of_files(recording.hub, calls) == []
    for position, directory in recording.states():
        calls = recording.journal.until(position)
        assert recording.problems_of_files(Hub(directory), calls) == []


def is_refused(load: Load) -> bool:
    """Whether the last answer of each client is an error of the server."""
    last = {call.id.split("_")[1]: call for call in list(load.journal.calls)}
    return all(call.answers and call.answers[-1][0] in (500, 503) for name, call in last.items() if name != "first")
