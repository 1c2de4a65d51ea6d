"""Acts in a synthetic store: each one changes the memories in Python and writes their rows."""

import random
from collections import deque

from benchmarks.ledger import REVIEW_STATE, By, Ledger, Made, Told
from benchmarks.phrases import WIDE, Phrases
from memoryhub.actions.core.sql import moment
from memoryhub.models import Review
from memoryhub.pure import ids
from memoryhub.pure.protocol import paths, rendering, results

HANDBOOK_LINES = 2000
MOST_MOVED = 40


class Acts:
    """The current memories, and the acts that change them. `live` are the memories that may be chosen at random."""

    def __init__(self, ledger: Ledger, chance: random.Random) -> None:
        self.ledger, self.chance, self.phrases = ledger, chance, Phrases(chance)
        self.memories: list[Made] = []
        self.live: list[Made] = []
        self.in_directory: dict[str, set[Made]] = {}
        self.recent: deque[Made] = deque(maxlen=200)

    def create(self, by: By, path: str, lines: int | None = None, first: str = "", *, subject: bool = False) -> Made:
        ledger, id = self.ledger, ids.new_id(ids.MEMORY, self.ledger.now)
        memory = Made(id, path, ledger.text(id, first + self._text(lines)), ledger.now, subject)
        self.memories.append(memory)
        self._enter(memory)
        version = ledger.version(by, memory, "created")
        input = {"command": "create", "path": paths.to_tool(path), "file_text": memory.text.content}
        ledger.entry(by, Told("create", input, results.created(path), path, memory=id, version=version))
        return memory

    def _text(self, lines: int | None) -> str:
        if lines != HANDBOOK_LINES:
            return self.phrases.text(lines)
        return "".join(f"- {self.chance.choice(self.phrases.sentences)[:40]}\n" for _ in range(lines))

    def edit(self, by: By, memory: Made) -> None:
        """Replace a line of the memory by one or several, or insert a line."""
        lines = memory.text.content.split("\n")
        at = self.chance.randrange(len(lines) - 1)
        old, new = lines[at], self.phrases.line()
        if by.author.kind != "key":
            return self._by_hand(by, memory, "\n".join([*lines[:at], new, *lines[at + 1 :]]))
        path, limit = paths.to_tool(memory.path), 60
        if len(lines) < limit and self.chance.random() < 0.25:
            text = "\n".join([*lines[: at + 1], new, *lines[at + 1 :]])
            input = {"command": "insert", "path": path, "insert_line": at + 1, "insert_text": new}
            return self._written(by, memory, text, Told("insert", input, results.edited(memory.path)))
        more = [] if len(lines) >= limit or self.chance.random() < 0.8 else [self.phrases.line()]
        text = "\n".join([*lines[:at], new, *more, *lines[at + 1 :]])
        input = {"command": "str_replace", "path": path, "old_str": old, "new_str": "\n".join([new, *more])}
        first, last = max(1, at - 3), min(len(lines), at + 5)
        answer = rendering.edited_again(text, first, last)
        return self._written(by, memory, text, Told("str_replace", input, answer, first=first, last=last))

    def _by_hand(self, by: By, memory: Made, text: str) -> None:
        input = {"memory": memory.id, "sha256": memory.text.sha256}
        self._written(by, memory, text, Told("edit", input, note="Corrected by hand"))

    def rewrite(self, by: By, memory: Made, text: str) -> None:
        input = {"command": "str_replace", "path": paths.to_tool(memory.path), "old_str": "…", "new_str": "…"}
        answer = rendering.edited_again(text, 1, 5)
        self._written(by, memory, text, Told("str_replace", input, answer, first=1, last=5))

    def _written(self, by: By, memory: Made, text: str, told: Told) -> None:
        memory.text = self.ledger.text(memory.id, text)
        version = self.ledger.version(by, memory, "modified")
        self.ledger.entry(by, told._replace(path=memory.path, memory=memory.id, version=version))
        if not memory.is_subject:
            self.recent.append(memory)

    def view(self, by: By, memory: Made) -> None:
        path, ledger = memory.path, self.ledger
        shown = rendering.view(path, memory.text.content, None, 16_000)
        memory.reads += 1
        memory.last_read, memory.last_read_seq = ledger.now, ledger.next_seq
        input = {"command": "view", "path": paths.to_tool(path)}
        ledger.entry(by, Told(
            "view", input, shown.answer, path, memory=memory.id, version=memory.head[0], first=shown.first,
            last=shown.last, cut=shown.cut,
        ))  # fmt: skip

    def list(self, by: By, memory: Made) -> None:
        """View the directory of a memory. At most 100 of its memories are listed; of the wide directory, only this
        memory."""
        place = paths.parent(memory.path)
        here = sorted(self.in_directory[place], key=lambda made: made.path)[:100] if place != WIDE else [memory]
        shown = [rendering.Entry(made.path, made.text.size, False) for made in here]
        answer = rendering.listing(place, sum(entry.size for entry in shown), shown)
        self.ledger.entry(by, Told("view", {"command": "view", "path": paths.to_tool(place)}, answer, place))

    def fail(self, by: By) -> None:
        if self.live and self.chance.random() < 0.5:
            path = self.any().path
            input = {"command": "create", "path": paths.to_tool(path), "file_text": self.phrases.line()}
            told = Told("create", input, results.already_exists(path), path, ok=False)
        else:
            path = f"/nowhere/{self.chance.randrange(1000)}.md"
            input = {"command": "view", "path": paths.to_tool(path)}
            told = Told("view", input, results.view_not_found(path), path, ok=False)
        self.ledger.entry(by, told)

    def rename(self, by: By, memory: Made, path: str) -> None:
        old = memory.path
        self._leave(memory)
        memory.path = path
        self._enter(memory)
        version = self.ledger.version(by, memory, "modified")
        input = {"command": "rename", "old_path": paths.to_tool(old), "new_path": paths.to_tool(path)}
        answer = results.renamed(old, path)
        self.ledger.entry(by, Told("rename", input, answer, old, path, memory.id, version))

    def move_directory(self, by: By) -> None:
        """Rename a directory without subdirectories, as those of tickets and projects are."""
        old = paths.parent(self.chance.choice(self.live).path)
        moved = sorted(self.in_directory[old], key=lambda made: made.path)
        if not old.startswith(("/tickets/20", "/projects/")) or not 1 < len(moved) <= MOST_MOVED:
            return self.view(by, moved[0])
        new = f"{old}-{self.ledger.next_seq}"
        for memory in moved:
            self._leave(memory)
            memory.path = new + memory.path[len(old) :]
            self._enter(memory)
            self.ledger.version(by, memory, "modified")
        input = {"command": "rename", "old_path": paths.to_tool(old), "new_path": paths.to_tool(new)}
        self.ledger.entry(by, Told("rename", input, results.renamed(old, new), old, new))
        return None

    def delete(self, by: By, memory: Made) -> None:
        self._leave(memory)
        memory.deleted = self.ledger.now
        version = self.ledger.version(by, memory, "deleted")
        input, answer = {"command": "delete", "path": paths.to_tool(memory.path)}, results.deleted(memory.path)
        self.ledger.entry(by, Told("delete", input, answer, memory.path, memory=memory.id, version=version))

    def by_a_person(self, by: By) -> None:
        """Approve most often; sometimes flag or download."""
        memory, ledger = self.any(), self.ledger
        kind = self.chance.random()
        if kind < 0.1 and not memory.flagged:
            memory.flagged = True
            decision, note = "flagged", "Who told us so?"
        elif kind < 0.2:
            input = {"memory": memory.id}
            ledger.entry(by, Told("download", input, path=memory.path, memory=memory.id, version=memory.head[0]))
            return
        else:
            decision, note = "approved", ""
            for row in memory.unreviewed:
                row[REVIEW_STATE] = "approved"
            memory.unreviewed.clear()
        command = {"flagged": "flag", "approved": "approve"}[decision]
        told = Told(
            command,
            {"memory": memory.id},
            path=memory.path,
            memory=memory.id,
            version=memory.head[0],
            note=note or None,
        )
        seq = ledger.entry(by, told)
        row = (ids.new_id(ids.REVIEW, ledger.now), ledger.store, memory.id, memory.head[0], seq, decision, note)
        ledger.bulk.add(Review, (*row, by.author.id, moment(ledger.now)))

    def _enter(self, memory: Made) -> None:
        """Add a memory to the index of its directory, and to `live` unless it is a subject."""
        if not memory.is_subject:
            memory.place = len(self.live)
            self.live.append(memory)
        self.in_directory.setdefault(paths.parent(memory.path), set()).add(memory)

    def _leave(self, memory: Made) -> None:
        if not memory.is_subject:
            last = self.live.pop()
            if last is not memory:
                self.live[memory.place], last.place = last, memory.place
        self.in_directory[paths.parent(memory.path)].discard(memory)

    def any(self) -> Made:
        if self.recent and self.chance.random() < 0.4:
            memory = self.chance.choice(self.recent)
            if memory.deleted is None:
                return memory
        return self.chance.choice(self.live)
