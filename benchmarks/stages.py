"""Shows in which stages tool calls spend their processor time; `benchmarks.tool_calls --profile` prints it, too.

    .venv/bin/python -m benchmarks.stages [--rounds 60]

This process answers calls on a fresh SQLite database as the hub's committer does, sixteen in each transaction. The
functions with which a stage begins are wrapped with the clock of the thread, and a stage's time is without the stages
inside it. The clock itself takes about a microsecond for each stage that a call enters. Prints the mean of the quickest
fifth of the rounds, in microseconds a call. HTTP, the queue and the change of threads are not in it.
"""

import argparse
import io
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.large_store import prepare
from benchmarks.tool_calls import Hub

CALLS = ("view", "str_replace", "create")
TOGETHER = 16
OUTSIDE, DOOR, LOCK, SQL = "begin, commit", "Django in and out", "lock, store, idempotency", "other SQL"
STAGES = (
    ("key", "memoryhub.machines.requests", ("caller_of",)),
    ("parse and digest of the input", "memoryhub.api.tool_calls", ("_incoming",)),
    ("parse and digest of the input", "memoryhub.actions.memories.calls", ("parsed",)),
    ("the call around its stages", "memoryhub.tool", ("execute",)),
    (LOCK, "memoryhub.actions.core.tree", ("lock",)),
    (LOCK, "memoryhub.actions.memories.calls", ("_window", "_first_of", "_note_calls", "note_use")),
    ("verb, text, version", "memoryhub.actions.findings.ahead", ("of_command",)),
    ("verb, text, version", "memoryhub.actions.memories.commands", ("perform",)),
    ("screening", "memoryhub.actions.findings.findings", ("screen_written", "screen_path", "note")),
    ("screening", "memoryhub.actions.memories.input_masking", ("of_call",)),
    ("audit", "memoryhub.actions.core.tree", ("commit",)),
    ("answer", "memoryhub.api.tool_calls", ("_answer",)),
    (SQL, "memoryhub.actions.core.sql.statements", ("_run", "_run_many")),
)
"""(stage, module, functions with which it begins). The SQL of the lock counts as its stage."""


class Stages:
    """The time of each stage, in nanoseconds."""

    def __init__(self) -> None:
        self._spent: Counter[str] = Counter()
        self._open = [OUTSIDE]
        self._since = time.thread_time_ns()

    def taken(self) -> Counter[str]:
        """Return what was spent since the last time."""
        self._charge()
        spent, self._spent = self._spent, Counter()
        return spent

    def wrapped(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            self._charge()
            self._open.append(LOCK if stage == SQL and self._open[-1] == LOCK else stage)
            try:
                return function(*arguments, **named)
            finally:
                self._charge()
                self._open.pop()

        return timed

    def _charge(self) -> None:
        now = time.thread_time_ns()
        self._spent[self._open[-1]] += now - self._since
        self._since = now


def environ_of(request: bytes) -> dict[str, Any]:
    """Return the environment of an HTTP request, as the server makes it."""
    head, _, body = request.partition(b"\r\n\r\n")
    (method, path, protocol), *lines = (line.split(" ", 2) for line in head.decode().split("\r\n"))
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "SERVER_PROTOCOL": protocol, "SCRIPT_NAME": "", "QUERY_STRING": "",
        "REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr,
    }  # fmt: skip
    for name, *values in lines:
        variable = name.rstrip(":").upper().replace("-", "_")
        environ[variable if variable.startswith("CONTENT_") else f"HTTP_{variable}"] = " ".join(values)
    return environ


class Committer:
    """Answers calls of one key in this process."""

    def __init__(self) -> None:
        from django.core.management import call_command

        from memoryhub.actions.core import transactions
        from memoryhub.serving import django_side

        def word(*command: str) -> str:
            out = io.StringIO()
            call_command(*command, stdout=out)
            return out.getvalue().split()[-1]

        call_command("migrate", verbosity=0)
        store = word("create_store", "Benchmark")
        key = word("issue_key", "benchmark", "--store", store)
        self.hub, self.edits, self.sent = Hub(store, key), Hub(store, key), Counter[Hub]()
        self._door, self._writing, self.stages = django_side, transactions.writing, Stages()
        transactions._thread.is_committer = True  # so it remembers what the committer remembers
        for stage, module, names in STAGES:
            for name in names:
                setattr(import_module(module), name, self.stages.wrapped(stage, getattr(import_module(module), name)))
        self._answer = self.stages.wrapped(DOOR, self._answer_one)
        self.together("fill")
        self.together("start_edits")

    def together(self, name: str) -> Counter[str]:
        """Answer calls in one transaction, and return the time of each stage."""
        hub = self.edits if name in ("start_edits", "str_replace") else self.hub
        first, make = self.sent[hub], getattr(hub, name)
        self.sent[hub] += TOGETHER
        ready = [environ_of(make(first + number, number)) for number in range(TOGETHER)]
        self.stages.taken()
        with self._writing():
            for environ in ready:
                self._answer(environ)
        return self.stages.taken()

    def _answer_one(self, environ: dict[str, Any]) -> None:
        response = self._door.answer_program(self._door.ProgramsRequest(environ))
        if response.status_code != 200 or b'"is_error":true' in response.content:  # type: ignore[attr-defined]
            raise RuntimeError(response)


def measure(rounds: int) -> None:
    """Measure all calls by turns and print the table."""
    committer = Committer()
    spent: dict[str, list[Counter[str]]] = {call: [] for call in CALLS}
    for _ in range(rounds):
        for call in CALLS:
            spent[call].append(committer.together(call))
    quickest = {call: sorted(times, key=Counter.total)[: max(1, rounds // 5)] for call, times in spent.items()}
    print(f"{'µs of processor a call':<32}" + "".join(f"{call:>14}" for call in CALLS))
    for stage in (DOOR, *dict.fromkeys(stage for stage, _, _ in STAGES), OUTSIDE, "all"):
        cells = [mean(_of(stage, times) for times in quickest[call]) / 1000 / TOGETHER for call in CALLS]
        print(f"{stage:<32}" + "".join(f"{cell:>14.1f}" for cell in cells))


def _of(stage: str, times: Counter[str]) -> int:
    return times.total() if stage == "all" else times[stage]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-benchmark-") as directory:
        os.environ |= {"MEMORYHUB_CALLS": "none", "DATABASE_URL": ""}
        prepare(Path(directory))
        measure(arguments.rounds)


if __name__ == "__main__":
    main()
