"""The SDK's directory sync, unmodified, between a folder and the hub."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import _memories

from tests.doors.conftest import Served
from tests.doors.syncing import Clock, Synced, synced
from tests.support.asynchronous import run


@dataclass(frozen=True, slots=True)
class Hub:
    """A new store, reached by the test itself and by the sync, whose requests are counted."""

    url: str
    key: str
    folder: Path
    clock: Clock
    client: Anthropic
    store: str
    sent: list[str]

    def write(self, path: str, text: str) -> str:
        """Creates a memory beside the sync, or gives it another text."""
        memories = self.client.beta.memory_stores.memories
        if memory := self.ids().get(path):
            return memories.update(memory, memory_store_id=self.store, content=text).id
        return memories.create(self.store, path=path, content=text).id

    def delete(self, path: str) -> None:
        self.client.beta.memory_stores.memories.delete(self.ids()[path], memory_store_id=self.store)

    def ids(self) -> dict[str, str]:
        listed = self.client.beta.memory_stores.memories.list(self.store, limit=100)
        return {item.path: item.id for item in listed if item.type == "memory"}

    def texts(self) -> dict[str, str]:
        """Path -> text of every memory, the paths as the folder has them."""
        listed = self.client.beta.memory_stores.memories.list(self.store, view="full")
        return {item.path[1:]: item.content or "" for item in listed if item.type == "memory"}

    def versions(self) -> list[tuple[str, str | None]]:
        """(operation, path) of every version, oldest first."""
        listed = self.client.beta.memory_stores.memory_versions.list(self.store, limit=100)
        return [(each.operation, each.path) for each in listed][::-1]

    @asynccontextmanager
    async def synced(
        self, key: str = "", then: Callable[[httpx2.Response], None] = lambda response: None
    ) -> AsyncIterator[Synced]:
        """A folder synced with the store by a key, or by the test's own; `then` hears of every answer."""

        async def note(request: httpx2.Request) -> None:
            self.sent.append(f"{request.method} {request.url.path.partition('memories')[1]}")

        async def hear(response: httpx2.Response) -> None:
            then(response)

        own = anthropic.DefaultAsyncHttpxClient(event_hooks={"request": [note], "response": [hear]})
        async with (
            AsyncAnthropic(base_url=self.url, api_key=key or self.key, http_client=own) as client,
            synced(client, self.store, self.folder, self.clock) as folder,
        ):
            yield folder

    def run(self, use: Callable[[Synced], Awaitable[None]], **options: Any) -> None:
        """Downloads the store, does something with the folder and the syncs, and tidies up."""

        async def whole() -> None:
            async with self.synced(**options) as folder:
                await use(folder)

        run(whole())


