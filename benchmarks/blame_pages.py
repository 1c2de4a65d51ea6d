"""Memories with long histories, and the costs of their plain page and their blame."""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import people
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import Door, Memory, MemoryVersion, User

LINE = "- {number}: the customer likes short answers"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of history. Each version changes `places` places; every `rename_every`th version only renames (0:
    none)."""

    name: str
    places: int
    rename_every: int = 0


KINDS = (
    Kind("one place a version", 1),
    Kind("three places a version", 3),
    Kind("ten places a version", 10),
    Kind("three places, renames and restores", 3, rename_every=10),
)


def measure_all(lines: int, versions: int, rounds: int) -> float:
    """Print a line for each kind of history; return the worst ratio."""
    actor = Actor.system("benchmark")
    user = people.create_user(
        "root@example.com", name="Root", password="x" * 20, is_superuser=True, actor=actor, door=Door.COMMAND,
        at=timezone.now(),
    )  # fmt: skip
    print(f"{lines} lines, {versions} versions")
    print(f"{'':40} {'plain':>11} {'blame':>11} {'ratio':>8}")
    return max(_measure(kind, user, memory_with_history(kind, lines, versions), rounds) for kind in KINDS)


def _measure(kind: Kind, user: User, memory: Memory, rounds: int) -> float:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)

    def get(page: str) -> None:
        answer = client.get(f"/stores/{memory.store_id}/memories/{memory.pk}{page}")
        assert answer.status_code == 200

    plain, blame = medians((lambda: get(""), lambda: get("/blame")), rounds)
    print(f"{kind.name:40} {plain:8.1f} ms {blame:8.1f} ms {blame / plain:8.1f}", flush=True)
    return blame / plain


def memory_with_history(kind: Kind, lines: int, versions: int) -> Memory:
    """Return the only memory of a new store, with this many lines and versions."""
    chance, act = random.Random(1), Act(Actor.system("benchmark"), Door.COMMAND, timezone.now())
    settings = stores.StoreSettings(name=kind.name, limits={"limit_memory_bytes": 10_000_000})
    store = stores.create_store(settings, actor=act.actor, door=act.door, at=act.at).pk
    text = [LINE.format(number=number) for number in range(lines)]
    memory = Memory.objects.get(pk=curation.create(store, "/a.md", "\n".join(text) + "\n", act).memory)
    for version in range(2, versions + 1):
        memory.refresh_from_db()
        if kind.rename_every and version % kind.rename_every == 0:
            curation.rename(store, memory.path, f"/{version}.md", act)
        elif kind.rename_every and version % kind.rename_every == 5:
            earlier = MemoryVersion.objects.of_memory(memory).filter(number__lt=version - 1).newest()[:50]
            curation.restore(store, chance.choice(list(earlier)).pk, act)
        else:
            change(text, kind.places, version, chance)
            curation.edit(store, memory.pk, "\n".join(text) + "\n", memory.sha256, act)
    memory.refresh_from_db()
    return memory


def change(text: list[str], places: int, version: int, chance: random.Random) -> None:
    """Replace one or two lines at each of `places` random places."""
    for place in range(places):
        at = chance.randrange(len(text) - 3)
        removed = chance.choice((1, 1, 1, 2))
        text[at : at + removed] = [LINE.format(number=f"{version}.{place}.{n}") for n in range(removed)]


def medians(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median processor time of each function, in milliseconds. The functions run in turn for each round; the
    first round is not counted."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 1):
        for work, times in zip(works, took, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [statistics.median(times[1:]) * 1000 for times in took]
