"""Clients that write down each call before they send it and each answer as it comes, and send again what got none."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.hub import Hub
from tests.support.long import LONG

SHARED = "/memories/shared.md"
AGAIN = frozenset({429, 500, 502, 503, 504})
"""An answer with such a status says nothing of whether the call was made: it is sent again."""

PAUSE = 0 if LONG else 0.1
"""Seconds between the rounds of a client: without, the load takes the processor from what is tried under it."""


@dataclass(slots=True)
class Call:
    """One call as its client knows it; `answers` are the statuses and texts that came, in order."""

    id: str
    input: dict[str, Any]
    answers: list[tuple[int, str, bool]] = field(default_factory=list)
    lost: int = 0

    @property
    def acknowledged(self) -> list[tuple[str, bool]]:
        """(text, is error) of the answers with 200."""
        return [(text, is_error) for status, text, is_error in self.answers if status == 200]


class Journal:
    """Every call of every client, in memory and in a file that survives the test's own end."""

    def __init__(self, path: Path) -> None:
        self.calls: list[Call] = []
        self.lock = threading.Lock()
        self.stream = path.open("a", buffering=1)

    def note(self, what: str, call: Call, **more: object) -> None:
        with self.lock:
            if what == "sends" and not call.answers and not call.lost:
                self.calls.append(call)
            self.stream.write(json.dumps({"what": what, "id": call.id, "input": call.input, **more}) + "\n")


class Client:
    """One agent: makes memories of its own, edits and deletes them, and adds lines to one that all write."""

    def __init__(self, hub: Hub, store: str, secret: str, journal: Journal, name: str, pause: float = PAUSE) -> None:
        self.hub, self.journal, self.name, self.pause = hub, journal, name, pause
        self.url = f"/v1/memory_stores/{store}/tool_calls"
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        self.connection: http.client.HTTPConnection | None = None
        self.count = 0

    def work_until(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.round(stop)
            stop.wait(self.pause)

    def round(self, stop: threading.Event) -> None:
        self.count += 1
        own = f"/memories/{self.name}/{self.count}.md"
        made = self.call(stop, command="create", path=own, file_text=f"{self.name} {self.count}\n")
        if not made.acknowledged:  # the test ended before an answer came: whether the memory is there is not known
            return
        self.call(stop, command="insert", path=SHARED, insert_line=0, insert_text=f"{self.name} {self.count}\n")
        self.call(stop, command="view", path=own)
        if self.count % 3 == 0:
            self.call(stop, command="str_replace", path=own, old_str=self.name, new_str=f"edited {self.name}")
        if self.count % 5 == 0:
            self.call(stop, command="delete", path=own)

    def call(self, stop: threading.Event, **input: Any) -> Call:
        """Sends a call until it is answered; at the end of the test one that never was stays open."""
        call = Call(f"toolu_{self.name}_{self.count}_{input['command']}", input)
        for attempt in range(10_000):
            if stop.is_set() and attempt > 2:
                break
            self.journal.note("sends", call)
            try:
                status, text, is_error = self.send(call)
            except (OSError, http.client.HTTPException, ValueError):
                call.lost += 1
                self.journal.note("lost", call)
                self.close()
                time.sleep(0.05)
                continue
            call.answers.append((status, text, is_error))
            self.journal.note("answered", call, status=status, text=text)
            if status not in AGAIN:
                break
            time.sleep(0.05)
        return call

    def send(self, call: Call) -> tuple[int, str, bool]:
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.hub.port, timeout=40)
        body = json.dumps({"type": "tool_use", "id": call.id, "name": "memory", "input": call.input})
        self.connection.request("POST", self.url, body.encode(), self.headers)
        response = self.connection.getresponse()
        value = json.loads(response.read())
        if response.status == 200:
            return 200, value["content"], value["is_error"]
        return response.status, value["error"]["message"], True

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Load:
    """Some clients at work for as long as the block lasts."""

    def __init__(
        self, hub: Hub, journal: Path | Journal, clients: int = 8, into: tuple[str, str] | None = None,
        pause: float = PAUSE,
    ) -> None:  # fmt: skip
        """`into` is the memory store and the secret of a key; if it is missing, a store is made. `pause` is seconds
        between the rounds of a client."""
        self.hub, self.journal = hub, journal if isinstance(journal, Journal) else Journal(journal)
        self.store, secret = into or hub.new_store()
        self.stop = threading.Event()
        first = Client(hub, self.store, secret, self.journal, "first")
        first.call(self.stop, command="create", path=SHARED, file_text="")
        self.clients = [Client(hub, self.store, secret, self.journal, f"c{number}", pause) for number in range(clients)]
        self.threads = [threading.Thread(target=one.work_until, args=(self.stop,), daemon=True) for one in self.clients]

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(1_200 if LONG else 120)
        assert not any(thread.is_alive() for thread in self.threads)

    def answered(self) -> int:
        return sum(bool(call.acknowledged) for call in list(self.journal.calls))

    def wait_for(self, more: int, seconds: float = 1_200 if LONG else 120) -> None:
        """Until so many further calls have been answered."""
        wanted, end = self.answered() + more, time.monotonic() + seconds
        while self.answered() < wanted:
            assert time.monotonic() < end, f"{self.answered()} of {wanted} calls were answered"
            time.sleep(0.01)
