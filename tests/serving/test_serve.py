"""What `serve` does when it is saturated, stopped, killed or started twice."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from memoryhub.serving.processes import STARTED_AFTER
from tests.api.malformed import BLOCK
from tests.api.server import ROOT, Server, served
from tests.serving.clients import Desk, write_lock
from tests.support import starts
from tests.support.patience import wait_until


def get(server: Server, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{server.port}{path}", timeout=30)


def first_refused(clients: ThreadPoolExecutor, count: int, ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Asks many times at once; gives the first answer that says that the hub is busy."""
    for done in as_completed([clients.submit(ask) for _ in range(count)], timeout=60):
        if done.exception() is None and done.result().status_code == 503:
            return done.result()
    raise AssertionError("no request was refused")


@pytest.mark.push
@pytest.mark.both_databases
def test_a_hub_with_no_thread_left_says_so_at_once_and_is_alive(tmp_path: Path) -> None:
    with served(tmp_path, "--threads", "1") as server, ThreadPoolExecutor(320) as clients:
        desks = [Desk(server, *server.new_store()) for _ in range(2)]  # one key alone leaves half of the places
        for desk in desks:
            desk.agent().call("first", command="view", path="/memories")

        def call(desk: Desk, n: int) -> httpx.Response:
            return httpx.post(
                f"http://127.0.0.1:{server.port}{desk.tool_calls}", json={**BLOCK, "id": f"many-{n}"}, timeout=60,
                headers={"Authorization": f"Bearer {desk.secret}"},
            )  # fmt: skip

        with write_lock(server):
            workers = (os.cpu_count() or 1) if server.environment["DATABASE_URL"] else 1
            of_keys = [[clients.submit(call, desk, n) for n in range(40 * workers)] for desk in desks]
            deadline = time.monotonic() + 30
            while not all(any(one.done() for one in of_key) for of_key in of_keys) and time.monotonic() < deadline:
                time.sleep(0.05)
            waiting = [one for of_key in of_keys for one in of_key]
            refused = [one for one in waiting if one.done()]
            assert {one.result().status_code for one in refused} == {503}
            assert refused[0].result().headers["retry-after"] == "1"
            assert refused[0].result().json()["error"]["type"] == "overloaded_error"
            # Another worker may have had a place left: whoever gets it waits, and leaves none to the others.
            refused_page = first_refused(clients, 20 * workers, lambda: get(server, "/sign-in"))
            assert refused_page.headers["retry-after"] == "1"
            assert refused_page.headers["content-type"].startswith("text/plain")
            message = first_refused(
                clients, 20 * workers, lambda: httpx.post(f"http://127.0.0.1:{server.port}/mcp", json={}, timeout=60)
            )
            assert message.json()["jsonrpc"] == "2.0"
            for answer in (refused[0].result(), refused_page, message):
                assert answer.headers["cache-control"] == "no-store"
                assert answer.headers["x-content-type-options"] == "nosniff"
            assert get(server, "/livez").status_code == 200
            # What was committed less than a second ago still shows that the hub is ready.
            wait_until(lambda: get(server, "/readyz").status_code == 503, 10)
            assert get(server, "/healthz").status_code == 503
        answered = [one.result().status_code for one in waiting]
        assert set(answered) == {200, 503}
        deadline = time.monotonic() + 30
        while get(server, "/readyz").status_code != 200:  # the pages that were asked for meanwhile have their turn
            assert time.monotonic() < deadline


def test_probes_need_no_host_that_is_allowed_and_take_no_other_method(server: Server) -> None:
    address = f"http://127.0.0.1:{server.port}"
    for path in ("/livez", "/readyz", "/healthz"):
        assert httpx.get(address + path, headers={"Host": "10.1.2.3"}, timeout=30).json() == {"status": "ok"}
        assert httpx.head(address + path, timeout=30).status_code == 200
        assert httpx.post(address + path, timeout=30).status_code == 405


def test_downloads_that_a_killed_hub_has_left_on_the_disk_are_gone_though_another_process_has_its_number(
    tmp_path: Path,
) -> None:
    left = tmp_path / "answers" / f"{os.getpid()}-left.answer"
    left.parent.mkdir()
    left.write_text("what has been redacted since")
    with served(tmp_path):
        assert not left.exists()


@pytest.mark.push
def test_an_upload_that_hangs_does_not_keep_the_hub_from_stopping(tmp_path: Path) -> None:
    with served(tmp_path) as server, ExitStack() as stack:
        desk = Desk(server, *server.new_store())
        assert desk.agent().call("before", command="view", path="/memories")[0] == "ok"
        desk.hang(stack, *[desk.head(desk.tool_calls, "Content-Length: 100000") + b"{"] * 5, b"POST /v1/x HT")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(28) == 0


