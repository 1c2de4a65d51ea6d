"""Memories, versions and actors as JSON."""

import json
from typing import Any

from memoryhub.actions.core.sql import lists
from memoryhub.actions.memories.api import MemoryTold
from memoryhub.actions.memories.api.versions import VersionTold
from memoryhub.machines.errors import Problem
from memoryhub.pure.actors import actor, of_origin
from memoryhub.pure.protocol import paths

Json = dict[str, Any]


def directory_of(prefix: str | None) -> str:
    """Return the path of the directory that a `path_prefix` names. Raises Problem (400) if it is not valid."""
    if prefix is None or prefix == "/":
        return paths.ROOT_DIRECTORY
    if not prefix.endswith("/"):
        raise Problem.invalid("`path_prefix` must end with `/`: it names a directory.")
    return paths.from_api(prefix[:-1])


def memory(store_id: str, facts: MemoryTold, *, full: bool) -> Json:
    """Return the JSON of a memory. The text is included only if `full`."""
    return {
        "type": "memory",
        "id": facts.id,
        "memory_store_id": store_id,
        "memory_version_id": facts.head,
        "path": facts.path,
        "content": facts.content if full else None,
        "content_sha256": facts.sha256,
        "content_size_bytes": facts.size,
        "created_at": facts.created_at,
        "updated_at": facts.updated_at,
    }


def memory_prefix(path: str) -> Json:
    """Return the JSON of a directory, which a list shows in place of the memories in it. `path` ends with a slash."""
    return {"type": "memory_prefix", "path": path}


def memory_version(store_id: str, facts: VersionTold) -> Json:
    """Return the JSON of a version. A redacted version shows who wrote and who redacted it, and when, but no path and
    no text."""
    is_redacted = facts.redacted_at is not None
    return {
        "type": "memory_version",
        "id": facts.id,
        "memory_store_id": store_id,
        "memory_id": facts.memory,
        "operation": facts.operation,
        "path": None if is_redacted else facts.path,
        "content": None if is_redacted else facts.content,
        "content_sha256": None if is_redacted else facts.sha256,
        "content_size_bytes": None if is_redacted else facts.size,
        "created_at": lists.moment(facts.created_at),
        "created_by": _author(facts),
        "redacted_at": lists.moment(facts.redacted_at) if facts.redacted_at else None,
        "redacted_by": actor(facts.redacted_by_kind, facts.redacted_by, facts.redacted_by_session)
        if is_redacted
        else None,
    }


def _author(facts: VersionTold) -> Json | None:
    """Return the author of a version as JSON. None if the author is the hub itself or unknown.

    For an imported version, the author is the one that the import names.
    """
    if facts.origin is None:
        return actor(facts.kind, facts.actor, facts.session)
    return of_origin(json.loads(facts.origin))
