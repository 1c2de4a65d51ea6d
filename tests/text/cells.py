"""Random wishes of an agent and edits by a person, with what must become of them, worked out without any comparison of
texts: each text is a row of cells, and the rule is applied to each cell alone."""

import random
from dataclasses import dataclass, field


@dataclass
class Cell:
    """A line that agent and person change, with the lines that the agent adds after it.

    `seen` is the line that the agent saw when it last changed it, `wanted` what it made of it (None: nothing).
    """

    now: str
    seen: str = ""
    wanted: str | None = None
    wish: int = -1
    added: list[str] = field(default_factory=list)

    @property
    def is_in_conflict(self) -> bool:
        return self.seen != self.now and (self.wanted is not None or bool(self.added))

    def proposed(self) -> list[str]:
        """The lines as the proposal has them, also over those of a person."""
        if self.wanted is not None:
            return [self.wanted, *self.added]
        return [self.seen if self.added else self.now, *self.added]


class Row:
    """Cells with a line after each that nobody changes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.cells = [Cell(f"line {number}") for number in range(chance.randint(2, 6))]
        self.replaced: set[int] = set()
        self.wishes: list[tuple[str, str]] = []

    def now(self) -> str:
        return self._text([[cell.now] for cell in self.cells])

    def over(self) -> str:
        return self._text([cell.proposed() for cell in self.cells])

    def merged(self) -> str | None:
        return None if any(cell.is_in_conflict for cell in self.cells) else self.over()

    def edit(self, mark: str) -> None:
        """A person changes some lines; sometimes they take a change back."""
        for cell in self._some():
            cell.now = cell.seen if cell.seen and self.chance.random() < 0.2 else f"person {mark} {cell.now[-1]}"

    def wish(self) -> None:
        """An agent that sees the current text replaces some lines, and adds lines after others."""
        number, seen = len(self.wishes), self.now()
        asked = {id(cell): self.chance.random() < 0.6 for cell in self._some()}
        wanted = []
        for cell in self.cells:
            new, is_replaced = f"agent {number} {cell.now[-1]}", asked.get(id(cell))
            wanted.append([new] if is_replaced else [cell.now, *([new] if is_replaced is False else [])])
            if is_replaced:
                self._replace(cell, new, number)
            elif is_replaced is False:
                cell.seen = cell.now if cell.wanted is None else cell.seen
                cell.added.append(new)
        self.wishes.append((seen, self._text(wanted)))

    def _replace(self, cell: Cell, new: str, number: int) -> None:
        if cell.wanted is not None:
            self.replaced.add(cell.wish)
        cell.wanted, cell.seen, cell.wish = new, cell.now, number

    def _some(self) -> list[Cell]:
        return self.chance.sample(self.cells, self.chance.randint(1, min(3, len(self.cells))))

    def _text(self, cells: list[list[str]]) -> str:
        rows = [f"{line}\n" for number, lines in enumerate(cells) for line in (*lines, f"-- {number}")]
        return "".join(rows)
