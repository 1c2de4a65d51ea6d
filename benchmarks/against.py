"""Compares the tool calls of two checkouts of the project, by turns in one run.

    git worktree add ../before main && .venv/bin/python -m benchmarks.against ../before

Serves a fresh SQLite hub with the code of each checkout, and sends both the same requests in short bursts, one after
the other, so that whatever else the machine does slows both alike. Prints for each request the medians over the bursts:
the processor time of a call in all processes and threads of the hub, the calls a second, and this checkout's ratios to
the other one. Needs Linux, whose `/proc` knows the processor time.
"""

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import load
from benchmarks.tool_calls import DIRECTORY_SIZE, ROOT, Hub, Served, running, trivial

REQUESTS = ("trivial", "view", "str_replace", "create", "listing")


class Side:
    """The hub of one checkout, and what was measured in its bursts."""

    def __init__(self, served: Served) -> None:
        self.port, self.pid = served.port, served.pid
        self.store = served.command("create_store", "Benchmark")
        self.key = served.command("issue_key", "benchmark", "--store", self.store)
        load.run(self.port, Hub(self.store, self.key).fill, 1, DIRECTORY_SIZE)

    def begin(self, name: str, connections: int) -> None:
        """Prepare for bursts of one kind of request."""
        self.microseconds: list[float] = []
        self.rates: list[float] = []
        self._sent = 0
        if name == "trivial":
            self._request: Callable[[int, int], bytes] = trivial
            return
        hub = Hub(self.store, self.key)
        if name == "str_replace":
            load.run(self.port, hub.start_edits, 1, connections)
        request: Callable[[int, int], bytes] = getattr(hub, name)
        self._request = lambda n, connection: request(self._sent + n, connection)

    def burst(self, connections: int, calls: int) -> None:
        before = load.processor_time(self.pid)
        run = load.run(self.port, self._request, connections, calls)
        self.microseconds.append((load.processor_time(self.pid) - before) / calls)
        self.rates.append(run.rate)
        self._sent += calls


def compare(before: Side, now: Side, rounds: int, calls: int) -> None:
    """Measure both by turns and print the table."""
    print(f"{'':<26}{'µs of processor a call':>30}{'calls a second':>30}")
    titles = "".join(f"{title:>10}" for title in ("before", "now", "ratio") * 2)
    print(f"{'request':<14}{'connections':>12}{titles}")
    for connections in (1, 16):
        for name in REQUESTS:
            several = max(calls // 10, connections) if name == "listing" else calls
            for side in (before, now):
                side.begin(name, connections)
            for turn in range(rounds):
                for side in (before, now) if turn % 2 else (now, before):
                    side.burst(connections, several)
            cells = [_cells(median(before.microseconds), median(now.microseconds))]
            cells += [_cells(median(before.rates), median(now.rates))]
            print(f"{name:<14}{connections:>12}{''.join(cells)}", flush=True)


def _cells(before: float, now: float) -> str:
    return f"{before:>10.0f}{now:>10.0f}{now / before:>10.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--rounds", type=int, default=15, help="bursts of each request")
    parser.add_argument("--calls", type=int, default=150, help="calls of a burst")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        before, now = (Side(stack.enter_context(running(16, root))) for root in (arguments.checkout.resolve(), ROOT))
        compare(before, now, arguments.rounds, arguments.calls)


if __name__ == "__main__":
    main()
