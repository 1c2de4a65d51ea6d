"""Agents, keys and a person in the database of a hub that runs, made by a process of its own beside the server's.

`python manage.py shell -c "from tests.doors.prepare import main; main()"` prints them as JSON on its last line.
"""

import json
from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Door, Role

AGENTS = ("tool", "python", "typescript", "mcp", "sync")


def main() -> None:
    """One store that each agent may write to with a key of its own, keys for all stores, and Alice, signed in."""
    by: dict[str, Any] = {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": timezone.now()}
    store = stores.create_store(stores.StoreSettings(name="Doors"), **by)
    told: dict[str, Any] = {"store": store.id, "keys": {}, "ids": {}}
    for name in AGENTS:
        key, secret = keys_and_roles.issue_key(
            keys_and_roles.create_agent(name, **by), stores=[store], access=Access.WRITE, **by
        )
        told["keys"][name], told["ids"][name] = secret, key.id
    hub = keys_and_roles.create_agent("hub", **by)
    for name, level in (("manage", Access.MANAGE), ("read", Access.READ)):
        told["keys"][name] = keys_and_roles.issue_key(hub, all_stores=True, access=level, **by)[1]
    alice = people.create_user("alice@example.com", name="Alice", password="correct horse battery staple", **by)
    keys_and_roles.set_role(store, alice, Role.CURATOR, **by)
    client = Client()
    client.force_login(alice)
    told["ids"]["browser"] = alice.id
    told["cookie"] = client.cookies[settings.SESSION_COOKIE_NAME].value
    told["cookie_name"] = settings.SESSION_COOKIE_NAME
    print(json.dumps(told))  # noqa: T201 - what the tests read
