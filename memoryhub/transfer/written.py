"""What the writers of all formats are given, and how they spell it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryhub.chain import moment
from memoryhub.transfer.bundle import Author, BundledVersion

FORMATS = ("zip", "jsonl", "git")
VERSION = 1
"""Of the formats. A reader refuses a higher one."""

to_json = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": ")).encode
Told = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class About:
    """What is exported: `store` are the facts of its line, `path` a directory, `seq` the export's own audit entry."""

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
    """A version, its memory, the SHA-256 of its text, and what the audit needs to know of it (null: not exported).

    `memory_path` is where its memory is, or was last ("": redacted), and `deleted` says whether it is in the trash.
    `old_path` is where the memory was before this version, if it was somewhere; versions of one act have the same
    `at_once`.
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
    """The first line of everything that is exported."""
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
