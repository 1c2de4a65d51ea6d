"""Small trees of memories, and what the rows say of them."""

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Directory, Door, MemoryStore
from tests.api.harness import AT, Hub

ACT = Act(Actor.system("Anna"), Door.WEB, AT, note="by hand")


def directories(store: MemoryStore) -> dict[str, tuple[int, int]]:
    """path -> (memories, bytes) of every directory but the root."""
    rows = Directory.objects.filter(store=store).exclude(path="").values_list("path", "memory_count", "total_bytes")
    return {path: (count, size) for path, count, size in rows}


def root(store: MemoryStore) -> tuple[int, int, int, int]:
    """(memories, bytes) of the store, then of its root directory."""
    store.refresh_from_db()
    top = Directory.objects.get(store=store, path="")
    return store.memory_count, store.total_bytes, top.memory_count, top.total_bytes


def make(hub: Hub, *paths: str) -> None:
    """Memories whose text is one byte a character of their path."""
    for path in paths:
        assert hub.call(command="create", path=f"/memories{path}", file_text=path)[0] == "ok"


def rename(hub: Hub, old: str, new: str) -> str:
    return hub.call(command="rename", old_path=f"/memories{old}", new_path=f"/memories{new}")[0]
