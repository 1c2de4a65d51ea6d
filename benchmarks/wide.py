"""Fills a store for benchmarks of lists: at the root, in a wide directory, and in many directories."""

from django.utils import timezone

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.models import Door

TOGETHER = 1000


def fill(store_id: str, memories: int) -> None:
    """Create short memories: a third at the root, a third in /0/, and a third each in a directory of its own."""
    for start in range(0, memories, TOGETHER):
        act = Act(Actor.system("benchmark"), Door.COMMAND, timezone.now())
        with tree.locked(store_id, act) as store:
            for n in range(start, start + TOGETHER):
                tree.add_memory(store, place(n), f"The memory with the number {n}.\n")
            tree.commit(store, Record("create", versions=tuple(store.made)))


def place(n: int) -> str:
    return (f"/{n:06}.md", f"/0/{n:06}.md", f"/{n:06}/notes.md")[n % 3]
