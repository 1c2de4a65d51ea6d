"""What the tests of the machines' door share: a store, keys to it, requests, and what the database then holds."""

import itertools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.actions.verification import verify
from memoryhub.models import (
    HUB,
    Access,
    Agent,
    AuditEntry,
    Directory,
    Door,
    IdempotentCall,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Session,
)
from memoryhub.pure.limits import COLUMNS
from memoryhub.pure.protocol import paths
from tests.api import documented
from tests.support.long import is_turn

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
BY: dict[str, Any] = {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": AT}
JSON = "application/json"

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, with its headers' names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Hub:
    """An agent's key to a store, used through Django's test client: the whole WSGI way, without a socket."""

    store: MemoryStore
    secret: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))
    ids: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def url(self) -> str:
        return f"/v1/memory_stores/{self.store.id}/tool_calls"

    def send(
        self, body: object, *, method: str = "POST", url: str | None = None, type: str = JSON, **headers: str
    ) -> Answer:
        """Bytes as they are, anything else as JSON; headers as `memoryhub_session="..."`."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"authorization": f"Bearer {self.secret}"} | {name.replace("_", "-"): v for name, v in headers.items()}
        length = str(len(data))
        response = self.client.generic(
            method, url or self.url, data, type, headers=given, CONTENT_LENGTH=length, CONTENT_TYPE=type
        )
        answer = Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)
        wrong = documented.problem(method, url or self.url, answer.status, answer.headers, answer.body)
        assert wrong is None, wrong
        return answer

    def block(self, id: str | None = None, **input: object) -> dict[str, Any]:
        return {"type": "tool_use", "id": id or f"toolu_{next(self.ids)}", "name": "memory", "input": input}

    def call(self, **input: object) -> list[str]:
        """Runs one command; gives ["ok" or "err", the text] as the vectors write it."""
        answer = self.send(self.block(**input))
        assert answer.status == 200, answer.body
        return outcome(answer.value)

    def message(self, *blocks: dict[str, Any], **headers: str) -> Answer:
        return self.send({"role": "assistant", "content": list(blocks)}, **headers)


def outcome(block: dict[str, Any]) -> list[str]:
    """A tool_result block as ["ok" or "err", its text]."""
    assert block["type"] == "tool_result" and isinstance(block["is_error"], bool)
    return ["err" if block["is_error"] else "ok", block["content"]]


def new_store(**own: Any) -> MemoryStore:
    """An empty store with settings of its own."""
    limits = {name: own.pop(name) for name in COLUMNS if name in own}
    return stores.create_store(StoreSettings(name=f"Store {next(_numbers)}", limits=limits, **own), **BY)


def new_agent() -> Agent:
    return keys_and_roles.create_agent(f"Agent {next(_numbers)}", **BY)


def new_secret(store: MemoryStore, level: Access = Access.WRITE, **options: Any) -> str:
    """A key of a new agent for one store."""
    return keys_and_roles.issue_key(new_agent(), stores=[store], access=level, **(BY | options))[1]


def new_hub(**own: Any) -> Hub:
    """A new store with a key that may write to it."""
    store = new_store(**own)
    return Hub(store, new_secret(store))


def contents(store: MemoryStore) -> dict[str, str]:
    """The live memories of a store as the rows have them: the tool's form of the path -> text."""
    rows = Memory.objects.filter(store=store, deleted_at=None).values_list("path", "text__content")
    return {paths.to_tool(path): text for path, text in rows}


def row_counts() -> dict[str, int]:
    """How many rows each table has that a refused request must leave alone."""
    tables = (Memory, MemoryVersion, MemoryText, Directory, IdempotentCall, Session)
    hub = {"hub entries": AuditEntry.objects.filter(chain=HUB).count()}
    return (
        {t.__name__: t.objects.count() for t in tables}
        | hub
        | {"entries": AuditEntry.objects.exclude(chain=HUB).count()}
    )


def newest_entry(chain: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(chain).newest()[0]


def assert_kept(kept: str | None, input: object) -> None:
    """An entry holds the input of a call that changed nothing: whole up to 4 KB, else its beginning and its size."""
    text = json.dumps(input, separators=(",", ":"))
    if len(text) <= 4096:
        assert json.loads(kept or "") == input
    else:
        _, whole = json.loads(kept or "")
        assert whole == {"kept_in_part": True, "bytes": len(text)} and len(kept or "") < 4500


def assert_audit_is_right(store: MemoryStore) -> None:
    """Both chains verify: the store's and the hub's. In the short form, about each third call looks, and each one in a
    test that runs on both databases."""
    from tests.support.both import sent

    looks = sent.where == "on both" or is_turn(3)
    for chain in (store.id, HUB) if looks else ():
        assert verify.verify(chain, settings.MEMORYHUB_CHECKPOINT_FILE)[1] is None
