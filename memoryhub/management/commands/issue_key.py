"""Issues a key to an agent."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles as access
from memoryhub.actions.core.audit import Actor
from memoryhub.models import Access, Agent, Door, MemoryStore
from memoryhub.operating.starting import HubCommand

LONGEST_NAME = 100
MOST_DAYS = 36_500
MOST_NAMED = 10


class Command(HubCommand):
    help = "Issues a key to an agent, creating the agent if none has that name; prints the key on the last line."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", help="the agent's name or id")
        scope = parser.add_mutually_exclusive_group(required=True)
        scope.add_argument("--store", action="append", default=[], metavar="ID", help="may be given more than once")
        scope.add_argument("--all-stores", action="store_true")
        parser.add_argument("--access", choices=Access.values, default=Access.WRITE.value)
        parser.add_argument("--days", type=int, help="the number of days after which the key expires")

    def handle(
        self, *, agent: str, store: list[str], all_stores: bool, access: str, days: int | None, **_: Any
    ) -> None:
        stores = list(MemoryStore.objects.filter(pk__in=store))
        if missing := set(store) - {found.id for found in stores}:
            raise CommandError(f"There is no memory store {', '.join(sorted(missing))}.")
        if not 1 <= len(agent.strip()) <= LONGEST_NAME or not agent.isprintable():
            raise CommandError(f"The agent's name must have 1 to {LONGEST_NAME} printable characters.")
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise CommandError(f"A key expires after 1 to {MOST_DAYS} days; without --days, never.")
        _, secret = issue(agent, stores, all_stores, Access(access), days)
        self.stdout.write(secret)


def issue(name: str, stores: list[MemoryStore], all_stores: bool, level: Access, days: int | None) -> tuple[Any, str]:
    """Find or create the agent, and issue a key to all stores or to `stores`. Return the key and its secret.

    Raises CommandError if several agents have the name.
    """
    by: dict[str, Any] = {"actor": Actor.system("issue_key"), "door": Door.COMMAND, "at": timezone.now()}
    found = Agent.objects.filter(pk=name) or Agent.objects.named(access.fold_name(name)).by_name()[:MOST_NAMED]
    if len(found) > 1:
        raise CommandError(f"Several agents have this name; give an id: {', '.join(agent.pk for agent in found)}.")
    agent = found[0] if found else access.create_agent(name, **by)
    expires_at = None if days is None else by["at"] + timedelta(days=days)
    return access.issue_key(agent, stores=stores, all_stores=all_stores, access=level, expires_at=expires_at, **by)
