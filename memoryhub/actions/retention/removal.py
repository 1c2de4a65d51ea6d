"""Permanent removals: of old versions, of memories in the trash, and of the oldest entries of a chain."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import F

from memoryhub.actions.comments import anchors
from memoryhub.actions.core import audit, proposed_texts, settling, tree
from memoryhub.actions.core.audit import Act, Record, own_texts, seals
from memoryhub.actions.core.audit.evidence import Evidence, forget_answers
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.transactions import pace, writing
from memoryhub.actions.core.tree import Tree
from memoryhub.models import (
    HUB,
    Assignment,
    AuditChain,
    AuditEntry,
    Claim,
    Comment,
    Figures,
    Finding,
    IdempotentCall,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Notice,
    Proposal,
    ProposedChange,
    Redaction,
    Review,
    Viewed,
)
from memoryhub.models.redaction import RedactionQuerySet
from memoryhub.pure import chain

MOST_ENTRIES = 1_000
"""The most entries that one transaction removes."""
_size = pace.Size(MOST_ENTRIES)


class Removed(NamedTuple):
    """How many versions were removed, the bytes of their texts, and commitments for the entry (`Record.redactions`)."""

    versions: int
    bytes: int
    redactions: tuple[str, ...]


def remove_versions(store: Tree, memory_id: str, ids: Sequence[str]) -> Removed:
    """Remove versions of a memory permanently. Each version is replaced by a Redaction row.

    Open findings whose values are in no version any more are resolved by the act's entry. Raises ValueError for the
    memory's newest version.
    """
    memory = Memory.objects.get(store_id=store.store, pk=memory_id)
    if memory.head_id in ids:
        raise ValueError("the newest version of a memory is never removed")
    versions = list(MemoryVersion.objects.among(store.store, ids).filter(memory_id=memory_id).order_by("number"))
    anchors.move_from(store.store, memory, {version.number for version in versions})
    store.ended += settling.carry(store.store, memory_id, [version.pk for version in versions])
    removed = _remove(store, memory_id, versions)
    Memory.objects.filter(store_id=store.store, pk=memory_id).update(
        removed_versions=memory.removed_versions + len(versions)
    )
    return removed


def purge(store: Tree, memory_id: str, evidence: Evidence | None = None) -> Removed:
    """Remove a memory permanently, with its versions, texts, reviews, comments and findings.

    The act's entry records open findings as resolved. `evidence` has the Redaction rows that the act has collected
    so far; they are written too. Raises ValueError for a live memory.
    """
    memory = Memory.objects.get(store_id=store.store, pk=memory_id)
    if memory.is_live:
        raise ValueError("only a memory in the trash is purged")
    store.ended += Finding.objects.of_store(store.store).open().filter(memory_id=memory_id)
    removed = _remove(store, memory_id, list(MemoryVersion.objects.of_memory(memory).order_by("number")), evidence)
    for model in (Comment, Notice, Finding, Review, Claim, Viewed, Assignment, MemoryText):
        model._default_manager.filter(store_id=store.store, memory_id=memory_id).delete()
    memory.delete()
    return removed


def _remove(
    store: Tree, memory_id: str, versions: Sequence[MemoryVersion], evidence: Evidence | None = None
) -> Removed:
    """Remove versions of a memory, and the texts that its other versions do not use.

    Texts that were proposed as changes of these versions are removed too.
    """
    proposed_texts.remove(store, memory_id, versions)
    forget_answers(store, versions, {version.pk: version.path for version in versions})
    evidence = evidence or Evidence(store)
    for version in versions:
        evidence.of_removed(version)
    redactions = evidence.write()
    own_texts.copy_back(store.store, (version.seq for version in versions))
    own = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory_id)
    own.filter(pk__in=[version.pk for version in versions]).delete()
    size = drop_texts(store, memory_id, {str(version.text_id) for version in versions if version.text_id})
    return Removed(len(versions), size, redactions)


def drop_texts(store: Tree, memory_id: str, texts: set[str]) -> int:
    """Delete those of the given texts that no version uses any more; return their size in bytes (UTF-8)."""
    versions = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory_id, text_id__in=texts)
    unused = MemoryText.objects.filter(store_id=store.store, memory_id=memory_id, pk__in=texts)
    unused = unused.exclude(pk__in=set(versions.values_list("text_id", flat=True)))
    size = sum(len(content.encode()) for content in unused.values_list("content", flat=True))
    unused.delete()
    return size


# ------------------------------------------------------------------------------------------------ entries


def remove_entries(chain_id: str, up_to: int, act: Act, *, of_copy: bool = False) -> int:
    """Remove the oldest entries of a chain up to the seq `up_to`, at most MOST_ENTRIES; return how many were removed.

    The newest entry stays, and so do the entries that are still needed. In a throw-away copy (`of_copy`), only the
    newest entry stays. A closed proposal is removed with the entry that closed it. Each call is one transaction with
    one entry; call it again until it returns 0. The chain then starts at a signed checkpoint.
    """
    with writing():
        head = audit.lock_hub() if chain_id == HUB else tree.lock(chain_id, act).head
        row = AuditChain.objects.get(pk=chain_id)
        most = min(up_to, row.start_seq + min(MOST_ENTRIES, _size.next), head.last_seq - 1)
        last = most if of_copy else _removable(row, most, act.at)
        if last <= row.start_seq:
            return 0
        count = last - row.start_seq
        details = {"up_to": last, "entries": count}
        if proposals := _remove_proposals(chain_id, last):
            details["proposals"] = proposals
        audit.append(head, act, Record("remove_entries", input=audit.to_json(details)))
        _move_start(row, last, act)
        gone = AuditEntry.objects.of_chain(chain_id).filter(seq__lte=last)
        AuditChain.objects.filter(pk=chain_id).update(bytes=F("bytes") - gone.bytes())
        gone.delete()
        IdempotentCall.objects.filter(store_id=chain_id, seq__lte=last).delete()
        _size.learn(count, count)
        return count


def _remove_proposals(chain_id: str, last: int) -> int:
    """Remove the proposals that entries up to `last` closed, and return how many were removed."""
    numbers = dict(Proposal.objects.of_store(chain_id).filter(seq__lte=last).values_list("pk", "number"))
    closed, newest = list(numbers), max(numbers.values(), default=0)
    MemoryStore.objects.filter(pk=chain_id, last_removed_proposal__lt=newest).update(last_removed_proposal=newest)
    for part in in_parts(closed):
        ProposedChange.objects.filter(store_id=chain_id, proposal__in=part).delete()
        told = Comment.objects.of_proposals(chain_id, part)
        Notice.objects.filter(store_id=chain_id, thread__in=told.values("thread")).delete()
        told.delete()
        Proposal.objects.filter(store_id=chain_id, pk__in=part).delete()
    return len(closed)


def _removable(row: AuditChain, most: int, at: datetime) -> int:
    """Return the highest seq, at most `most`, up to which no entry is needed. Policies are not considered.

    An entry is needed if it is not counted in the figures yet, if its call may be repeated, or if its version awaits
    review.
    """
    repeatable = at - timedelta(days=settings.MEMORYHUB_IDEMPOTENCY_DAYS + 1)
    # Needed: not counted in the figures yet, the call may be repeated, or the version awaits review.
    counted = Figures.objects.filter(store_id=row.pk).values_list("seq", flat=True).first()
    last = most if counted is None else min(most, counted)
    waiting = MemoryVersion.objects.filter(store_id=row.pk).unreviewed().order_by("seq").values_list("seq", flat=True)
    last = min(last, (waiting.first() or last + 1) - 1)
    young = AuditEntry.objects.of_chain(row.pk).between(row.start_seq + 1, last).filter(at__gte=repeatable)
    first_young: int | None = young.oldest().values_list("seq", flat=True).first()
    return last if first_young is None else first_young - 1


def _move_start(row: AuditChain, last: int, act: Act) -> None:
    """Move the chain's start to the entry `last`, and sign it."""
    first, key = row.start_seq, settings.MEMORYHUB_AUDIT_KEY
    redactions = Redaction.objects.of_chain(row.pk)
    versions = MemoryVersion.objects.filter(store_id=row.pk).between(first, last)
    gone_later = redactions.removed().filter(entry_seq__gt=first, entry_seq__lte=last, seq__gt=last)
    members = [*versions.values_list("pk", flat=True), *_versions_of(gone_later)]
    gone_now = redactions.removed().filter(entry_seq__lte=first, seq__gt=first, seq__lte=last)
    row.start_hash = AuditEntry.objects.get(chain=row.pk, seq=last).hash
    row.start_seq, row.start_at = last, act.at
    row.start_versions = chain.set_digest(key, members, row.start_versions, less=_versions_of(gone_now))
    row.start_seals = seals.outlive(row.pk, first, last, row.start_seals)
    row.start_signature = start_signature(row)
    if row.older_seq <= last:
        row.older_seq, row.older_signature = 0, None  # the start is signed with the current key
    AuditChain.objects.filter(pk=row.pk).update(
        start_seq=last,
        start_hash=row.start_hash,
        start_at=row.start_at,
        start_versions=row.start_versions,
        start_seals=row.start_seals,
        start_signature=row.start_signature,
        older_seq=row.older_seq,
        older_signature=row.older_signature,
    )
    recorded = redactions.filter(seq__lte=last)
    recorded.filter(number__isnull=False).delete()
    recorded.filter(field__isnull=False).delete()
    _seal(row.pk, first, last)


