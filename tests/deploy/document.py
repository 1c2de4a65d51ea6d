"""The blocks of commands of docs/deploy.md, and who runs each of them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "deploy.md"

ELSEWHERE = ("As a Python package", "On Kubernetes")
"""The sections whose files `test_installed` and `test_deploy_kubernetes` of `tests/operating` try in their own way."""
IN_CONTAINERS = ("In containers",)
"""The sections of which `image` runs what it can: no engine is here."""
ON_DEBIAN = (
    "Programs", "Settings", "Database", "Start", "Caddy", "Commands", "E-mail", "Backups", "Metrics", "Upgrade",
    "nginx",
)  # fmt: skip
"""The sections of which `walk` runs every block, in this order; nginx comes last, in the place of Caddy."""


class Block(NamedTuple):
    """A block of commands, with the heading above it."""

    heading: str
    commands: str


def blocks(text: str) -> list[Block]:
    """Return all blocks of a document, in order."""
    found, heading = [], ""
    for title, commands in re.findall(r"^#+ +([^\n]+)$|^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        heading = title or heading
        if commands:
            found.append(Block(heading, commands))
    return found


def blocks_of(heading: str) -> list[str]:
    """Return the blocks of one section of docs/deploy.md."""
    return [block.commands for block in blocks(DOCUMENT.read_text(encoding="utf-8")) if block.heading == heading]
