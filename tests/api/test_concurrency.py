"""Many agents at once against a real server: nothing acknowledged is lost, nothing happens twice."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.server import Agent, Server
from tests.support.long import LONG, tried

CLIENTS = 16
INSERTS = tried(80, 3)


def together(work: Callable[[int], Any], clients: int = CLIENTS) -> list[Any]:
    """What `work(number)` gives in threads that start at the same moment; the first exception is raised here."""
    gate, results = threading.Barrier(clients), [None] * clients
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            gate.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def lines_of(agent: Agent, path: str) -> list[str]:
    """A memory's lines, read in views of so many lines as one view shows."""
    lines: list[str] = []
    while True:
        good, text = agent.call(f"read-{path}-{len(lines)}", command="view", path=path, view_range=[len(lines) + 1, -1])
        assert good == "ok", text
        shown = text.split("\n")[1:]
        more = shown[-1].startswith("[Lines ")
        lines += [line.split("\t", 1)[1] for line in (shown[:-1] if more else shown)]
        if not more:
            return lines[:-1] if lines[-1] == "" else lines


@pytest.mark.parametrize("one", [True, False], ids=["one memory", "many memories"])
def test_every_acknowledged_insert_is_there_once(server: Server, one: bool) -> None:
    store, secret = server.new_store()
    paths = ["/memories/log.md"] if one else [f"/memories/agents/{n}/log.md" for n in range(CLIENTS)]
    maker = Agent(server, store, secret)
    for path in paths:
        assert maker.call(f"create {path}", command="create", path=path, file_text="")[0] == "ok"

    def insert(number: int) -> list[str]:
        agent, path = Agent(server, store, secret), paths[number % len(paths)]
        acknowledged = []
        for count in range(INSERTS):
            line = f"{number:02}-{count:03}"
            answer = agent.call(line, command="insert", path=path, insert_line=0, insert_text=line + "\n")
            assert answer == ["ok", f"The file {path} has been edited."]
            acknowledged.append(line)
        agent.close()
        return acknowledged

    acknowledged = Counter(line for lines in together(insert) for line in lines)
    assert len(acknowledged) == CLIENTS * INSERTS
    reader = Agent(server, store, secret)  # the server ends connections that were idle for half a minute
    assert Counter(line for path in paths for line in lines_of(reader, path)) == acknowledged


def test_a_memory_is_filled_to_its_limit_and_not_past_it(server: Server) -> None:
    """16 agents with 8 KiB each, and room for 100 of the 128."""
    store, secret = server.new_store()
    Agent(server, store, secret).call("create", command="create", path="/memories/a.md", file_text="")

    def insert(number: int) -> list[str]:
        agent, text = Agent(server, store, secret), "x" * 1023
        call = {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": text}
        return [agent.call(f"{number}-{count}", **call)[0] for count in range(8)]

    assert Counter(answer for answers in together(insert) for answer in answers) == {"ok": 100, "err": 28}
    reader = Agent(server, store, secret)
    assert lines_of(reader, "/memories/a.md") == ["x" * 1023] * 100


def test_one_block_sent_by_many_at_once_has_one_effect(server: Server) -> None:
    store, secret = server.new_store()
    agents = [Agent(server, store, secret) for _ in range(CLIENTS)]
    agents[0].call("create", command="create", path="/memories/a.md", file_text="")
    for round in range(5):
        input = {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": f"round {round}"}
        block = {"type": "tool_use", "id": f"toolu_{round}", "name": "memory", "input": input}
        answers = together(lambda number, block=block: agents[number].send(block))
        assert [answer[0] for answer in answers] == [200] * CLIENTS
        assert len({answer[2]["content"] for answer in answers}) == 1
        assert sum("idempotent-replay" in answer[1] for answer in answers) == CLIENTS - 1
    assert lines_of(agents[0], "/memories/a.md") == [f"round {round}" for round in reversed(range(5))]


def test_one_token_with_different_inputs_at_once_runs_one_of_them(server: Server) -> None:
    store, secret = server.new_store()
    agents = [Agent(server, store, secret) for _ in range(CLIENTS)]

    def create(number: int) -> int:
        input = {"command": "create", "path": f"/memories/{number}.md", "file_text": ""}
        return agents[number].send({"type": "tool_use", "id": "toolu_1", "name": "memory", "input": input})[0]

    assert Counter(together(create)) == {200: 1, 422: CLIENTS - 1}
    listing = agents[0].call("look", command="view", path="/memories")[1]
    assert len(listing.split("\n")) == 3


def test_one_path_created_by_many_at_once_is_made_once(server: Server) -> None:
    store, secret = server.new_store()
    agents = [Agent(server, store, secret) for _ in range(CLIENTS)]
    for round in range(5):
        path = f"/memories/deep/{round}/a.md"
        answers = together(lambda n, p=path: agents[n].call(f"{p} {n}", command="create", path=p, file_text=str(n)))
        assert Counter(answer[0] for answer in answers) == {"ok": 1, "err": CLIENTS - 1}


def test_agents_of_one_session_name_share_one_session(server: Server) -> None:
    store, secret = server.new_store()
    agents = [Agent(server, store, secret) for _ in range(CLIENTS)]
    block = {"type": "tool_use", "name": "memory", "input": {"command": "view", "path": "/memories"}}
    answers = together(lambda n: agents[n].send({**block, "id": str(n)}, **{"Memoryhub-Session": "run-1"})[0])
    assert answers == [200] * CLIENTS


def test_directories_moved_and_deleted_by_many_at_once_stay_whole(server: Server) -> None:
    """Renames and deletes cross each other; the counters and the tree agree at the end, and no call fails."""
    store, secret = server.new_store()
    agents = [Agent(server, store, secret) for _ in range(8)]

    def work(number: int) -> None:
        agent, other = agents[number], (number + 1) % 4
        for count in range(40 if LONG else 15):
            id, here = f"{number}-{count}", f"/memories/{number % 4}"
            agent.call(f"{id}-a", command="create", path=f"{here}/x/{id}.md", file_text=id)
            agent.call(f"{id}-b", command="rename", old_path=here, new_path=f"/memories/{other}/moved-{id}")
            agent.call(f"{id}-c", command="view", path="/memories")
            if count % 5 == 4:
                agent.call(f"{id}-d", command="delete", path=f"/memories/{other}")

    together(work, 8)
