"""What the tests of versions and of the audit share: an agent that makes calls, at moments that the test chooses."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from memoryhub import tool
from memoryhub.actions.memories import api, calls, reading
from memoryhub.actions.memories.api import restore as api_restore
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.search import search
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, MemoryVersion
from tests.support.fixtures import AT

HOSTILE = '<script>alert(1)</script>" onload=x {{ 7|add:7 }} \u202egnp.exe\u200b'
_numbers = count(1)


@dataclass
class Caller:
    """An agent with a key of a store; each call is a minute after the one before."""

    store: MemoryStore
    key: str
    at: datetime = AT
    session: str | None = None

    def call(self, command: str, *, id: str | None = None, **input: Any) -> tool.ToolResult:
        """Call the tool. Without an `id`, the call has one that no test writes."""
        self.at += timedelta(minutes=1)
        caller = calls.find_caller(self.key, self.store.id, self.at)
        assert caller is not None
        tool_use = tool.ToolUse.of(id or f"toolu_nr_{next(_numbers)}", {"command": command, **input})
        return tool.execute(
            self.store.id, tool_use, caller=caller, at=self.at, session=self.session, elapsed=lambda: 1234
        )

    def create(self, path: str, text: str) -> Memory:
        """A new memory at a path of the API's form."""
        result = self.call("create", path=f"/memories{path}", file_text=text)
        assert not result.is_error, result.content
        return Memory.objects.at(path).get(store=self.store)

    def replace(self, path: str, old: str, new: str) -> MemoryVersion:
        result = self.call("str_replace", path=f"/memories{path}", old_str=old, new_str=new)
        assert not result.is_error, result.content
        return Memory.objects.at(path).get(store=self.store).head

    def delete(self, path: str) -> None:
        result = self.call("delete", path=f"/memories{path}")
        assert not result.is_error, result.content

    def read(self, version_id: str, door: Door = Door.API) -> AuditEntry:
        """Read a version by its id, which the tool cannot do; return the entry."""
        assert reading.with_texts(self.store.id, self._asked(door), [version_id], {"memory_version_id": version_id})
        return self.last

    def edit(self, path: str, text: str | None = None, new_path: str | None = None) -> AuditEntry:
        """Update a memory through the memory_stores API; return the entry."""
        memory = Memory.objects.at(path).get(store=self.store)
        api.update(self.store.id, memory.pk, api.Change(text, new_path, None), self._asked(Door.API))
        return self.last

    def restore(self, version: str) -> AuditEntry:
        """Restore a version through the memory_stores API; return the entry."""
        api_restore.restore_version(self.store.id, version, None, self._asked(Door.API))
        return self.last

    def search(self, query: str) -> AuditEntry:
        """Search the store; return the entry."""
        search.search(self.store.id, self._asked(Door.MCP), query, limit=100)
        return self.last

    def _asked(self, door: Door) -> Asked:
        self.at += timedelta(minutes=1)
        caller = calls.find_caller(self.key, self.store.id, self.at)
        assert caller is not None
        return Asked(caller, door, self.at, self.session)

    @property
    def last(self) -> AuditEntry:
        """The newest entry of the store's chain."""
        entry = AuditEntry.objects.of_chain(self.store.id).newest().first()
        assert entry is not None
        return entry


def seqs(response: Any) -> list[int]:
    """The seqs of the rows of a page."""
    return [row.entry.seq for row in response.context["rows"]]


def page(client: Client, within: MemoryStore | None = None, **parameters: str) -> Any:
    """The audit page of everything, or of one store, with a filter."""
    return _audit(client, within, parameters)


def listed(client: Client, within: MemoryStore | None = None, **parameters: str) -> Any:
    """The list of that page alone, as htmx asks for it: about half the work of a page."""
    return _audit(client, within, parameters, {"HX-Request": "true"})


def _audit(
    client: Client, within: MemoryStore | None, parameters: dict[str, str], headers: dict[str, str] | None = None
) -> Any:
    address = reverse("store_audit", args=[within.id]) if within else reverse("audit")
    response = client.get(address + "?" + urlencode(parameters), headers=headers)
    assert response.status_code == 200
    return response


def commands(response: Any) -> list[str | None]:
    """The commands of the rows of a page."""
    return [row.entry.command for row in response.context["rows"]]
