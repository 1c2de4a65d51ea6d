"""The page of one audit entry: the exact call and answer, the facts, and what it changed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memoryhub.diffs import Diff, compare
from memoryhub.models import AuditChain, AuditEntry, Key, MemoryStore, MemoryVersion, Role, Session, User
from memoryhub.models.audit import ActorKind
from memoryhub.web import audit_rows
from memoryhub.web.audit_answer import answer_of, fits
from memoryhub.web.audit_words import names_in, told_of, words_of
from memoryhub.web.door import person, signed_in
from memoryhub.web.merges import merged_with
from memoryhub.web.versions import text_of

MOST_VERSIONS = 100
MOST_DIFFS = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A version that the entry made, the one before it, and what differs (null: only listed, or a text is gone)."""

    version: MemoryVersion
    before: MemoryVersion | None
    diff: Diff | None


@dataclass(frozen=True, slots=True)
class Call:
    """The input as indented JSON for reading, and as it was stored; `fits` the commitment of its entry."""

    shown: str
    raw: str
    fits: bool


@require_GET
@signed_in
def entry(request: HttpRequest, chain: str, seq: int) -> HttpResponse:
    head = visible_chain(person(request), chain)
    found = AuditEntry.objects.of_chain(chain).filter(seq=seq).first()
    if head is None or found is None:
        raise Http404
    told = told_of(found.input)
    context = {
        "entry": found,
        "store": MemoryStore.objects.filter(pk=chain).first(),
        "place": audit_rows.chain_names([chain])[chain],
        "words": words_of(found, told, names_in([told])),
        "is_call": found.actor_kind == ActorKind.KEY,
        "call": call_of(found),
        "answer": answer_of(found),
        "facts": _facts(found),
        "merged": merged_with(chain, [found]).get(seq),
        "previous": seq - 1 if seq > 1 else None,
        "next": seq + 1 if seq < head.last_seq else None,
        "before_seq": seq - 1,
        "may_undo": may_undo(person(request), chain),
    }
    return render(request, "audit/entry.html", context | _versions(found))


def visible_chain(user: User, chain: str) -> AuditChain | None:
    """The chain, if the person may see its entries: the hub's and those of stores that are gone are for superusers."""
    head = AuditChain.objects.filter(pk=chain).first()
    if head is None or user.is_superuser:
        return head
    return head if MemoryStore.objects.visible_to(user).filter(pk=chain).exists() else None


def may_undo(user: User, chain: str) -> bool:
    """Whether the chain is that of a store in which the person may undo what an entry changed."""
    store = MemoryStore.objects.filter(pk=chain).first()
    role = user.role_in(store) if store and not store.is_archived else None
    return role is not None and role.includes(Role.CURATOR)


def call_of(found: AuditEntry) -> Call | None:
    if found.input is None:
        return None
    try:
        shown = json.dumps(json.loads(found.input), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        shown = found.input
    return Call(shown, found.input, fits(found, "input", found.input))


def _versions(found: AuditEntry) -> dict[str, object]:
    """The versions that the call made, or the one that it read."""
    versions = list(MemoryVersion.objects.of_entry(found.chain, found.seq).select_related("text")[: MOST_VERSIONS + 1])
    return {
        "changes": changes_of(versions[:MOST_VERSIONS]),
        "more_changes": len(versions) > MOST_VERSIONS,
        "shown_version": _shown_version(found, versions),
    }


def _facts(found: AuditEntry) -> dict[str, object]:
    """What the page shows beside the entry's own columns."""
    session = Session.objects.filter(pk=found.session).values_list("name", flat=True).first() if found.session else None
    key = Key.objects.filter(pk=found.actor_id).first() if found.actor_kind == ActorKind.KEY else None
    return {
        "actor_query": audit_rows.by_actor(found),
        "session": session or found.session,
        "key": key,
        "duration": audit_rows.in_time(found.duration),
        "memory_url": audit_rows.memory_url(found),
    }


def _shown_version(found: AuditEntry, made: Sequence[MemoryVersion]) -> MemoryVersion | None:
    """The version that the call read, where it made none."""
    if made or not found.version:
        return None
    return MemoryVersion.objects.filter(store_id=found.chain, pk=found.version).first()


def changes_of(versions: Sequence[MemoryVersion]) -> list[Change]:
    """Each version with the one before it; the first few with what differs."""
    before = before_each(versions)
    changes = []
    for place, version in enumerate(versions):
        earlier = before.get(version.pk)
        changes.append(Change(version, earlier, difference(earlier, version) if place < MOST_DIFFS else None))
    return changes


def before_each(versions: Sequence[MemoryVersion]) -> dict[str, MemoryVersion]:
    """The version before each, by the id of the later one, with their texts; at most a page of versions."""
    wanted = Q(pk__in=[])
    for version in versions:
        wanted |= Q(store_id=version.store_id, memory_id=version.memory_id, number=version.number - 1)
    found = MemoryVersion.objects.filter(wanted).select_related("text")
    by_place = {(version.memory_id, version.number + 1): version for version in found}
    pairs = ((version.pk, by_place.get((version.memory_id, version.number))) for version in versions)
    return {pk: earlier for pk, earlier in pairs if earlier is not None}


def difference(old: MemoryVersion | None, new: MemoryVersion) -> Diff | None:
    """What differs between two versions; null where a text has been redacted, or where the text is the same one."""
    before, after = text_of(old), text_of(new)
    if before is None or after is None or (old is not None and old.text_id == new.text_id):
        return None
    return compare(before, after)
