"""Makes a hub with one large memory store, as if agents had worked in it for ninety days.

    .venv/bin/python -m benchmarks.large_store DIRECTORY [--memories 100000] [--versions 1000000] [--entries 2000000]
        [--copies 1]

DIRECTORY becomes the hub's data directory; DATABASE_URL chooses the database, which must be empty. Rows are written in
bulk, bypassing the actions, with a valid chain. Reviewers' decisions have entries, but without the commitments of the
hub's own decisions, so `verify_audit` may complain about review states. With `--copies 100`, only a hundredth of the
store is written in this way, and SQLite copies it, with a chain that does not verify.
"""

import argparse
import os
import random
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.story import Size
    from memoryhub.models import MemoryStore

STORE, ADMIN, PASSWORD = "Everything", "admin@example.com", "correct horse battery staple"
OTHER_STORES, AGENTS, PEOPLE = 9, 30, 3


def prepare(directory: Path) -> None:
    """Set up Django with this data directory; the hub's modules can only be imported afterwards."""
    os.environ["MEMORYHUB_DATA_DIR"] = str(directory)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()


def make(size: "Size", now: datetime, seed: int = 1, copies: int = 1) -> "MemoryStore":
    """Make people, agents and stores through the actions, then ninety days of the large store in bulk."""
    from benchmarks.bulk import Bulk, loading
    from benchmarks.copies import MODELS, copy
    from benchmarks.found import add_findings
    from benchmarks.ledger import Ledger
    from benchmarks.story import DAYS, Story
    from benchmarks.waiting import add_proposals
    from memoryhub.actions import figures

    start = now - timedelta(days=DAYS)
    store, cast = _stage(start - timedelta(days=1), seed)
    with loading(*MODELS):
        ledger = Ledger(Bulk(), store, tokens_from=now - timedelta(days=7))
        Story(size, cast, ledger, start, now, seed).tell()
    while not figures.catch_up(100):
        pass
    if copies > 1:
        with loading(*MODELS):
            copy(store, copies)
    store.refresh_from_db()
    add_findings(store)
    add_proposals(store, now)
    figures.make_lists(now)
    return store


def _stage(at: datetime, seed: int) -> tuple["MemoryStore", Any]:
    """Make an administrator with a password, people, agents, small stores, and the store that will be large."""
    from benchmarks.ledger import Author
    from benchmarks.phrases import Phrases
    from benchmarks.story import Cast
    from memoryhub.actions.accounts import keys_and_roles as access, people
    from memoryhub.actions.core.audit import Act, Actor
    from memoryhub.actions.memories import curation
    from memoryhub.actions.stores import stores
    from memoryhub.models import Access, Door, Role

    by: dict[str, Any] = {"actor": Actor.system("benchmark"), "door": Door.COMMAND, "at": at}
    admin = people.create_user(ADMIN, name="Ada", password=PASSWORD, is_superuser=True, **by)
    limits = {"limit_memories": 10**7, "limit_total_bytes": 10**12}
    store = stores.create_store(stores.StoreSettings(STORE, limits=limits), **by)
    persons = [admin]
    for name in ("Ben", "Chika")[: PEOPLE - 1]:
        person = people.create_user(f"{name.lower()}@example.com", name=name, password=PASSWORD, **by)
        access.set_role(store, person, Role.CURATOR, **by)
        persons.append(person)
    agents = []
    for number in range(AGENTS):
        agent = access.create_agent(f"Agent {number:02}", **by)
        key = access.issue_key(agent, stores=[store], access=Access.WRITE, **by)[0]
        agents.append(Author("key", key.id, agent.id, agent.name))
    phrases = Phrases(random.Random(seed + 1))
    for number in range(OTHER_STORES):
        other = stores.create_store(stores.StoreSettings(f"Small {number}"), **by)
        for memory in range(20):
            act = Act(Actor.person(admin), Door.WEB, at)
            curation.create(other.id, f"/notes/{memory:02}.md", phrases.text(10), act)
    return store, Cast(tuple(agents), tuple(Author("user", p.id, p.id, str(p)) for p in persons))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--versions", type=int, default=1_000_000)
    parser.add_argument("--entries", type=int, default=2_000_000)
    parser.add_argument("--copies", type=int, default=1, help="on SQLite, the number of copies that make up the store")
    arguments = parser.parse_args()
    prepare(arguments.directory.resolve())
    from django.core.management import call_command
    from django.utils import timezone

    from benchmarks.story import Size
    from memoryhub.models import MemoryStore

    call_command("migrate", verbosity=0)
    if MemoryStore.objects.exists():
        sys.exit("The hub has stores already: give a directory, and on PostgreSQL a database, that is empty.")
    began = time.monotonic()
    copies = arguments.copies
    size = Size(arguments.memories // copies, arguments.versions // copies, arguments.entries // copies)
    store = make(size, timezone.now(), copies=copies)
    print(f"{store.id} in {time.monotonic() - began:.0f} s; sign in as {ADMIN} with “{PASSWORD}”")


if __name__ == "__main__":
    main()
