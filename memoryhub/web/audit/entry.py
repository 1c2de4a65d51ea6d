"""The page of one audit entry: the exact call and its answer, the facts, and the resulting versions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memoryhub.actions.search import search
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Comment,
    Door,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    Receipt,
    Redaction,
    Role,
    Run,
    Session,
    User,
)
from memoryhub.models.audit import ActorKind
from memoryhub.pure import ids
from memoryhub.pure.chain import COMMITTED
from memoryhub.pure.protocol.kinds import proposal_in
from memoryhub.pure.protocol.paths import ROOT
from memoryhub.pure.text import keeping
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff
from memoryhub.pure.text.matching import Work
from memoryhub.web.audit import rows
from memoryhub.web.audit.answer import Answer, answer_of, fits, is_redacted
from memoryhub.web.audit.decisions import decisions_of
from memoryhub.web.audit.masking import Entries
from memoryhub.web.audit.merges import merged_with
from memoryhub.web.audit.names import names_in
from memoryhub.web.audit.remedies import remedy_for
from memoryhub.web.audit.ruled import ruled
from memoryhub.web.audit.sentences import told_of, words_of
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows, shows_versions
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import moved_from, text_before, text_of
from memoryhub.web.common.versions.comparisons import Sides, sides
from memoryhub.web.common.versions.removed_history import first_seq, start_of, starts_at
from memoryhub.web.retention.authors import saved_by

MOST_VERSIONS = 100
MOST_DIFFS = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A version that the entry made, and its diff from the previous version."""

    version: MemoryVersion
    before: MemoryVersion | None
    diff: Diff | None  # None if it is closed, if the texts are equal, or if a text is not available
    closed: bool  # the diff is on another page, to which `sides` links
    sides: Sides

    @property
    def moved_from(self) -> str | None:
        return moved_from(self.before, self.version)


FOR_GOOD = ("erase", "purge", "redact")
"""The commands that cannot be undone, although they can make versions."""


@dataclass(frozen=True, slots=True)
class Call:
    """The input of a call."""

    shown: str  # as indented JSON
    raw: str  # as it was stored
    fits: bool  # the input matches the commitment in its entry
    redacted: bool  # the input cannot be verified, because of a redaction
    masked: bool = False  # some values are masked
    size: int | None = None  # the bytes of the full input, if only a part is kept

    @property
    def figures(self) -> tuple[str, str]:
        """Return, as text, how many bytes of the input are kept, and how many bytes the full input has. The second text
        is empty if the whole input is kept."""
        return f"{keeping.MOST:,}", f"{self.size:,}" if self.size else ""


@require_GET
@signed_in
def entry(request: Request, chain: str, seq: int) -> HttpResponse:
    head = visible_chain(person(request), chain)
    found = AuditEntry.objects.of_chain(chain).filter(seq=seq).first()
    if head is None:
        raise Http404
    if found is None:
        return _gone(request, head, seq)
    entries = Entries([found])
    details = told_of(entries.json(found, found.input))
    answer = answer_of(found, entries)
    store = MemoryStore.present.filter(pk=chain).first()
    context = {
        "entry": found,
        "store": store,
        "place": rows.chain_names([chain])[chain],
        "words": words_of(found, details, names_in([details], [chain], versions=[found.version])),
        "is_call": found.actor_kind == ActorKind.KEY,
        "call": call_of(found, entries),
        "answer": answer,
        "proposal": proposal_in(answer.text) if answer and not found.ok else None,
        "decisions": decisions_of(found, details),
        "ruled": ruled(found, store, answer.text if answer else ""),
        "remedy": remedy_for(found, store, answer.text if answer else "", person(request)),
        "facts": _facts(found, details) | _whose(found, person(request)),
        "merged": merged_with(chain, [found]).get(seq),
        "previous": seq - 1 if seq > first_seq(chain) else None,
        "next": seq + 1 if seq < head.last_seq else None,
        "before_seq": seq - 1,
        "may_undo": found.command not in FOR_GOOD and may_undo(person(request), chain),
        **_delivered_notes(found),
    }
    versions = _versions(found)
    if store is not None:
        shows_versions(request, store, [*of_changes(versions["changes"]), *_answered(found, answer)])
        shows(request, store, in_input(found))
    return render(request, "audit/entry.html", context | versions)