@pytest.fixture
def remote(hub: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A store with two memories."""
    clock = Clock()
    monkeypatch.setattr(_memories, "monotonic", clock)
    client = Anthropic(base_url=hub.url, api_key=hub.keys["manage"])
    store = client.beta.memory_stores.create(name="Synced").id
    made = Hub(hub.url, hub.keys["manage"], tmp_path / "mnt" / "memory", clock, client, store, [])
    made.write("/notes/todo.md", "one\n")
    made.write("/a.md", "alpha\n")
    return made


def test_a_download_brings_every_memory_as_it_is(remote: Hub) -> None:
    texts = {f"d{number % 3}/{number}.md": f"{number}\r\n" for number in range(23)} | {
        "Über/é.md": "",
        "b.md": "\ufeffx",
    }
    for path, text in texts.items():
        remote.write("/" + path, text)

    async def use(folder: Synced) -> None:
        assert folder.on_disk() == texts | {"notes/todo.md": "one\n", "a.md": "alpha\n"}
        assert (remote.folder / _memories.MARKER_PATH).read_text() == f"version 1\n{remote.store}"
        remote.sent.clear()
        await folder.sync()
        assert remote.sent == ["GET memories"]

    remote.run(use)
    assert not remote.folder.exists()


def test_what_changes_in_the_folder_becomes_a_version(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.write("a.md", "beta\n")
        folder.write("new/deep/er.md", "new\n")
        await folder.sync()
        assert remote.texts() == folder.on_disk()
        assert remote.texts()["a.md"] == "beta\n"

    remote.run(use)
    assert remote.versions()[2:] == [("modified", "/a.md"), ("created", "/new/deep/er.md")]


def test_what_changes_in_the_store_comes_to_the_folder(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        remote.write("/a.md", "changed\n")
        remote.write("/new/x.md", "x")
        remote.delete("/notes/todo.md")
        await folder.sync()
        assert folder.on_disk() == {"a.md": "changed\n", "new/x.md": "x"}
        before = remote.versions()
        await folder.sync()
        assert remote.versions() == before

    remote.run(use)


def test_where_both_sides_changed_the_store_wins(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        remote.write("/a.md", "theirs\n")
        folder.write("a.md", "mine\n")
        folder.write("notes/todo.md", "mine\n")
        await folder.sync()
        assert folder.on_disk() == {"a.md": "theirs\n", "notes/todo.md": "mine\n"} == remote.texts()

    remote.run(use)


def test_an_upload_that_comes_too_late_loses_after_one_request(remote: Hub) -> None:
    hasty = True

    def then(response: httpx2.Response) -> None:
        """Between the sync's listing and its upload somebody else is quicker."""
        nonlocal hasty
        if not hasty:
            hasty = True
            remote.write("/a.md", "quicker\n")

    async def use(folder: Synced) -> None:
        nonlocal hasty
        folder.write("a.md", "slower\n")
        remote.sent.clear()
        hasty = False
        await folder.sync()
        assert remote.sent == ["GET memories", "POST memories"]
        await folder.sync()
        assert folder.on_disk()["a.md"] == remote.texts()["a.md"] == "quicker\n"

    remote.run(use, then=then)


def test_a_file_that_is_gone_is_deleted_only_when_it_stays_gone(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.remove("a.md")
        await folder.sync()
        assert set(remote.texts()) == {"a.md", "notes/todo.md"}
        remote.clock.pass_window()
        await folder.sync()
        assert set(remote.texts()) == {"notes/todo.md"}

    remote.run(use)
    assert remote.versions()[2:] == [("deleted", "/a.md")]


def test_a_file_that_is_gone_comes_back_where_the_memory_was_changed(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.remove("a.md")
        await folder.sync()
        remote.write("/a.md", "still needed\n")
        remote.clock.pass_window()
        await folder.sync()
        assert folder.on_disk()["a.md"] == "still needed\n"

    remote.run(use)
    assert remote.versions()[2:] == [("modified", "/a.md")]


def test_a_file_that_moves_is_a_new_memory_and_a_deleted_one(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.write("moved/a.md", "alpha\n")
        folder.remove("a.md")
        await folder.sync()
        remote.clock.pass_window()
        await folder.sync()
        assert remote.texts() == folder.on_disk() == {"moved/a.md": "alpha\n", "notes/todo.md": "one\n"}

    remote.run(use)
    assert remote.versions()[2:] == [("created", "/moved/a.md"), ("deleted", "/a.md")]


def test_what_the_hub_refuses_stays_in_the_folder_and_is_sent_once(remote: Hub) -> None:
    refused = {"large.md": "x" * 102_401, "nul.md": "a\0b", "bad /name.md": "x"}

    async def use(folder: Synced) -> None:
        for path, text in refused.items():
            folder.write(path, text)
        folder.write("notes/todo.md", "two\n")
        remote.sent.clear()
        await folder.sync()
        assert remote.sent.count("POST memories") == len(refused) + 1
        remote.sent.clear()
        await folder.sync()
        assert remote.sent == ["GET memories"]
        assert set(refused) < set(folder.on_disk())
        folder.write("large.md", "small enough\n")
        await folder.sync()

    remote.run(use)
    assert remote.texts() == {"a.md": "alpha\n", "notes/todo.md": "two\n", "large.md": "small enough\n"}


def test_a_file_beneath_a_memory_stays_in_the_folder(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.write("b.md", "b")
        remote.write("/b.md/c.md", "c")
        await folder.sync()
        assert folder.on_disk()["b.md"] == "b"

    remote.run(use)
    assert set(remote.texts()) == {"a.md", "notes/todo.md", "b.md/c.md"}


def test_a_store_that_is_read_only_in_a_session_is_never_written_to(remote: Hub, hub: Served) -> None:
    async def use(folder: Synced) -> None:
        folder.write("a.md", "mine\n")
        folder.write("new.md", "new\n")
        folder.remove("notes/todo.md")
        remote.clock.pass_window()
        await folder.sync()
        remote.clock.pass_window()
        await folder.sync()
        await folder.stores.finish()

    remote.run(use, key=hub.keys["read"])
    assert remote.versions() == [("created", "/notes/todo.md"), ("created", "/a.md")]


def test_a_folder_that_is_wiped_is_filled_again(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.remove("a.md")
        folder.remove("notes/todo.md")
        await folder.sync()
        assert folder.on_disk() == {"a.md": "alpha\n", "notes/todo.md": "one\n"}

    remote.run(use)
    assert len(remote.versions()) == 2


def test_the_end_of_a_session_sends_what_is_left(remote: Hub) -> None:
    async def use(folder: Synced) -> None:
        folder.write("a.md", "flushed\n")
        await folder.stores.flush_writes()
        assert remote.texts()["a.md"] == "flushed\n"
        folder.write("last.md", "last\n")
        folder.remove("notes/todo.md")
        await folder.stores.finish()

    remote.run(use)
    assert remote.texts() == {"a.md": "flushed\n", "last.md": "last\n"}
    assert all(path != f"/{_memories.MARKER_PATH}" for _, path in remote.versions())
