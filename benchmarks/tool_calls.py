"""Compares a tool call with a trivial view, the bare database and the SDK's own tool, in one run.

    .venv/bin/python -m benchmarks.tool_calls [--operations 3000] [--threads 16] [--profile]

Starts the server on a fresh SQLite database (synchronous=FULL) in a temporary directory and drives it over HTTP
keep-alive with 2 KB memories at 1 and 16 connections. Prints operations per second, p50, p99 and ratios; on a shared
machine only the ratios are meaningful. With `--profile`, it also prints the processor time of a call, and in which
stages it is spent (Linux only, whose `/proc` knows the processor time).
"""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import load

ROOT = Path(__file__).resolve().parent.parent
LINE = "- The customer prefers short answers and a call back in the afternoon.\n"
TEXT = (LINE * 40)[:2000] + "\nCounter: 0\n"
DIRECTORY_SIZE = 1000


@contextmanager
def server(threads: int) -> Iterator[tuple[int, str, str]]:
    """Serve a fresh hub in its own process; yield (port, store id, key)."""
    with running(threads) as served:
        yield served.port, *store_and_key(served)


@dataclass(frozen=True, slots=True)
class Served:
    """A hub that runs: its port, the id of its process, and a function that runs a management command and returns the
    last word of its output."""

    port: int
    pid: int
    command: Callable[..., str]


def store_and_key(served: Served) -> tuple[str, str]:
    """Make a memory store and a key to it; return (store id, key)."""
    store = served.command("create_store", "Benchmark")
    return store, served.command("issue_key", "benchmark", "--store", store)


