"""How much of a text is searched while it is written: enough for a whole memory of digests, tokens or numbers."""

import random
from collections.abc import Callable

import pytest

from memoryhub.pure import sensitive

MOST = 100_000
"""The bytes that a memory may have, unless an administrator changes it."""

_random = random.Random(4)
LINES: dict[str, Callable[[], str]] = {
    "digests": lambda: f"{_random.getrandbits(256):064x}\n",
    "hashes of packages": lambda: f"package=={_random.randrange(99)} --hash=sha256:{_random.getrandbits(256):064x}\n",
    "tokens": lambda: f'{{"token": "{_random.getrandbits(128):032x}", "password": "{_random.getrandbits(32):08x}"}}\n',
    "card numbers": lambda: f"4{_random.randrange(10**15):015d}\n",
    "addresses": lambda: f"10.{_random.randrange(255)}.{_random.randrange(255)}.1 GET /a?b={_random.randrange(9999)}\n",
}


@pytest.mark.parametrize("name", LINES)
def test_a_whole_memory_of_such_lines_is_searched_and_not_refused(name: str) -> None:
    text = "".join(LINES[name]() for _ in range(6_000))[:MOST]
    assert len(text) > 0.9 * MOST
    sensitive.look(text, None, sensitive.STEPS)


def test_a_text_of_nothing_but_what_is_looked_for_takes_too_many_steps() -> None:
    with pytest.raises(sensitive.TooMuch):
        sensitive.look("\u202e\u200b" * (MOST // 2), None, sensitive.STEPS)
