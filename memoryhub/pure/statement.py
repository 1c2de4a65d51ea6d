"""The statement beside a signed download: what the hub gave out, as checksums in the form that `sha256sum -c` reads.

Every line but the last begins with `#`, so programs that verify checksums ignore these lines.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

NAME = "statement.txt"
SIGNATURE = f"{NAME}.sig"
"""The Ed25519 signature of the bytes of the statement, 64 bytes."""

_HEAD = (
    "# MemoryHub statement 1",
    "# This hub gave out exactly the file that the last line names. The signature is of this text.",
)


@dataclass(slots=True)
class EntryRange:
    """Which entries of one chain a downloaded file has. With a filter, entries between the first and the last may be
    missing."""

    count: int = 0
    first: int = 0
    last: int = 0
    last_hash: str = ""

    def add(self, seq: int, entry_hash: str) -> None:
        """Count an entry. Entries may be added in any order."""
        self.count += 1
        self.first = min(self.first or seq, seq)
        if seq > self.last:
            self.last, self.last_hash = seq, entry_hash

    def __str__(self) -> str:
        if not self.count:
            return "none"
        return f"{self.count}, the first is {self.first}, the last is {self.last} with the hash {self.last_hash}"


def counted(records: Iterable[Mapping[str, Any]], found: dict[str, EntryRange]) -> Iterator[Mapping[str, Any]]:
    """Yield the given records of entries as they are. Count each in `found`, which is {chain: EntryRange}."""
    for record in records:
        found.setdefault(record["chain"], EntryRange()).add(record["seq"], record["hash"])
        yield record


def text(facts: Iterable[tuple[str, object]], name: str, sha256: str) -> bytes:
    """Return the statement about the file with this name. Each fact takes one line: line ends, and characters that are
    not ASCII, are escaped as in JSON."""
    told = (f"# {fact}: {json.dumps(str(value))[1:-1]}" for fact, value in facts)
    return "".join(f"{line}\n" for line in (*_HEAD, *told, f"{sha256}  {name}")).encode()
