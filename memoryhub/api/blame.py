"""Blame in the API: which memory version introduced each line."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.core.rules.sight import sees, sight_in
from memoryhub.actions.core.transactions import let_others
from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Texts
from memoryhub.actions.memories import reading
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.further import BlameMemory, MemoryBlame
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, AuditEntry, Memory, MemoryVersion
from memoryhub.pure import actors, chain
from memoryhub.pure.text import blame as lines_of
from memoryhub.pure.text.blame import Origin
from memoryhub.pure.text.changed_lines import Work

router = Router()


@router.get(
    "/memory_stores/{memory_store_id}/memories/{memory_id}/blame", auth=needs(Access.READ),
    response=answers(MemoryBlame, 429), summary="Blame a memory",
)  # fmt: skip
def blame_memory(request: HttpRequest, memory_store_id: str, memory_id: str, query: Query[BlameMemory]) -> Json:
    """Which memory version introduced each line of a memory, as ranges of lines from one version. The text counts as
    read."""
    asked = call_of(request).asked
    memory = Memory.objects.live().filter(store_id=memory_store_id, pk=memory_id).first()
    if memory is None or not sees(sight_in(memory_store_id, asked.caller.actor, asked.at), memory.path):
        raise Problem.not_found("This memory store has no such memory.")
    id = query.memory_version_id or memory.head_id
    version = reading.seen_version(memory_store_id, id, asked)
    if version is None or version.memory_id != memory.pk:
        raise Problem.not_found("The memory has no such memory version.")
    if version.text_id is None:
        raise Problem.invalid("This memory version has no text.")
    found = reading.with_texts(memory_store_id, asked, [id], {"memory_version_id": id})
    if not found or found[0].content is None:  # it was removed in the meantime
        raise Problem.not_found("The memory has no such memory version.")
    let_others()
    return _blamed(memory, found[0])


def _blamed(memory: Memory, version: MemoryVersion) -> Json:
    history, work = blame.up_to(memory, version.number), Work()
    versions = history.versions()
    origins = lines_of.blame(
        versions, Texts(memory.store_id, lines_of.texts_of_blame(versions)), work, whole=history.whole
    )
    brought = {origin.number for origin in origins}
    by_number = {row.number: row.id for row in history.rows if row.number in brought}
    rows = MemoryVersion.objects.among(memory.store_id, list(by_number.values())).defer("commitment", "salt")
    details = {row.number: row for row in rows}
    return {
        "type": "memory_blame",
        "memory_store_id": memory.store_id,
        "memory_id": memory.pk,
        "memory_version_id": version.pk,
        "content": version.content,
        "bounded": work.passed,
        "lines": list(_stretches(origins, details, reading.entries_of(list(details.values())))),
    }


def _stretches(
    origins: Sequence[Origin], by_number: Mapping[int, MemoryVersion], entries: Mapping[int, AuditEntry]
) -> Iterator[Json]:
    """Yield ranges of consecutive lines, in order. All lines of a range were introduced by one version."""
    first = 1
    for (number, known), group in groupby(origins, key=lambda origin: (origin.number, origin.is_certain)):
        count = sum(1 for _ in group)
        version = by_number.get(number)
        entry = None if version is None else entries.get(version.seq)
        yield {
            "first_line": first,
            "last_line": first + count - 1,
            "known": known,
            "number": number,
            "memory_version_id": None if version is None else version.pk,
            "created_at": None if version is None else chain.moment(version.created_at),
            "created_by": _author(version, entry),
        }
        first += count


def _author(version: MemoryVersion | None, entry: AuditEntry | None) -> Json | None:
    if version is not None and version.origin is not None:
        return actors.of_origin(version.origin)
    return None if entry is None else actors.actor(entry.actor_kind, entry.actor_id, entry.session)
