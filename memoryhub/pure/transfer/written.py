"""The input of all writers of exports, and the JSON that they share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryhub.pure.chain import moment
from memoryhub.pure.transfer.bundle import Author, BundledVersion

FORMATS = ("zip", "jsonl", "git")
VERSION = 1
"""The version of the formats; a reader refuses any other one."""

to_json = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": ")).encode
JsonRow = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class About:
    """The facts about an export. `store` has the values for the line about the store.

    `path` is the exported directory, and `seq` the audit entry of the export.
    """

    hub: str
    store: JsonRow
    at: datetime
    seq: int
    path: str | None = None
    history: bool = True
    audit: bool = False
    masked: bool = False


@dataclass(frozen=True, slots=True)
class WrittenVersion:
    """A version, its memory, the SHA-256 of its text, and the audit's proof of it (None: the proof is not exported).

    `memory_path` is the memory's current or last path ("": it was redacted). `deleted`: the memory is in the trash.
    `old_path` is the memory's path before this version (None: there was none). `is_past`: the version was never current
    in this store, because it was imported together with a later one.
    """

    version: BundledVersion
    memory: str
    sha256: str | None = None
    proof: JsonRow | None = None
    memory_path: str = ""
    deleted: bool = False
    old_path: str | None = None
    is_past: bool = False


def header(about: About, form: str) -> JsonRow:
    """Return the facts for the first line of an export."""
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


def author(who: Author | None) -> JsonRow | None:
    return None if who is None else {"type": who.type, "id": who.id, "label": who.label}


def line(row: JsonRow) -> bytes:
    return to_json(row).encode() + b"\n"
