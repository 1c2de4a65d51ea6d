"""Chooses the memories among the texts of a directory or an archive: by rules, or by the manifest of a hub's export."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from itertools import islice

from memoryhub.pure.protocol import paths
from memoryhub.pure.transfer import histories, reading
from memoryhub.pure.transfer.archive import read as archive_read
from memoryhub.pure.transfer.bundle import Bundle, Refused
from memoryhub.pure.transfer.jsonl import read as jsonl_read, values as jsonl_values
from memoryhub.pure.transfer.reading import Bounds, Data, Left, Read, visible

MANIFEST, HISTORY = ".memoryhub/manifest.jsonl", ".memoryhub/history.jsonl"
MANIFEST_FORMAT = "memoryhub-files"

MEMORY_NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "MEMORY.md", "AGENTS.md"})
"""Files that coding agents read at the start of their work, anywhere in a project."""
MEMORY_DIRECTORIES = frozenset({"memory", "memories", "agent-memory", "agent-memory-local", "rules"})
"""Directories under a directory `.claude` whose Markdown files are memories."""

NEVER = (
    ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "__MACOSX", ".obsidian", ".trash", ".vscode",
    ".idea", ".DS_Store", "Thumbs.db", "desktop.ini", "*.sqlite", "*.sqlite3", "*.sqlite3-*", "*.sqlite-*", "*.db",
    "*.db-wal", "*.db-shm", "*.lock", "*.pyc",
)  # fmt: skip
"""Patterns of names that are never memories: files that tools keep for themselves, and databases."""


@dataclass(frozen=True, slots=True)
class Exclude:
    """Shell patterns of the places that are ignored. The places in `kept` are not ignored.

    A pattern without a slash matches one name anywhere. A pattern with a slash matches a whole place. `kept` also has
    the directories above each of its places.
    """

    patterns: tuple[str, ...] = NEVER
    kept: frozenset[str] = frozenset()

    def except_for(self, places: frozenset[str]) -> "Exclude":
        """Return a copy in which the patterns of NEVER do not apply to `places`. All other patterns still apply."""
        asked = Exclude(tuple(pattern for pattern in self.patterns if pattern not in NEVER))
        kept = {place for place in places if not asked.has(place)}
        above = {place[:end] for place in kept for end, character in enumerate(place) if character == "/"}
        return replace(self, kept=frozenset(kept | above))

    def has(self, place: str) -> bool:
        """Return whether a place, or a directory above it, is ignored."""
        if place in self.kept:
            return False
        parts = place.split("/")
        if any(map(_pattern(self.patterns).match, parts)):
            return True
        whole = [pattern.strip("/") for pattern in self.patterns if "/" in pattern]
        above = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)] if whole else []
        return any(fnmatchcase(one, pattern) for one in above for pattern in whole)


DEFAULT = Exclude()


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for all names that these shell patterns match. Shell patterns with a slash match no name."""
    return re.compile("|".join(translate(pattern) for pattern in patterns if "/" not in pattern) or "(?!)")


def is_memory(place: str, beside: frozenset[str] = frozenset()) -> bool:
    """Return whether a place is one where coding agents keep a memory. `beside` are the directories that have a
    MEMORY.md."""
    parts = place.split("/")
    if parts[-1] in MEMORY_NAMES:
        return True
    if not parts[-1].endswith((".md", ".mdc")):
        return False
    above = parts[:-1]
    if ".claude" in above:
        return bool(MEMORY_DIRECTORIES & set(above[above.index(".claude") + 1 :]))
    return any("/".join(parts[:end]) in beside for end in range(min(len(parts), paths.MOST_NAMES)))


def chosen(places: Collection[str], only_memory_files: bool) -> list[str]:
    """Return the places to import, sorted. With `only_memory_files`, these are only the memories of coding agents.

    Raises Refused if there is no place to import.
    """
    if not only_memory_files:
        return sorted(places)
    beside = frozenset(place.rpartition("/")[0] for place in places if place.rpartition("/")[2] == "MEMORY.md")
    taken = sorted(place for place in places if is_memory(place, beside))
    if not taken:
        raise Refused("It has no CLAUDE.md, MEMORY.md or other text that agents keep as memory.")
    return taken