def _delivered_notes(found: AuditEntry) -> dict[str, object]:
    """Return the reviewers' notes that the answer to a view delivered, as template context.

    `is_told` is whether the entry is of a view that delivered notes; `comments` are these notes.
    """
    is_told = found.command == "view" and bool(found.note)
    comments = Comment.objects.of_store(found.chain).filter(told_seq=found.replay_of or found.seq).select_related("by")
    return {"is_told": is_told, "comments": comments.order_by("pk") if is_told else ()}


def _gone(request: Request, head: AuditChain, seq: int) -> HttpResponse:
    """Return a 404 page if the entry `seq` was removed from the start of its chain; else raise Http404."""
    start = start_of(head.pk)
    if start is None or not 0 < seq <= start.seq:
        raise Http404
    store, place = MemoryStore.objects.filter(pk=head.pk).first(), rows.chain_names([head.pk])[head.pk]
    context = {"seq": seq, "store": store, "chain": head.pk, "place": place, "start": start, "words": starts_at(start)}
    return render(request, "audit/gone.html", context, status=404)


def visible_chain(user: User, chain: str) -> AuditChain | None:
    """Return the chain, or None if the person may not see it. Only superusers see the hub's chain and those of deleted
    stores."""
    head = AuditChain.objects.filter(pk=chain).first()
    if head is None or user.is_superuser:
        return head
    store = MemoryStore.present.filter(pk=chain).first()
    return head if store is not None and user.role_in(store) is not None else None


def may_undo(user: User, chain: str) -> bool:
    """Return whether the person may undo the changes of an entry in this chain. This needs the role curator in the
    chain's store, which must not be archived."""
    store = MemoryStore.objects.filter(pk=chain).first()
    role = user.role_in(store) if store and not store.is_archived else None
    return role is not None and role.includes(Role.CURATOR)