@contextmanager
def running(threads: int, checkout: Path = ROOT, database: str = "") -> Iterator[Served]:
    """Serve a fresh hub in its own process, with the code of a checkout, on SQLite or on a new PostgreSQL database."""
    directory = tempfile.mkdtemp(prefix="memoryhub-benchmark-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MEMORYHUB_DATA_DIR": directory, "MEMORYHUB_STATIC_ROOT": f"{directory}/static"}
    environment |= {
        "MEMORYHUB_BENCHMARK": "1",
        "MEMORYHUB_CALLS": "none",
        "DATABASE_URL": database,
        "MEMORYHUB_URL": f"http://127.0.0.1:{port}",
    }
    manage = [sys.executable, str(checkout / "manage.py")]
    process = subprocess.Popen(
        [*manage, "serve", "--port", str(port), "--threads", str(threads)], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        wait_until_up(port, process)
        yield Served(port, process.pid, lambda *arguments: last_word([*manage, *arguments], environment))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        shutil.rmtree(directory, ignore_errors=True)


def last_word(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()[-1]


def wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        if process.poll() is not None:
            raise SystemExit("the server did not start")
        try:
            load.run(port, lambda *_: load.http_request("GET", "/healthz"), 1, 1)
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not answer within two minutes")


class Hub:
    """The requests of one run against one store; every id is used once."""

    def __init__(self, store: str, key: str) -> None:
        self.store, self.key, self.turn = store, key, uuid.uuid4().hex[:8]
        self.edits: Counter[int] = Counter()

    def call(self, n: int, **input: object) -> bytes:
        return load.tool_call(self.store, self.key, f"toolu_{self.turn}_{n}", input)

    def fill(self, n: int, _: int) -> bytes:
        """Return a request that creates a memory of the wide directory that the runs work on."""
        return self.call(n, command="create", path=f"/memories/wide/{n}.md", file_text=TEXT)

    def create(self, n: int, _: int) -> bytes:
        return self.call(n, command="create", path=f"/memories/{self.turn}/{n % 10}/{n}.md", file_text=TEXT)

    def view(self, n: int, _: int) -> bytes:
        return self.call(n, command="view", path=f"/memories/wide/{n % 16}.md")

    def start_edits(self, n: int, _: int) -> bytes:
        return self.call(n, command="create", path=f"/memories/{self.turn}/{n}.md", file_text=TEXT)

    def str_replace(self, n: int, connection: int) -> bytes:
        """Return an edit; each connection has its own memory, so each edit finds the text of the previous one."""
        turn = self.edits[connection]
        self.edits[connection] += 1
        old, new = f"Counter: {turn}\n", f"Counter: {turn + 1}\n"
        path = f"/memories/{self.turn}/{connection}.md"
        return self.call(n + 100, command="str_replace", path=path, old_str=old, new_str=new)

    def listing(self, n: int, _: int) -> bytes:
        return self.call(n, command="view", path="/memories/wide")


def trivial(*_: int) -> bytes:
    return load.http_request("POST", "/v1/benchmark/trivial", b"{}", {"Content-Type": "application/json"})


def bare_sqlite(seconds: float = 1.5) -> float:
    """Return how many transactions a second plain SQLite does, each with the statements of a str_replace: select,
    version, memory, entry, commit."""
    directory = tempfile.mkdtemp(prefix="memoryhub-benchmark-")
    database = sqlite3.connect(f"{directory}/bare.sqlite3", isolation_level=None)
    database.executescript(
        "pragma journal_mode=wal; pragma synchronous=full;"
        "create table memory (path text primary key, content text, head integer);"
        "create table version (id integer primary key, memory text, content text);"
        "create table entry (seq integer primary key, memory text, input text, hash text)"
    )
    database.execute("insert into memory values ('/a', ?, 0)", (TEXT,))
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        database.execute("begin immediate")
        database.execute("select content, head from memory where path = '/a'").fetchone()
        version = database.execute("insert into version (memory, content) values ('/a', ?)", (TEXT,)).lastrowid
        database.execute("update memory set content = ?, head = ? where path = '/a'", (TEXT, version))
        database.execute("insert into entry (memory, input, hash) values ('/a', ?, ?)", (LINE, "0" * 64))
        database.execute("commit")
        count += 1
    rate = count / (time.perf_counter() - start)
    database.close()
    shutil.rmtree(directory)
    return rate


def sdk_tool(operations: int) -> dict[str, float]:
    """Return the operations per second of the SDK's local tool in this process."""
    # Importing it costs a second and 70 MB, and only this function needs it.
    from anthropic.tools import BetaLocalFilesystemMemoryTool

    directory = tempfile.mkdtemp(prefix="memoryhub-benchmark-")
    memory = BetaLocalFilesystemMemoryTool(base_path=directory)
    rates = {}
    try:
        memory.call({"command": "create", "path": "/memories/work/0.md", "file_text": TEXT})
        for n in range(DIRECTORY_SIZE):
            memory.call({"command": "create", "path": f"/memories/wide/{n}.md", "file_text": TEXT})
        rates["view"] = _rate(operations, lambda n: memory.call({"command": "view", "path": "/memories/work/0.md"}))
        rates["str_replace"] = _rate(operations, lambda n: memory.call({
            "command": "str_replace", "path": "/memories/work/0.md",
            "old_str": f"Counter: {n}\n", "new_str": f"Counter: {n + 1}\n",
        }))  # fmt: skip
        rates["create"] = _rate(operations, lambda n: memory.call(
            {"command": "create", "path": f"/memories/new/{n}.md", "file_text": TEXT}
        ))  # fmt: skip
        rates["listing"] = _rate(30, lambda n: memory.call({"command": "view", "path": "/memories/wide"}))
    finally:
        shutil.rmtree(directory)
    return rates


def _rate(operations: int, operation: Callable[[int], object]) -> float:
    start = time.perf_counter()
    for n in range(operations):
        result = operation(n)
        if asyncio.iscoroutine(result):
            raise TypeError("the synchronous tool is meant")
    return operations / (time.perf_counter() - start)


def measure(
    hub: tuple[int, str, str], operations: int, run: Callable[..., load.Measured] = load.run
) -> dict[tuple[str, int], load.Measured]:
    """Measure every kind of request at 1 and 16 connections, after a warm-up, with the trivial view for comparison."""
    port, store, key = hub
    load.run(port, Hub(store, key).fill, 1, DIRECTORY_SIZE)
    load.run(port, trivial, 16, 2000)
    measured = {}
    for connections in (1, 16):
        amount = operations if connections > 1 else operations // 4
        measured["trivial", connections] = run(port, trivial, connections, amount * 2)
        for name in ("view", "create", "listing"):
            count = amount if name != "listing" else max(50, amount // 20)
            measured[name, connections] = run(port, getattr(Hub(store, key), name), connections, count)
        edits = Hub(store, key)
        load.run(port, edits.start_edits, 1, connections)
        measured["str_replace", connections] = run(port, edits.str_replace, connections, amount)
    return measured


def profile(served: Served, operations: int) -> dict[tuple[str, int], load.Measured]:
    """Return what `measure` returns, with the processor time of all processes and threads of the hub."""

    def run(port: int, request: load.Request, connections: int, amount: int) -> load.Measured:
        before = load.processor_time(served.pid)
        measured = load.run(port, request, connections, amount)
        measured.processor = (load.processor_time(served.pid) - before) / amount
        return measured

    return measure((served.port, *store_and_key(served)), operations, run)


def report(measured: dict[tuple[str, int], load.Measured], sdk: dict[str, float], bare: float) -> None:
    """Print the tables of the measurements."""
    titles = "".join(f"{title:>9}" for title in ("op/s", "p50 ms", "p99 ms", "p99/p50", "µs CPU"))
    print(f"{'request':<14}{'connections':>12}{titles}{'of trivial':>12}{'of SDK':>9}")
    for (name, connections), run in sorted(measured.items(), key=lambda item: (item[0][1], item[0][0])):
        p50, p99 = run.percentile(0.5) * 1000, run.percentile(0.99) * 1000
        ratio = run.rate / measured["trivial", connections].rate
        of_sdk = f"{run.rate / sdk[name]:9.2f}" if name in sdk else ""
        processor = f"{run.processor:9.0f}" if run.processor else " " * 9
        times = f"{run.rate:>9.0f}{p50:>9.2f}{p99:>9.2f}{p99 / p50:>9.1f}{processor}"
        print(f"{name:<14}{connections:>12}{times}{ratio:>12.2f}{of_sdk}")
    print(f"\nbare SQLite transaction, synchronous=FULL: {bare:.0f} a second;", end=" ")
    print(f"str_replace at 16 connections is {measured['str_replace', 16].rate / bare:.2f} of it")
    print("SDK's local tool in process: " + ", ".join(f"{name} {rate:.0f}/s" for name, rate in sdk.items()))
    time_of_listing = sdk["listing"] * measured["listing", 1].percentile(0.5)
    print(f"a view of {DIRECTORY_SIZE} memories takes {time_of_listing:.3f} of the SDK's time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--profile", action="store_true", help="show the processor time of a call, and its stages")
    arguments = parser.parse_args()
    with running(arguments.threads) as served:
        if arguments.profile:
            measured = profile(served, arguments.operations)
        else:
            measured = measure((served.port, *store_and_key(served)), arguments.operations)
    report(measured, sdk_tool(arguments.operations // 4), bare_sqlite())
    if arguments.profile:
        print()
        subprocess.run([sys.executable, "-m", "benchmarks.stages"], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
