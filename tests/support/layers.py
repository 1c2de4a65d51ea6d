"""Which layer each module is in, and what is wrong with a module's imports; everything is read, nothing is run."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PURE, DATA, WRITERS, TOOL, DOORS, SHELL = range(6)
BESIDE = -1
"""The client runs in other people's programs: beside the server, without Django."""

LAYERS = {
    "pure": PURE,
    "models": DATA, "migrations": DATA, "database": DATA,
    "actions": WRITERS,
    "tool": TOOL, "machines": TOOL,
    "api": DOORS, "web": DOORS, "mcp": DOORS, "background": DOORS, "templatetags": DOORS,
    "settings": SHELL, "addresses": SHELL, "environment": SHELL, "urls": SHELL, "wsgi": SHELL, "rsgi": SHELL,
    "serving": SHELL, "apps": SHELL, "checks": SHELL, "middleware": SHELL, "doors": SHELL, "sessions": SHELL,
    "operating": SHELL, "management": SHELL, "demo": SHELL, "doctor": SHELL,
    "client": BESIDE,
}  # fmt: skip

DOOR_OF = {"templatetags": "web"}
"""Template tags are a part of the people's door."""

ROOMS = {
    "actions": {
        "core": "", "figures": "",
        "review": "", "findings": "", "webhooks": "",
        "comments": "history",
        "memories": "findings review",
        "claude_runs": "accounts findings memories proposals stores",
        "stores": "figures memories retention", "accounts": "memories webhooks", "search": "memories",
        "retention": "comments memories",
        "transfer": "findings memories proposals stores",
        "history": "findings memories review",
        "proposals": "comments history memories",
        "erasure": "claude_runs figures memories retention transfer",
        "verification": "history memories retention review stores",
        "backups": "verification",
        "mail": "comments retention review verification",
    },
    "web": {
        "common": "", "agents": "path_rules search", "comments": "", "retention": "", "transfer": "path_rules",
        "webhooks": "",
        "background": "", "mail": "", "accounts": "agents", "stores": "accounts agents dashboards",
        "path_rules": "retention", "audit": "path_rules retention", "dashboards": "audit", "search": "audit",
        "memories": "agents audit comments path_rules retention transfer",
        "history": "audit comments memories", "erasure": "audit history retention search sessions",
        "sessions": "audit history", "undo": "comments history sessions",
        "tried": "audit memories path_rules",
        "proposals": "comments path_rules sessions undo",
        "review": "audit comments history proposals sessions",
        "findings": "audit history review sessions undo",
        "claude_runs": "agents sessions",
        "today": "accounts background findings proposals review stores",
    },
}  # fmt: skip
"""The rooms of a layer, and which others the modules of each import; all of them may import the first."""

LATE_IMPORTS = {}
LATE_PACKAGES = frozenset({"anthropic", "cryptography", "fido2", "jwt", "opentelemetry", "psycopg", "segno"})
"""Importing them costs time and memory (a second and 74 MB for the first), and only few functions need them; a hub on
SQLite may not have psycopg."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, by its full name, and where it is imported."""

    module: str
    line: int
    at_top: bool
    for_types: bool


@dataclass(frozen=True, slots=True)
class Module:
    """A module of ours: its dotted name, its source, and every module there is to tell modules from names."""

    name: str
    source: str
    known: frozenset[str]

    @property
    def part(self) -> str:
        """The package or module directly beneath memoryhub that it belongs to; "" for the package itself."""
        return part_of(self.name)

    def imports(self) -> tuple[Import, ...]:
        """Every import statement, wherever it stands."""
        return _imports_of(self)


@cache
def _imports_of(module: Module) -> tuple[Import, ...]:
    return tuple(_imports(ast.parse(module.source), module.known, at_top=True, for_types=False))