def excluded(count: int) -> tuple[Left, ...]:
    """Return a tuple with one Left: it says how many texts are excluded because of their names. Empty if none are."""
    why = f"{count:,} that are excluded by their names (.git, .obsidian, databases and others)."
    return (Left("", why),) if count else ()


def read_archive(data: Data, bounds: Bounds, only_memory_files: bool = False, exclude: Exclude = DEFAULT) -> Read:
    """Return the memories of a ZIP archive; with `only_memory_files`, only those of coding agents.

    Without `only_memory_files`, the memories of an unchanged export come with their history, and nothing of an export
    is excluded. Raises Refused.
    """
    archive = archive_read.Archive(data, bounds)
    is_export = MANIFEST in archive.places and not only_memory_files
    passed = frozenset() if is_export else frozenset(filter(exclude.has, archive.places))
    read = read_texts(dict(archive.files(passed)), bounds, only_memory_files, "zip")
    return replace(read, left=read.left + excluded(sum(not place.endswith("/") for place in passed)))


def read_texts(texts: dict[str, bytes], bounds: Bounds, only_memory_files: bool, source: str) -> Read:
    """Return the memories in `texts`, {place: bytes}. Each text is removed from `texts` when it is read, to save
    memory.

    If `texts` is a hub's export, the paths of the memories come from its manifest.
    """
    if MANIFEST in texts and not only_memory_files:
        read = reading.require_some(_of_export(texts, bounds))
        return replace(read, bundle=replace(read.bundle, source=source))
    memories, left = reading.memories_of((place, texts.pop(place)) for place in chosen(texts, only_memory_files))
    histories.require_bounds(memories, bounds)
    return reading.require_some(Read(Bundle(source, memories), left))


def _of_export(texts: dict[str, bytes], bounds: Bounds) -> Read:
    """Return the memories of a hub's export. If its texts were changed after the export, they come without their
    history."""
    told = places(texts.pop(MANIFEST), bounds)
    history = texts.pop(HISTORY, None)
    if history is None:
        return _by_manifest(texts, told)
    sums = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    if {name: sha256 for name, (_, sha256) in told.items()} == sums:
        texts.clear()
        return jsonl_read.read(history, bounds._replace(packed=bounds.unpacked))
    read = _by_manifest(texts, told)
    why = "The texts were changed since the export, and are imported as they are now, without their history."
    return replace(read, left=(Left("/" + HISTORY, why), *read.left))


def places(manifest: bytes, bounds: Bounds) -> dict[str, tuple[str, object]]:
    """Return {place: (path, SHA-256)} of a manifest. Raises Refused."""
    lines = list(islice(jsonl_read.objects(manifest), bounds.entries + 2))
    jsonl_read.header_of(lines[0] if lines else None, MANIFEST_FORMAT)
    if len(lines) > bounds.entries + 1:
        raise Refused(f"The manifest has more than {bounds.entries:,} lines.")
    return {
        jsonl_values.text(line, "name"): (jsonl_values.text(line, "path"), line.get("sha256"))
        for line in lines
        if line["type"] == "file"
    }


def _by_manifest(texts: Mapping[str, bytes], listed: Mapping[str, tuple[str, object]]) -> Read:
    """Return the memories in `texts`, each at the path that the manifest, `listed`, has for its place."""
    at = [(listed[name][0] if name in listed else "/" + name, content) for name, content in sorted(texts.items())]
    for path, _ in at:
        if not path.startswith("/"):
            raise Refused(f"The path {visible(path)} of the manifest is not a memory's.")
    reading.require_apart(path[1:] for path, _ in at)
    exported = {path for path, _ in listed.values()}
    memories, left = reading.memories_of(((path[1:], content) for path, content in at), exported)
    return Read(Bundle("zip", memories), left)
