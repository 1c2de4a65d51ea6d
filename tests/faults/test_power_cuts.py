"""Power cuts under load, on SQLite: what the hub has acknowledged is on the disk, whatever the disk has lost.

A kill leaves what was written in the memory of the system; a power cut does not. So a hub is recorded while clients
write (`power.py` says how), and for many positions of the recording the disk is made as a power cut at that moment
could leave it. A hub is started on each, the calls that had no answer are sent again, and the checker compares.
"""

import random
import shutil
import sqlite3
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from io import StringIO
from itertools import chain
from pathlib import Path

import django.test
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from memoryhub.actions.backups import databases
from tests.api.server import put_migrated
from tests.faults import checker, power
from tests.faults.clients import Call, Client, Journal, Load
from tests.faults.hub import Hub

pytestmark = pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="the files of SQLite are what is recorded"
)
RECORDINGS, CUTS, CALLS = 5, 100, 1_000
Answer = tuple[int, str, bool]
PROGRAM = """
import os, sqlite3, sys
file, log, pragmas = sys.argv[1:]
database = sqlite3.connect(file, isolation_level=None)
database.executescript(pragmas + ";pragma wal_autocheckpoint=20")
for number in range(120):
    database.execute("insert into calls values (?, hex(randomblob(600)))", [number])
    print(os.stat(log).st_size)
"""
"""It commits as the hub does, and prints how far the recording was when each commit was done."""


