"""The story of a synthetic store: agents and people read, write, move and delete memories for ninety days.

Some memories, sessions, agents and doors are the same in a store of any size, so that their pages can be compared.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from benchmarks.acts import HANDBOOK_LINES, MOST_MOVED, Acts
from benchmarks.ledger import MADE_BY, REVIEW_STATE, Author, By, Ledger, Made
from benchmarks.phrases import Places, sessions
from memoryhub.pure import ids
from memoryhub.pure.protocol import paths

DAYS = 90
HANDBOOK, TYPICAL, MOVED = "/handbook.md", "/reference/typical.md", "/reference/moved.md"
DIARY, POPULAR = "/reference/diary.md", "/reference/popular.md"
"""Two memories that grow with the store: one is written and read by turns, the other is read by many sessions."""
HANDBOOK_VERSIONS = 500
NEEDLES = (("quokka", 5), ("axolotl", 3), ("pangolin", 3))
"""Rare words, and how many memories have them: in their text, only in old versions, or only in the trash."""
RARE = 60
READERS = 61
"""More than the sessions on a page, which read the newest version of the diary."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the store: about this many live memories, and this many versions and entries."""

    memories: int
    versions: int
    entries: int


@dataclass(frozen=True, slots=True)
class Cast:
    """The actors. The last agent acts rarely. The agent before it comes through a rarely used door."""

    agents: tuple[Author, ...]
    people: tuple[Author, ...]


@dataclass(slots=True)
class Run:
    """One session of an agent: how many calls it still makes, and the memories that it works on."""

    id: str
    name: str
    by: By
    left: int
    first: datetime
    last: datetime
    targets: list[Made] = field(default_factory=list)


