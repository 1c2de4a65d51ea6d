"""What the tests of agents and keys share: keys, calls with them, and what a page says."""

import json
import re
from html import unescape
from typing import Any

from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import HUB, Agent, AuditEntry, Key, MemoryStore
from tests.support.fixtures import BY


def text(response: Any) -> str:
    return unescape(str(response.content.decode()))


def newest(command: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).newest()[0]


def issue(agent: Agent, *reach: MemoryStore, **options: Any) -> Key:
    return keys_and_roles.issue_key(agent, stores=reach, **(BY | options))[0]


def call(store: MemoryStore, secret: str, **headers: str) -> int:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
    url = f"/v1/memory_stores/{store.id}/tool_calls"
    given = {"authorization": f"Bearer {secret}", **headers}
    return Client().post(url, json.dumps(block), "application/json", headers=given).status_code


def secret_in(response: Any) -> str:
    found = re.search(r'<code id="key"[^>]*>(mh_[\w-]+)</code>', response.content.decode())
    assert found is not None
    return found[1]
