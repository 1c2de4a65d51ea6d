"""Compares each page's cost in a large store with that in a hundred times smaller one, in one run.

    .venv/bin/python -m benchmarks.pages [--keep DIR] [--rounds 9] [--only WORD] [--json]

Two processes each have a hub made by `benchmarks.large_store` (kept in DIR and reused). They answer the same requests
in turn through Django's test client, which includes middleware, session and database but not HTTP, whose cost would
hide part of the growth. Pages alternate, so that none finds the database's cache as it left it. A line that misses its
bound is measured again with three times as many rounds, unless it misses it by far.
"""

import argparse
import html
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from benchmarks.large_store import prepare
from benchmarks.page_line import TRIVIAL, Line
from benchmarks.page_list import LINES, NOT_PAGES

_GOES_ON = re.compile(r'hx-get="([^"]*)" hx-trigger="load')
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
SIZES = {"small": (1_000, 10_000, 20_000), "large": (100_000, 1_000_000, 2_000_000)}
FOLLOWED, WARM = 40, 2
"""How many further requests of a page are made, and at which measurement of the page this is done."""


class Hub:
    """A process with a hub, which answers requests one at a time; costs are in seconds."""

    def __init__(self, directory: Path, environment: dict[str, str], clock: str) -> None:
        command = [sys.executable, "-m", "benchmarks.pages", "--serve", str(directory), "--clock", clock]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment
        )

    def cost(self, line: Line) -> tuple[float, float]:
        """Return two costs in seconds: of the page, and of its slowest further request (0 without one). Raise
        SystemExit if the page cannot be measured."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line.label + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"problem": "the process has ended"}')
        if "problem" in answer:
            raise SystemExit(f"{line.label}: {answer['problem']}")
        return float(answer["seconds"]), float(answer.get("longest", 0.0))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


# ------------------------------------------------------------------------------------------------ in a hub's process


def serve(directory: Path, clock: Callable[[], float]) -> None:
    """Read labels of lines from standard input, and print the cost of each line's page as JSON."""
    prepare(directory)
    from django.conf import settings
    from django.http import HttpRequest, HttpResponse, JsonResponse
    from django.test import Client
    from django.urls import path

    from benchmarks.page_subjects import subjects
    from memoryhub.models import User
    from memoryhub.web import urls
    from memoryhub.web.common.guards.access import signed_in

    @signed_in
    def trivial(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"ok": True})

    urls.urlpatterns.append(path("benchmark/trivial", trivial, name=TRIVIAL))
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    names = subjects()
    clients = {"": Client(raise_request_exception=False, headers={"host": "127.0.0.1"})}
    for user in User.objects.all():
        clients[user.email] = Client(raise_request_exception=False, headers={"host": "127.0.0.1"})
        clients[user.email].force_login(user)
    by_label = {line.label: line for line in LINES}
    asked: Counter[str] = Counter()
    for label in sys.stdin:
        line = by_label[label.rstrip("\n")]
        answer = _answer(line, clients[line.who], names, clock)
        asked[label] += 1
        if line.goes_on and "body" in answer and asked[label] == WARM:
            answer["longest"] = _follow(_address(line, names), str(answer["body"]), clients[line.who], clock)
        answer.pop("body", None)
        print(json.dumps(answer), flush=True)


def _follow(url: str, body: str, client: Any, clock: Callable[[], float]) -> float:
    """Return the seconds of the slowest of the further requests that a page makes."""
    longest = 0.0
    for _ in range(FOLLOWED):
        found = _GOES_ON.search(body)
        if not found:
            break
        began = clock()
        response = client.get(urljoin(url, html.unescape(found[1])), headers={"HX-Request": "true"})
        longest, body = max(longest, clock() - began), response.content.decode()
    return longest


def _answer(line: Line, client: Any, names: dict[str, str], clock: Callable[[], float]) -> dict[str, object]:
    """Return the cost of a page, in seconds, until its last byte, or until the first chunk of a streamed page."""
    url, headers = _address(line, names), {"HX-Request": "true"} if line.htmx else {}
    began = clock()
    response = client.get(url, headers=headers) if line.method == "GET" else client.post(url, headers=headers)
    if response.streaming:
        next(iter(response.streaming_content), b"")
    seconds = clock() - began
    if response.status_code not in line.status:
        return {"problem": f"{url} answered {response.status_code}"}
    body = response.content.decode() if line.goes_on else ""
    response.close()
    return {"seconds": seconds, "body": body}


def _address(line: Line, names: dict[str, str]) -> str:
    from django.urls import reverse

    parts = {name: names[value] for name, value in line.parts.items()}
    return reverse(line.route, kwargs=parts) + line.query.format(**names).replace(" ", "+")