class Moments(Journal):
    """A journal that knows how far the recording was when a call was sent, and when its answer was there."""

    def __init__(self, path: Path, log: Path) -> None:
        super().__init__(path)
        self.log = log
        self.sent: dict[str, int] = {}
        self.answered: list[tuple[int, str]] = []

    def note(self, what: str, call: Call, **more: object) -> None:
        with self.lock:
            if what == "sends":
                self.sent.setdefault(call.id, self.position())
            elif what == "answered" and more["status"] == 200:
                self.answered.append((self.position(), call.id))
        super().note(what, call, **more)

    def position(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def until(self, position: int) -> list[Call]:
        """The calls that had been sent by then, with the answers that were there."""
        acknowledged = {id for at, id in self.answered if at <= position}
        sent = [call for call in self.calls if self.sent[call.id] <= position]
        return [replace(call, answers=list(call.answers) if call.id in acknowledged else []) for call in sent]


def cuts(log: Path, answers: Sequence[int], number: int, chance: random.Random) -> list[int]:
    """Positions of power cuts in order: half of them anywhere, half just after an answer had come."""
    ends = [record.end for record in power.records(log)]
    after = [ends[place] for at in answers if (place := bisect_left(ends, at)) < len(ends)]
    chosen = chance.choices(after, k=number // 2) if after else []
    return sorted(chosen + chance.choices(ends, k=number - len(chosen)))


def states(
    start: power.Start, log: Path, cuts: Sequence[int], place: Path, chance: random.Random, *, syncs: bool = True
) -> Iterator[tuple[int, Path]]:
    """Each power cut with a directory as it left it."""
    disk, left = power.Disk(start, syncs=syncs), list(cuts)
    for record in power.records(log):
        disk.run(record)
        while left and left[0] <= record.end:
            shutil.rmtree(place, ignore_errors=True)
            disk.after_a_cut(place, chance)
            yield left.pop(0), place


class Recording:
    """A hub from its start to its end under load, of which everything that it wrote is known."""

    def __init__(self, place: Path, library: Path, start: Path | None, chance: random.Random, **more: str) -> None:
        self.place, self.chance = place, chance
        self.hub = Hub(place / "data")
        self.log = place / "log"
        if start is None:
            put_migrated(self.hub.directory)
        else:
            shutil.copytree(start, self.hub.directory)
        self.store, self.secret = self.hub.new_store()
        self.start = power.Start(self.hub.directory)
        self.hub.environment |= power.environment(library, self.hub.directory, self.log) | more
        self.journal = Moments(place / "journal", self.log)

    @contextmanager
    def load(self) -> Iterator[Load]:
        """Clients that write, until the block ends."""
        self.hub.start()
        try:
            with Load(self.hub, self.journal, into=(self.store, self.secret)) as load:
                yield load
        finally:
            self.hub.stop()

    def run(self, calls: int) -> None:
        """Let clients write until some calls have been answered."""
        with self.load() as load:
            load.wait_for(calls)

    def is_whole(self) -> bool:
        """Whether the records alone make the directory as it is."""
        disk = power.Disk(self.start)
        for record in power.records(self.log):
            disk.run(record)
        disk.with_everything(self.place / "again")
        return contents(self.place / "again") == contents(self.hub.directory)

    def states(self, number: int = CUTS, *, syncs: bool = True) -> Iterator[tuple[int, Path]]:
        """Each power cut with a directory as it left it."""
        chosen = cuts(self.log, [at for at, _ in self.journal.answered], number, self.chance)
        return states(self.start, self.log, chosen, self.place / "cut", self.chance, syncs=syncs)

    def problems(self, position: int, directory: Path, *, starts: bool = True) -> list[str]:
        """Start a hub on what a power cut has left, send again what had no answer, verify the audit and compare. A hub
        that is not started is the process of the test: it answers the same, and costs a tenth."""
        hub, calls = Hub(directory), self.journal.until(position)
        if starts:
            hub.start()
            found = self.send_again(calls, Client(hub, self.store, self.secret, self.journal, "again").send)
            verified = hub.command("verify_audit", check=False)
            hub.kill()
            found += [verified.stderr] if verified.returncode else []
        else:
            with being(directory):
                found = self.send_again(calls, self.answer)
                try:
                    call_command("verify_audit", stdout=StringIO())
                except CommandError as error:
                    found.append(f"{error}")
        return found + self.problems_of_files(hub, calls)

    def send_again(self, calls: list[Call], send: Callable[[Call], Answer]) -> list[str]:
        """Calls without an answer get one, and a few of the last with an answer get the same."""
        done = [call for call in calls if call.acknowledged and call.input["command"] != "view"]
        sent = [call for call in calls if not call.acknowledged] + done[-5:]
        for call in sent:
            call.answers.append(send(call))
        return [f"{call.id} was sent again: {call.answers[-1]}" for call in sent if call.answers[-1][0] != 200]

    def answer(self, call: Call) -> Answer:
        """The answer of this process."""
        answer = django.test.Client(headers={"Authorization": f"Bearer {self.secret}"}).post(
            f"/v1/memory_stores/{self.store}/tool_calls",
            {"type": "tool_use", "id": call.id, "name": "memory", "input": call.input},
            content_type="application/json",
        )
        value = answer.json()
        return answer.status_code, value.get("content", f"{value}"), value.get("is_error", True)

    def problems_of_files(self, hub: Hub, calls: list[Call]) -> list[str]:
        """Without a hub: is the database whole, and as the calls say?"""
        try:
            with closing(sqlite3.connect(hub.file)) as database:
                state = database.execute("pragma integrity_check").fetchone()[0]
        except sqlite3.DatabaseError as error:
            state = f"{error}"
        return checker.problems(hub, self.store, calls) if state == "ok" else [state]


@contextmanager
def being(directory: Path) -> Iterator[None]:
    """Let this process be a hub on a data directory."""
    secrets = {name: (directory / name).read_text().strip() for name in ("audit_key", "secret_key")}
    own = {
        "DATA_DIR": directory,
        "MEMORYHUB_CHECKPOINT_FILE": directory / settings.MEMORYHUB_CHECKPOINT_FILE.name,
        "MEMORYHUB_AUDIT_KEY": secrets["audit_key"].encode(),
        "SECRET_KEY": secrets["secret_key"],
    }
    with override_settings(**own), databases.on_file(directory / "memoryhub.sqlite3"):
        yield


def contents(directory: Path) -> dict[str, bytes]:
    return {name: content for name, (_, content) in power.Start(directory).files.items() if not name.endswith("-shm")}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return power.compiled(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(scope="module")
def recording(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    made = Recording(tmp_path_factory.mktemp("recording"), library, None, random.Random(16))
    made.run(CALLS)
    return made


def is_lost(problem: str) -> bool:
    return problem.endswith(("was acknowledged and is not there", "stands 0 times")) or " and should be " in problem


def test_what_is_committed_with_the_hubs_pragmas_survives_power_cuts_and_without_syncs_it_does_not(
    library: Path, tmp_path: Path
) -> None:
    (place := tmp_path / "data").mkdir()
    file, log, chance = place / "calls.sqlite3", tmp_path / "log", random.Random(16)
    with closing(sqlite3.connect(file)) as database:
        database.execute("create table calls (number integer primary key, text)")
    start = power.Start(place)
    pragmas = settings.SQLITE_OPTIONS["init_command"]
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, file, log, pragmas],
        env=power.environment(library, place, log), check=True, capture_output=True,
    )  # fmt: skip
    answers = [int(line) for line in done.stdout.split()]
    lost = {True: 0, False: 0}
    for syncs in lost:
        for position, directory in states(
            start, log, cuts(log, answers, 60, chance), tmp_path / "cut", chance, syncs=syncs
        ):
            acknowledged = sum(at <= position for at in answers)
            lost[syncs] += numbers(directory / file.name) < acknowledged
    assert lost[True] == 0 and lost[False] > 20


def numbers(file: Path) -> int:
    """How many rows are there, which must be the first ones; none if the file is damaged."""
    try:
        with closing(sqlite3.connect(file)) as database:
            found = [number for (number,) in database.execute("select number from calls")]
            assert found == list(range(len(found)))
            return len(found) if database.execute("pragma integrity_check").fetchone() == ("ok",) else -1
    except sqlite3.DatabaseError:
        return -1


@pytest.mark.long
def test_the_recording_has_every_change_and_with_syncs_that_do_nothing_calls_are_lost(recording: Recording) -> None:
    """Which shows that the checker would see it."""
    assert recording.is_whole()
    seen = [
        recording.problems_of_files(Hub(directory), recording.journal.until(position))
        for position, directory in recording.states(10, syncs=False)
    ]
    assert any(map(is_lost, chain.from_iterable(seen)))


@pytest.mark.long
@pytest.mark.django_db
def test_after_a_power_cut_every_acknowledged_call_is_there_once(
    recording: Recording, library: Path, tmp_path: Path
) -> None:
    """500 power cuts; after each tenth a hub is really started. Each recording but the first begins with what a power
    cut has left of the one before it."""
    for number in range(RECORDINGS):
        for count, (position, directory) in enumerate(recording.states()):
            found = recording.problems(position, directory, starts=count % 10 == 0)
            assert found == [], f"recording {number}, cut {count} at {position}: {found}"
        if number + 1 < RECORDINGS:
            (place := tmp_path / str(number)).mkdir()
            recording = Recording(place, library, recording.place / "cut", recording.chance)
            recording.run(CALLS)


@pytest.mark.long
def test_with_synchronous_normal_a_power_cut_loses_the_last_calls_and_damages_nothing(
    library: Path, tmp_path: Path
) -> None:
    """As the README says of it."""
    recording = Recording(tmp_path, library, None, random.Random(17), MEMORYHUB_SQLITE_SYNCHRONOUS="NORMAL")
    recording.run(CALLS)
    seen = []
    for position, directory in recording.states():
        found = recording.problems_of_files(Hub(directory), recording.journal.until(position))
        assert all(map(is_lost, found)), found
        seen += found
    assert seen


@pytest.mark.long
def test_after_a_power_cut_in_its_first_start_a_hub_starts_again(library: Path, tmp_path: Path) -> None:
    """While it makes its secrets and its tables."""
    hub, log, chance = Hub(tmp_path / "data"), tmp_path / "log", random.Random(19)
    hub.directory.mkdir(mode=0o700)
    start = power.Start(hub.directory)
    hub.environment |= power.environment(library, hub.directory, log)
    hub.start()
    hub.stop()
    for position, directory in states(start, log, cuts(log, [], 20, chance), tmp_path / "cut", chance):
        again = Hub(directory)
        again.start()
        verified = again.command("verify_audit", check=False)
        again.stop()
        assert verified.returncode == 0, f"{position}: {verified.stderr}"
