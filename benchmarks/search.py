"""Compares search in a large store with a trivial view of the same server, over HTTP.

    .venv/bin/python -m benchmarks.search [--keep DIR] [--memories 100000] [--rounds 200]

Makes a hub with `benchmarks.large_store` (kept in DIR and reused), serves it, and sends requests on one connection:
keystrokes of the path finder, the first part of searches, and whole searches, request by request, as a browser would.
Prints times and their ratio to the trivial view's; on a shared machine only the ratios are meaningful.
"""

import argparse
import html
import http.client
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

from benchmarks.large_store import ADMIN, STORE, prepare

ROOT = Path(__file__).resolve().parent.parent
KEYSTROKES = (
    "a",
    "n",
    "no",
    "not",
    "note",
    "notes",
    "notes 1",
    "notes 12",
    "customer",
    "md",
    "zzzz",
    "顧客",
    "0012",
    "/",
)
SEARCHES: tuple[dict[str, str], ...] = (
    {"q": "refund"},
    {"q": "nothing-has-this-word"},
    {"q": "nothing-has-this-word", "in": "paths"},
    {"q": "nothing-has-this-word", "versions": "all", "trash": "yes"},
    {"q": "顧客 nothing-has-this"},
)
WHOLE = 120
"""The most requests for one whole search."""


@contextmanager
def server(directory: Path) -> Iterator[int]:
    """Serve the hub of a data directory; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = os.environ | {
        "MEMORYHUB_DATA_DIR": str(directory),
        "MEMORYHUB_BENCHMARK": "1",
        "MEMORYHUB_CALLS": "none",
        "DATABASE_URL": "",
    }
    environment |= {"MEMORYHUB_STATIC_ROOT": f"{directory}/static", "MEMORYHUB_URL": f"http://127.0.0.1:{port}"}
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def signed_in(directory: Path, port: int) -> tuple[str, str]:
    """Return the administrator's cookie for the hub on a port, and the id of the large store."""
    prepare(directory)
    # The hub's modules can only be imported after `prepare`.
    from django.conf import settings
    from django.test import Client

    from memoryhub.models import MemoryStore, User
    from memoryhub.settings import cookie_names

    client = Client()
    client.force_login(User.objects.get(email=ADMIN))
    name, _csrf = cookie_names(f"http://127.0.0.1:{port}")
    return f"{name}={client.cookies[settings.SESSION_COOKIE_NAME].value}", MemoryStore.objects.get(name=STORE).id


class Browser:
    """A signed-in person's requests on one connection."""

    def __init__(self, port: int, cookie: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {"Cookie": cookie}

    def get(self, address: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> tuple[str, float]:
        """Return the page and the seconds that it took."""
        body = b"{}" if method == "POST" else None
        began = time.perf_counter()
        self.connection.request(method, address, body, self.headers | dict(headers or {}))
        response = self.connection.getresponse()
        text = response.read()
        seconds = time.perf_counter() - began
        if response.status != 200:
            raise SystemExit(f"{address} answered {response.status}")
        return text.decode(), seconds

    def median(self, address: str, rounds: int, *, script: bool = False, method: str = "GET") -> float:
        headers = {"HX-Request": "true"} if script else {"Content-Type": "application/json"}
        self.get(address, headers, method)
        return statistics.median(self.get(address, headers, method)[1] for _ in range(rounds))


def whole(browser: Browser, query: Mapping[str, str]) -> tuple[list[float], str]:
    """Return the seconds of each request of a whole search, and the last progress text of the page."""
    page, seconds = browser.get(f"/search?{urlencode(query)}")
    taken = [seconds]
    while (following := re.search(r'hx-get="(\?[^"]*)"\s+hx-trigger="load', page)) and len(taken) < WHOLE:
        page, seconds = browser.get("/search" + html.unescape(following[1]), {"HX-Request": "true"})
        taken.append(seconds)
    progress = re.search(r"Looked through[^<]*", page)
    return taken, " ".join(progress[0].split()) if progress else ""


def measure(browser: Browser, store: str, rounds: int) -> None:
    """Print the tables."""
    trivial = browser.median("/v1/benchmark/trivial", 5 * rounds, method="POST")
    first = browser.get(f"/stores/{store}/find?q=a", {"HX-Request": "true"})[1]
    print(f"trivial view {trivial * 1000:.2f} ms; the first keystroke, which reads the paths, {first:.1f} s\n")
    print(f"{'keystroke':<50}{'ms':>8}{'of trivial':>12}")
    for words in KEYSTROKES:
        _print(words, browser.median(f"/stores/{store}/find?q={quote(words)}", rounds, script=True), trivial)
    print(f"\n{'first part of a search':<50}{'ms':>8}{'of trivial':>12}")
    _print("(the page without a search)", browser.median("/search", rounds // 4), trivial)
    for query in SEARCHES:
        _print(str(query), browser.median(f"/search?{urlencode(query)}", rounds // 4), trivial)
    print(f"\n{'whole search':<70}{'requests':>9}{'longest ms':>11}{'s':>7}")
    for query in SEARCHES:
        taken, progress = whole(browser, query)
        print(f"{query!s:<70}{len(taken):>9}{max(taken) * 1000:>11.0f}{sum(taken):>7.1f}  {progress}")


def _print(label: str, seconds: float, trivial: float) -> None:
    print(f"{label:<50}{seconds * 1000:>8.2f}{seconds / trivial:>12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="the data directory of a hub, made where it is missing")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-search-") as scratch:
        directory = (arguments.keep or Path(scratch) / "hub").resolve()
        if not (directory / "memoryhub.sqlite3").exists():
            count = arguments.memories
            sizes = ["--memories", str(count), "--versions", str(3 * count), "--entries", str(4 * count)]
            subprocess.run([sys.executable, "-m", "benchmarks.large_store", str(directory), *sizes], check=True)
        with server(directory) as port:
            cookie, store = signed_in(directory, port)
            measure(Browser(port, cookie), store, arguments.rounds)


if __name__ == "__main__":
    main()