# ------------------------------------------------------------------------------------------------ the measurement


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one line: its median cost in seconds in each store, the ratio, and the bound. `longest` is the
    slowest single request in the large store."""

    label: str
    small: float
    large: float
    longest: float
    ratio: float
    bound: float
    against: str
    missed: bool


class Costs:
    """The measured seconds of each line in each store."""

    def __init__(self, hubs: dict[str, Hub], lines: Sequence[Line]) -> None:
        self.hubs, self.lines = hubs, lines
        self.taken: dict[tuple[str, str], list[float]] = {}
        self.longest: dict[tuple[str, str], float] = {}

    def rounds(self, lines: Iterable[Line], rounds: int) -> None:
        """Measure every line `rounds` times, each time in both stores."""
        for turn in range(rounds):
            for line in lines:
                for size in sorted(SIZES, reverse=bool(turn % 2)):
                    seconds, longest = self.hubs[size].cost(line)
                    key = (line.label, size)
                    self.taken.setdefault(key, []).append(seconds)
                    self.longest[key] = max(seconds, longest, self.longest.get(key, 0.0))

    def found(self) -> list[Found]:
        return [self._found(line) for line in self.lines]

    def _found(self, line: Line) -> Found:
        small, large = (statistics.median(self.taken[line.label, size]) for size in ("small", "large"))
        base = statistics.median(self.taken[line.against, "large"]) if line.against else small
        longest = self.longest[line.label, "large"]
        missed = large / base > line.bound or (line.longest is not None and longest > line.longest)
        return Found(line.label, small, large, longest, large / base, line.bound, line.against or "small", missed)


def measure(hubs: dict[str, Hub], lines: Sequence[Line], rounds: int) -> list[Found]:
    """Warm up, measure every line, and measure again the lines that narrowly missed their bound.

    With one round, which is only a trial, there is neither a warm-up nor a second measurement.
    """
    costs = Costs(hubs, lines)
    if rounds > 1:
        Costs(hubs, lines).rounds(lines, 1)
    costs.rounds(lines, rounds)
    if rounds == 1:
        return costs.found()
    doubtful = {found.label for found in costs.found() if found.missed and found.ratio < 3 * found.bound}
    costs.rounds([line for line in lines if line.label in doubtful], 3 * rounds)
    return costs.found()


def without_a_line(lines: Iterable[Line] = LINES) -> list[str]:
    """Return the routes of the people's door that are neither measured nor excluded. Django must be set up first."""
    from django.urls import get_resolver

    from memoryhub.web import urls

    named = {line.route for line in lines if line.route != TRIVIAL} | set(NOT_PAGES)
    routes = {name for name in get_resolver(urls.__name__).reverse_dict if isinstance(name, str)}
    return sorted(routes - named) + sorted(f"{name} (no such route)" for name in named - routes)


def report(found: Sequence[Found]) -> None:
    """Print the table, sorted by ratio to bound, worst first."""
    print(f"{'page':<60}{'small ms':>9}{'large ms':>9}{'longest':>9}{'ratio':>7}{'bound':>7}")
    for row in sorted(found, key=lambda row: -row.ratio / row.bound):
        mark = "  MISSED" if row.missed else ""
        against = "" if row.against == "small" else f"  of {row.against}"
        times = f"{row.small * 1000:>9.1f}{row.large * 1000:>9.1f}{row.longest * 1000:>9.1f}"
        print(f"{row.label:<60}{times}{row.ratio:>7.2f}{row.bound:>7.1f}{against}{mark}")
    print(f"\n{len(found)} pages, {sum(row.missed for row in found)} missed")


# ------------------------------------------------------------------------------------------------ the command


def made(directory: Path, size: Sequence[int], environment: dict[str, str], copies: int = 1) -> Path:
    """Return a hub's data directory with a store of this size, making it first if necessary, of copies if more than
    one."""
    if not (directory / "made").exists():
        amounts = zip(("--memories", "--versions", "--entries"), map(str, size), strict=True)
        options = [word for pair in amounts for word in pair]
        options += ["--copies", str(copies)]
        command = [sys.executable, "-m", "benchmarks.large_store", str(directory), *options]
        subprocess.run(command, check=True, env=os.environ | environment)
        (directory / "made").touch()
    return directory


def _environments(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Return the environment of each hub; on PostgreSQL each has a database named for its size."""
    url = arguments.database_url
    return {size: {"DATABASE_URL": url.replace("{size}", size) if url else ""} for size in SIZES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="directory of the two hubs, made where they are missing")
    parser.add_argument(
        "--small", type=int, nargs=3, default=SIZES["small"], metavar=("MEMORIES", "VERSIONS", "ENTRIES")
    )
    parser.add_argument(
        "--large", type=int, nargs=3, default=SIZES["large"], metavar=("MEMORIES", "VERSIONS", "ENTRIES")
    )
    parser.add_argument("--database-url", default="", help="of PostgreSQL; {size} stands for small and large")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: of the hub's process alone, for SQLite on a busy machine"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="lines whose label has this in it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve, CLOCKS[arguments.clock])
    with tempfile.TemporaryDirectory(prefix="memoryhub-pages-") as scratch:
        prepare(Path(scratch))
        if missing := without_a_line():
            sys.exit("benchmarks/page_list.py has no line for these routes: " + ", ".join(missing))
        _measure(arguments, (arguments.keep or Path(scratch)).resolve())
    return None


def _measure(arguments: argparse.Namespace, directory: Path) -> None:
    environments = _environments(arguments)
    sizes = {"small": arguments.small, "large": arguments.large}
    copies = {"small": 1, "large": 1 if arguments.database_url else arguments.large[2] // arguments.small[2]}
    hubs = {
        size: Hub(made(directory / size, amount, environments[size], copies[size]), environments[size], arguments.clock)
        for size, amount in sizes.items()
    }
    lines = [line for line in LINES if arguments.only in line.label or line.label == TRIVIAL]
    try:
        found = measure(hubs, lines, arguments.rounds)
    finally:
        for hub in hubs.values():
            hub.close()
    if arguments.json:
        print(json.dumps([asdict(row) for row in found], indent=1))
    else:
        report(found)


if __name__ == "__main__":
    main()
