"""Random texts that nothing can compress, and the forms in which a database may hold their bytes."""

import json
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from urllib.parse import quote, quote_plus

PLAIN = string.ascii_letters + string.digits
WIDE = "".join(chr(code) for code in (*range(0x4E00, 0x4F00), *range(0x3B1, 0x3C9), *range(0x1F600, 0x1F640)))
AWKWARD = PLAIN + "\"\\\t%&+<>{}'äß"

PROBE = 60
"""A large text is found by so many characters of it: it need not lie in one piece."""


@dataclass(frozen=True)
class Secret:
    """A text that was put somewhere (`place`, in words) and must be nowhere after it has been erased."""

    text: str
    place: str

    @cached_property
    def forms(self) -> tuple[bytes, ...]:
        """The bytes of its probes: as they are, escaped in JSON (and once more), and quoted in an address."""
        found: set[bytes] = set()
        for probe in self.probes():
            escaped = json.dumps(probe)[1:-1]
            written = (probe, escaped, json.dumps(escaped)[1:-1], quote(probe), quote_plus(probe))
            found.update(form.encode() for form in written)
        return tuple(found)

    def probes(self) -> Iterator[str]:
        """The whole of a short text, pieces of a long one."""
        if len(self.text) <= PROBE:
            yield self.text
            return
        last = len(self.text) - PROBE
        for start in sorted({0, last // 3, last // 2, last}):
            yield self.text[start : start + PROBE]


class Source:
    """Gives each place its own secrets and keeps them all; of the count that is asked for, a share."""

    def __init__(self, seed: int, share: int = 1) -> None:
        self.random, self.share = Random(seed), share
        self.given: list[Secret] = []

    def take(self, place: str, count: int, low: int = 20, high: int = 60, letters: str = PLAIN) -> list[str]:
        """So many texts of `low` to `high` characters; the first and the last one are plain letters."""
        texts = [self._text(self.random.randint(low, high), letters) for _ in range(self.few(count))]
        self.given += [Secret(text, place) for text in texts]
        return texts

    def few(self, count: int) -> int:
        """So many in the long form, and a share of them, but two, in the short one."""
        return min(count, max(2, count // self.share))

    def _text(self, length: int, letters: str) -> str:
        inner = "".join(self.random.choices(letters, k=length - 2))
        return self.random.choice(PLAIN) + inner + self.random.choice(PLAIN)


def found_in(haystack: bytes, secrets: Sequence[Secret]) -> set[Secret]:
    """Those of which a piece lies in some bytes."""
    return {secret for secret in secrets if any(form in haystack for form in secret.forms)}


def places(secrets: set[Secret]) -> list[str]:
    """What a failed test says: where the texts had been put."""
    return sorted(f"{secret.place}: {secret.text[:24]!r}" for secret in secrets)