def read(package: Path) -> dict[str, Module]:
    """All modules of a package by name."""
    sources = {_name(path, package.parent): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    known = frozenset(sources)
    return {name: Module(name, source, known) for name, source in sources.items()}


def made_up(sources: Mapping[str, str]) -> dict[str, Module]:
    """Modules that exist in a test alone."""
    known = frozenset(sources)
    return {name: Module(name, source, known) for name, source in sources.items()}


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def problems(module: Module) -> Iterator[str]:
    """Sentences on what the imports of a module break."""
    if not module.part:
        return
    if module.part not in LAYERS:
        yield f"{module.name} is in no layer: name it in {__name__}"
        return
    for found in module.imports():
        for problem in (
            _relative(found),
            _direction(module, found),
            _foreign(module, found),
            _late(module, found),
            _room(module, found),
        ):
            if problem:
                yield f"{module.name}:{found.line} {problem}"


def _relative(found: Import) -> str | None:
    return "imports relatively" if found.module.startswith(".") else None


def _direction(module: Module, found: Import) -> str | None:
    """Imports point down; a door imports no other door, and only the client itself imports the client."""
    if not found.module.startswith("memoryhub.") or part_of(found.module) == module.part:
        return None
    own, other = LAYERS[module.part], LAYERS.get(part_of(found.module))
    if other is None or other == BESIDE:
        return f"imports {found.module}, which is no layer beneath"
    if own == BESIDE:
        return None if other == PURE else f"is beside the server and imports {found.module}"
    if other > own:
        return f"imports upward: {found.module}"
    if other == own == DOORS and _door(module.part) != _door(part_of(found.module)):
        return f"is a door and imports another: {found.module}"
    return None


def room_of(module: str) -> tuple[str, str] | None:
    """(layer, room) of a module: `memoryhub.web.review.inbox` is in the room review of web."""
    names = module.split(".")
    return (names[1], names[2]) if len(names) > 2 and names[2] in ROOMS.get(names[1], ()) else None


def _room(module: Module, found: Import) -> str | None:
    own, other = room_of(module.name), room_of(found.module)
    if own is None or other is None or own == other or own[0] != other[0]:
        return None
    rooms = ROOMS[own[0]]
    if other[1] == next(iter(rooms)) or other[1] in rooms[own[1]].split():
        return None
    return f"is in the room {own[1]}, which does not import {other[1]}: {found.module}"


_PRIVATE = re.compile(r"^\s*from .* import (?:\([^)]*|.*)\b_", re.MULTILINE)


def private_imports(module: Module) -> Iterator[str]:
    """The names with an underscore that a module imports from another room."""
    if not _PRIVATE.search(module.source):
        return
    own = room_of(module.name)
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.ImportFrom) and node.module and own != room_of(node.module):
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name.startswith("_"))


def _door(part: str) -> str:
    return DOOR_OF.get(part, part)


def _foreign(module: Module, found: Import) -> str | None:
    """Pure modules import the standard library, the client everything but Django."""
    package = found.module.partition(".")[0]
    if LAYERS[module.part] == PURE and package != "memoryhub" and package not in sys.stdlib_module_names:
        return f"is pure and imports {package}"
    if LAYERS[module.part] == BESIDE and package == "django":
        return "is the client and imports Django"
    return None


def _late(module: Module, found: Import) -> str | None:
    if found.at_top or found.module.partition(".")[0] in LATE_PACKAGES or module.name in LATE_IMPORTS:
        return None
    return f"imports {found.module} elsewhere than at the top"


def _imports(node: ast.AST, known: frozenset[str], *, at_top: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, at_top, for_types)
        elif isinstance(child, ast.ImportFrom):
            for name in _modules_of(child, known):
                yield Import(name, child.lineno, at_top, for_types)
        else:
            types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, known, at_top=at_top and types, for_types=for_types or types)


def _modules_of(node: ast.ImportFrom, known: frozenset[str]) -> Iterator[str]:
    """`from a import b` imports a.b where that is a module, else a."""
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        full = f"{base}.{alias.name}"
        # What is no module of this checkout can still be one of a part that does not exist (yet).
        yield full if full in known or base == "memoryhub" else base


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
