"""Restores earlier versions of memories through the API."""

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import api, curation, input_masking, reading
from memoryhub.actions.memories.api import requests as asking
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.memories.api.versions import NoSuchVersion
from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError


def restore_version(store_id: str, version_id: str, path: str | None, asked: Asked) -> Memory:
    """Give a memory the text of an earlier version again, and return the memory.

    A deleted memory returns to `path` (None: the version's path). Raises NoSuchVersion, without an audit entry, if the
    agent sees no such version; PathConflict if the path is taken; ToolError if the restore is refused for another
    reason. Also raises the errors of `requests.on_store`.
    """
    version = reading.seen_version(store_id, version_id, asked)
    if version is None:
        raise NoSuchVersion(version_id)
    details = {"version": version_id, "path": path}

    def restore(store: Tree) -> tuple[Memory | Exception, Record]:
        try:
            _require_place(store, version, path)
            record, told_of = curation.put_back(store, version_id, path)
        except ToolError as error:
            refused = Record("restore", ok=False, answer=error.message, path=path, memory=version.memory_id)
            return error, input_masking.of_call(store, refused, details, audit.to_json(details))
        record = record._replace(input=audit.to_json(told_of))
        return Memory.objects.get(store_id=store_id, pk=version.memory_id), record

    return asking.on_store(store_id, asked, Record("restore"), restore)


def _require_place(store: Tree, version: MemoryVersion, path: str | None) -> None:
    """Raise ToolError if the store is archived, or if the memory may not be at `path` (None: the default path).

    A live memory may be only at its current path, which is the default. A deleted memory may be at any free path; the
    default is the version's path.
    """
    tree.require_active(store)
    live = tree.memory_by_id(store, version.memory_id)
    place = path or version.path
    if live is None and place:
        api.require_free_path(
            store, place, results.already_exists(place), lambda above: results.cannot_create(place, above)
        )
    elif live is not None and path is not None and path != live.path:
        raise ToolError(results.lives_elsewhere(path, live.path))
