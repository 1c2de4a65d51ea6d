"""The names of objects that audit entries name by id: people, agents, keys, memories and others."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from django.db.models import Model

from memoryhub.models import (
    Agent,
    Import,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    Session,
    User,
)
from memoryhub.pure import ids as ids_of

EntryInput = Mapping[str, Any]


def names_in(
    inputs: Iterable[EntryInput], chains: Collection[str], *, versions: Iterable[str | None] = ()
) -> dict[str, str]:
    """Return {id: name} for the ids in `inputs` and for `versions`.

    The name of a memory is its path, the name of a version its number. Both are looked up only in the stores of
    `chains`. If an input lists several memories or versions, these are left out.
    """
    known = list(inputs)
    values = [value for one in known for value in one.values()]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    names = _numbers({*_said(known, ids_of.MEMORY_VERSION), *filter(None, versions)}, chains)
    if memories := _said(known, ids_of.MEMORY):
        found = Memory.objects.filter(store_id__in=chains, pk__in=memories)
        names |= dict(found.values_list("pk", "path"))
    for start, (model, name_of) in _NAMED_BY_ID.items():
        ids = {item for item in flat if isinstance(item, str) and item.startswith(start)}
        if ids:
            names |= {row.pk: name for row in model._default_manager.filter(pk__in=ids) if (name := name_of(row))}
    return names


def _said(inputs: Iterable[EntryInput], start: str) -> set[str]:
    """Return the ids in `inputs` that begin with `start` and are single values, or the only item of a list."""
    values = (
        value[0] if isinstance(value, list) and len(value) == 1 else value
        for details in inputs
        for value in details.values()
    )
    return {value for value in values if isinstance(value, str) and value.startswith(start)}


def _numbers(versions: Collection[str], chains: Collection[str]) -> dict[str, str]:
    """Return {version id: its number}."""
    if not versions:
        return {}
    found = MemoryVersion.objects.filter(store_id__in=chains, pk__in=versions)
    return {pk: str(number) for pk, number in found.values_list("pk", "number")}


_NAMED_BY_ID: dict[str, tuple[type[Model], Callable[[Any], str]]] = {
    ids_of.AGENT: (Agent, lambda agent: agent.name),
    ids_of.MEMORY_STORE: (MemoryStore, lambda store: store.name),
    ids_of.KEY: (Key, lambda key: f"{key.name} (…{key.hint})" if key.name else f"…{key.hint}"),
    ids_of.USER: (User, lambda user: user.name or user.email),
    ids_of.SESSION: (Session, lambda session: session.name),
    ids_of.IMPORT: (Import, lambda job: job.name),
}
"""For each prefix of ids: the model, and a function that returns the name of a row. The name is empty if the row has
none."""
