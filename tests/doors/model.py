"""A model of a memory store: what the acts that drivers recorded must have left, in versions and in the audit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Act:
    """One act as the audit tells it; `change` is what it makes of the memory's text, if it makes any."""

    door: str
    command: str
    path: str
    new_path: str | None = None
    ok: bool = True
    change: Callable[[str], str] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Version:
    """A memory version; `memory` counts memories in the order in which they were created."""

    seq: int
    memory: int
    number: int
    operation: str
    path: str
    text: str | None


@dataclass(slots=True)
class Memory:
    place: int
    text: str
    number: int = 0


@dataclass(slots=True)
class Model:
    """The tree that acts make, one after the other, and its versions."""

    live: dict[str, Memory] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    created: int = 0

    def apply(self, seq: int, act: Act) -> None:
        """What the act of an entry does; a refused one and one that reads do nothing."""
        if not act.ok or act.command == "view":
            return
        if act.command == "create":
            assert act.path not in self.live and act.change is not None
            self.created += 1
            self.live[act.path] = Memory(self.created, act.change(""))
            self._note(seq, act.path, "created")
        elif act.command == "delete":
            for path in self._beneath(act.path):
                self._note(seq, path, "deleted")
                del self.live[path]
        else:
            self._edit(seq, act)

    def _edit(self, seq: int, act: Act) -> None:
        """Another text, another place, or both."""
        for path in self._beneath(act.path):
            memory = self.live[path]
            text = memory.text if act.change is None else act.change(memory.text)
            new_path = path if act.new_path is None else act.new_path + path.removeprefix(act.path)
            if (text, new_path) != (memory.text, path):
                memory.text = text
                self.live[new_path] = self.live.pop(path)
                self._note(seq, new_path, "modified")

    def _beneath(self, path: str) -> list[str]:
        found = sorted(each for each in self.live if each == path or each.startswith(path + "/"))
        assert found, path
        return found

    def _note(self, seq: int, path: str, operation: str) -> None:
        memory = self.live[path]
        memory.number += 1
        text = None if operation == "deleted" else memory.text
        self.versions.append(Version(seq, memory.place, memory.number, operation, path, text))


@dataclass(slots=True)
class Exchange:
    """One request to the memory_stores API and its answer, as a client saw them."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int
    answer: Any


def acts_of(exchanges: Iterable[Exchange]) -> list[Act]:
    """What the audit must tell of a client's exchanges, in their order."""
    known: dict[str, str] = {}
    return [act for exchange in exchanges for act in _acts(exchange, known)]


def _acts(exchange: Exchange, known: dict[str, str]) -> list[Act]:
    """`known` are the paths of memories by their ids, as far as the client was told them."""
    assert exchange.status in (200, 404, 409), exchange
    memory = exchange.path.partition("/memories")[2].strip("/")
    acts = [] if exchange.status == 404 else _told(exchange, memory, known)
    items = [exchange.answer, *exchange.answer.get("data", [])]
    known |= {item["id"]: item["path"] for item in items if item.get("type") == "memory"}
    return acts


def _told(exchange: Exchange, memory: str, known: dict[str, str]) -> list[Act]:
    ok, body, answer = exchange.status == 200, exchange.body or {}, exchange.answer
    if exchange.method == "DELETE":
        return [Act("api", "delete", known[memory], ok=ok)]
    if exchange.method == "POST" and not memory:
        return [Act("api", "create", body["path"], ok=ok, change=lambda _: str(body["content"]))]
    if exchange.method == "POST":
        content = body.get("content")
        command = "rename" if content is None else "edit"
        change = None if content is None else (lambda _: str(content))
        return [Act("api", command, known[memory], body.get("path"), ok, change)]
    full = exchange.query.get("view", "full" if memory else "basic") == "full"
    read = [answer] if memory else [item for item in answer["data"] if item["type"] == "memory"]
    return [Act("api", "view", item["path"]) for item in read if full]
