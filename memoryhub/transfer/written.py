"""The input of all writers, and the JSON that they share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryhub.chain import moment
from memoryhub.transfer.bundle import Author, BundledVersion

FORMATS = ("zip", "jsonl", "git")
VERSION = 1
"""The version of the formats; a reader refuses any other one."""

to_json = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": ")).encode
Told = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class About:
    """The facts about an export: `store` for the line of the store, `path` a directory, `seq` the export's audit
    entry."""

    hub: str
    store: Told
    at: datetime
    seq: int
    path: str | None = None
    history: bool = True
    audit: bool = False
    masked: bool = False


@dataclass(frozen=True, slots=True)
class WrittenVersion:
    """A version, its memory, the SHA-256 of its text, and the audit's proof of it (None: not exported).

    `memory_path` is the memory's current or last path ("": redacted), and `deleted` says whether it is in the trash.
    `old_path` is the memory's path before this version, if it had one; versions of one act have the same `at_once`.
    """

    version: BundledVersion
    memory: str
    sha256: str | None = None
    proof: Told | None = None
    memory_path: str = ""
    deleted: bool = False
    old_path: str | None = None
    at_once: int = 0


def header(about: About, form: str) -> Told:
    """Return the first line of every export."""
    return {
        "type": "header",
        "format": form,
        "version": VERSION,
        "exported_at": moment(about.at),
        "source": {"hub": about.hub, "store": about.store.get("id")},
        "path": about.path,
        "history": about.history,
        "audit": about.audit,
        "masked": about.masked,
        "seq": about.seq,
    }


def author(who: Author | None) -> Told | None:
    return None if who is None else {"type": who.type, "id": who.id, "label": who.label}


def line(told: Told) -> bytes:
    return to_json(told).encode() + b"\n"