def call_of(found: AuditEntry, entries: Entries) -> Call | None:
    raw = entries.json(found, found.input)
    if raw is None:
        return None
    size = None
    try:
        kept, size = keeping.parts(json.loads(raw))
        shown = json.dumps(kept, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        shown = raw
    is_whole = fits(found, "input", found.input)
    return Call(shown, raw, is_whole, is_redacted(found, "input"), masked=raw != found.input, size=size)


def of_changes(changes: Iterable[Change]) -> Iterator[MemoryVersion | None]:
    """Yield the two versions of each change that has a diff: these are the texts that the page shows."""
    for change in changes:
        if change.diff is not None:
            yield from (change.before, change.version)


def in_input(found: AuditEntry) -> Iterator[tuple[str, str | None]]:
    """Yield (memory, version) for the texts in the input of a call. The memory or the version may no longer exist."""
    wrote = found.ok and found.digest is not None and found.command not in ("rename", "delete")
    if found.memory and wrote and found.actor_kind == ActorKind.KEY:
        yield found.memory, found.version


def _answered(found: AuditEntry, answer: Answer | None) -> Iterable[MemoryVersion]:
    """Return the versions whose lines are in the answer to a call."""
    if answer is None or not found.ok:
        return ()
    ids = search.found_versions(found.message) if found.command == search.COMMAND else [found.version or ""]
    is_shown = answer.rendered or found.command == search.COMMAND
    return MemoryVersion.objects.filter(store_id=found.chain, pk__in=ids) if is_shown else ()


def _versions(found: AuditEntry) -> dict[str, Any]:
    """Return the versions that the call made, or the version that it read, as template context."""
    versions = list(MemoryVersion.objects.of_entry(found.chain, found.seq).select_related("text")[: MOST_VERSIONS + 1])
    return {
        "changes": changes_of(versions[:MOST_VERSIONS]),
        "more_changes": len(versions) > MOST_VERSIONS,
        "shown_version": _shown_version(found, versions),
        "gone_versions": _gone_versions(found),
    }


def _gone_versions(found: AuditEntry) -> int:
    """Return how many of the entry's versions have been removed since, at most MOST_VERSIONS."""
    gone = Redaction.objects.of_chain(found.chain).filter(entry_seq=found.seq).removed()
    return len(gone.values_list("pk")[:MOST_VERSIONS])


def _facts(found: AuditEntry, details: dict[str, Any]) -> dict[str, object]:
    """Return the facts that the page shows beside the entry's own columns."""
    session = Session.objects.filter(pk=found.session).values_list("name", flat=True).first() if found.session else None
    key = Key.objects.filter(pk=found.actor_id).first() if found.actor_kind == ActorKind.KEY else None
    return {
        "actor_query": rows.by_actor(found),
        "session": session or found.session,
        "key": key,
        "duration": rows.in_time(found.duration),
        "memory_url": rows.memory_url(found),
        "redacted": [field for field in COMMITTED if is_redacted(found, field)],
        "purged": is_purged(found),
        "undone_session": _undone_session(found, details),
        "run": _run(found, details),
        "called": f"{ROOT}{found.path}" if Door(found.door).has_tool and found.path is not None else "",
    }


def _whose(found: AuditEntry, user: User) -> dict[str, object]:
    """Return the facts that depend on what the person may see: the receipt of an erasure, and who saved the policy that
    made the entry."""
    policy = found.actor_id if found.actor_kind == ActorKind.POLICY else None
    return {"receipt": _receipt(found, user), "policies": saved_by([policy], found.chain, found.at, user)}


def _receipt(found: AuditEntry, user: User) -> Receipt | None:
    """Return the receipt of an erasure if the person is an admin of its memory store, else None."""
    store = MemoryStore.present.filter(pk=found.chain).first() if found.command == "erase" else None
    if store is None or user.role_in(store) != Role.ADMIN:
        return None
    written = Receipt.objects.filter(store=found.chain, at=found.at)
    return next((one for one in written if one.content.get("entry") == found.seq), None)


def _undone_session(found: AuditEntry, details: dict[str, Any]) -> Session | None:
    """Return the session whose writes the entry undid, or None if the entry is no undo of a session."""
    named = details.get("session") if found.command == "undo" else None
    return Session.objects.filter(pk=named).first() if isinstance(named, str) else None


def _run(found: AuditEntry, details: dict[str, Any]) -> Run | None:
    """Return the retention run to which the entry belongs, or None."""
    named = details.get("run") or found.group
    is_run = isinstance(named, str) and named.startswith(ids.RUN)
    return Run.objects.filter(pk=named).first() if is_run else None


def is_purged(found: AuditEntry) -> bool:
    """Return whether the entry's memory was deleted permanently."""
    return (
        found.memory is not None
        and rows.memory_url(found) is not None
        and not Memory.objects.filter(store_id=found.chain, pk=found.memory).exists()
    )


def _shown_version(found: AuditEntry, made: Sequence[MemoryVersion]) -> MemoryVersion | None:
    """Return the version that the call read, or None if it read none or made versions itself."""
    if made or not found.version:
        return None
    return MemoryVersion.objects.filter(store_id=found.chain, pk=found.version).first()


def changes_of(versions: Sequence[MemoryVersion], most: int = MOST_DIFFS) -> list[Change]:
    """Return each version with the version before it; the first `most` also with their diffs."""
    before, work = before_each(versions), Work(REQUEST_WORK)
    covers = {store: masking.covers(store, {v.memory_id for v in versions}) for store in {v.store_id for v in versions}}
    changes = []
    for place, version in enumerate(versions):
        earlier = before.get(version.pk)
        differs = has_difference(earlier, version)
        diff = None
        if differs and place < most:
            cover = covers[version.store_id].get(version.memory_id, masking.NOTHING)
            diff = masking.opened(work, text_before(earlier, version) or "", text_of(version) or "", cover)
        changes.append(Change(version, earlier, diff, differs and diff is None, sides(earlier, version)))
    return changes


def before_each(versions: Sequence[MemoryVersion]) -> dict[str, MemoryVersion]:
    """Return {version id: the previous version, with its text}. Versions without a previous one are left out.

    Pass at most the versions of one page: the query has one condition for each.
    """
    wanted = Q(pk__in=[])
    for version in versions:
        wanted |= Q(store_id=version.store_id, memory_id=version.memory_id, number=version.number - 1)
    found = MemoryVersion.objects.filter(wanted).select_related("text")
    by_place = {(version.memory_id, version.number + 1): version for version in found}
    pairs = ((version.pk, by_place.get((version.memory_id, version.number))) for version in versions)
    return {pk: earlier for pk, earlier in pairs if earlier is not None}


def has_difference(old: MemoryVersion | None, new: MemoryVersion) -> bool:
    """Return whether the texts of two versions are available and differ."""
    if text_before(old, new) is None or text_of(new) is None:
        return False
    return old is None or old.text_id != new.text_id
