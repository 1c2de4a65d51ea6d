"""Compares tool calls on PostgreSQL with a function inside the server that does the same raw work, by turns in one run.

    .venv/bin/python -m benchmarks.postgres postgres://user@host/postgres [--checkout ../before] [--connections 16]

Serves a fresh hub in a new database of that server, and a second one with the code of another checkout if one is given.
Sends `view` and `str_replace` of 2 KB memories of one memory store in short bursts. By turns, as many connections of
psycopg call a function that takes the same locks, reads and writes rows like those of a call, and commits: what a call
would cost without HTTP, checks, commitments and Python. Prints the medians of calls a second and of p50, and ratios.
"""

import argparse
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import psycopg

from benchmarks import load
from benchmarks.tool_calls import ROOT, TEXT, Hub, running

CALLS = ("view", "str_replace")

RAW = """
create table store (id text primary key, bytes bigint not null);
create table chain (id text primary key, seq bigint not null, hash text not null);
create table memory (id text primary key, store text, path text, head text, content text, seq bigint, reads int);
create unique index on memory (store, path);
create table content (id text primary key, store text, content text);
create table version (id text primary key, store text, memory text, content text, seq bigint, superseded bigint);
create unique index on version (store, memory, seq);
create table entry (chain text, seq bigint, at timestamptz, memory text, input text, hash text, commitments text);
alter table entry add primary key (chain, seq);
create index on entry (chain, memory, seq);
create table once (store text, token text, digest text, seq bigint, primary key (store, token));
create function append(place text, number bigint, memory text, input text) returns void language plpgsql as $$
begin
  insert into entry values (place, number, now(), memory, input, repeat('0', 64), repeat('0', 900));
  update chain set seq = number, hash = repeat('0', 64) where id = place;
end $$;
create function view(place text, at_path text, token text) returns text language plpgsql as $$
declare number bigint; found record;
begin
  select c.seq + 1 into number from store s join chain c on c.id = s.id where s.id = place for update;
  insert into once values (place, token, repeat('0', 64), number);
  select m.id, t.content into found from memory m join content t on t.id = m.content
    where m.store = place and m.path = at_path;
  update memory set reads = reads + 1, seq = number where id = found.id;
  perform append(place, number, found.id, at_path);
  return found.content;
end $$;
create function str_replace(place text, at_path text, token text, old text, new text) returns text
language plpgsql as $$
declare number bigint; found record; made text := token || 'v'; edited text;
begin
  select c.seq + 1 into number from store s join chain c on c.id = s.id where s.id = place for update;
  insert into once values (place, token, repeat('0', 64), number);
  select m.id, m.head, t.content into found from memory m join content t on t.id = m.content
    where m.store = place and m.path = at_path;
  edited := replace(found.content, old, new);
  insert into content values (made, place, edited);
  update version set superseded = number where id = found.head;
  insert into version values (made, place, found.id, made, number, null);
  update memory set head = made, content = made, seq = number where id = found.id;
  update store set bytes = bytes + length(edited) - length(found.content) where id = place;
  perform append(place, number, found.id, new);
  return edited;
end $$;
insert into store values ('s', 0);
insert into chain values ('s', 0, '');
"""
MEMORY = """
with text as (insert into content values (%(id)s, 's', %(text)s)),
  version as (insert into version values (%(id)s, 's', %(id)s, %(id)s, 0, null))
insert into memory values (%(id)s, 's', %(id)s, %(id)s, %(id)s, 0, 0)
"""


