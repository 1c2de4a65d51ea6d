"""All doors at once, with their real clients, on one store: its history and its audit are those of a model."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from json import loads
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import _memories
from playwright.sync_api import Page

from tests.api.server import Agent
from tests.doors import drivers
from tests.doors.conftest import Served, TypeScript
from tests.doors.drivers import BOARD, DRIVERS, ROUNDS, SHARED, Place
from tests.doors.model import Act, Exchange, Model, Version, acts_of
from tests.doors.syncing import Clock

pytestmark = pytest.mark.browser

CONCURRENT = "sync"
"""This driver reads several memories at once: the order of its reads is not its own."""
DOORS = dict.fromkeys(DRIVERS, "api") | {"tool": "tool", "mcp": "mcp", "browser": "web"}


@pytest.fixture
def place(hub: Served) -> Place:
    """The store with the memory that all will edit, written by the tool."""
    agent = Agent(hub.server, hub.store, hub.keys["tool"])
    assert agent.call("toolu_first", command="create", path=f"/memories{SHARED}", file_text=BOARD)[0] == "ok"
    agent.connection.request("GET", f"/v1/memory_stores/{hub.store}/memories", headers=agent.headers)
    (shared,) = loads(agent.connection.getresponse().read())["data"]
    agent.close()
    return Place(hub, shared["id"])


@pytest.mark.push
def test_all_doors_at_once_leave_one_history(
    place: Place, typescript: TypeScript, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = all_at_once(place, typescript, page, tmp_path / "mnt" / "doors", monkeypatch)
    hub = place.hub
    told: dict[str, Any] = loads(
        hub.server.command("shell", "-c", f"from tests.doors.history import main; main({hub.store!r})")
    )
    entries = [entry for entry in told["entries"] if entry["actor"] is not None]
    names = {id: name for name, id in hub.ids.items()}
    model = replayed(entries, names, recorded)
    assert versions_of(told["versions"]) == sorted(model.versions, key=lambda version: (version.seq, version.path))
    ends = {name: 2 if name == "browser" else ROUNDS for name in DRIVERS}
    assert model.live[SHARED].text == "".join(f"{name} {number}\n" for name, number in ends.items())
    verified = hub.server.run("verify_audit", check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def all_at_once(
    place: Place, typescript: TypeScript, page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[Act]]:
    """What each driver did; the browser's is the thread of the test."""
    clock = Clock()
    monkeypatch.setattr(_memories, "monotonic", clock)
    hub = place.hub
    target = {
        "url": hub.url, "key": hub.keys["typescript"], "store": hub.store, "shared": place.shared, "rounds": ROUNDS,
        "headers": place.headers("typescript"),
    }  # fmt: skip
    drivers.open_editor(place, page)
    process = typescript.start("door", target)
    with ThreadPoolExecutor() as threads:
        tool, mcp = threads.submit(drivers.drive_tool, place), threads.submit(drivers.drive_mcp, place)
        python = threads.submit(drivers.drive_python, place)
        sync = threads.submit(drivers.drive_sync, place, folder, clock)
        browser = drivers.drive_browser(place, page)
        first = Act("tool", "create", SHARED, change=lambda _: BOARD)
        return {
            "tool": [first, *tool.result()],
            "mcp": mcp.result(),
            "python": acts_of(python.result()),
            "sync": acts_of(sync.result()),
            "typescript": acts_of(Exchange(**each) for each in typescript.result(process)),
            "browser": browser,
        }


def replayed(entries: list[dict[str, Any]], names: dict[str, str], recorded: dict[str, list[Act]]) -> Model:
    """The model after every entry; each must be the next act of whoever it names, and no act may be left over."""
    model = Model()
    left = {name: deque(acts) for name, acts in recorded.items()}
    for position, entry in enumerate(entries):
        name = names[entry["actor"]]
        act = next_of(name, left[name], entry)
        assert entry["door"] == DOORS[name] == act.door
        if name != "browser" and position:  # the first was made without a session
            assert entry["session"] == f"{name}-run"
        model.apply(entry["seq"], act)
    assert not {name: list(acts) for name, acts in left.items() if acts}
    return model


def next_of(name: str, acts: deque[Act], entry: dict[str, Any]) -> Act:
    """The recorded act that an entry tells."""
    told = Act(entry["door"], entry["command"], entry["path"], entry["new_path"], entry["ok"])
    assert acts, f"{name} did not do {told}"
    if name == CONCURRENT and told in acts:
        act = acts[acts.index(told)]
        acts.remove(act)
        return act
    assert acts[0] == told, name
    return acts.popleft()


def versions_of(rows: list[dict[str, Any]]) -> list[Version]:
    """The versions of the database, their memories counted in the order in which they came."""
    places: dict[str, int] = {}
    for row in rows:
        places.setdefault(row["memory"], len(places) + 1)
    return [Version(**(row | {"memory": places[row["memory"]]})) for row in rows]
