"""Reads a memory's past for an agent: the list of its versions, and their texts. Each read has an entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.rules.sight import Sight, sees, sight_in
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import api, input_masking
from memoryhub.actions.memories.api import requests as asked_actions
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure import ids
from memoryhub.pure.protocol.commands import View

AT_ONCE = 200
"""How many paths of versions are read at once."""


@dataclass(frozen=True, slots=True)
class History:
    """A page of a memory's versions, newest first. `entries` has the audit entries that made them, by seq.

    To get the next page, call `history` with `before=goes_on`. On the last page, `goes_on` is None.
    """

    memory: Memory
    versions: Sequence[MemoryVersion]
    entries: Mapping[int, AuditEntry]
    goes_on: int | None


def memory_at(store_id: str, path: str, asked: Asked) -> Memory | None:
    """Return the live memory at a path or, without one, the last memory that was at the path.

    None if no memory was ever there, or if the caller does not see the path or the memory's current path.
    """
    sight = sight_in(store_id, asked.caller.actor, asked.at)
    if not sees(sight, path):
        return None
    live = Memory.objects.at(path).filter(store_id=store_id).first()
    if live is not None:
        return live
    last = MemoryVersion.objects.at(path).filter(store_id=store_id).order_by("-seq").first()
    found = None if last is None else Memory.objects.filter(store_id=store_id, pk=last.memory_id).first()
    return found if found is not None and sees(sight, found.path) else None


def seen_version(store_id: str, version_id: str, asked: Asked) -> MemoryVersion | None:
    """Return a version of the store; None if there is none, or if the caller does not see it.

    The caller must see the path of the version and the current path of its memory.
    """
    found = MemoryVersion.objects.among(store_id, [version_id]).first()
    sight = sight_in(store_id, asked.caller.actor, asked.at)
    if found is None or sight is None:
        return found
    now = Memory.objects.filter(store_id=store_id, pk=found.memory_id).values_list("path", flat=True).first()
    return found if sees(sight, found.path, now) else None


def history(
    store_id: str, asked: Asked, memory: Memory, details: Mapping[str, Any], *, limit: int, before: int | None = None
) -> History:
    """Return a page of a memory's versions without their texts, and record the read.

    With `before`, the page has only versions with lower numbers.
    """
    found = _versions(memory, limit, before, sight_in(store_id, asked.caller.actor, asked.at))

    def note(store: Tree) -> tuple[History, Record]:
        record = Record("history", path=memory.path, memory=memory.pk)
        return found, input_masking.of_call(store, record, details, audit.to_json(details))

    return asked_actions.on_store(store_id, asked, Record("history"), note)


def _versions(memory: Memory, limit: int, before: int | None, sight: Sight | None) -> History:
    versions = MemoryVersion.objects.of_memory(memory)
    if before is not None:
        versions = versions.filter(number__lt=before)
    rows = newest_seen(versions, sight, limit + 1)
    shown = rows[:limit]
    return History(memory, shown, entries_of(shown), shown[-1].number if len(rows) > limit else None)


def newest_seen(versions: MemoryVersionQuerySet, sight: Sight | None, most: int) -> list[MemoryVersion]:
    """Return the newest of a memory's versions that an actor with this sight sees, at most `most` versions.

    If `sight` is None, the actor sees all versions.
    """
    newest = versions.newest()
    if sight is None:
        return list(newest[:most])
    places = newest.values_list("pk", "path").iterator(AT_ONCE)
    return list(newest.filter(pk__in=list(islice((pk for pk, path in places if sees(sight, path)), most))))


def entries_of(versions: Sequence[MemoryVersion]) -> dict[int, AuditEntry]:
    """Return {seq: entry} of the entries that made these versions of one store. Removed entries are left out."""
    if not versions:
        return {}
    entries = AuditEntry.objects.of_chain(versions[0].store_id).of_seqs({version.seq for version in versions})
    return {entry.seq: entry for entry in entries.in_brief()}


def with_texts(
    store_id: str, asked: Asked, version_ids: Sequence[str], details: Mapping[str, Any]
) -> list[MemoryVersion]:
    """Return versions of the store with their texts, and record a view of each text.

    The entries of several views form one group. Versions that do not exist are left out. A version without a text makes
    no entry.
    """

    def read(store: Tree) -> tuple[list[MemoryVersion], Record | None]:
        found = MemoryVersion.objects.among(store_id, list(dict.fromkeys(version_ids))).select_related("text")
        by_id = {version.pk: version for version in found}
        versions = [by_id[id] for id in version_ids if id in by_id]
        viewed = [by_id[id] for id in dict.fromkeys(version_ids) if id in by_id and by_id[id].text_id]
        if len(viewed) > 1:
            store.act = store.act._replace(group=ids.new_id(ids.GROUP, store.at))
        for version in viewed[:-1]:
            tree.commit(store, _viewed(store, version, details))
        return versions, _viewed(store, viewed[-1], details) if viewed else None

    return asked_actions.on_store(store_id, asked, Record(View.name), read)


def version_of(store_id: str, asked: Asked, memory_id: str, number: int) -> tuple[Memory, MemoryVersion] | None:
    """Return a memory and its version with this number, and record a view if the version has a text.

    None if there is no such version, or if the caller does not see it.
    """
    memory = Memory.objects.get(store_id=store_id, pk=memory_id)
    version = MemoryVersion.objects.of_memory(memory).filter(number=number).values_list("pk", flat=True).first()
    if version is None or seen_version(store_id, version, asked) is None:
        return None
    found = with_texts(store_id, asked, [version], {"memory_version_id": version})
    return (memory, found[0]) if found else None


def refuse(store_id: str, asked: Asked, command: str, details: Mapping[str, Any], message: str) -> str:
    """Record a call that was refused, and return the message of the refusal."""

    def note(store: Tree) -> tuple[str, Record]:
        record = Record(command, ok=False, answer=message)
        return message, input_masking.of_call(store, record, details, audit.to_json(details))

    return asked_actions.on_store(store_id, asked, Record(command), note)


def _viewed(store: Tree, version: MemoryVersion, details: Mapping[str, Any]) -> Record:
    """Record that an agent read a version's text. Return the record, with `details` as its input."""
    record = api.view(store, version.memory_id, version.pk, version.path or "", version.content or "")
    return input_masking.of_call(store, record, details, audit.to_json(details))
