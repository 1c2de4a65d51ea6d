"""Tool calls that come at once are answered by one thread and committed together: each as if it had come alone."""

import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.api.server import Agent, served
from tests.serving.clients import Desk
from tests.support.long import LONG

CLIENTS, TURNS = 12, 12 if LONG else 7


def block(id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "memory", "input": input}


def create(client: int, turn: int) -> dict[str, Any]:
    path = f"/memories/{client}/{turn}.md"
    return block(f"toolu_{client}_{turn}", command="create", path=path, file_text=f"{client} {turn}\n")


def bodies(client: int, turn: int) -> tuple[Any, int, list[str]]:
    """A request, the status of its answer, and what the answer says of each block: mixed, so that groups have all."""
    match turn % 6:
        case 0:  # sent again with another input
            return (
                block(f"toolu_{client}_first", command="view", path=f"/memories/never-made/{turn}"),
                422 if turn else 200,
                ["err"],
            )
        case 1:  # several blocks in one message
            blocks = [create(client, turn), create(client, 1000 + turn)]
            return {"role": "assistant", "content": blocks}, 200, ["ok", "ok"]
        case 2:  # refused by the tool
            return block(f"toolu_{client}_{turn}", command="view", path="/memories/nowhere"), 200, ["err"]
        case 3:  # no call at all
            return {"type": "tool_use", "id": "x", "name": "memory"}, 400, []
        case _:
            return create(client, turn), 200, ["ok"]


def test_each_of_many_calls_at_once_is_answered_as_if_it_had_come_alone(desk: Desk) -> None:
    wrong: list[object] = []
    refused: list[str] = []

    def client(number: int) -> None:
        agent = Agent(desk.server, desk.store, desk.secret)
        for turn in range(TURNS):
            body, expected, outcomes = bodies(number, turn)
            status, _, value = agent.send(body)
            blocks = value["content"] if value.get("role") == "user" else [value]
            said = ["err" if one["is_error"] else "ok" for one in blocks] if status == 200 else []
            if (status, said) != (expected, outcomes if expected == 200 else []):
                wrong.append((number, turn, status, value))
            if status >= 400:
                refused.append(value["request_id"])
        agent.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    log = desk.server.log.read_text()
    assert refused and all(log.count(id) == 1 for id in refused)
    made = [turn for turn in range(TURNS) if turn % 6 in (1, 4, 5)]
    more = [1000 + turn for turn in range(TURNS) if turn % 6 == 1]
    agent = desk.agent()
    for number in range(CLIENTS):
        listing = agent.call(f"toolu_list_{number}", command="view", path=f"/memories/{number}")[1]
        assert listing.count(".md") == len(made) + len(more)
    agent.close()


@pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="PostgreSQL has no committer")
@pytest.mark.long
def test_a_call_whose_answer_finds_no_room_on_the_disk_is_refused_in_words(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        agent = Agent(server, *server.new_store())
        with sqlite3.connect(tmp_path / "memoryhub.sqlite3") as database:
            limits = "limit_memory_bytes = 1000000, limit_view_characters = 1000000"
            database.execute(f"update memoryhub_memorystore set {limits}")
        database.close()
        large = "a line of this text\n" * 25_000
        assert agent.call("toolu_1", command="create", path="/memories/a.md", file_text=large)[0] == "ok"
        assert len(agent.call("toolu_2", command="view", path="/memories/a.md")[1]) > len(large)
        shutil.rmtree(tmp_path / "answers")
        status, headers, value = agent.send(block("toolu_3", command="view", path="/memories/a.md"))
        assert (status, headers["retry-after"]) == (503, "1")
        assert "not enough disk space" in value["error"]["message"]
