"""The checkpoint file: where each chain stood at some moments, kept outside the database.

Only this shows a log that was cut off or a database that was put back. A line is a JSON object with `at`, `chain`,
`seq`, `hash`, the audit key's id and an HMAC of these; lines are appended and never changed.
"""

import errno
import hmac
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from memoryhub import chain
from memoryhub.actions.audit import KEY_NAME
from memoryhub.models import AuditChain


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One line of the file."""

    at: str
    chain: str
    seq: int
    hash: str
    key: str

    def mac(self) -> str:
        text = json.dumps([self.at, self.chain, self.seq, self.hash, self.key])
        return hmac.digest(settings.MEMORYHUB_AUDIT_KEY, b"checkpoint\0" + text.encode(), "sha256").hex()


def append(path: Path, at: datetime, known: dict[str, int]) -> int:
    """Appends the heads that have moved since `known` (chain -> seq), which is brought up to date; gives how many."""
    heads = [head for head in AuditChain.objects.order_by("id") if head.last_seq != known.get(head.id, 0)]
    if not heads:
        return 0
    lines = []
    for head in heads:
        checkpoint = Checkpoint(chain.moment(at), head.id, head.last_seq, head.last_hash, KEY_NAME)
        lines.append(json.dumps({**asdict(checkpoint), "mac": checkpoint.mac()}) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    _append_whole(path, "".join(lines).encode())
    known.update((head.id, head.last_seq) for head in heads)
    return len(heads)


def _append_whole(path: Path, text: bytes) -> None:
    """Appends all or nothing: half a line, as a full disk would leave it, would be an alarm for ever."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, text) < len(text):
            os.ftruncate(descriptor, before)
            raise OSError(errno.ENOSPC, "the checkpoint file could not be written whole", str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> Iterator[tuple[int, Checkpoint | None]]:
    """(line number, checkpoint) for each line; None for one that is not as it was written."""
    if not path.exists():
        return
    with path.open(encoding="ascii", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            yield number, _parsed(line)


def _parsed(line: str) -> Checkpoint | None:
    try:
        value = json.loads(line)
        mac = value.pop("mac")
        checkpoint = Checkpoint(**value)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if json.dumps({**asdict(checkpoint), "mac": mac}) + "\n" != line:
        return None
    return checkpoint if hmac.compare_digest(checkpoint.mac(), str(mac)) else None
