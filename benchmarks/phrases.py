"""Texts and paths of synthetic memories, similar to those that agents write."""

import random
from collections.abc import Iterator
from itertools import count

SUBJECTS = (
    "The customer", "Her colleague", "The scheduler", "Their warehouse", "The invoice run", "The night shift",
    "The supplier in Łódź", "The data team", "The second reviewer", "担当者",
)  # fmt: skip
VERBS = (
    "prefers", "asked for", "no longer accepts", "waits for", "has confirmed", "must not see", "will replace",
    "forgot", "pays for", "を確認した：",
)  # fmt: skip
OBJECTS = (
    "short answers in the morning", "a refund within 30 days", "the new contract", "two signatures on each order",
    "a call back after 14:00", "deliveries to the back door", "the table with last year's prices", "a second opinion",
    "retries with a pause of 5 s", "the parser that skips comments", "the old address in Gdańsk", "返金の手続き",
    "an export in CSV", "the red badge at the gate", "a plan for the outage", "the limit of 40 requests a minute",
)  # fmt: skip
WIDE = "/customers"
REGIONS = ("東京", "大阪", "札幌", "福岡", "名古屋")
PARTS = ("notes", "decisions", "people", "open-questions", "runbooks")
TOPICS = ("deploy", "billing", "refunds", "parser", "search", "backup", "hiring", "security", "pricing", "latency")


class Phrases:
    """Generates lines and texts, the same for the same seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.sentences = [f"{s} {v} {o}." for s in SUBJECTS for v in VERBS for o in OBJECTS]
        self.numbers = count(1)

    def line(self) -> str:
        """Return a line that no other memory has."""
        return f"- {self.chance.choice(self.sentences)} ({next(self.numbers)})"

    def text(self, lines: int | None = None) -> str:
        """Return a memory's first text; most have some hundred bytes, a few have some thousand."""
        if lines is None:
            lines = 3 + int(self.chance.paretovariate(1.6) * 5)
        numbers = (
            f"- {sentence} ({next(self.numbers)})" for sentence in self.chance.choices(self.sentences, k=min(lines, 90))
        )
        return "# What is known\n" + "\n".join(numbers) + "\n"


class Places:
    """Generates unused paths: in a wide directory, in days of tickets, in projects, with Japanese names, and in a deep
    directory."""

    def __init__(self, chance: random.Random, memories: int) -> None:
        self.chance = chance
        self.numbers, self.turns = count(1), count()
        self.wide_left = max(300, memories // 10)
        self.projects = max(300, memories // 200)
        self.deep_left = 90
        self.days = max(10, memories // 60)

    def free(self) -> str:
        """Return a path that was not returned before."""
        number, draw = next(self.numbers), self.chance.random()
        if self.wide_left and draw < 0.3:
            self.wide_left -= 1
            return f"{WIDE}/customer-{number:06}.md"
        if draw < 0.62:
            day = self.chance.randrange(self.days)
            return f"/tickets/{2010 + day // 336}/{1 + day // 28 % 12:02}/{1 + day % 28:02}/ticket-{number:06}.md"
        if draw < 0.86:
            project, part = next(self.turns) % self.projects, self.chance.choice(PARTS)
            return f"/projects/project-{project:04}/{part}/{self.chance.choice(TOPICS)}-{number}.md"
        if self.deep_left and draw < 0.94:
            self.deep_left -= 1
            return f"/archive/{'/'.join(f'level-{level}' for level in range(1, 13))}/{number % 3}/old-{number}.txt"
        return f"/顧客/{self.chance.choice(REGIONS)}/{number % 97:02}区/お客様-{number}.md"


def sessions() -> Iterator[str]:
    """Yield names of sessions."""
    for number in count(1):
        yield f"run-{number:06}"
