"""Prints what a tool call writes on SQLite, by table and index: pages of the write-ahead log, and bytes that stay.

    .venv/bin/python -m benchmarks.bytes [--calls 200] [--memories 2000]

Fills a fresh hub with memories of 2 KB, then sends one kind of call after the other, each call in its own transaction.
A page counts once for each commit that writes it. The bytes are the growth of the used parts of all pages. These
numbers do not depend on the machine.
"""

import argparse
import json
import os
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.large_store import prepare
from benchmarks.tool_calls import TEXT, Hub

CALLS = ("view", "str_replace", "create")
HEADER, FRAME = 32, 24
"""The bytes at the start of a write-ahead log, and those before each of its pages."""


class Written:
    """What a number of calls wrote: pages and bytes by the name of a table or index."""

    def __init__(self, pages: Counter[str], grown: Counter[str], calls: int) -> None:
        self.pages, self.grown, self.calls = pages, grown, calls

    def print(self, name: str) -> None:
        print(f"{name:<48}{self.pages.total() / self.calls:>8.1f}{self.grown.total() / self.calls:>10.0f}")
        for tree, pages in self.pages.most_common():
            print(f"    {tree:<44}{pages / self.calls:>8.1f}{self.grown[tree] / self.calls:>10.0f}")


class Measure:
    """A fresh hub in this process, and a connection of its own that reads its file."""

    def __init__(self, directory: Path) -> None:
        os.environ["MEMORYHUB_CALLS"] = "none"
        prepare(directory)
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        self.file = Path(connection.settings_dict["NAME"])
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint=0")
        self.reader = sqlite3.connect(self.file, isolation_level=None)
        self.hub = Hub(*self._store_and_key())

    def _store_and_key(self) -> tuple[str, str]:
        from django.utils import timezone

        from memoryhub.actions.accounts import keys_and_roles
        from memoryhub.actions.core.audit import Actor
        from memoryhub.actions.stores import stores
        from memoryhub.models import Access, Door

        by: dict[str, Any] = {"actor": Actor.system("benchmark"), "door": Door.COMMAND, "at": timezone.now()}
        store = stores.create_store(stores.StoreSettings("Benchmark"), **by)
        agent = keys_and_roles.create_agent("benchmark", **by)
        return store.id, keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **by)[1]

    def send(self, request: bytes) -> None:
        """Have the API answer an HTTP request in this thread."""
        from django.test import RequestFactory

        from memoryhub.api.door import answer

        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        told = answer(
            RequestFactory(headers={"Authorization": headers["Authorization"]}).post(
                first.split()[1], body, content_type="application/json"
            )
        )
        if told.status_code != 200 or json.loads(told.content).get("is_error"):  # type: ignore[attr-defined]
            raise RuntimeError(told.content)  # type: ignore[attr-defined]

    def written_by(self, name: str, calls: int) -> Written:
        """Send this many calls of one kind, and return what they wrote."""
        hub = Hub(self.hub.store, self.hub.key)
        if name == "str_replace":
            self.send(hub.start_edits(0, 0))
        self.reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = self._used()
        for number in range(calls):
            self.send(getattr(hub, name)(number, 0))
        pages = self._logged()
        grown = Counter(self._used())
        grown.subtract(before)
        return Written(pages, grown, calls)

    def _used(self) -> dict[str, int]:
        return dict(self.reader.execute("SELECT name, sum(pgsize - unused) FROM dbstat GROUP BY name"))

    def _logged(self) -> Counter[str]:
        """Return how many pages of each tree the log has, each as often as it was written."""
        of_page = dict(self.reader.execute("SELECT pageno, name FROM dbstat"))
        log = self.file.with_name(self.file.name + "-wal").read_bytes()
        size = int.from_bytes(log[8:12])
        starts = range(HEADER, len(log) - FRAME, FRAME + size)
        numbers = (int.from_bytes(log[start : start + 4]) for start in starts)
        return Counter(str(of_page.get(number, "free")) for number in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind")
    parser.add_argument("--memories", type=int, default=2000, help="memories that the store has before")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-benchmark-") as directory:
        measure = Measure(Path(directory))
        for number in range(arguments.memories):
            measure.send(measure.hub.fill(number, 0))
        print(f"{'a call with ' + str(len(TEXT)) + ' bytes of text':<48}{'pages':>8}{'bytes':>10}")
        for name in CALLS:
            measure.written_by(name, arguments.calls).print(name)


if __name__ == "__main__":
    main()
