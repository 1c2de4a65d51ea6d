"""Clients that change one memory at once through the API, each only as it knows it: none loses another's change."""

import json
from collections import Counter
from typing import Any

from tests.api.server import Agent, Server
from tests.api.test_concurrency import together
from tests.support.long import LONG

CLIENTS = 8
LINES = 12 if LONG else 6


class Client:
    """One connection to the memories of a store."""

    def __init__(self, server: Server, store: str, secret: str) -> None:
        self.agent = Agent(server, store, secret)
        self.url = f"/v1/memory_stores/{store}/memories"

    def send(self, method: str, path: str = "", body: object = None) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        self.agent.connection.request(method, self.url + path, data, self.agent.headers)
        response = self.agent.connection.getresponse()
        return response.status, json.loads(response.read())

    def add_line(self, memory: str, line: str) -> int:
        """Adds a line to what it has read, as often as somebody was faster; gives how often that was."""
        for tries in range(1000):
            known = self.send("GET", f"/{memory}")[1]
            body = {
                "content": known["content"] + line,
                "precondition": {"type": "content_sha256", "content_sha256": known["content_sha256"]},
            }
            status, value = self.send("POST", f"/{memory}", body)
            if status == 200:
                return tries
            assert (status, value["error"]["type"]) == (409, "memory_precondition_failed_error")
        raise AssertionError("never the first")


def test_updates_with_preconditions_lose_nothing(server: Server) -> None:
    store, secret = server.new_store()
    first = Client(server, store, secret)
    memory = first.send("POST", body={"path": "/log.md", "content": ""})[1]["id"]

    def work(number: int) -> int:
        client = Client(server, store, secret)
        tries = sum(client.add_line(memory, f"{number:02}-{count:03}\n") for count in range(LINES))
        client.agent.close()
        return tries

    together(work, CLIENTS)
    text = Client(server, store, secret).send("GET", f"/{memory}")[1]["content"]
    expected = Counter(f"{number:02}-{count:03}" for number in range(CLIENTS) for count in range(LINES))
    assert Counter(text.splitlines()) == expected


def test_one_of_many_makes_a_memory_and_the_others_learn_whose_it_is(server: Server) -> None:
    store, secret = server.new_store()

    def work(number: int) -> tuple[int, str]:
        client = Client(server, store, secret)
        status, value = client.send("POST", body={"path": "/one.md", "content": str(number)})
        client.agent.close()
        return status, value["id"] if status == 200 else value["error"]["conflicting_memory_id"]

    answers = together(work, CLIENTS)
    assert Counter(status for status, _ in answers) == {200: 1, 409: CLIENTS - 1}
    assert len({id for _, id in answers}) == 1
