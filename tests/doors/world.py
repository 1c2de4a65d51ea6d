"""The stores, keys and memories on which the table's cases stand, made through the tool and the actions."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.memories import calls
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import Access, Agent, Door, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.limits import COLUMNS
from memoryhub.tool import ToolUse, execute

BEGIN = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
"""Each act of the making is one minute after the one before it."""
MANY = 105
BASIC = {
    "/a.md": "alpha\n",
    "/empty.md": "",
    "/notes-archive/old.md": "old\n",
    "/notes/deep/er/x.md": "x\n",
    "/notes/deep/y.md": "y\n",
    "/notes/todo.md": "one\ntwo\n",
    "/notes.txt": "text\n",
    "/Über.md": "grün\n",
}


class Maker:
    """Makes a world act by act; `names` is what the cases call its parts."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {"key.none": "", "key.wrong": "mh_wrong"}
        self._minutes = count()
        self._blocks = count(1)
        self.agent = keys_and_roles.create_agent("Table", **self.by)
        self.others_agent = keys_and_roles.create_agent("Other", **self.by)

    @property
    def by(self) -> dict[str, Any]:
        at = BEGIN + timedelta(minutes=next(self._minutes))
        return {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": at}

    def store(self, name: str, **own: Any) -> MemoryStore:
        metadata = own.pop("metadata", None)
        limits = {column: own.pop(column) for column in COLUMNS if column in own}
        settings = StoreSettings(name=name.title(), limits=limits, **own)
        made = stores.create_store(settings, metadata=metadata, **self.by)
        self.names[name] = made.id
        self.names[f"{name}.created"] = made.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return made

    def key(self, name: str, level: Access, *reached: MemoryStore, agent: Agent | None = None, **options: Any) -> None:
        by = self.by
        key, secret = keys_and_roles.issue_key(agent or self.agent, stores=reached, access=level, **(by | options))
        self.names[f"key.{name}"], self.names[f"id.{name}"] = secret, key.id

    def tool(self, store: MemoryStore, key: str = "manage", session: str | None = None, **input: Any) -> None:
        at = self.by["at"]
        caller = calls.find_caller(self.names[f"key.{key}"], store.id, at)
        assert caller is not None
        use = ToolUse.of(f"toolu_{next(self._blocks)}", input)
        result = execute(store.id, use, caller=caller, at=at, session=session, elapsed=lambda: 0)
        assert not result.is_error, result.content

    def write(self, store: MemoryStore, path: str, text: str) -> None:
        self.tool(store, command="create", path=f"/memories{path}", file_text=text)

    def name_memory(self, name: str, store: MemoryStore, path: str) -> None:
        """`<name>` is the memory, `<name.1>` its first version, `<name.sha>` what its text hashes to."""
        memory = Memory.objects.filter(store=store, path=path).latest("created_at")
        self.names |= {name: memory.id, f"{name}.sha": memory.sha256}
        for version in MemoryVersion.objects.filter(store=store, memory=memory):
            self.names[f"{name}.{version.number}"] = version.id
            self.names[f"{name}.{version.number}.at"] = version.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")


def make() -> dict[str, str]:
    """The world's names and what they stand for."""
    maker = Maker()
    main = maker.store("main", metadata={"team": "support", "tier": "gold"}, description="What Support knows")
    other, empty, archived = (maker.store(name) for name in ("other", "empty", "archived"))
    many = maker.store("many")
    full, small = maker.store("full", limit_memories=1), maker.store("small", limit_memory_bytes=10)
    tight, called = maker.store("tight", limit_total_bytes=12), maker.store("called", limit_calls=3)
    reached = (main, empty, archived, many, full, small, tight)
    maker.key("manage", Access.MANAGE, *reached)
    maker.key("write", Access.WRITE, *reached)
    maker.key("read", Access.READ, *reached)
    maker.key("other", Access.MANAGE, other, agent=maker.others_agent)
    maker.key("called", Access.MANAGE, called)
    maker.key("hub", Access.MANAGE, all_stores=True)
    maker.key("hub_write", Access.WRITE, all_stores=True)
    twins = [stores.create_store(StoreSettings(name="Twin"), **at_once) for at_once in [maker.by] * 3]
    maker.key("twins", Access.READ, *twins)
    maker.key("expired", Access.MANAGE, main, expires_at=BEGIN + timedelta(days=1))
    maker.key("revoked", Access.MANAGE, main)
    keys_and_roles.revoke_key(keys_and_roles.Key.objects.get(pk=maker.names["id.revoked"]), **maker.by)
    _fill(maker, main, other, many, archived, full)
    stores.set_archived(archived, True, **maker.by)
    for name, path in {"todo": "/notes/todo.md", "a": "/a.md", "empty_text": "/empty.md", "old": "/moved.md"}.items():
        maker.name_memory(name, main, path)
    maker.name_memory("gone", main, "/gone.md")
    maker.name_memory("others", other, "/b.md")
    maker.name_memory("kept", archived, "/kept.md")
    maker.name_memory("first", full, "/first.md")
    return maker.names


def _fill(
    maker: Maker, main: MemoryStore, other: MemoryStore, many: MemoryStore, archived: MemoryStore, full: MemoryStore
) -> None:
    for path, text in BASIC.items():
        maker.write(main, path, text)
    edit = {"command": "str_replace", "path": "/memories/notes/todo.md"}
    maker.tool(main, "write", old_str="one", new_str="ONE", **edit)
    maker.tool(main, "write", session="run-7", old_str="two", new_str="TWO", **edit)
    maker.write(main, "/before.md", "moves\n")
    maker.tool(main, command="rename", old_path="/memories/before.md", new_path="/memories/moved.md")
    maker.write(main, "/gone.md", "gone\n")
    maker.tool(main, command="delete", path="/memories/gone.md")
    maker.tool(other, "other", command="create", path="/memories/b.md", file_text="bee\n")
    for number in range(MANY):
        maker.write(many, f"/m{number:03}.md", f"{number}\n")
    maker.write(archived, "/kept.md", "kept\n")
    maker.tool(archived, command="str_replace", path="/memories/kept.md", old_str="kept", new_str="kept on")
    maker.write(full, "/first.md", "first\n")
