"""The executable cases of the memory tool's specification."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent.parent / "vectors" / "memory-tool-vectors.json"


@dataclass(frozen=True, slots=True)
class Vector:
    """`setup` runs first; `op` is answered by `expect` and leaves `files_after` (null: not looked at)."""

    id: str
    setup: list[dict[str, Any]]
    op: dict[str, Any]
    expect: tuple[bool, str]
    files_after: dict[str, str] | None


def load() -> list[Vector]:
    return [
        Vector(
            case["id"], case["setup"], case["op"], (case["expect"][0] == "ok", case["expect"][1]), case["files_after"]
        )
        for case in json.loads(_FILE.read_text(encoding="utf-8"))
    ]


VECTORS = load()
