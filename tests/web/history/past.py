"""What the tests of time share: an agent that writes at random, and what there was after each of its calls."""

from dataclasses import dataclass, field
from random import Random

from memoryhub.models import Memory, MemoryStore
from tests.web.history.versions import Caller

NAMES = ("a", "a.md", "a-b", "b", "c d", "あ", ".x")
Tree = dict[str, tuple[str, str]]
"""(memory id, text) by path."""


def tree_now(store: MemoryStore) -> Tree:
    """What lives in the store, read from its memories and not from their versions."""
    rows = Memory.objects.live().filter(store=store).select_related("text")
    return {memory.path: (memory.pk, memory.text.content) for memory in rows if memory.text}


@dataclass
class History:
    """An agent's calls and the tree after each entry of the store."""

    caller: Caller
    random: Random
    trees: dict[int, Tree] = field(default_factory=dict)

    def run(self, calls: int) -> "History":
        for number in range(calls):
            self._call(number)
            self.trees[self.caller.last.seq] = tree_now(self.caller.store)
        return self

    def _path(self) -> str:
        return "".join("/" + self.random.choice(NAMES) for _ in range(self.random.choice((1, 1, 2, 3))))

    def _call(self, number: int) -> None:
        """One call; many of them are refused, as those of agents are."""
        paths = sorted(self.trees[max(self.trees)]) if self.trees else []
        some = self.random.choice(paths) if paths else self._path()
        above = self.random.choice([some, "/".join(some.split("/")[:2])])
        kind = self.random.choice(("create", "create", "create", "insert", "rename", "delete"))
        if kind == "create":
            self.caller.call("create", path=f"/memories{self._path()}", file_text=f"line {number}\n")
        elif kind == "insert":
            self.caller.call("insert", path=f"/memories{some}", insert_line=0, insert_text=f"more {number}\n")
        elif kind == "rename":
            self.caller.call("rename", old_path=f"/memories{above}", new_path=f"/memories{self._path()}")
        else:
            self.caller.call("delete", path=f"/memories{above}")


def children(tree: Tree, directory: str) -> dict[str, bool]:
    """The names directly in a directory, and whether each is a directory."""
    beneath = [path[len(directory) + 1 :] for path in tree if path.startswith(directory + "/")]
    return {rest.partition("/")[0]: "/" in rest for rest in beneath}


def directories(tree: Tree) -> set[str]:
    """The root and every directory that there is."""
    parts = (path.split("/") for path in tree)
    return {"", *("/".join(names[:end]) for names in parts for end in range(2, len(names)))}
