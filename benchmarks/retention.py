"""Compares a rehearsal with a plain ordered read, and times tool calls while a run expires memories.

    .venv/bin/python -m benchmarks.retention [--memories 100000] [--expire 10000] [--operations 4000]

Makes a hub with one large memory store in a temporary directory. The rehearsal and a plain read of the same rows in the
same order alternate in this process. Then the server is started, and the same views and edits are timed while it is
idle and while its background work expires memories. On a shared machine only the ratios are meaningful.
"""

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.large_store import make, prepare
from benchmarks.tool_calls import ROOT, Hub, wait_until_up

ROUNDS, CONNECTIONS = 7, (1, 4, 16)
PART = 500
"""Operations measured in one piece; between two pieces the progress of the run is looked at."""


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def rehearsals(store_id: str, now: datetime) -> None:
    """Print the times of rehearsals of some policies, and of a plain read of all live memories by path."""
    from memoryhub.actions.retention import rehearsal
    from memoryhub.actions.retention.policies import PolicySettings

    def read() -> int:
        return sum(1 for _ in rehearsal.live(rehearsal.Rules.of(store_id, now)))

    def rehearse(*given: PolicySettings) -> int:
        tried = [one.as_policy(store_id, str(number)) for number, one in enumerate(given)]
        return sum(1 for _ in rehearsal.rehearse(store_id, now, policies=tried))

    all_rules: dict[str, Any] = {"expire_unread_days": 60, "expire_unchanged_days": 60, "expire_older_days": 80}
    cases: dict[str, tuple[PolicySettings, ...]] = {
        "nothing is due": (PolicySettings("never", expire_unread_days=3000),),
        "three rules": (PolicySettings("all", **all_rules),),
        "all are due": (PolicySettings("all", expire_older_days=1),),
        "eight patterns": tuple(
            PolicySettings(pattern, pattern, **all_rules)
            for pattern in ("", "/a/", "/*/b/", "/**/*.md", "/**/*9*", "/*/*/x/", "/n*/**", "/**/z/")
        ),
    }
    read()
    for name, given in cases.items():
        plain, tried = [], []
        for _ in range(ROUNDS):
            plain.append(timed(read))
            tried.append(timed(lambda given=given: rehearse(*given)))  # type: ignore[misc]
        one, other = statistics.median(plain), statistics.median(tried)
        count = rehearse(*given)
        print(
            f"rehearsal, {name:<15}{count:>8} go{other * 1000:>9.0f} ms, plain read {one * 1000:.0f} ms:"
            f" {other / one:.2f}"
        )


@contextmanager
def server(directory: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Serve the hub of a directory in its own process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "MEMORYHUB_STATIC_ROOT": f"{directory}/static",
        "MEMORYHUB_BENCHMARK": "1",
        "MEMORYHUB_CALLS": "none",
    }
    environment |= {"MEMORYHUB_DATA_DIR": str(directory), "MEMORYHUB_URL": f"http://127.0.0.1:{port}"}
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(port), "--threads", "16"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_until_up(port, process)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def calls(port: int, hub: Hub, connections: int, operations: int) -> load.Measured:
    """Measure alternating views and edits, as agents mix them."""
    hub = Hub(hub.store, hub.key)
    load.run(port, hub.start_edits, 1, connections)

    def either(n: int, connection: int) -> bytes:
        return hub.view(n + 100_000, connection) if n % 2 else hub.str_replace(n, connection)

    return load.run(port, either, connections, operations)


def in_parts(port: int, hub: Hub, connections: int, goes_on: Callable[[], bool]) -> load.Measured:
    """Measure PART operations after PART, each over new connections, as long as `goes_on` says so."""
    whole = load.Measured(0.0)
    while goes_on():
        part = calls(port, hub, connections, PART)
        whole.latencies += part.latencies
        whole.seconds += part.seconds
    return whole


