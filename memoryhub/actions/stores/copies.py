"""Throw-away copies of memory stores: a Claude run works on a copy, and the original does not change.

A copy has the memories as they were at a moment, and the settings and rules as they are now. It has no history, no
holds, no members and no keys. Lists, the API and webhooks leave copies out.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.rules.roles import write_role
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import (
    Door,
    Finding,
    FindingState,
    Member,
    Memory,
    MemoryStore,
    MemoryVersion,
    Role,
    StreamCursor,
    WebhookCursor,
)
from memoryhub.pure import ids, path_rules

MOST_MEMORIES, MOST_BYTES = 50, 256 * 1024
"""The most memories and bytes of one transaction (at least one memory), so that tool calls wait only briefly."""
_LONGEST_NAME = 200
_NEVER = 2**53
"""The number of an entry that no chain reaches."""


def make(store: Tree, *, proposes: bool) -> str:
    """Create an empty copy of a locked store, and return the id of the copy. `fill` copies the memories into it.

    With `proposes`, agents may change the copy where the path rules of the store only let them propose changes.
    """
    row = MemoryStore.objects.get(pk=store.store)
    rules = path_rules.of_json(row.path_rules).rules
    kept = path_rules.without_proposals(rules) if proposes else rules
    name = _("Copy of %(name)s") % {"name": row.name[:_LONGEST_NAME]}
    copy = stores.add_store(
        replace(StoreSettings.of(row), name=name), {}, store.at,
        copy_of=row.pk, rules=row.rules, path_rules=[rule.as_json() for rule in kept],
    )  # fmt: skip
    WebhookCursor.objects.create(chain=copy.pk, seq=_NEVER)
    StreamCursor.objects.create(chain=copy.pk, seq=_NEVER)
    details = {"copy_of": row.pk} | StoreSettings.of(copy).as_json()
    audit.append(audit.open_chain(copy.pk), store.act, Record("create_store", input=audit.to_json(details)))
    return str(copy.pk)


def fill(copy_id: str, original: str, seq: int, at: datetime) -> int | None:
    """Copy the next memories of a store as they were after its entry `seq`, in one short transaction.

    Call this function again as long as it returns None. When all memories are copied, it returns the seq of the copy's
    newest entry. A text that was redacted or removed since the entry `seq` is left out. Raises ToolError if a limit
    does not allow a memory. Also raises NoSuchStore.
    """
    with tree.locked(copy_id, Act(Actor.system("copy"), Door.WEB, at)) as store:
        last = Memory.objects.filter(store_id=copy_id).order_by("-path").values_list("path", flat=True).first()
        versions = MemoryVersion.objects.filter(store_id=original, text__isnull=False).as_of(seq).select_related("text")
        versions = versions.filter(path__gt=last) if last is not None else versions
        size, copied = 0, dict[str, tuple[str, str]]()
        for version in versions.order_by("path")[:MOST_MEMORIES]:
            size += version.size or 0
            if copied and size > MOST_BYTES:
                break
            memory = tree.add_memory(store, str(version.path), version.content or "")
            copied[version.memory_id] = memory, store.made[-1].id
        if not copied:
            return store.head.last_seq
        _copy_findings(store, original, copied)
        details = {"count": len(copied)}
        tree.commit(store, Record("copy_memories", versions=tuple(store.made), input=audit.to_json(details)))
    return None


def keep(store: Tree, copy_id: str, name: str) -> None:
    """Turn a throw-away copy of a locked store into a memory store with the same members. Raises NoSuchStore.

    Settings, rules and dismissals of findings are then as they are now in the original. Webhooks get no events for what
    happened in the copy before. The audit stream gets the whole audit of the copy.
    """
    original = MemoryStore.objects.get(pk=store.store)
    copy = tree.lock(copy_id, store.act._replace(session=None))
    rows = MemoryStore.present.filter(pk=copy_id)
    settings = replace(StoreSettings.of(original), name=name).as_json()
    rows.update(
        copy_of=None, rules=original.rules, path_rules=original.path_rules, updated_at=store.at, **settings
    )  # fmt: skip
    _open_again(store.store, copy_id)
    members = list(Member.objects.filter(store=original).select_related("user").order_by("pk"))
    for member in members:
        write_role(rows.get(), member.user, Role(member.role), store.at)
    WebhookCursor.objects.filter(chain=copy_id).update(seq=copy.head.last_seq)
    StreamCursor.objects.filter(chain=copy_id).delete()
    details = {"copy_of": original.pk, "name": name, "members": len(members)}
    tree.commit(copy, Record("keep_copy", input=audit.to_json(details)))


def _open_again(original: str, copy_id: str) -> None:
    """Open the findings of a copy that are dismissed, and whose value has an undismissed finding in the original."""
    standing = Finding.objects.of_store(original).exclude(state=FindingState.DISMISSED)
    dismissed = Finding.objects.of_store(copy_id).filter(state=FindingState.DISMISSED)
    dismissed.filter(fingerprint__in=standing.values("fingerprint")).update(
        state=FindingState.OPEN, note="", decided_at=None, decided_by=None, decided_seq=None
    )


def _copy_findings(store: Tree, original: str, copied: Mapping[str, tuple[str, str]]) -> None:
    """Copy the findings of memories, so that pages of the copy mask the same values, and dismissed findings stay
    dismissed.

    `copied` is {id of a memory: (id of its copy, id of the copy's version)}.
    """
    rows = []
    for one in Finding.objects.of_store(original).filter(memory_id__in=list(copied)):
        one.pk, one.store_id, one.seq = ids.new_id(ids.FINDING, store.at), store.store, store.seq
        one.memory_id, one.version_id = copied[one.memory_id]
        one._state.adding = True
        rows.append(one)
    Finding.objects.bulk_create(rows, batch_size=100)
