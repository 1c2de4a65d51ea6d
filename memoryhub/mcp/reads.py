"""The tools that only read. Errors say what is wrong with the arguments, so that the model can try again."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.memories import reading
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.memories.calls import NotRun
from memoryhub.actions.memories.reading import History
from memoryhub.actions.search import search as searching
from memoryhub.actions.search.search import BadQuery, Match
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.mcp.arguments import Unusable, cursor_of, limit_of, path_of, text_of, whole_of
from memoryhub.mcp.calls import answer
from memoryhub.models import AuditEntry, MemoryVersion
from memoryhub.pure import actors, chain
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.folding import Span

Json = dict[str, Any]


def search(store_id: str, arguments: Json, asked: Asked, token: str | None) -> Json:
    """Return the memories that contain all words of the search, in the order of their paths."""
    return run(_search, "search", store_id, arguments, asked)


def history(store_id: str, arguments: Json, asked: Asked, token: str | None) -> Json:
    """Return the versions of a memory, or one version with its text."""
    return run(_history, "history", store_id, arguments, asked)


def run(call: Callable[[str, Json, Asked], Json], name: str, store_id: str, arguments: Json, asked: Asked) -> Json:
    """Return the result of a call. An error for the model is a result too. Wrong arguments are audited like an error of
    a command."""
    try:
        try:
            return call(store_id, arguments, asked)
        except (Unusable, BadQuery) as error:
            return answer(reading.refuse(store_id, asked, name, arguments, f"Error: {error}"), is_error=True)
    except ToolError as error:
        return answer(error.message, is_error=True)
    except NotRun as error:
        raise Problem.not_run(error) from None
    except NoSuchStore:
        raise Problem.no_store() from None


def _search(store_id: str, arguments: Json, asked: Asked) -> Json:
    query = text_of(arguments, "query")
    if query is None:
        raise Unusable("`query` is required.")
    given = text_of(arguments, "path_prefix")
    directory = paths.ROOT_DIRECTORY if given is None else path_of(given)
    filters = {"store": store_id, "query": query, "directory": directory}
    key = cursor_of("search", filters, arguments, (str,))
    found = searching.search(
        store_id, asked, query, directory, limit=limit_of(arguments), after=key[0] if key else None
    )
    next_page = None if found.goes_on is None else cursors.encode("search", filters, [found.goes_on])
    data = [_match(match) for match in found.matches]
    return both({"data": data, "next_page": next_page})


def _match(match: Match) -> Json:
    memory, shift = match.memory, len(paths.ROOT)
    return {
        "path": paths.to_tool(memory.path),
        "memory_id": memory.pk,
        "memory_version_id": memory.head_id,
        "updated_at": chain.moment(memory.updated_at),
        "path_matches": _spans([(start + shift, end + shift) for start, end in match.in_path]),
        "lines": [
            {"number": line.number, "text": line.text, "text_start": line.start, "matches": _spans(line.found)}
            for line in match.lines
        ],
        "more_lines": match.more,
    }


def _spans(found: Sequence[Span]) -> list[Json]:
    return [{"start": start, "end": end} for start, end in found]


def _history(store_id: str, arguments: Json, asked: Asked) -> Json:
    given = text_of(arguments, "path")
    if given is None:
        raise Unusable("`path` is required.")
    path = path_of(given)
    memory = reading.memory_at(store_id, path, asked) if path else None
    if memory is None:
        raise Unusable(f"There is no memory at {results.echo(given)}, and there was none.")
    number = whole_of(arguments, "version", 1, 2**31 - 1)
    if number is not None:
        return _one_version(store_id, memory.pk, number, asked)
    filters = {"store": store_id, "memory": memory.pk}
    key = cursor_of("history", filters, arguments, (int,))
    details = {"path": path, "limit": limit_of(arguments)} | ({"before": key[0]} if key else {})
    found = reading.history(store_id, asked, memory, details, limit=limit_of(arguments), before=key[0] if key else None)
    next_page = None if found.goes_on is None else cursors.encode("history", filters, [found.goes_on])
    return both(_of_memory(found, next_page))


def _of_memory(found: History, next_page: str | None) -> Json:
    return {
        "memory_id": found.memory.pk,
        "path": paths.to_tool(found.memory.path),
        "deleted": not found.memory.is_live,
        "data": [_version(version, found.entries) for version in found.versions],
        "next_page": next_page,
    }


def _one_version(store_id: str, memory_id: str, number: int, asked: Asked) -> Json:
    """Return one version with its text. This is audited as a view of the text."""
    found = reading.version_of(store_id, asked, memory_id, number)
    if found is None:
        raise Unusable(f"The memory has no version {number}.")
    memory, version = found
    history = History(memory, [version], reading.entries_of([version]), None)
    structured = _of_memory(history, None)
    content = None if version.redacted_at else version.content
    structured["data"][0]["content"] = content
    return both(structured)


def _version(version: MemoryVersion, entries: Mapping[int, AuditEntry]) -> Json:
    is_redacted = version.redacted_at is not None
    return {
        "number": version.number,
        "memory_version_id": version.pk,
        "operation": version.operation,
        "path": None if is_redacted or version.path is None else paths.to_tool(version.path),
        "content_size_bytes": None if is_redacted else version.size,
        "created_at": chain.moment(version.created_at),
        "created_by": _author(version, entries.get(version.seq)),
        "redacted": is_redacted,
    }


def _author(version: MemoryVersion, entry: AuditEntry | None) -> Json | None:
    """Return the author of a version as JSON; None if the author is the hub itself or unknown.

    The author of an imported version is the one that the source hub named.
    """
    if version.origin is not None:
        return actors.of_origin(version.origin)
    return None if entry is None else actors.actor(entry.actor_kind, entry.actor_id, entry.session)


def both(structured: Json) -> Json:
    """Return a tool's result with a value in two forms: as structured content and as text. Some clients pass only the
    text to their model."""
    return answer(json.dumps(structured, ensure_ascii=False), structured=structured)
