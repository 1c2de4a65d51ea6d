"""The hub under faults, from outside: it is killed, cut off, locked out and filled up while eight clients write.

In each case the clients note what they send and what they are answered, and send again what got no answer; afterwards
a checker that knows only the tables compares: no call is lost, doubled or falsely acknowledged, and `verify_audit` is
right. MEMORYHUB_LONG=1 runs the long form (an hour or more).
"""

import random
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from django.conf import settings

from memoryhub.serving.processes import STARTED_AFTER
from tests.faults import checker, histories, postgres
from tests.faults.clients import Load
from tests.faults.hub import Hub
from tests.support.long import LONG
from tests.support.patience import wait_until

SQLITE = "sqlite" in settings.DATABASES["default"]["ENGINE"]
on_sqlite = pytest.mark.skipif(not SQLITE, reason="SQLite's file is what fails here")
chance = random.Random(11)


def times(short: int, long: int) -> int:
    return long if LONG else short


@pytest.fixture
def cluster() -> Iterator[postgres.Cluster]:
    """A PostgreSQL server of one test's own, which may be killed."""
    with postgres.running() as running:
        yield running


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One for all tests that need nothing else: each has a memory store of its own there."""
    with nullcontext() if SQLITE else postgres.running() as server:
        url = server.url if server else ""
        with running(Hub(tmp_path_factory.mktemp("hub") / "data", url)) as started:
            yield started


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


def assert_right(hub: Hub, load: Load) -> None:
    """Nothing lost, doubled or falsely acknowledged; and the audit verifies."""
    assert checker.problems(hub, load.store, load.journal.calls) == []
    done = hub.command("verify_audit", check=False)
    assert done.returncode == 0, done.stderr
    assert load.answered() > 0


def test_killed_while_clients_write_the_hub_loses_doubles_and_falsely_acknowledges_nothing(
    hub: Hub, tmp_path: Path
) -> None:
    with Load(hub, tmp_path / "journal") as load:
        for _ in range(times(1, 300)):
            load.wait_for(chance.randrange(5, 60))
            hub.kill()
            hub.start()
        load.wait_for(20)
    assert_right(hub, load)


def test_some_order_of_the_calls_explains_every_answer_of_clients_at_once(hub: Hub) -> None:
    """2,000 histories in the long form, so many in each store that no key makes too many calls in a minute."""
    for first in range(0, times(20, 2_000), 50):
        store, secret = hub.new_store()
        done = [histories.history(hub.port, store, secret, first + more) for more in range(times(20, 50))]
        entries = checker.rows(hub, "select token, seq from memoryhub_auditentry where chain = ?", store)
        seqs = {token: seq for token, seq in entries if token is not None}
        assert [problem for each in done for problem in histories.problems(each, seqs)] == []
        backwards = {token: -seq for token, seq in seqs.items()}
        assert all(histories.problems(each, backwards) for each in done), "it sees what is in a wrong order"


def test_workers_that_are_killed_while_clients_write_are_started_again_and_nothing_is_lost_or_doubled(
    hub: Hub, tmp_path: Path
) -> None:
    time.sleep(STARTED_AFTER)  # before that a hub whose worker dies twice ends
    with Load(hub, tmp_path / "journal") as load:
        for _ in range(times(2, 30)):
            load.wait_for(chance.randrange(5, 60))
            hub.kill_workers()
        load.wait_for(20)
    assert hub.process is not None and hub.process.poll() is None
    assert_right(hub, load)


def test_connections_that_end_in_the_middle_of_a_call_harm_no_other(hub: Hub, tmp_path: Path) -> None:
    with Load(hub, tmp_path / "journal") as load:
        for number in range(times(15, 60)):
            end_a_connection(hub, load, number)
            load.wait_for(2)
    assert_right(hub, load)


def end_a_connection(hub: Hub, load: Load, number: int) -> None:
    """In the middle of the head, of the body, or with an answer on its way that nobody reads."""
    body = b'{"type":"tool_use","id":"never","name":"memory","input":{"command":"view","path":"/memories"}'
    head = (
        f"POST {load.clients[0].url} HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
        f"Authorization: {load.clients[0].headers['Authorization']}\r\nContent-Length: {len(body) + 1}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", hub.port), timeout=10) as connection:
        whole = head + body  # one byte short
        connection.sendall((whole[: len(head) // 2], whole, whole)[number % 3])
        if number % 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end


@on_sqlite
def test_while_another_process_holds_the_database_calls_wait_or_are_refused_and_none_is_lost(
    hub: Hub, tmp_path: Path
) -> None:
    with Load(hub, tmp_path / "journal") as load:
        for _ in range(times(1, 5)):
            load.wait_for(20)
            with sqlite3.connect(hub.file, isolation_level=None, timeout=30) as other:
                other.execute("begin exclusive")
                time.sleep(times(1, 30))
                other.execute("rollback")
            other.close()
        load.wait_for(20)
    assert_right(hub, load)


@on_sqlite
@pytest.mark.parametrize("how", [pytest.param("moved away and back", marks=pytest.mark.long), "without its log"])
def test_what_is_acknowledged_is_there_after_a_kill_whatever_happens_to_the_names_of_sqlites_files(
    how: str, tmp_path: Path
) -> None:
    """In place of the file a new connection makes an empty one, beside which SQLite removes the log that is in use."""
    with running(Hub(tmp_path / "data")) as hub:
        with Load(hub, tmp_path / "journal") as load:
            load.wait_for(20)
            if how == "without its log":
                hub.file.with_name(f"{hub.file.name}-wal").unlink()
            else:
                hub.file.rename(tmp_path / "away")
                time.sleep(2)
                (tmp_path / "away").rename(hub.file)
            time.sleep(2)
            hub.kill()
            hub.start()
            load.wait_for(20)
        assert_right(hub, load)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 192 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=192m,mode=700", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.push
@on_sqlite
def test_on_a_full_disk_reading_and_deleting_go_on_and_what_is_refused_is_not_done(
    small_disk: Path, tmp_path: Path
) -> None:
    hub = Hub(small_disk / "data")
    hub.log = tmp_path / "log"
    with running(hub):
        with Load(hub, tmp_path / "journal", clients=4) as load:
            for _ in range(times(1, 3)):
                fill(small_disk, load)
                assert_reading_and_deleting_go_on(hub, load)
                (small_disk / "filling").unlink()
                load.wait_for(20, seconds=60)
        assert_right(hub, load)
        lines = hub.log.read_text().splitlines()
        assert "Traceback (most recent call last):" not in lines
        assert len(lines) < 40 * times(1, 3), lines


def fill(disk: Path, load: Load) -> None:
    """Takes what room there is, once, and waits until a call is refused for it.

    What the hub frees then, to go on with reading and deleting, stays its own.
    """
    load.wait_for(20)
    before = len(load.journal.calls)
    end = time.monotonic() + 60
    piece = 65_536
    with (disk / "filling").open("ab", buffering=0) as stream:
        while piece and not is_refused(load, before):
            try:
                stream.write(bytes(piece))
            except OSError:
                piece //= 2
    while not is_refused(load, before):
        assert time.monotonic() < end, "the disk is full and nothing is refused"
        time.sleep(0.1)


def is_refused(load: Load, since: int) -> bool:
    answers = (answer for call in load.journal.calls[max(0, since - 8) :] for answer in call.answers)
    return any(status == 503 and "disk is full" in text for status, text, _ in answers)


def assert_reading_and_deleting_go_on(hub: Hub, load: Load) -> None:
    """Of what there is, while creating is refused."""
    one = load.clients[0]
    own = type(one)(hub, load.store, one.headers["Authorization"].split()[1], load.journal, f"d{time.monotonic_ns()}")
    live = checker.rows(
        hub, "select path from memoryhub_memory where store_id = ? and deleted_at is null and path like '/c%'"
        " order by path limit 1", load.store,
    )  # fmt: skip
    gone = threading.Event()
    gone.set()
    for command in ("view", "view", "view"):
        own.count += 1
        assert own.call(gone, command=command, path="/memories/shared.md").acknowledged
    own.count += 1
    assert live
    refused = own.call(gone, command="create", path="/memories/full.md", file_text="x")
    assert not refused.acknowledged and refused.answers[-1][0] == 503


@pytest.mark.skipif(not LONG and SQLITE, reason="PostgreSQL's own run has the short form")
@pytest.mark.long
def test_when_postgresql_is_killed_while_clients_write_nothing_is_lost_doubled_or_falsely_acknowledged(
    tmp_path: Path, cluster: postgres.Cluster
) -> None:
    hub = Hub(tmp_path / "data", cluster.url)
    with running(hub):
        with Load(hub, tmp_path / "journal") as load:
            for _ in range(times(1, 100)):
                load.wait_for(chance.randrange(5, 60))
                cluster.kill()
                time.sleep(chance.random())
                cluster.start()
            load.wait_for(20)
        assert_right(hub, load)


FAKETIME = next((str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


@pytest.mark.push
@pytest.mark.skipif(not LONG, reason="a part of the long form: it waits for the background work")
@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed")
def test_a_clock_that_jumps_loses_doubles_and_forgets_nothing_and_checkpoints_go_on(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = "" if SQLITE else request.getfixturevalue("cluster").url
    clock = tmp_path / "clock"
    clock.write_text("+0d")
    faked = {"LD_PRELOAD": FAKETIME or "", "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    hub = Hub(tmp_path / "data", url, **faked, FAKETIME_NO_CACHE="1", DONT_FAKE_MONOTONIC="1")
    with running(hub):
        with Load(hub, tmp_path / "journal") as load:
            for jump in ("+14d", "+0d", "-3d", "+0d", "+400d", "+0d"):
                move(clock, jump)
                load.wait_for(100)
                written = newest_checkpoint(hub)
                wait_until(lambda written=written: newest_checkpoint(hub) > written)  # type: ignore[misc]
                again(load)
        assert_right(hub, load)


def move(clock: Path, jump: str) -> None:
    fresh = clock.with_suffix(".new")
    fresh.write_text(jump)
    fresh.rename(clock)


def newest_checkpoint(hub: Hub) -> int:
    return sum(path.read_bytes().count(b"\n") for path in hub.directory.glob("checkpoints*"))


def again(load: Load) -> None:
    """Sends some of the oldest calls again: each gets the same answer, and the checker sees that none ran twice."""
    for call in [call for call in load.journal.calls if call.acknowledged][:20]:
        if call.input["command"] != "view":
            client = load.clients[0]
            own = type(client)(load.hub, load.store, client.headers["Authorization"].split()[1], load.journal, "again")
            call.answers.append(own.send(call))
            own.close()
