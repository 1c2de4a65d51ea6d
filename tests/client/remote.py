"""A memory store of a running hub through the client, sync or async, as one thing that tests can call."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anthropic

from memoryhub.client import AsyncHubMemoryTool, HubMemoryTool, ToolError
from tests.api.server import Server

NEW = """
from django.utils import timezone
from memoryhub.actions.accounts import keys_and_roles as access
from memoryhub.actions.stores import stores
from memoryhub.actions.core.audit import Actor
from memoryhub.models import Access, Door
by = dict(actor=Actor.system("tests"), door=Door.COMMAND, at=timezone.now())
agent = access.create_agent("Client", **by)
made = [stores.create_store(stores.StoreSettings(f"Store {n}", limits=SETTINGS), **by) for n in range(COUNT)]
keys = (access.issue_key(agent, stores=[], all_stores=True, access=level, **by)[1] for level in Access)
print(*keys, *(store.id for store in made))
"""


@dataclass(slots=True)
class Place:
    """A hub, keys for everything that may read, write or manage, and empty memory stores, each given once."""

    server: Server
    url: str
    reader: str
    key: str
    manager: str
    stores: list[str]

    @classmethod
    def on(cls, server: Server, count: int, **settings: int) -> "Place":
        script = NEW.replace("COUNT", str(count)).replace("SETTINGS", repr(settings))
        reader, key, manager, *stores = server.command("shell", "-c", script).split()
        return cls(server, f"http://127.0.0.1:{server.port}", reader, key, manager, stores)

    def entries(self, store: str, command: str) -> list[dict[str, Any]]:
        """What a store's audit tells of a command, the oldest first."""
        hub = anthropic.Anthropic(base_url=self.url, api_key=self.manager)
        page: Any = hub.get(f"/v1/memory_stores/{store}/audit_entries?limit=100&command={command}", cast_to=object)
        return list(reversed(page["data"]))


@dataclass(frozen=True, slots=True)
class Remote:
    """One store through the client; `run` waits for a coroutine."""

    tool: HubMemoryTool | AsyncHubMemoryTool
    run: Callable[[Any], Any]
    store: str

    def call(self, **input: object) -> list[str]:
        """["ok" or "err", text] of one command as the model sends it."""
        return self.outcome(lambda: self.tool.call(input))

    def clear(self) -> list[str]:
        return self.outcome(self.tool.clear_all_memory)

    def outcome(self, act: Callable[[], Any]) -> list[str]:
        try:
            return ["ok", self.wait(act())]
        except ToolError as error:
            return ["err", str(error.content)]

    def wait(self, value: Any) -> Any:
        return self.run(value) if inspect.isawaitable(value) else value
