"""How far a run of the tests looks: at the quick ones (`make test`), at all but the long ones (`.ci/run`), or at all of
them, with every random case (`make test-long`)."""

import os
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")
LONG = bool(os.environ.get("MEMORYHUB_LONG"))
PUSH = LONG or bool(os.environ.get("MEMORYHUB_PUSH"))
PART = 96
_turns: Counter[str] = Counter()


def some(cases: Iterable[T], each: int) -> list[T]:
    """Return all cases in the long form, else the first of each so many."""
    return list(cases)[:: 1 if LONG else each]


def tried(cases: int, least: int = 1) -> int:
    """Return how many of the random cases are tried: all in the long form, else the first few of them."""
    return cases if LONG else max(least, cases // PART)


def parts(cases: int, size: int) -> list[range]:
    """Return the numbers of the random cases in parts of this size, for a test with parameters."""
    return [range(first, min(first + size, cases)) for first in range(0, cases, size)]


def is_tried(number: int) -> bool:
    """Return whether the case of this number has its costly check: each has in the long form, else one in many."""
    return LONG or number % PART == 0


def is_turn(each: int) -> bool:
    """Return whether a costly check that many tests have is made this time: always in the long form, else about once in
    so many, at the same calls in each run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    _turns[test] += 1
    return LONG or crc32(f"{test} {_turns[test]}".encode()) % each == 0
