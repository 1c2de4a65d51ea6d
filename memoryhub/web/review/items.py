"""The items of the inbox: the change, its author, what the agent had read, and who else is looking at the item."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from memoryhub.actions.comments.comments import LONGEST_NOTE
from memoryhub.actions.core.rules.holds import Holds, holds_of
from memoryhub.actions.review.assignments import reviewers, standing
from memoryhub.actions.review.decisions import LOOK_BACK
from memoryhub.actions.review.last_approved import Since, since_approved
from memoryhub.actions.review.verbs import ANSWERS, WHO, Verb
from memoryhub.models import (
    Agent,
    AuditEntry,
    Claim,
    Decision,
    Hold,
    Member,
    Memory,
    MemoryStore,
    MemoryVersion,
    Review,
    Role,
    Session,
    User,
)
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff, shortened
from memoryhub.pure.text.matching import Work
from memoryhub.web.common.marks import UNMARKED, Marks, found_in, kept_by
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import moved_from, text_before, text_of
from memoryhub.web.common.versions.comparisons import Sides, sides
from memoryhub.web.common.versions.decided import decided
from memoryhub.web.review.queries import Row
from memoryhub.web.sessions.read_before import Read, Reads

MOST_ROWS = 60
"""The most lines of a diff that an item shows."""


@dataclass(frozen=True, slots=True)
class Item:
    """A version with everything that a person needs to decide about it."""

    longest_note: ClassVar = LONGEST_NOTE

    store: MemoryStore
    version: MemoryVersion
    memory: Memory
    before: MemoryVersion | None
    entry: AuditEntry | None
    session: str | None
    may_decide: bool
    earlier: int = 0  # how many earlier versions an approval includes
    diff: Diff | None = None  # None if a text was redacted, or if comparing takes too long
    too_large: bool = False  # comparing takes too long
    hidden_rows: int = 0  # lines that were cut from the diff
    reads: tuple[Read, ...] = ()
    claim: Claim | None = None  # another person's claim
    flagged: Review | None = None  # the review that set the flag
    frozen: Hold | None = None  # the legal hold that freezes the text
    decided: Review | None = None
    cover: masking.Cover = masking.NOTHING
    marks: Marks = UNMARKED
    since_approved: Since | None = None  # all changes that the person has not approved
    assigned: User | None = None  # who is to review the memory
    reviewers: Sequence[User] = ()  # the other people to whom the review can be assigned

    @property
    def is_open(self) -> bool:
        return self.version.awaits_review

    @property
    def sides(self) -> Sides:
        """Return the URLs of the full comparison with the previous version, and of the pages of both versions."""
        return sides(self.before, self.version)

    @property
    def path(self) -> str:
        """Return the path of the version or, if it was redacted, of the memory now."""
        return str(self.version.path or self.memory.path)

    @property
    def moved_from(self) -> str | None:
        return moved_from(self.before, self.version)

    @property
    def together(self) -> int:
        """Return the number of versions that an approval would approve."""
        return self.earlier + 1

    @property
    def offers(self) -> list[tuple[Verb, str]]:
        """Return the possible decisions and the label of each button."""
        return [
            (verb, verb.ask(self.together) % {"count": self.together})
            if verb.takes_earlier and self.earlier and verb.ask
            else (verb, str(verb.label))
            for verb in ANSWERS
            if not (verb.changes_text and self.frozen)
        ]

    @property
    def agent(self) -> Agent | None:
        """Return the agent that wrote the version, with its name at that time. Return None if no agent wrote it, or if
        the store is archived. In these cases, no note can be sent."""
        entry = self.entry
        if entry is None or entry.actor_kind != ActorKind.KEY or not entry.author_id or self.store.is_archived:
            return None
        return Agent(pk=entry.author_id, name=entry.label or "")

    @property
    def may_edit(self) -> bool:
        return self.may_decide and self.memory.is_live and not self.store.is_archived and self.frozen is None

    @property
    def joined(self) -> Since | None:
        """Return `since_approved`, or None if it would show nothing else than the diff of this version."""
        found, before = self.since_approved, self.before.pk if self.before else None
        if found is None or found.count < 2:
            return None
        return None if not self.since and before == (found.base.pk if found.base else None) else found

    @property
    def since(self) -> int:
        """Return the number of later versions. Return 0 if the memory now has the path and the text of this version."""
        now, then = self.memory, self.version
        is_again = now.is_live and (now.path, now.sha256) == (then.path, then.sha256)
        return 0 if is_again else now.version_count - then.number


def in_diffs(items: Iterable[Item]) -> Iterator[tuple[str, str, str]]:
    """Yield (store, memory, version) of the versions whose texts are shown in the diffs of the items."""
    for item in items:
        if item.diff is not None and item.diff.parts:
            for version in filter(None, (item.before, item.version)):
                yield version.store_id, version.memory_id, version.pk


def items_of(rows: Sequence[Row], user: User, at: datetime, *, compares: bool = True) -> list[Item]:
    """Return the items of the versions `rows`, in this order. Without `compares`, the items have no diffs."""
    found: dict[str, Item] = {}
    work = Work(REQUEST_WORK)
    by_store: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_store[row.store].append(row.id)
    stores = MemoryStore.objects.in_bulk(list(by_store))
    roles = roles_in(user, by_store)
    for store_id, versions in by_store.items():
        if store_id in stores:
            part = _of_store(stores[store_id], versions, _may_decide(user, roles.get(store_id)), user, at)
            found |= {item.version.pk: item for item in part}
    return [_compared(found[row.id], work) if compares else found[row.id] for row in rows if row.id in found]


def roles_in(user: User, stores: Collection[str]) -> dict[str, Role]:
    """Return {store: a person's role in it}; empty for a superuser, who needs no role."""
    if user.is_superuser:
        return {}
    rows = Member.objects.filter(user=user, store_id__in=stores).values_list("store_id", "role")
    return {store: Role(role) for store, role in rows}


def _may_decide(user: User, role: Role | None) -> bool:
    return user.is_superuser or (role is not None and role.includes(WHO))


def _of_store(store: MemoryStore, ids: Sequence[str], may_decide: bool, user: User, at: datetime) -> list[Item]:
    versions: list[Any] = list(_with_earlier(MemoryVersion.objects.among(store.pk, ids).select_related("text")))
    memories = Memory.objects.filter(store=store).in_bulk({version.memory_id for version in versions})
    entries = _entries(store.pk, {version.seq for version in versions})
    before = _before(store.pk, versions)
    sessions = dict(Session.objects.filter(pk__in={e.session for e in entries.values()}).values_list("id", "name"))
    reads = Reads(store.pk)
    claims = _claims(store.pk, memories, user, at)
    joined = _joined(store.pk, memories.values(), user)
    assigned = {one.memory_id: one.to for one in standing(store.pk).filter(memory_id__in=list(memories))}
    others = [one for one in reviewers(store.pk) if one != user] if may_decide else []
    flags = _flags(store.pk, [memory.pk for memory in memories.values() if memory.flagged])
    covers = masking.covers(store.pk, memories)
    held, findings = holds_of(store.pk, at), found_in([store.pk], list(memories))
    decisions = decided(store.pk, versions)
    return [
        Item(
            store=store,
            version=version,
            memory=memories[version.memory_id],
            before=before.get(version.pk),
            entry=(entry := entries.get(version.seq)),
            session=sessions.get(entry.session or "", entry.session) if entry else None,
            may_decide=may_decide,
            earlier=version.earlier,
            reads=reads.before(entry),
            claim=claims.get(version.memory_id),
            flagged=flags.get(version.memory_id),
            frozen=held.stops_changes(version.memory_id, memories[version.memory_id].path),
            decided=decisions.get(version.pk),
            cover=covers.get(version.memory_id, masking.NOTHING),
            marks=_marks(memories[version.memory_id], findings, held),
            since_approved=joined.get(version.memory_id),
            assigned=assigned.get(version.memory_id),
            reviewers=others,
        )
        for version in versions
    ]


def _joined(store: str, memories: Iterable[Memory], user: User) -> dict[str, Since]:
    changed = [memory.pk for memory in memories if memory.version_count > 1]
    return since_approved(store, changed, user.pk) if changed else {}


def _marks(memory: Memory, findings: Mapping[str, str], held: Holds) -> Marks:
    return Marks(False, findings.get(memory.pk, ""), memory.flagged, kept_by(held, memory.pk, memory.path))


def _with_earlier(versions: QuerySet[MemoryVersion]) -> QuerySet[MemoryVersion]:
    """Annotate versions with `earlier`: how many unreviewed earlier versions an approval includes."""
    number = OuterRef("number")
    before = MemoryVersion.objects.filter(
        store_id=OuterRef("store_id"),
        memory_id=OuterRef("memory_id"),
        number__lt=number,
        number__gte=number - LOOK_BACK,
    ).unreviewed()
    counted = before.order_by().values("memory_id").annotate(count=Count("pk")).values("count")
    return versions.annotate(earlier=Coalesce(Subquery(counted), 0))


def _entries(store: str, seqs: Collection[int]) -> dict[int, AuditEntry]:
    rows = AuditEntry.objects.of_chain(store).of_seqs(seqs)
    columns = ("chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "session", "command", "note")
    return {entry.seq: entry for entry in rows.only(*columns)}


def _before(store: str, versions: Iterable[MemoryVersion]) -> dict[str, MemoryVersion]:
    """Return {version: the previous version of its memory, with its text}."""
    found: dict[str, MemoryVersion] = {}
    for version in versions:
        if version.number > 1:
            same = MemoryVersion.objects.filter(store_id=store, memory_id=version.memory_id, number=version.number - 1)
            if before := same.select_related("text").first():
                found[version.pk] = before
    return found


def _claims(store: str, memories: Collection[str], user: User, at: datetime) -> dict[str, Claim]:
    """Return {memory: the claim of the memory by another person than `user`}."""
    claims = Claim.objects.open(at).filter(store_id=store, memory_id__in=list(memories)).exclude(by=user)
    return {claim.memory_id: claim for claim in claims.select_related("by")}


def _flags(store: str, memories: Sequence[str]) -> dict[str, Review]:
    """Return {memory: the review that set its current flag}."""
    found: dict[str, Review] = {}
    for memory in memories:
        flagged = Review.objects.of_memory(store, memory).filter(decision=Decision.FLAGGED)
        if last := flagged.newest().select_related("by").first():
            found[memory] = last
    return found


# ------------------------------------------------------------------------------------------------ what changed


def _compared(item: Item, work: Work) -> Item:
    before, version = item.before, item.version
    old, new = text_before(before, version), text_of(version)
    if old is None or new is None:
        return item
    diff = masking.opened(work, old, new, item.cover)
    if diff is None:
        return replace(item, too_large=True)
    short, hidden = shortened(diff, MOST_ROWS)
    return replace(item, diff=short, hidden_rows=hidden)
