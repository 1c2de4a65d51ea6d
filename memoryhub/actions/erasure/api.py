"""Redaction through the API."""

from memoryhub.actions.core import audit, sql
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.sql import lists
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure import redaction, sqlite_remains
from memoryhub.actions.memories import reading
from memoryhub.actions.memories.api.requests import Asked, on_store
from memoryhub.actions.memories.api.versions import NoSuchVersion, VersionTold
from memoryhub.models import MemoryVersion
from memoryhub.pure.protocol.errors import ToolError


def redact(store_id: str, version_id: str, asked: Asked) -> VersionTold:
    """Delete a version's text and path permanently, and return the redacted version.

    Raises ToolError if the redaction is refused; NoSuchVersion if the caller sees no such version; and the errors of
    `on_store`. A refusal makes an audit entry; NoSuchVersion makes none.
    """

    def work(store: Tree) -> tuple[Exception | None, Record | None]:
        version = reading.seen_version(store_id, version_id, asked)
        if version is None:
            return NoSuchVersion(version_id), None
        try:
            return None, redaction.redact_on(store, version_id)[1]
        except ToolError as error:
            return error, _refused(version, error)

    on_store(store_id, asked, Record("redact"), work)
    sqlite_remains.scrub_small()
    sql.connect()
    row = lists.version(store_id, version_id, full=False)
    if row is None:
        raise NoSuchVersion(version_id)
    return VersionTold(*row)


def _refused(version: MemoryVersion, error: ToolError) -> Record:
    """Return the record of a redaction that was refused."""
    details = audit.to_json({"version": version.pk, "number": version.number})
    return Record("redact", False, error.message, memory=version.memory_id, version=version.pk, input=details)
