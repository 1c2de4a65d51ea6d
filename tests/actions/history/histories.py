"""Random histories of a store: agents in sessions and people write, and a dictionary is told the same."""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import commands, curation
from memoryhub.models import Agent, Door, Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.commands import parse
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import AT, new_agent, new_store
from tests.protocol.dictionary_hub import DictionaryHub
from tests.support.write_guard import arranging

PLACES = ("/a", "/b", "/d/a", "/d/b", "/d/e/c", "/d/e/名", "/f/a", "/x")
DIRECTORIES = ("/d", "/d/e", "/f", "/g")
ANNA = "user_00000000000000000000000001"
PERSON = Actor("user", ANNA, ANNA, "Anna")


@dataclass
class History:
    """A store and what a dictionary says it held after each entry: `trees[seq]` is path -> text, in the API's form."""

    random: Random
    store: MemoryStore = field(default_factory=new_store)
    agent: Agent = field(default_factory=new_agent)
    model: DictionaryHub = field(default_factory=DictionaryHub)
    trees: dict[int, dict[str, str]] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)
    words: int = 0

    def __post_init__(self) -> None:
        self.trees[1] = {}
        with arranging():
            User.objects.get_or_create(pk=ANNA, defaults={"email": "anna@example.com", "created_at": AT})
        for name in ("one", "two", "three"):
            session = Session(
                id=f"sesn_{self.store.id[9:]}{name}", agent=self.agent, name=f"{self.store.id} {name}",
                first_seen_at=AT, last_seen_at=AT,
            )  # fmt: skip
            self.sessions.append(session)

    @property
    def seq(self) -> int:
        return max(self.trees)

    def word(self) -> str:
        """A line that no other text has."""
        self.words += 1
        return f"line {self.words}"

    def run(self, steps: int) -> "History":
        for _ in range(steps):
            self.step()
        return self

    def step(self) -> None:
        """One act of an agent, or now and then of a person."""
        if self.random.random() < 0.2:
            self._person()
        else:
            self.call(self._input(), self.random.choice([None, *self.sessions]))
        self.trees[self.seq + 1] = {paths.from_tool(path): text for path, text in self.model.memories.items()}

    def act(self, actor: Actor, session: Session | None = None) -> Act:
        return Act(actor, Door.TOOL, AT + timedelta(seconds=self.seq), session=session.id if session else None)

    def call(self, input: dict[str, object], session: Session | None) -> None:
        """A tool call on both; they agree on whether it succeeds."""
        act = self.act(Actor.key("apikey_1", self.agent), session)
        with tree.locked(self.store.id, act) as store:
            try:
                record = commands.perform(store, parse(input))
            except ToolError as error:
                record = commands.refusal(error, error.command, error.path, error.new_path)
            tree.commit(store, record.given(audit.to_json(input)))
        assert record.ok == self.model.call(input)[0]

    def _input(self) -> dict[str, object]:
        random, live = self.random, sorted(self.model.memories)
        command = random.choice(
            ["create", "create", "str_replace", "str_replace", "insert", "delete", "rename", "view"]
        )
        path = random.choice(live) if live and random.random() < 0.9 else f"/memories{random.choice(PLACES)}"
        if command == "create":
            text = "".join(f"{self.word()}\n" for _ in range(random.randint(0, 6)))
            return {"command": command, "path": f"/memories{random.choice(PLACES)}", "file_text": text}
        if command == "str_replace":
            line = random.choice(self.model.memories.get(path, "").splitlines() or ["nothing"])
            new = random.choice(["", self.word(), f"{self.word()}\n{line}"])
            return {"command": command, "path": path, "old_str": line, "new_str": new}
        if command == "insert":
            count = self.model.memories.get(path, "").count("\n")
            return {
                "command": command,
                "path": path,
                "insert_line": random.randint(0, count),
                "insert_text": self.word(),
            }
        if command == "delete" and random.random() < 0.4:
            path = f"/memories{random.choice(DIRECTORIES)}"
        if command == "rename":
            source = path if random.random() < 0.6 else f"/memories{random.choice(DIRECTORIES)}"
            target = random.choice((*PLACES, *DIRECTORIES))
            return {"command": command, "old_path": source, "new_path": f"/memories{target}"}
        return {"command": command, "path": path}

    def _person(self) -> None:
        """Edits a memory, or restores one of the versions that there were."""
        versions = list(MemoryVersion.objects.filter(store=self.store, text__isnull=False).order_by("seq", "id"))
        live = list(Memory.objects.filter(store=self.store).live().order_by("path").select_related("text"))
        if live and self.random.random() < 0.5:
            memory = self.random.choice(live)
            content = f"{self.word()}\n{memory.text.content}"
            curation.edit(self.store.id, memory.id, content, memory.sha256, self.act(PERSON))
            self.model.memories[paths.to_tool(memory.path)] = content
            return
        try:
            version = self.random.choice(versions)
            done = curation.restore(self.store.id, version.id, self.act(PERSON))
        except (ToolError, IndexError):
            self.call({"command": "view", "path": "/memories"}, None)
            return
        now = Memory.objects.get(pk=done.memory)
        self.model.memories[paths.to_tool(now.path)] = version.text.content


def tree_now(store: MemoryStore) -> dict[str, str]:
    """path -> text of the live memories."""
    return dict(Memory.objects.filter(store=store).live().values_list("path", "text__content"))


def tree_after(store: MemoryStore, seq: int) -> dict[str, str]:
    """path -> text of the versions that were current after an entry."""
    return dict(MemoryVersion.objects.filter(store=store).as_of(seq).values_list("path", "text__content"))


def ids_after(store: MemoryStore, seq: int) -> dict[str, str]:
    """memory -> path after an entry."""
    return dict(MemoryVersion.objects.filter(store=store).as_of(seq).values_list("memory_id", "path"))
