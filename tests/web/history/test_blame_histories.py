"""Blame of random histories made through the real actions, against lines that carry who wrote them from act to act."""

import random
from dataclasses import dataclass, field
from itertools import count

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.models import Door, Memory, MemoryStore, MemoryVersion
from memoryhub.web.history.blame import lines_with_origins
from tests.support.long import parts, tried
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

Line = tuple[str, int]
"""A line, and the number of the version that wrote it."""


@dataclass
class Life:
    """One memory and what is done to it; `lines` holds those of each version, null where it deleted the memory."""

    caller: Caller
    chance: random.Random
    home: str
    path: str = field(init=False)
    memory: Memory = field(init=False)
    lines: list[list[Line] | None] = field(default_factory=list)
    written: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.path = f"{self.home}/d/a.md"
        lines = self.new(self.chance.randrange(1, 20))
        self.memory = self.caller.create(self.path, text_of(lines))
        self.lines.append(lines)

    def new(self, most: int, least: int = 1) -> list[Line]:
        """Lines that nobody wrote before, by the version that comes next."""
        return [
            (f"line {next(self.written):05}.", len(self.lines) + 1) for _ in range(self.chance.randint(least, most))
        ]

    @property
    def now(self) -> list[Line] | None:
        return self.lines[-1]

    @property
    def act(self) -> Act:
        return Act(Actor.system("tests"), Door.WEB, self.caller.at)

    def step(self) -> None:
        if self.now is None:
            self.restore()
        else:
            acts = (self.replace, self.insert, self.edit, self.rename, self.move_directory, self.delete, self.restore)
            self.chance.choices(acts, (6, 4, 4, 1, 1, 1, 2))[0]()

    def replace(self) -> None:
        """The agent replaces some lines by others, or by nothing."""
        lines = self.now or []
        if not lines:
            return
        first = self.chance.randrange(len(lines))
        last = min(len(lines), first + self.chance.randint(1, 3))
        added = self.new(3, least=0)
        self.caller.replace(self.path, text_of(lines[first:last]), text_of(added))
        self.lines.append([*lines[:first], *added, *lines[last:]])

    def insert(self) -> None:
        lines, added = self.now or [], self.new(4)
        at = self.chance.randrange(len(lines) + 1)
        result = self.caller.call("insert", path=f"/memories{self.path}", insert_line=at, insert_text=text_of(added))
        assert not result.is_error, result.content
        self.lines.append([*lines[:at], *added, *lines[at:]])

    def edit(self) -> None:
        """A person changes several places at once."""
        lines = list(self.now or ())
        for _ in range(self.chance.randint(1, 4)):
            at = self.chance.randrange(len(lines) + 1)
            lines[at : at + self.chance.randrange(3)] = self.new(2)
        self.memory.refresh_from_db()
        curation.edit(self.memory.store_id, self.memory.pk, text_of(lines), self.memory.sha256, self.act)
        self.lines.append(lines)

    def rename(self) -> None:
        """To another name in another directory."""
        new_path = f"{self.home}/d{len(self.lines)}/a.md"
        curation.rename(self.memory.store_id, self.path, new_path, self.act)
        self.path = new_path
        self.lines.append(self.now)

    def move_directory(self) -> None:
        directory = self.path.removesuffix("/a.md")
        new_directory = f"{self.home}/e{len(self.lines)}"
        arguments = {"old_path": f"/memories{directory}", "new_path": f"/memories{new_directory}"}
        result = self.caller.call("rename", **arguments)
        assert not result.is_error, result.content
        self.path = f"{new_directory}/a.md"
        self.lines.append(self.now)

    def delete(self) -> None:
        self.caller.delete(self.path)
        self.lines.append(None)

    def restore(self) -> None:
        """Any earlier text; from the trash, with a path that may be another."""
        number = self.chance.choice([number for number, lines in enumerate(self.lines, 1) if lines is not None])
        version = MemoryVersion.objects.get(memory=self.memory, number=number)
        self.memory.refresh_from_db()
        if self.memory.is_live and version.sha256 == self.memory.sha256:
            return  # nothing would change
        curation.restore(self.memory.store_id, version.pk, self.act)
        self.memory.refresh_from_db()
        self.path = self.memory.path
        self.lines.append(self.lines[number - 1])


def text_of(lines: list[Line]) -> str:
    return "".join(f"{line}\n" for line, _ in lines)


@pytest.mark.parametrize("seeds", parts(tried(500), 50), ids=str)
def test_each_line_came_with_the_version_that_wrote_it(seeds: range, store: MemoryStore, key: str) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        life = Life(Caller(store, key, session=f"run-{seed}"), chance, f"/home-{seed}")
        for _ in range(chance.randint(4, 16)):
            life.step()
        life.memory.refresh_from_db()
        assert life.memory.version_count == len(life.lines)
        for number in {len(life.lines), chance.randint(1, len(life.lines))}:
            expected = life.lines[number - 1]
            if expected is not None:
                found = lines_with_origins(life.memory, number)
                assert [*found.lines] == [line for line, _ in expected], seed
                assert [origin.number for origin in found.origins] == [who for _, who in expected], seed