class Story(Acts):
    """Generates the whole story, one entry at a time."""

    def __init__(self, size: Size, cast: Cast, ledger: Ledger, start: datetime, end: datetime, seed: int = 1) -> None:
        super().__init__(ledger, random.Random(seed))
        self.size, self.cast, self.start = size, cast, start
        self.places = Places(self.chance, size.memories)
        self.step = (end - start) / size.entries
        self.names = sessions()
        self.trashed = max(240, size.memories // 12)
        self.left = {"created": size.memories + self.trashed, "deleted": self.trashed}
        self.runs: list[Run] = []
        self.large: Run | None = None
        self.held: dict[str, tuple[Run, Made]] = {}

    # -------------------------------------------------------------------------------------------- the plan

    def tell(self) -> None:
        """Generate everything, to the last row."""
        ledger, size = self.ledger, self.size
        planned = deque(sorted(self._planned(), key=lambda plan: plan[0]))
        self.runs = [self._new_run() for _ in range(8)]
        while ledger.seq < size.entries:
            ledger.now = self.start + self.step * (ledger.next_seq - self.chance.random() / 2)
            if planned and planned[0][0] <= ledger.next_seq:
                planned.popleft()[1]()
            else:
                self._something()
        for run in [*self.runs, *([self.large] if self.large else []), *(run for run, _ in self.held.values())]:
            self._end(run)
        self._review()
        ledger.close(self.memories)

    def _planned(self) -> Iterator[tuple[int, Callable[[], object]]]:
        """Yield (seq, act) for the acts that must happen in a store of any size. `seq` is the entry that the act
        writes."""
        everywhere = self._moments()
        agents = self.cast.agents
        rare, other_door = By(agents[-1], "tool"), By(agents[-2], "mcp")
        for number in range(RARE):
            yield next(everywhere(0.02, 0.06, number, RARE)), partial(self._rare, rare)
            yield next(everywhere(0.021, 0.061, number, RARE)), partial(self._rare, other_door)
        yield from self._of_a_subject(everywhere, HANDBOOK, HANDBOOK_LINES, HANDBOOK_VERSIONS - 1, 100)
        yield from self._of_a_subject(everywhere, TYPICAL, 30, 29, 60)
        yield from self._of_a_subject(everywhere, MOVED, 30, 10, 10)
        for word, count in NEEDLES:
            for number in range(count):
                yield next(everywhere(0.11, 0.12, number, count)), partial(self._needle, word, number)
        for path, count, act in (
            (DIARY, max(300, self.size.versions // 100), self._of_the_diary),
            (POPULAR, max(120, self.size.versions // 1000), self._of_the_popular),
        ):
            for number in range(count):
                yield next(everywhere(0.1, 0.97, number, count)), partial(act, path, number)
        for number in range(1, READERS):
            yield next(everywhere(0.971, 0.98, number, READERS)), partial(self._of_the_popular, DIARY, number)
        told = self._new_run("ticket-7001")
        for number in range(40):
            yield next(everywhere(0.93, 0.9301, number, 40)), partial(self._scripted, told, number)
        yield next(everywhere(0.95, 0.96, 0, 1)), partial(self._end, told, True)

    def _moments(self) -> Callable[[float, float, int, int], Iterator[int]]:
        """Return a function that yields one unused seq between two fractions of all entries."""
        taken: set[int] = set()

        def moments(low: float, high: float, number: int, count: int) -> Iterator[int]:
            seq = int(self.size.entries * (low + (high - low) * number / count))
            while seq in taken:
                seq += 1
            taken.add(seq)
            yield seq

        return moments

    def _of_a_subject(
        self, moments: Callable[[float, float, int, int], Iterator[int]], path: str, lines: int, edits: int, reads: int
    ) -> Iterator[tuple[int, Callable[[], object]]]:
        run, person = self._new_run(f"keeper of {paths.name(path)}"), By(self.cast.people[0], "web")
        held: list[Made] = []
        yield next(moments(0.015, 0.016, 0, 1)), lambda: held.append(self.create(run.by, path, lines, subject=True))
        for number in range(edits):
            by = person if number % 10 == 9 else run.by
            yield next(moments(0.03, 0.98, number, edits)), lambda by=by: self.edit(by, held[0])
        for number in range(reads):
            yield next(moments(0.031, 0.99, number, reads)), lambda: self.view(run.by, held[0])
        if path == MOVED:
            places = ("/reference/elsewhere.md", "/moved/elsewhere.md", MOVED)
            for number, place in enumerate(places):
                yield next(moments(0.2, 0.9, number, 3)), lambda place=place: self.rename(run.by, held[0], place)
        yield next(moments(0.991, 0.992, 0, 1)), partial(self._end, run, True)

    # -------------------------------------------------------------------------------------------- by chance

    def _something(self) -> None:
        """Do one random act. It is a write as often as the number of missing versions requires; else it is a read or,
        rarely, the act of a person."""
        entries = self.size.entries - self.ledger.seq
        versions = self.size.versions - len(self.ledger.versions)
        draw = self.chance.random() * entries
        if draw < versions:
            self._write(draw, versions)
        elif self.chance.random() < 0.06:
            self.by_a_person(By(self.chance.choice(self.cast.people), "web"))
        else:
            self._read(self._run())

    def _write(self, draw: float, versions: int) -> None:
        """Make one version: create, delete, rename or edit a memory, or move a directory. Creations and deletions come
        as often as their planned numbers require."""
        if draw < self.left["created"] or len(self.live) < 10:
            self.left["created"] -= 1
            run = self._run()
            memory = self.create(run.by, self.places.free())
            run.targets.append(memory)
        elif draw < self.left["created"] + self.left["deleted"]:
            self.left["deleted"] -= 1
            self.delete(self._run().by, self.chance.choice(self.live))
        elif (kind := self.chance.random()) < 0.0004 and versions > 10 * MOST_MOVED:
            self.move_directory(self._run().by)
        elif kind < 0.03:
            memory = self.chance.choice(self.live)
            stem, dot, ending = memory.path.rpartition(".")
            self.rename(self._run().by, memory, f"{stem}-{self.ledger.next_seq}{dot}{ending}")
        elif kind < 0.06:
            self.edit(By(self.chance.choice(self.cast.people), "web"), self.any())
        else:
            run = self._run()
            self.edit(run.by, self._target(run))

    def _read(self, run: Run) -> None:
        kind = self.chance.random()
        if kind < 0.02 or not self.live:
            self.fail(run.by)
        elif kind < 0.2:
            self.list(run.by, self._target(run))
        else:
            self.view(run.by, self._target(run))

    def _run(self) -> Run:
        """Return the session for the next call; one session in the middle of the story is very large."""
        part = self.ledger.seq / self.size.entries
        if 0.4 < part < 0.6 and self.chance.random() < 0.25:
            if self.large is None:
                self.large = self._new_run("nightly-import")
            run = self.large
        else:
            at = self.chance.randrange(len(self.runs))
            run = self.runs[at]
            if run.left <= 0:
                self._end(run)
                run = self.runs[at] = self._new_run()
        run.left -= 1
        run.last = self.ledger.now
        return run

    def _new_run(self, name: str | None = None) -> Run:
        now, agents = self.ledger.now, self.cast.agents
        author = agents[int(self.chance.random() ** 2 * (len(agents) - 2))] if name is None else agents[0]
        id = ids.new_id(ids.SESSION, now)
        door = "api" if author == agents[1] else "tool"
        length = 4 + int(self.chance.paretovariate(1.3) * 6)
        return Run(id, name or next(self.names), By(author, door, id), min(length, 400), now, now)

    def _end(self, run: Run, is_planned: bool = False) -> None:
        """Write the row of a session. A planned end also reads something, because each planned act must write an
        entry."""
        last = self.ledger.now if is_planned else run.last
        self.ledger.session(run.id, run.by.author.author_id, run.name, run.first, last)
        if is_planned:
            self._read(self._run())

    def _target(self, run: Run) -> Made:
        """Return a memory for the session to work on. A session works on few memories, except the very large one."""
        run.targets = [memory for memory in run.targets[-6:] if memory.deleted is None]
        if len(run.targets) < 3 or self.chance.random() < 0.1 or run is self.large:
            run.targets.append(self.any())
        return self.chance.choice(run.targets)

    # -------------------------------------------------------------------------------------------- subjects

    def _rare(self, by: By) -> None:
        self.view(by, self.chance.choice(self.live))

    def _of_the_diary(self, path: str, number: int) -> None:
        """Write or read the diary, in a new session after every twenty acts."""
        run = self._visitor(path, every=20, number=number)
        if number % 2:
            self.view(run.by, self.held[path][1])
        elif number:
            self.edit(run.by, self.held[path][1])

    def _of_the_popular(self, path: str, number: int) -> None:
        """Read a memory in a new session."""
        run = self._visitor(path, every=1, number=number)
        if number:
            self.view(run.by, self.held[path][1])

    def _visitor(self, path: str, *, every: int, number: int) -> Run:
        """Return the session of a memory's next act; the first of them creates the memory."""
        if number == 0:
            run = self._new_run()
            self.held[path] = run, self.create(run.by, path, 30, subject=True)
        elif number % every == 0:
            run, memory = self.held[path]
            self._end(run)
            self.held[path] = self._new_run(), memory
        run = self.held[path][0]
        run.last = self.ledger.now
        return run

    def _needle(self, word: str, number: int) -> None:
        by = self._run().by
        memory = self.create(
            by, f"/needles/{word}-{number}.md", 12, f"- Nobody has ever seen a {word} here.\n", subject=True
        )
        if word == "axolotl":
            self.rewrite(by, memory, memory.text.content.replace(word, "newt"))
        elif word == "pangolin":
            self.delete(by, memory)

    def _scripted(self, run: Run, number: int) -> None:
        """Make the next call of the scripted session: four creations, then views, with some edits and listings between
        them."""
        run.first = self.ledger.now if number == 0 else run.first
        if number < 4:
            run.targets.append(self.create(run.by, f"/tickets/7001/step-{number}.md", 20, subject=True))
        elif number % 5 == 0:
            self.edit(run.by, run.targets[number % 4])
        elif number % 7 == 0:
            self.list(run.by, run.targets[0])
        else:
            self.view(run.by, run.targets[number % 4])

    def _review(self) -> None:
        """Approve most of the old versions, as if a person reviewed every day."""
        for row in self.ledger.versions:
            if (
                row[REVIEW_STATE] == "unreviewed"
                and row[MADE_BY] < 0.9 * self.size.entries
                and self.chance.random() < 0.98
            ):
                row[REVIEW_STATE] = "approved"