def _versions_of(redactions: RedactionQuerySet) -> list[str]:
    return [str(version) for version in redactions.values_list("version", flat=True)]


def start_signature(row: AuditChain) -> str:
    """Return the signature of a chain's start.

    It covers the last removed entry, the time, and the digests of the versions and seals that outlive their entries.
    """
    at = chain.moment(row.start_at) if row.start_at else None
    values = ["start", row.pk, row.start_seq, row.start_hash, at, row.start_versions]
    seals_too = values if row.start_seals is None else [*values, row.start_seals]
    return chain.seal_of(settings.MEMORYHUB_AUDIT_KEY, seals_too)


def _seal(chain_id: str, first: int, last: int) -> None:
    """Seal each version that has just lost an entry: the entry that made it, or one that redacted it."""
    versions = MemoryVersion.objects.filter(store_id=chain_id)
    redacted = Redaction.objects.of_chain(chain_id).filter(
        seq__gt=first, seq__lte=last, number=None, entry_seq__lte=last
    )
    again = [id for id in redacted.values_list("version", flat=True) if id]
    concerned = {version.pk: version for version in versions.between(first, last)}
    concerned |= {version.pk: version for version in MemoryVersion.objects.among(chain_id, again)}
    latest = latest_redactions(chain_id, concerned, last)
    for version in concerned.values():
        version.seal = seal_of(version, latest.get(version.pk))
    versions.bulk_update(concerned.values(), ["seal"], batch_size=200)


def latest_redactions(chain_id: str, versions: dict[str, MemoryVersion], last: int) -> dict[str, str]:
    """Return {version: commitment of its newest redaction by an entry up to `last`}."""
    found: dict[str, str] = {}
    redacted = [version for version in versions.values() if version.redacted_seq is not None]
    memories = {version.memory_id for version in redacted}
    rows = Redaction.objects.of_memories(chain_id, memories).filter(seq__lte=last, number=None).order_by("seq", "pk")
    for version, commitment in rows.values_list("version", "commitment"):
        found[str(version)] = commitment
    return found


def seal_of(version: MemoryVersion, redaction: str | None) -> str:
    """Return the seal of a version.

    Some redactions of the version may have lost their audit entries. `redaction` is the commitment of the newest of
    these redactions (None: there are none).
    """
    values = [
        version.store_id,
        version.pk,
        version.memory_id,
        version.number,
        version.seq,
        version.commitment,
        redaction,
    ]
    return chain.seal_of(settings.MEMORYHUB_AUDIT_KEY, values)
