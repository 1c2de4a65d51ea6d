"""The SDK's own directory sync, used as its worker does: a session with one memory store, a folder, a clock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from anthropic import AsyncAnthropic
from anthropic.lib.tools import _memories
from anthropic.lib.tools._memories import SessionMemoryStores
from anthropic.types.beta import BetaManagedAgentsSession


class Clock:
    """In place of the sync's clock: it stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def pass_window(self) -> None:
        """More than the time for which a missing file may come back."""
        self.now += _memories.DELETE_CORROBORATION_SECONDS + 1


async def session_of(client: AsyncAnthropic, store: str, folder: Path) -> BetaManagedAgentsSession:
    """The client's session, or a new one, as the hub describes it. Only its folder is moved into the test's own."""
    name = str(client.default_headers.get("Memoryhub-Session") or f"sync-{uuid4().hex}")
    begun = {"Memoryhub-Session": name}
    await client.beta.memory_stores.memories.list(store, view="full", limit=1, extra_headers=begun)
    sessions = await client.beta.sessions.list(memory_store_id=store)
    (session,) = [one async for one in sessions if one.title == name]
    (resource,) = session.resources
    assert resource.type == "memory_store" and resource.memory_store_id == store
    assert str(resource.mount_path).startswith("/mnt/memory/")
    resource.mount_path = str(folder)
    return session


class Synced:
    """A folder and its memory store."""

    def __init__(self, stores: SessionMemoryStores, folder: Path, clock: Clock) -> None:
        self.stores, self.folder, self.clock = stores, folder, clock

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()

    def on_disk(self) -> dict[str, str]:
        """Path -> text of everything in the folder but the marker."""
        files = sorted(file for file in self.folder.rglob("*") if file.is_file() and file.name != _memories.MARKER_PATH)
        return {str(file.relative_to(self.folder)): file.read_bytes().decode() for file in files}

    async def sync(self) -> None:
        """The sync that the worker asks for after a tool call, its interval over."""
        self.clock.now += _memories.DEFAULT_MEMORY_SYNC_INTERVAL
        await self.stores.sync_if_due()


@asynccontextmanager
async def synced(client: AsyncAnthropic, store: str, folder: Path, clock: Clock) -> AsyncIterator[Synced]:
    """A folder into which the store was downloaded; it goes away afterwards."""
    stores = SessionMemoryStores(client, workdir=folder.parent)
    await stores.download(await session_of(client, store, folder))
    try:
        yield Synced(stores, folder, clock)
    finally:
        await stores.dispose()
