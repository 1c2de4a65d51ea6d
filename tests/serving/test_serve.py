"""What `serve` does when it is saturated, stopped, killed or started twice."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.api.malformed import BLOCK
from tests.api.server import ROOT, Server, served
from tests.serving.clients import Desk, write_lock


def get(server: Server, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{server.port}{path}", timeout=30)


def test_a_hub_with_no_thread_left_says_so_at_once_and_is_alive(tmp_path: Path) -> None:
    with served(tmp_path, "--threads", "1") as server, ThreadPoolExecutor(160) as clients:
        desk = Desk(server, *server.new_store())
        desk.agent().call("first", command="view", path="/memories")

        def call(n: int) -> httpx.Response:
            return httpx.post(
                f"http://127.0.0.1:{server.port}{desk.tool_calls}", json={**BLOCK, "id": f"many-{n}"}, timeout=60,
                headers={"Authorization": f"Bearer {desk.secret}"},
            )  # fmt: skip

        with write_lock(server):
            workers = (os.cpu_count() or 1) if server.environment["DATABASE_URL"] else 1
            waiting = [clients.submit(call, n) for n in range(40 * workers)]
            deadline = time.monotonic() + 30
            while not (refused := [one for one in waiting if one.done()]) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert {one.result().status_code for one in refused} == {503}
            assert refused[0].result().headers["retry-after"] == "1"
            assert refused[0].result().json()["error"]["type"] == "overloaded_error"
            assert get(server, "/livez").status_code == 200
            assert get(server, "/readyz").status_code == get(server, "/healthz").status_code == 503
        answered = [one.result().status_code for one in waiting]
        assert set(answered) == {200, 503}
        assert get(server, "/readyz").status_code == 200


def test_probes_need_no_host_that_is_allowed_and_take_no_other_method(server: Server) -> None:
    address = f"http://127.0.0.1:{server.port}"
    for path in ("/livez", "/readyz", "/healthz"):
        assert httpx.get(address + path, headers={"Host": "10.1.2.3"}, timeout=30).json() == {"status": "ok"}
        assert httpx.head(address + path, timeout=30).status_code == 200
        assert httpx.post(address + path, timeout=30).status_code == 405


def test_an_upload_that_hangs_does_not_keep_the_hub_from_stopping(tmp_path: Path) -> None:
    with served(tmp_path) as server, ExitStack() as stack:
        desk = Desk(server, *server.new_store())
        assert desk.agent().call("before", command="view", path="/memories")[0] == "ok"
        desk.hang(stack, *[desk.head(desk.tool_calls, "Content-Length: 100000") + b"{"] * 5, b"POST /v1/x HT")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(28) == 0


def test_a_second_hub_on_the_same_port_is_refused(server: Server, tmp_path: Path) -> None:
    own = {"MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_STATIC_ROOT": str(tmp_path / "static"), "DATABASE_URL": ""}
    second = subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", str(server.port)], cwd=ROOT, env={**server.environment, **own},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert second.returncode == 1
    assert f"answers at 127.0.0.1:{server.port} already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not (tmp_path / "memoryhub.sqlite3").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the children of a process are read from /proc")
def test_a_worker_that_is_killed_is_started_again(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        desk = Desk(server, *server.new_store())
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        for n in range(100):
            try:
                assert desk.agent().call(f"again-{n}", command="view", path="/memories")[0] == "ok"
                break
            except OSError:
                time.sleep(0.5)
        else:
            raise AssertionError(server.log.read_text())
