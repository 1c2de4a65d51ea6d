"""Concurrent histories of all commands on few paths, and whether some order of the calls explains every answer.

The order is that of the audit's entries. A history is linearizable in it if each call stands after every call that was
answered before it was sent, and if a tree that runs the calls one after the other gives the answers that clients got.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.protocol.pure_tree import PureTree

NAMES = ("a.md", "b.md", "d/c.md", "d", "e", "e/f.md")


@dataclass(slots=True)
class Done:
    """A call, the seconds at which it was sent and answered, and its answer."""

    id: str
    input: Mapping[str, Any]
    sent: float
    answered: float
    ok: bool
    text: str


def random_call(chance: random.Random, root: str) -> dict[str, Any]:
    """A call on one of few paths beneath a directory."""
    path, other = (f"/memories/{root}/{chance.choice(NAMES)}" for _ in range(2))
    word = chance.choice("xyz")
    return chance.choice(
        [
            {"command": "view", "path": path},
            {"command": "view", "path": f"/memories/{root}"},
            {"command": "create", "path": path, "file_text": f"{word}\n"},
            {"command": "create", "path": path, "file_text": f"{word}\n{word}\n"},
            {"command": "str_replace", "path": path, "old_str": word, "new_str": chance.choice("xyz")},
            {"command": "insert", "path": path, "insert_line": chance.choice([0, 1]), "insert_text": f"{word}\n"},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": path, "new_path": other},
        ]
    )


def history(port: int, store: str, secret: str, seed: int, clients: int = 3, calls: int = 5) -> list[Done]:
    """What clients did at once beneath a directory of their own."""
    done: list[Done] = []
    gate = threading.Barrier(clients)

    def work(number: int) -> None:
        chance, connection = (
            random.Random(f"{seed} {number}"),
            http.client.HTTPConnection("127.0.0.1", port, timeout=60),
        )
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        gate.wait()
        for count in range(calls):
            input, id = random_call(chance, f"h{seed}"), f"toolu_{seed}_{number}_{count}"
            body, sent = json.dumps({"type": "tool_use", "id": id, "name": "memory", "input": input}), time.monotonic()
            connection.request("POST", f"/v1/memory_stores/{store}/tool_calls", body, headers)
            response = connection.getresponse()
            value = json.loads(response.read())
            assert response.status == 200, value
            done.append(Done(id, input, sent, time.monotonic(), not value["is_error"], value["content"]))
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == clients * calls
    return done


def problems(done: Sequence[Done], seqs: Mapping[str, int]) -> list[str]:
    """Sentences on what the order of the entries does not explain."""
    found, tree = [], PureTree()
    order = sorted(done, key=lambda call: seqs[call.id])
    for call in order:
        expected = tree.call(call.input)
        if expected != (call.ok, call.text):
            found.append(f"{call.id} {call.input} was answered {call.text!r}, and in its place it would be {expected}")
    first_answer = float("inf")
    for call in reversed(order):
        if call.sent > first_answer:
            found.append(f"{call.id} was sent when a call that stands after it had been answered")
        first_answer = min(first_answer, call.answered)
    return found