class Series:
    """The bursts of one side with one kind of call."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.p50s: list[float] = []

    def add(self, run: load.Measured) -> None:
        self.rates.append(run.rate)
        self.p50s.append(run.percentile(0.5) * 1000)


class Served:
    """A hub that is served on PostgreSQL."""

    def __init__(self, port: int, store: str, key: str) -> None:
        self.port, self.store, self.key = port, store, key
        load.run(port, Hub(store, key).fill, 1, 16)

    def begin(self, name: str, connections: int) -> None:
        hub, self.sent = Hub(self.store, self.key), 0
        if name == "str_replace":
            load.run(self.port, hub.start_edits, 1, connections)
        self.request: Callable[[int, int], bytes] = getattr(hub, name)

    def burst(self, connections: int, calls: int) -> load.Measured:
        before, self.sent = self.sent, self.sent + calls
        return load.run(self.port, lambda n, connection: self.request(before + n, connection), connections, calls)


class Function:
    """The function inside the server, called by a thread for each connection."""

    def __init__(self, database: str, connections: int) -> None:
        self.opened = [psycopg.connect(database, autocommit=True) for _ in range(connections)]
        self.opened[0].execute(RAW)
        for number in range(connections):
            self.opened[0].execute(MEMORY, {"id": str(number), "text": TEXT})
        self.edits = [0] * connections

    def begin(self, name: str, _: int) -> None:
        self.name = name

    def burst(self, connections: int, calls: int) -> load.Measured:
        measured = load.Measured(0.0)
        each = calls // connections
        threads = [threading.Thread(target=self._call, args=(n, each, measured)) for n in range(connections)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        measured.seconds = time.perf_counter() - start
        return measured

    def _call(self, number: int, calls: int, measured: load.Measured) -> None:
        for _ in range(calls):
            start, token = time.perf_counter(), uuid.uuid4().hex
            if self.name == "view":
                query, values = "select view('s', %s, %s)", (str(number), token)
            else:
                turn = self.edits[number]
                self.edits[number] += 1
                query = "select str_replace('s', %s, %s, %s, %s)"
                values = (str(number), token, f"Counter: {turn}\n", f"Counter: {turn + 1}\n")  # type: ignore[assignment]
            self.opened[number].execute(query, values).fetchone()
            measured.latencies.append(time.perf_counter() - start)


@contextmanager
def database(server: str) -> Iterator[str]:
    """Make a new database, yield its address, and remove it."""
    name = f"benchmark_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {name}")  # type: ignore[call-overload]
        try:
            yield f"{server.rpartition('/')[0]}/{name}"
        finally:
            admin.execute(f"drop database {name} with (force)")  # type: ignore[call-overload]


def compare(sides: dict[str, Served | Function], connections: int, rounds: int, calls: int) -> None:
    """Measure all sides by turns and print the table."""
    print(f"{'call':<14}{'connections':>12}  {'side':<14}{'calls/s':>9}{'p50 ms':>9}{'of function':>13}")
    for name in CALLS:
        series = {side: Series() for side in sides}
        for one in sides.values():
            one.begin(name, connections)
        for turn in range(rounds):
            for side in list(sides)[:: 1 if turn % 2 else -1]:
                series[side].add(sides[side].burst(connections, calls))
        raw = median(series["function"].rates)
        for side, one in series.items():
            rate, p50 = median(one.rates), median(one.p50s)
            print(f"{name:<14}{connections:>12}  {side:<14}{rate:>9.0f}{p50:>9.2f}{rate / raw:>13.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="the address of a database of a server on which databases may be created")
    parser.add_argument("--checkout", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=11, help="bursts of each side")
    parser.add_argument("--calls", type=int, default=320, help="calls of a burst")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        sides: dict[str, Served | Function] = {}
        checkouts = {"hub": ROOT} | ({"hub before": arguments.checkout.resolve()} if arguments.checkout else {})
        for side, checkout in checkouts.items():
            served = stack.enter_context(running(4, checkout, stack.enter_context(database(arguments.server))))
            store = served.command("create_store", "Benchmark")
            sides[side] = Served(served.port, store, served.command("issue_key", "benchmark", "--store", store))
        sides["function"] = Function(stack.enter_context(database(arguments.server)), max(arguments.connections))
        for connections in arguments.connections:
            compare(sides, connections, arguments.rounds, arguments.calls)


if __name__ == "__main__":
    main()
