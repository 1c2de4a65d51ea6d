"""Records which texts of memories a page showed to a person, if the store is set to record this."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.models import AuditEntry, Memory, MemoryStore

COMMAND = "view_text"
AGAIN = timedelta(minutes=5)
"""Within this time, the same page with the same texts is not recorded again for the same person."""

RECENT = 20
"""The number of a person's newest views that are searched for the same page."""


SETTING = "records_views"


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time in which a memory store recorded what people read. `until` is None if it has not ended.

    `since` is None if it began before the oldest entry of the audit.
    """

    since: datetime | None
    until: datetime | None = None


def periods(store: MemoryStore) -> list[Period]:
    """Return the times in which a store recorded what people read, the oldest first."""
    entries = AuditEntry.objects.of_chain(store.pk).filter(command__in=("create_store", "edit_store"), ok=True)
    # sorted here: for an order by seq, SQLite would read the whole chain instead of the index by command
    changes = entries.filter(input__contains=f'"{SETTING}"').order_by().values_list("seq", "at", "input")
    found: list[Period] = []
    for _, at, input in sorted(changes):
        value = json.loads(input or "{}").get(SETTING)
        is_on = value[1] if isinstance(value, list) else value
        if is_on:
            found.append(Period(at))
        elif isinstance(value, list):
            begun = found.pop() if found else Period(None)
            found.append(Period(begun.since, at))
    is_open = bool(found) and found[-1].until is None
    return [*found, Period(None)] if store.records_views and not is_open else found


def note(store_id: str, page: str, shown: Mapping[str, Collection[str]], act: Act) -> None:
    """Write one entry: the person, the page, and the memories and versions that it showed.

    `shown` is {memory: versions}. If the person sees the same page with the same texts again within AGAIN, this is not
    recorded. Raises tree.NoSuchStore.
    """
    # A view of a throw-away copy belongs to the original's chain: the audit of a copy is deleted with the copy.
    copied = MemoryStore.present.filter(pk=store_id).values_list("copy_of", flat=True).first()
    input = _input(page, shown, store_id if copied else None)
    if _is_repeated(copied or store_id, input, act):
        return
    record = Record(COMMAND, input=input)
    if len(shown) == 1 and not copied:
        ((memory, versions),) = shown.items()
        path = Memory.objects.among(store_id, [memory]).values_list("path", flat=True).first()
        version = next(iter(versions)) if len(versions) == 1 else None
        record = record._replace(path=path, memory=memory, version=version)
    with tree.locked(copied or store_id, act) as store:
        tree.commit(store, record)


def versions_in(input: str | None) -> list[str]:
    """Return the ids of the versions in the input of an entry that `note` wrote."""
    versions: list[str] = json.loads(input or "{}").get("versions", [])
    return versions


def _input(page: str, shown: Mapping[str, Collection[str]], copy: str | None) -> str:
    versions = {version for of_memory in shown.values() for version in of_memory}
    told: dict[str, object] = {"page": page, "memories": sorted(shown), "versions": sorted(versions)}
    if copy is not None:
        told["copy"] = copy
    return audit.to_json(told)


def _is_repeated(chain: str, input: str, act: Act) -> bool:
    own = AuditEntry.objects.of_chain(chain).by_author(act.actor.author_id or "").newest()
    recent = list(own.values_list("command", "input", "at")[:RECENT])
    return any(command == COMMAND and said == input and abs(act.at - at) < AGAIN for command, said, at in recent)