def test_a_second_hub_on_the_same_port_is_refused(server: Server, tmp_path: Path) -> None:
    own = {"MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_STATIC_ROOT": str(tmp_path / "static"), "DATABASE_URL": ""}
    second = starts.run(
        [sys.executable, "manage.py", "serve", "--port", str(server.port)], cwd=ROOT, env={**server.environment, **own},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert second.returncode == 1
    assert f"answers at 127.0.0.1:{server.port} already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not (tmp_path / "memoryhub.sqlite3").exists()


@pytest.mark.both_databases
@pytest.mark.skipif(sys.platform != "linux", reason="the children of a process are read from /proc")
def test_a_worker_that_is_killed_is_started_again_and_so_is_one_that_dies_young(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        answers = time.monotonic()
        desk = Desk(server, *server.new_store())
        time.sleep(max(0.0, STARTED_AFTER + 1 - (time.monotonic() - answers)))
        killed: set[int] = set()
        for _ in range(3):
            deadline = time.monotonic() + 60
            while not (alive := children_of(server.process.pid) - killed):  # each dies as soon as it is there
                assert server.process.poll() is None, server.log.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            for child in alive:
                os.kill(child, signal.SIGKILL)
            killed |= alive
        for n in range(200):
            try:
                assert desk.agent().call(f"again-{n}", command="view", path="/memories")[0] == "ok"
                break
            except OSError:
                assert server.process.poll() is None, server.log.read_text()
                time.sleep(0.5)
        else:
            raise AssertionError(server.log.read_text())


@pytest.mark.both_databases
@pytest.mark.skipif(sys.platform != "linux", reason="the children of a process are read from /proc")
def test_the_workers_of_a_serve_that_was_killed_end_so_that_it_can_be_started_again(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        desk = Desk(server, *server.new_store())
        assert desk.agent().call("before", command="view", path="/memories")[0] == "ok"
        workers = children_of(server.process.pid)
        assert workers
        server.process.kill()
        server.process.wait()
        deadline = time.monotonic() + 20
        while left := {worker for worker in workers if Path(f"/proc/{worker}").exists()}:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        with served(tmp_path, address=server.environment["DATABASE_URL"]) as again:
            assert get(again, "/readyz").status_code == 200


def children_of(process: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.push
@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_a_host_may_be_a_name_or_an_ipv6_address(host: str, tmp_path: Path) -> None:
    if ":" in host and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with served(tmp_path, host=host, MEMORYHUB_URL="") as server:
        address = f"http://{f'[{host}]' if ':' in host else host}:{server.port}"
        desk = Desk(server, *server.new_store())
        assert desk.agent().call("first", command="view", path="/memories")[0] == "ok"
        assert httpx.get(address + "/sign-in", timeout=30).status_code == 200
        log = server.log.read_text()
        assert f"answers at {address} " in log
        assert f"{address}/invitations/" in log and log.index("Preparing the database") < log.index("/invitations/")


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1"])
def test_a_host_that_is_not_this_machines_is_refused_in_one_sentence(host: str, tmp_path: Path) -> None:
    own = {"MEMORYHUB_DATA_DIR": str(tmp_path / "data"), "MEMORYHUB_STATIC_ROOT": str(tmp_path / "static")}
    done = starts.run(
        [sys.executable, "manage.py", "serve", "--host", host, "--port", "23999"], cwd=ROOT,
        env={**os.environ, "DATABASE_URL": "", **own}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"{host}:23999" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "data" / "memoryhub.sqlite3").exists()


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_number_that_is_no_port_is_refused_in_one_sentence(port: str, tmp_path: Path) -> None:
    own = {"MEMORYHUB_DATA_DIR": str(tmp_path / "data"), "MEMORYHUB_STATIC_ROOT": str(tmp_path / "static")}
    done = starts.run(
        [sys.executable, "manage.py", "serve", f"--port={port}"], cwd=ROOT,
        env={**os.environ, "DATABASE_URL": "", **own}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"CommandError: {port} is not a port. Name one from 1 to 65535 with --port.\n"
    assert not (tmp_path / "data" / "memoryhub.sqlite3").exists()


@pytest.mark.push
def test_what_a_worker_has_loaded_is_not_searched_for_garbage(tmp_path: Path) -> None:
    """A first search through all of it stopped every request for half a second."""
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_STATIC_ROOT": str(tmp_path)}
    asked = "import gc, memoryhub.rsgi; print(gc.get_freeze_count(), len(gc.get_objects()))"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    frozen, others = map(int, done.stdout.split())
    assert frozen > 50 * others
