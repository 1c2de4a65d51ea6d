"""Masking of calls and answers in audit entries.

In the entries of a memory, the values that the memory's findings cover are masked. Some calls of agents need more:

- If a call was refused or concerns no memory, findings do not cover its text. Every sensitive value that the store's
  rules detect is masked.
- If a call concerns a memory that was removed permanently, every kind of sensitive value is masked.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from memoryhub.actions.findings.rules import actions_of
from memoryhub.models import AuditEntry, HubSettings, Member, Memory, MemoryStore, Role, User
from memoryhub.models.audit import ActorKind
from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import Action
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.masking import MASKED, Cover

Mask = Callable[[str], str]
_HALF = 64


class Entries:
    """Masks the texts of audit entries. With `chains`, only texts of entries in these chains are masked."""

    def __init__(self, entries: Iterable[AuditEntry], chains: Collection[str] | None = None) -> None:
        found = [entry for entry in entries if chains is None or entry.chain in chains]
        self.known = {(entry.chain, entry.seq) for entry in found}
        self.covers = _covers(found)
        self.there = memories_there(found)
        self.looked_for = _looked_for({entry.chain for entry in found if _is_open(entry)})

    def masker(self, entry: AuditEntry) -> Mask | None:
        """Return the function that masks texts of an entry, or None if there is nothing to mask."""
        if (entry.chain, entry.seq) not in self.known:
            return None
        cover = self.covers.get(entry.memory or "", masking.NOTHING)
        if kinds := self._kinds(entry):
            return lambda text: sensitive.mask(text, sensitive.find(text, kinds | cover.masked))
        return (lambda text: masking.masked(text, cover)) if cover else None

    def _kinds(self, entry: AuditEntry) -> frozenset[str]:
        """Return the kinds of values to mask in addition to the values that the memory's findings cover."""
        if entry.actor_kind == ActorKind.KEY and entry.memory is not None and entry.memory not in self.there:
            return MASKED
        return self.looked_for.get(entry.chain, frozenset()) if _is_open(entry) else frozenset()

    def text(self, entry: AuditEntry, text: str) -> str:
        mask = self.masker(entry)
        return mask(text) if mask and text else text

    def beginning(self, entry: AuditEntry, text: str, *, cut: bool) -> str:
        """Mask the beginning of an answer. If the answer continues after it (`cut`), its last characters are removed,
        because they may be a part of a sensitive value."""
        mask = self.masker(entry)
        if mask is None or not text:
            return text
        return mask(text) if not cut else mask(text)[:-_HALF] + "…"

    def json(self, entry: AuditEntry, written: str | None) -> str | None:
        """Return a JSON text with every string in it masked. Return it unchanged if there is nothing to mask."""
        mask = self.masker(entry)
        if mask is None or written is None:
            return written
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            return mask(written)
        seen = _masked(value, mask)
        return written if seen == value else json.dumps(seen, ensure_ascii=True)


def memories_there(entries: Iterable[AuditEntry]) -> set[str]:
    """Return the ids of the memories that the entries name and that still exist."""
    named = {(entry.chain, entry.memory) for entry in entries if entry.memory is not None}
    found = Memory.objects.filter(store_id__in={chain for chain, _ in named}, pk__in={memory for _, memory in named})
    return set(found.values_list("pk", flat=True)) if named else set()


def _is_open(entry: AuditEntry) -> bool:
    """Return whether an agent's call was refused or concerns no memory."""
    return entry.actor_kind == ActorKind.KEY and (entry.memory is None or not entry.ok)


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(name): _masked(item, mask) for name, item in value.items()}
    return [_masked(item, mask) for item in value] if isinstance(value, list) else value


def _covers(entries: Iterable[AuditEntry]) -> dict[str, Cover]:
    memories: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.memory:
            memories[entry.chain].add(entry.memory)
    covers: dict[str, Cover] = {}
    for store, found in memories.items():
        covers |= masking.covers(store, found)
    return covers


def _looked_for(chains: Collection[str]) -> dict[str, frozenset[str]]:
    """Return {store: the kinds of values that its rules detect}."""
    if not chains:
        return {}
    hubs = json.dumps(HubSettings.current().rules)
    own = dict(MemoryStore.present.filter(pk__in=chains).values_list("pk", "rules"))
    return {chain: _kinds(actions_of(json.dumps(own.get(chain, {})), hubs)) for chain in chains}


def _kinds(actions: Mapping[str, Action]) -> frozenset[str]:
    return frozenset(kind for kind, action in actions.items() if kind in MASKED and action != Action.OFF)


def not_curated(user: User, chains: Collection[str]) -> frozenset[str]:
    """Return the chains in which a person may not reveal masked values."""
    if user.is_superuser:
        return frozenset()
    mine = Member.objects.filter(user=user, store_id__in=list(chains), role__in=(Role.CURATOR, Role.ADMIN))
    return frozenset(chains) - frozenset(mine.values_list("store_id", flat=True))