def while_it_runs(directory: Path, store_id: str, key: str, now: datetime, wanted: int, operations: int) -> None:
    """Print percentiles of the times of tool calls, for each number of connections: first idle, then while about
    `wanted` memories expire."""
    from memoryhub.actions.retention import runs

    hub = Hub(store_id, key)
    with server(directory) as (port, _):
        load.run(port, hub.fill, 1, 16)
        calls(port, hub, 16, 2000)
        for connections in CONNECTIONS:
            left = iter(range(operations // PART))
            idle = in_parts(port, hub, connections, lambda left=left: next(left, None) is not None)  # type: ignore[misc]
            run = expiring(store_id, now, wanted // len(CONNECTIONS))
            busy = in_parts(port, hub, connections, lambda run=run: progress(run) != "done")  # type: ignore[misc]
            for name, measured in (("idle", idle), ("running", busy)):
                p50, p99 = measured.percentile(0.5) * 1000, measured.percentile(0.99) * 1000
                print(
                    f"{name:<8}{connections:>3} connections{measured.rate:>8.0f}/s{p50:>9.2f} ms p50{p99:>9.2f} ms p99"
                )
            ratio = busy.percentile(0.99) / idle.percentile(0.99)
            count = expired(run)
            pace = count / busy.seconds
            print(f"{count} memories expired, {pace:.0f} a second; p99 {ratio:.2f} times the idle one")
            runs._plans.forget(run)


def expiring(store_id: str, now: datetime, wanted: int) -> str:
    """Start a run that expires about `wanted` memories, and return its id. The server's background work continues the
    run."""
    from memoryhub.actions.core.audit import Act, Actor
    from memoryhub.actions.retention import policies, rehearsal, runs
    from memoryhub.actions.retention.policies import PolicySettings
    from memoryhub.models import Door, Memory, RetentionPolicy

    by = Act(Actor.system("benchmark"), Door.COMMAND, now)
    live = Memory.objects.live().filter(store_id=store_id).order_by("updated_at").values_list("updated_at", flat=True)
    days = max(1, (now - live[wanted]).days)
    for policy in RetentionPolicy.objects.values_list("pk", flat=True):
        policies.delete_policy(policy, by)
    policies.save_policy(store_id, PolicySettings("old", expire_unchanged_days=days), by)
    count = sum(1 for _ in rehearsal.rehearse(store_id, now))
    run = runs.start(store_id, by, now)
    if run.state == "waiting":
        runs.allow(run.pk, by)
    print(f"a run of {count} memories, not changed for {days} days")
    return run.pk


def progress(run: str) -> str:
    from memoryhub.models import Run

    return str(Run.objects.values_list("state", flat=True).get(pk=run))


def expired(run: str) -> int:
    from memoryhub.models import Run

    return int(Run.objects.values_list("expired", flat=True).get(pk=run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--expire", type=int, default=10_000)
    parser.add_argument("--operations", type=int, default=4_000)
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="memoryhub-benchmark-"))
    try:
        prepare(directory)
        measure(directory, arguments)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(directory: Path, arguments: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.utils import timezone

    from benchmarks.story import Size
    from memoryhub.actions.accounts import keys_and_roles as access
    from memoryhub.actions.core.audit import Actor
    from memoryhub.models import Access, Agent, Door

    call_command("migrate", verbosity=0)
    now = timezone.now()
    store = make(Size(arguments.memories, arguments.memories * 2, arguments.memories * 3), now - timedelta(minutes=5))
    agent = Agent.objects.first()
    assert agent is not None
    by: dict[str, Any] = {"actor": Actor.system("benchmark"), "door": Door.COMMAND, "at": now}
    key = access.issue_key(agent, stores=[store], access=Access.WRITE, **by)[1]
    rehearsals(store.pk, now)
    while_it_runs(directory, store.pk, key, now, arguments.expire, arguments.operations)


if __name__ == "__main__":
    main()
