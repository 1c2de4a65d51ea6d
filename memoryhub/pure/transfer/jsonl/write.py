"""Writes memories, their versions and comments, proposals, path rules and the audit as JSON Lines.

docs/export.md describes the lines.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from memoryhub.pure.chain import moment
from memoryhub.pure.transfer.bundle import (
    BundledChange,
    BundledDecision,
    BundledProposal,
    BundledRule,
    BundledTalk,
    BundledThread,
)
from memoryhub.pure.transfer.jsonl import proposals as jsonl_proposals
from memoryhub.pure.transfer.written import About, JsonRow, WrittenVersion, author, header, line

FORMAT = "memoryhub"


@dataclass(slots=True)
class Counts:
    """How much has been written so far."""

    memories: int = 0
    versions: int = 0
    entries: int = 0
    redactions: int = 0


def opening(about: About) -> Iterator[bytes]:
    """Yield the first lines of an export: the header, and the line of the store."""
    yield line(header(about, FORMAT))
    yield line({"type": "store", **about.store})


Threads = Callable[[str], Iterable[BundledThread]]
"""A function that returns the conversations about a memory, by its id."""


def memories(versions: Iterable[WrittenVersion], counts: Counts, threads: Threads = lambda _: ()) -> Iterator[bytes]:
    """Yield the lines of memories, versions and conversations; `versions` are grouped by memory, oldest first."""
    memory = None
    for written in versions:
        if written.memory != memory:
            if memory is not None:
                yield from _threads(memory, threads)
            memory = written.memory
            counts.memories += 1
            yield line({"type": "memory", "id": memory, "path": written.memory_path, "deleted": written.deleted})
        counts.versions += 1
        yield line(_version(written))
    if memory is not None:
        yield from _threads(memory, threads)


def _threads(memory: str, threads: Threads) -> Iterator[bytes]:
    for one in threads(memory):
        yield line({"type": "thread", "memory": memory, **_dict(one)})


def _dict(one: BundledThread | BundledTalk) -> JsonRow:
    return asdict(one, dict_factory=lambda found: {name: _plain(value) for name, value in found})


def _plain(value: object) -> object:
    return moment(value) if isinstance(value, datetime) else value


def _version(written: WrittenVersion) -> JsonRow:
    version = written.version
    details = {
        "type": "version",
        "id": version.id,
        "memory": written.memory,
        "number": version.number,
        "operation": version.operation,
        "path": version.path or None,
        "content": version.content,
        "sha256": written.sha256,
        "created_at": moment(version.at) if version.at else None,
        "author": author(version.author),
        "redacted": version.redacted,
    }
    if version.note is not None:
        details["note"] = version.note
    return details if written.proof is None else {**details, "proof": written.proof}


def proposals(found: Iterable[BundledProposal]) -> Iterator[bytes]:
    """Yield the line of each proposal."""
    for one in found:
        decision = one.decision
        yield line(
            {
                "type": jsonl_proposals.DECIDED if decision else jsonl_proposals.OPEN,
                "number": one.number,
                "agent": author(one.agent),
                "opened_at": moment(one.opened_at),
                **(_decision(decision) if decision else {}),
                "changes": [_change(change, is_decided=decision is not None) for change in one.changes],
                "threads": [_dict(talk) for talk in one.talks],
            }
        )


def _decision(one: BundledDecision) -> JsonRow:
    return {"state": one.state, "decided_at": moment(one.at), "decided_by": one.by, "reason": one.reason}


def _change(change: BundledChange, *, is_decided: bool) -> JsonRow:
    told = asdict(change)
    outcome = told.pop("outcome")
    return {**told, **outcome} if is_decided else told


def rules(found: Iterable[BundledRule]) -> Iterator[bytes]:
    """Yield the line that has all path rules."""
    told = [{**one.rule.as_json(), "name": one.name, "sha256": one.sha256} for one in found]
    yield line({"type": "path_rules", "rules": told})


def audit(kind: str, rows: Iterable[JsonRow]) -> Iterator[bytes]:
    """Yield the lines of one kind: `entry`, `redaction` or `proof`."""
    for row in rows:
        yield line({"type": kind, **row})


def closing(counts: Counts, *, changed: bool) -> bytes:
    return line(
        {
            "type": "end",
            "memories": counts.memories,
            "versions": counts.versions,
            "entries": counts.entries,
            "redactions": counts.redactions,
            "changed": changed,
        }
    )
