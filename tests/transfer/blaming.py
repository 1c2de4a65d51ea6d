"""A memory whose lines several wrote, and who did so as the hub's own blame says."""

from datetime import timedelta

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.models import Door, Memory, MemoryStore, MemoryVersion
from memoryhub.web.history.blame import lines_with_origins
from tests.actions.history.histories import PERSON
from tests.api.harness import AT, new_agent, new_store

TEXTS = (
    "one\ntwo\nthree\nfour\nfive\n",
    "one\ntwo by another\nthree\nfour\nfive\n",
    "zero\none\ntwo by another\nthree\nfive\n",
    "zero\none\ntwo by another\nthree and more\nfive\nsix\nseven\n",
)


def written() -> tuple[MemoryStore, str]:
    """Each text by somebody else; after the second one it moves, and then its directory does."""
    store = new_store()
    who = [Actor.key(f"apikey_{number}", new_agent()) for number in (1, 2)] + [PERSON]
    acts = [Act(who[turn % 3], Door.WEB, AT + timedelta(hours=turn)) for turn in range(6)]
    memory = curation.create(store.id, "/notes/plan.md", TEXTS[0], acts[0]).memory
    _edit(store, memory, TEXTS[1], acts[1])
    curation.rename(store.id, "/notes/plan.md", "/notes/moved.md", acts[2])
    curation.rename(store.id, "/notes", "/archive", acts[3])
    _edit(store, memory, TEXTS[2], acts[4])
    _edit(store, memory, TEXTS[3], acts[5])
    return store, "/archive/moved.md"


def _edit(store: MemoryStore, memory: str, text: str, act: Act) -> None:
    curation.edit(store.id, memory, text, Memory.objects.get(pk=memory).sha256, act)


def blamed(store: MemoryStore, path: str) -> list[str]:
    """The version that brought each line."""
    memory = Memory.objects.get(store=store, path=path)
    numbers = dict(MemoryVersion.objects.of_memory(memory).values_list("number", "pk"))
    return [numbers[origin.number] for origin in lines_with_origins(memory, memory.version_count).origins]
