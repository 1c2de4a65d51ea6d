"""A hub in a process group of its own, which can be killed as a power cut would and started again on the same data."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.api.server import ROOT, made_store, put_migrated, put_static
from tests.support import starts
from tests.support.long import LONG


class Hub:
    """Where a hub answers and has its data; `url` is that of its database, empty for SQLite in its directory."""

    def __init__(self, directory: Path, url: str = "", **environment: str) -> None:
        self.directory, self.url, self.process = directory, url, None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        own = {"MEMORYHUB_DATA_DIR": str(directory), "MEMORYHUB_STATIC_ROOT": str(directory / "static")}
        own["MEMORYHUB_CALLS"] = "none"
        address = {"DATABASE_URL": url, "MEMORYHUB_URL": f"http://127.0.0.1:{self.port}"}
        self.environment = {**os.environ, **own, **address, **environment}
        self.log = directory.parent / f"{directory.name}.log"

    process: subprocess.Popen[bytes] | None

    @property
    def file(self) -> Path:
        return self.directory / "memoryhub.sqlite3"

    def start(self, seconds: float = 900 if LONG else 90) -> None:
        """Starts it, a new one on a database that is migrated, and waits until it answers."""
        if not self.url and not self.directory.exists():
            put_migrated(self.directory)
        put_static(self.directory)
        with self.log.open("ab") as log:
            self.process = starts.Popen(
                [sys.executable, "manage.py", "serve", "--port", str(self.port)], cwd=ROOT, env=self.environment,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()[-4000:]
            if self.answers():
                return
            time.sleep(0.05)
        raise AssertionError(f"the hub does not answer: {self.log.read_text()[-4000:]}")

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """Ends every process of it at once, as it stands."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def kill_workers(self) -> None:
        """Ends the processes that answer; the one that `serve` started them from goes on."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def command(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return starts.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, check=check, text=True,
            capture_output=True,
        )  # fmt: skip

    def new_store(self) -> tuple[str, str]:
        """(store id, secret of a key that may write there) of a new store."""
        return made_store(self.environment)
