"""Compares the memory_stores API with a trivial view and the tool's calls in one run, and its lists by store size.

    .venv/bin/python -m benchmarks.memory_stores [--operations 3000] [--threads 16] [--memories 100000]

Starts the server on a fresh SQLite database (synchronous=FULL) in a temporary directory and drives it over HTTP
keep-alive with 2 KB memories: retrieve and update at 1 and 16 connections, compared with view and str_replace. Then it
reads pages of 100 memories at the first, a middle and the last cursor of a store with `--memories` memories, compared
with a store of 1,000. On a shared machine only the ratios are meaningful. Exits with 1 if a bound is missed.
"""

import argparse
import http.client
import json
import statistics
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from benchmarks import load
from benchmarks.tool_calls import DIRECTORY_SIZE, TEXT, Hub, running, trivial

RETRIEVE, UPDATE, LISTING = 0.20, 0.15, 1.2
SMALL = 1000
PAGE = 100
ROUNDS = 5


@dataclass(slots=True)
class Api:
    """The requests of one run against one store; each connection has its own memory."""

    store: str
    key: str
    turn: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    memories: list[str] = field(default_factory=list)
    texts: Counter[int] = field(default_factory=Counter)

    def request(self, method: str, path: str, body: object = None) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return load.http_request(method, f"/v1/memory_stores/{self.store}{path}", data, headers)

    def make(self, port: int, most: int) -> None:
        """Create `most` memories for the run to work on, and note their ids in `memories`."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        for n in range(most):
            body = json.dumps({"path": f"/{self.turn}/{n}.md", "content": TEXT})
            connection.request("POST", f"/v1/memory_stores/{self.store}/memories", body, headers)
            self.memories.append(json.load(connection.getresponse())["id"])
        connection.close()

    def retrieve(self, _: int, connection: int) -> bytes:
        return self.request("GET", f"/memories/{self.memories[connection]}")

    def update(self, _: int, connection: int) -> bytes:
        self.texts[connection] += 1
        body = {"content": f"{TEXT}{self.texts[connection]}\n"}
        return self.request("POST", f"/memories/{self.memories[connection]}", body)


@dataclass(slots=True)
class Taken:
    """The rounds of one kind of request. Each round has the rate of the trivial view, measured just before it."""

    rounds: list[tuple[load.Measured, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(run.rate for run, _ in self.rounds)

    @property
    def ratio(self) -> float:
        return statistics.median(run.rate / trivial_rate for run, trivial_rate in self.rounds)

    def milliseconds(self, share: float) -> float:
        return statistics.median(run.percentile(share) for run, _ in self.rounds) * 1000


def measure(port: int, store: str, key: str, operations: int) -> dict[tuple[str, int], Taken]:
    """Return the rounds of each (kind of request, number of connections), for 1 and 16 connections.

    The trivial view is measured just before each round, so that other load on the machine slows both.
    """
    load.run(port, Hub(store, key).fill, 1, DIRECTORY_SIZE)
    load.run(port, trivial, 16, 2000)
    measured: defaultdict[tuple[str, int], Taken] = defaultdict(Taken)
    for connections in (1, 16):
        amount = (operations if connections > 1 else operations // 4) // ROUNDS
        api, edits = Api(store, key), Hub(store, key)
        api.make(port, connections)
        load.run(port, edits.start_edits, 1, connections)
        requests: dict[str, load.Request] = {
            "retrieve": api.retrieve, "view": in_turn(Hub(store, key).view), "update": api.update,
            "str_replace": in_turn(edits.str_replace),
        }  # fmt: skip
        for _ in range(ROUNDS):
            for name, request in requests.items():
                before = load.run(port, trivial, connections, amount)
                measured["trivial", connections].rounds.append((before, before.rate))
                measured[name, connections].rounds.append((load.run(port, request, connections, amount), before.rate))
    return measured


def in_turn(request: load.Request) -> load.Request:
    """Return a request that numbers its calls on from one run to the next, because each number may be used only
    once."""
    numbers = count()
    return lambda _, connection: request(next(numbers), connection)


# ------------------------------------------------------------------------------------------------ lists


class Lists:
    """A connection that requests pages."""

    def __init__(self, port: int, key: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {"Authorization": f"Bearer {key}"}

    def page(self, store: str, query: str) -> Any:
        self.connection.request("GET", f"/v1/memory_stores/{store}/memories?limit={PAGE}&{query}", headers=self.headers)
        response = self.connection.getresponse()
        value = json.load(response)
        if response.status != 200:
            raise RuntimeError(value)
        return value

    def queries(self, store: str, query: str) -> dict[str, str]:
        """Return the queries of the first, a middle and the last full page of a list."""
        found, page = [query], self.page(store, query)
        while page["next_page"] is not None:
            found.append(f"{query}&page={page['next_page']}")
            page = self.page(store, found[-1])
        full = found if len(page["data"]) == PAGE else found[:-1]
        return {"first": full[0], "middle": full[len(full) // 2], "last": full[-1]}

    def seconds(self, queries: list[tuple[str, str]], times: int) -> list[float]:
        """Return the median time of each (store, query), requested in turns so that other load disturbs all of them."""
        spent: list[list[float]] = [[] for _ in queries]
        for _ in range(times):
            for (store, query), own in zip(queries, spent, strict=True):
                start = time.perf_counter()
                self.page(store, query)
                own.append(time.perf_counter() - start)
        return list(map(statistics.median, spent))


def listing(lists: Lists, small: str, large: str, times: int) -> Iterator[tuple[str, str, float, float]]:
    """Yield (list, page, seconds in the large store, seconds in the small one)."""
    for what, query in {"all": "", "children": "depth=1", "in one directory": "depth=1&path_prefix=/0/"}.items():
        pages = lists.queries(large, query)
        beside = lists.queries(small, query)
        lists.seconds([(large, pages["first"]), (small, beside["first"])], 20)
        asked = [(store, chosen[name]) for name in pages for store, chosen in ((large, pages), (small, beside))]
        rounds = [lists.seconds(asked, times // ROUNDS) for _ in range(ROUNDS)]
        best = [min(turn) for turn in zip(*rounds, strict=True)]
        for position, name in enumerate(pages):
            yield what, name, best[2 * position], best[2 * position + 1]


# ------------------------------------------------------------------------------------------------ reports


def report(measured: dict[tuple[str, int], Taken]) -> Iterator[str]:
    """Print the table; yield the missed bounds."""
    titles = "".join(f"{title:>9}" for title in ("op/s", "p50 ms", "p99 ms"))
    print(f"{'request':<14}{'connections':>12}{titles}{'of trivial':>12}{'bound':>8}")
    bounds = {("retrieve", 16): RETRIEVE, ("update", 16): UPDATE}
    for (name, connections), taken in sorted(measured.items(), key=lambda item: (item[0][1], item[0][0])):
        p50, p99, ratio = taken.milliseconds(0.5), taken.milliseconds(0.99), taken.ratio
        bound = bounds.get((name, connections))
        print(
            f"{name:<14}{connections:>12}{taken.rate:>9.0f}{p50:>9.2f}{p99:>9.2f}{ratio:>12.3f}"
            + ("" if bound is None else f"{bound:>8.2f}")
        )
        if bound is not None and ratio < bound:
            yield f"{name} at {connections} connections is {ratio:.3f} of the trivial view; the bound is {bound}"


def report_lists(memories: int, rows: Iterator[tuple[str, str, float, float]]) -> Iterator[str]:
    """Print the table; yield the missed bounds."""
    print(f"\n{PAGE} items of a list, p50 in ms\n{'list':<18}{'cursor':<10}{memories:>10,}{SMALL:>10,}{'ratio':>8}")
    for what, name, large, small in rows:
        ratio = large / small
        print(f"{what:<18}{name:<10}{large * 1000:>10.2f}{small * 1000:>10.2f}{ratio:>8.2f}")
        if ratio > LISTING:
            yield f"the {name} page of {what} costs {ratio:.2f} times as much; the bound is {LISTING}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--memories", type=int, default=100_000)
    arguments = parser.parse_args()
    with running(arguments.threads) as served:
        broken = run(served.port, served.command, arguments)
    if broken:
        sys.exit("\n" + "\n".join(broken))


def run(port: int, command: Callable[..., str], arguments: argparse.Namespace) -> list[str]:
    """Measure everything; return the missed bounds."""
    store, small, large = (command("create_store", name) for name in ("Benchmark", "Small", "Large"))
    key = command("issue_key", "benchmark", "--all-stores", "--access", "write")
    broken = list(report(measure(port, store, key, arguments.operations)))
    for store_id, size in ((small, SMALL), (large, arguments.memories)):
        command("shell", "-v", "0", "-c", f"from benchmarks import wide; wide.fill('{store_id}', {size}); print(1)")
    rows = listing(Lists(port, key), small, large, 200)
    return broken + list(report_lists(arguments.memories, rows))


if __name__ == "__main__":
    main()
