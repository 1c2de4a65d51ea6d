"""The decisions of people about versions that agents wrote, and claims of memories."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.review import assignments, flag_notices
from memoryhub.actions.review.flag_notices import FLAGS
from memoryhub.actions.review.verbs import STATES
from memoryhub.models import Claim, Decision, Memory, MemoryVersion, Proposal, Review, ReviewState, User
from memoryhub.models.audit import ActorKind
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.models.review import CLAIM
from memoryhub.pure import ids

LOOK_BACK = 500
"""The unreviewed versions that are approved together with a version are at most this many numbers older."""

MOST = 1000
"""The most versions that one act decides."""

TOGETHER = 100
"""The number of memories whose earlier versions one query reads, while the store is locked."""


class Decided(Exception):
    """The version does not await review, usually because someone else has already decided about it.

    `review` is the last decision about the version; None if there is no such version, or no decision about it.
    """

    def __init__(self, review: Review | None) -> None:
        super().__init__("already decided by someone else")
        self.review = review


class Changed(Exception):
    """The number of earlier versions to approve is not the number that the person saw. It is now `count`."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} earlier versions would be approved too")
        self.count = count


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a decision: the entry's seq, and the ids of the decided versions."""

    seq: int
    versions: tuple[str, ...]


def mark(store: Tree, versions: Sequence[tuple[str, str]], decision: Decision, note: str) -> None:
    """Record a decision about versions, given as pairs of ids (memory, version).

    Call it before the decision's entry is written, in the same transaction. Versions that await review get the
    decision's state. REOPENED lets reviewed versions await review again.
    """
    actor = store.act.actor
    by = actor.id if actor.kind == ActorKind.USER else None
    made = Review.objects.bulk_create(
        [
            Review(
                id=ids.new_id(ids.REVIEW, store.at),
                store_id=store.store,
                memory_id=memory,
                version_id=version,
                seq=store.seq,
                decision=decision,
                note=note,
                by_id=by,
                at=store.at,
            )
            for memory, version in versions
        ],
        batch_size=500,
    )
    flag_notices.add(store, decision, made)
    if state := STATES.get(decision):
        for part in in_parts([version for _, version in versions]):
            found = MemoryVersion.objects.among(store.store, part)
            found = found.exclude(review_state=None) if decision == Decision.REOPENED else found.unreviewed()
            found.update(review_state=state)
        for some in in_parts(sorted(versions)):
            memories = {memory for memory, _ in some}
            if decision == Decision.REOPENED:
                assignments.resume(store, [version for _, version in some], memories)
            else:
                assignments.end(store, memories)


# ------------------------------------------------------------------------------------------------ approving


def approve(store_id: str, version_id: str, act: Act, *, earlier: int) -> Done:
    """Approve a version together with the unreviewed versions before it of the same memory.

    `earlier` is the number of earlier versions that the person saw. Raises Decided and Changed, before any write.
    Changed is not raised if only the same person's newer decisions changed the number.
    """
    with tree.locked(store_id, act) as store:
        version = _open(store, version_id)
        before = list(earlier_than(version).order_by("number").values_list("memory_id", "pk"))
        if len(before) != earlier and not _is_own_doing(version, act, len(before), earlier):
            raise Changed(len(before))
        return _approved(store, [*before, (version.memory_id, version.pk)], version)


def approve_many(store_id: str, versions: Sequence[str], act: Act) -> Done | None:
    """Approve those of the given versions that await review, and the earlier versions of their memories.

    Return None if none awaits review.
    """
    with tree.locked(store_id, act) as store:
        waiting = with_earlier(store_id, versions)
        return _approved(store, waiting, None) if waiting else None


def with_earlier(store_id: str, versions: Sequence[str]) -> list[tuple[str, str]]:
    """Return (memory, version) for the given versions that await review, and for the earlier versions that are approved
    with them."""
    last: dict[str, MemoryVersion] = {}
    waiting: dict[str, str] = {}
    for part in in_parts(versions):
        for version in MemoryVersion.objects.among(store_id, part).unreviewed():
            waiting[version.pk] = version.memory_id
            if version.memory_id not in last or last[version.memory_id].number < version.number:
                last[version.memory_id] = version
    for some in in_parts(sorted(last.values(), key=lambda version: version.number), TOGETHER):
        waiting |= _earlier_than_each(store_id, {version.memory_id: version.number for version in some})
    return sorted((memory, version) for version, memory in waiting.items())


def _earlier_than_each(store_id: str, last: Mapping[str, int]) -> dict[str, str]:
    """Return {version: memory} of the versions that are approved together with a later version of their memory.

    `last` is {memory: the number of that later version}.
    """
    # The versions between the lowest and the highest number are read, so the numbers should be near each other.
    numbers = {"number__gte": min(last.values()) - LOOK_BACK, "number__lt": max(last.values())}
    found = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=list(last), **numbers).unreviewed()
    return {
        pk: memory
        for pk, memory, number in found.values_list("pk", "memory_id", "number")
        if last[memory] - LOOK_BACK <= number < last[memory]
    }


def mark_with_edit(store: Tree, memory_id: str, version_id: str | None) -> dict[str, object]:
    """Mark the memory's unreviewed versions up to `version_id` as reviewed by a person's edit.

    If the edit did not change the text, the versions are marked as approved. Return the values for the input of the
    edit's entry; {} if no version is marked.
    """
    of_memory = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory_id)
    version = of_memory.filter(pk=version_id).first() if version_id else None
    if version is None:
        return {}
    up_to = [*earlier_than(version).values_list("memory_id", "pk")]
    if version.awaits_review:
        up_to.append((version.memory_id, version.pk))
    if not up_to:
        return {}
    mark(store, sorted(up_to), Decision.EDITED if store.made else Decision.APPROVED, store.act.note or "")
    return {"reviewed": sorted(pk for _, pk in up_to)}


def earlier_than(version: MemoryVersion) -> MemoryVersionQuerySet:
    """Return the unreviewed earlier versions of the same memory that are approved together with this version."""
    first = version.number - LOOK_BACK
    of_memory = MemoryVersion.objects.filter(store_id=version.store_id, memory_id=version.memory_id)
    return of_memory.filter(number__gte=first, number__lt=version.number).unreviewed()


def _is_own_doing(version: MemoryVersion, act: Act, now: int, then: int) -> bool:
    """Return whether only the person's own newer decisions changed the number of waiting earlier versions.

    The number changed from `then` to `now`.
    """
    of_memory = Review.objects.of_memory(version.store_id, version.memory_id).filter(decision__in=STATES)
    first = version.number - LOOK_BACK
    numbers = {"version__number__gte": first, "version__number__lt": version.number}
    newest = of_memory.filter(**numbers).newest().values_list("by_id", "decision")
    for by, decision in newest[: 2 * LOOK_BACK]:
        if act.actor.kind != ActorKind.USER or by != act.actor.id:
            return False
        now += -1 if decision == Decision.REOPENED else 1
        if now == then:
            return True
    return False


def _open(store: Tree, version_id: str) -> MemoryVersion:
    """Return a version that awaits review. Raises Decided if it does not."""
    version = MemoryVersion.objects.filter(store_id=store.store, pk=version_id).first()
    if version is None or version.review_state != ReviewState.UNREVIEWED:
        raise Decided(last_decision(store.store, version_id))
    return version


def last_decision(store_id: str, version_id: str) -> Review | None:
    """Return the last decision about a version; None if there is none."""
    memory = MemoryVersion.objects.filter(store_id=store_id, pk=version_id).values_list("memory_id", flat=True).first()
    if memory is None:
        return None
    of_version = Review.objects.of_memory(store_id, memory).filter(version_id=version_id, decision__in=STATES)
    return of_version.newest().select_related("by").first()


def _approved(store: Tree, waiting: Sequence[tuple[str, str]], version: MemoryVersion | None) -> Done:
    """Approve versions, given as (memory, version).

    `version` is the one that the person chose; earlier versions are approved with it. `approve_many` passes None.
    """
    mark(store, waiting, Decision.APPROVED, store.act.note or "")
    versions = tuple(pk for _, pk in waiting)
    return _write_entry(store, "approve", versions, version)


def reopen(store_id: str, seq: int, act: Act, *, but: Set[str] = frozenset(), only: str = "") -> Done | None:
    """Take back the decisions of the entry `seq`: its versions await review again. Return None if nothing changes.

    Versions that were removed or decided again since then do not change, and neither do the versions and memories in
    `but`. If `only` is the id of a version or a memory, only this version or the versions of this memory change.
    """
    with tree.locked(store_id, act) as store:
        standing = _left(store_id, decided_by(store_id, seq))
        again = [one for one in standing if but.isdisjoint(one) and (not only or only in one)]
        if not again:
            return None
        mark(store, again, Decision.REOPENED, store.act.note or "")
        part = {"part": True} if only and len(again) < len(standing) else {}
        return _write_entry(store, "reopen", tuple(pk for _, pk in again), None, entry=seq, **part)


def _left(store_id: str, decided: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs (memory, version) whose version still exists."""
    there: set[str] = set()
    for part in in_parts([version for _, version in decided]):
        there.update(MemoryVersion.objects.among(store_id, part).values_list("pk", flat=True))
    return [one for one in decided if one[1] in there]


def decided_by(store_id: str, seq: int) -> list[tuple[str, str]]:
    """Return (memory, version) of an entry's decisions that no later decision has replaced."""
    there = Review.objects.of_entry(store_id, seq).filter(decision__in=set(STATES) - {Decision.REOPENED})
    found = dict(there.values_list("version_id", "memory_id"))
    later: set[str] = set()
    for part in in_parts(set(found.values())):
        of_memories = Review.objects.filter(store_id=store_id, memory_id__in=part, seq__gt=seq, decision__in=STATES)
        later.update(of_memories.values_list("version_id", flat=True))
    return sorted((memory, version) for version, memory in found.items() if version not in later)


# ------------------------------------------------------------------------------------------------ flags


def flag(store_id: str, versions: Collection[str], act: Act, *, flagged: bool = True) -> Done | None:
    """Flag the memories of these versions, or remove their flags (`flagged` False).

    For each memory, a Review row records this. The row names the newest one of the memory's versions in `versions`.
    Return None if nothing changes.
    """
    with tree.locked(store_id, act) as store:
        newest = _newest(store_id, versions)
        chosen = {version.memory_id: version for version in newest}
        if not flagged:
            standing = Memory.objects.among(store_id, chosen).filter(flagged=True)
            chosen = {pk: chosen[pk] for pk in standing.values_list("pk", flat=True)}
        if not chosen:
            return None
        _set_flags(store, {memory: version.pk for memory, version in chosen.items()}, flagged=flagged)
        only = next(iter(chosen.values())) if len(chosen) == 1 else None
        named = tuple(version.pk for _, version in sorted(chosen.items()))
        return _write_entry(store, "flag" if flagged else "unflag", named, only)


def put_flags(store: Tree, versions: Collection[str]) -> list[str]:
    """Flag the memories of these versions, except memories that already have a flag.

    Return one id for each memory that gets a flag: that of its newest version in `versions`. Write the transaction's
    entry afterwards; its input must name the returned versions.
    """
    return _set_flags(store, without_flags(store.store, versions), flagged=True)


def without_flags(store_id: str, versions: Collection[str]) -> dict[str, str]:
    """Return {memory id: its newest version in `versions`}, without memories that already have a flag."""
    newest = {version.memory_id: version.pk for version in _newest(store_id, versions)}
    plain: list[str] = []
    for part in in_parts(sorted(newest)):
        plain += Memory.objects.among(store_id, part).filter(flagged=False).values_list("pk", flat=True)
    return {memory: newest[memory] for memory in plain}


def remove_flags_of(store: Tree, undos: Mapping[int, Collection[str]], *, but: Collection[str] = ()) -> list[str]:
    """Remove the flags that some entries set, and return the ids of the versions that these flags named.

    `undos` is {seq of such an entry: the memories for which this entry is not undone}. These memories keep their flags.
    So do the memories in `but`, and memories whose flag was set or removed later. The entry of the transaction must
    name the returned versions.
    """
    put = {
        memory: (version, seq)
        for seq in sorted(undos)
        for memory, version in Review.objects.of_entry(store.store, seq)
        .filter(decision=Decision.FLAGGED)
        .values_list("memory_id", "version_id")
        if memory not in undos[seq]
    }
    later = Review.objects.filter(
        store_id=store.store, memory_id__in=put, decision__in=FLAGS, seq__gt=min(undos, default=0)
    )
    again = {memory for memory, seq in later.values_list("memory_id", "seq") if seq > put[memory][1]}
    left = {memory: version for memory, (version, _) in put.items() if memory not in {*but, *again}}
    return _set_flags(store, left, flagged=False)


def _set_flags(store: Tree, chosen: Mapping[str, str], *, flagged: bool) -> list[str]:
    """Set or remove the flags of memories. `chosen` is {memory: the version that its review names}.

    Return the ids of these versions.
    """
    for part in in_parts(sorted(chosen)):
        Memory.objects.among(store.store, part).update(flagged=flagged)
    if chosen:
        mark(store, sorted(chosen.items()), Decision.FLAGGED if flagged else Decision.UNFLAGGED, store.act.note or "")
    return sorted(chosen.values())


def _newest(store_id: str, versions: Collection[str]) -> list[MemoryVersion]:
    """Return these versions sorted by number, so that the last one of each memory is the newest."""
    found: list[MemoryVersion] = []
    for part in in_parts(sorted(versions)):
        found += MemoryVersion.objects.among(store_id, part)
    return sorted(found, key=lambda version: version.number)


def _write_entry(
    store: Tree, command: str, versions: tuple[str, ...], one: MemoryVersion | None, **more: object
) -> Done:
    """Write the entry of a decision, and return the result. The input lists `versions`; the entry names `one`."""
    path, memory, version = (one.path, one.memory_id, one.pk) if one else (None, None, None)
    input = audit.to_json({"versions": versions, **more})
    return Done(tree.commit(store, Record(command, path=path, memory=memory, version=version, input=input)), versions)


# ------------------------------------------------------------------------------------------------ claims


def claim(store_id: str, memory_id: str, user: User, at: datetime) -> Claim:
    """Claim a memory for review by a person, for five minutes. Return the claim that is valid now.

    This can be an earlier claim by another person.
    """
    standing = Claim.objects.open(at).filter(store_id=store_id, memory_id=memory_id).select_related("by").first()
    if standing and (standing.by_id != user.pk or standing.expires_at - at > CLAIM * 0.8):
        return standing
    with writing():
        own = Claim(store_id=store_id, memory_id=memory_id, by=user, expires_at=at + CLAIM)
        if not Memory.objects.filter(store_id=store_id, pk=memory_id).exists():
            return own  # the memory has just been removed
        Claim.objects.bulk_create([own], ignore_conflicts=True)
        there = Claim.objects.filter(store_id=store_id, memory_id=memory_id)
        (there.filter(by=user) | there.over(at)).update(by=user, expires_at=at + CLAIM)
        return there.select_related("by").first() or own  # the other claim may just have been released


def claim_proposal(proposal: Proposal, user: User, at: datetime) -> User | None:
    """Claim a proposal for a person, for five minutes, and return None.

    If another person has claimed it, return that person.
    """
    until = proposal.claimed_until if proposal.is_claimed(at) else None
    if until and proposal.claimed_by != user:
        return proposal.claimed_by
    if until is None or until - at <= CLAIM * 0.8:
        with writing():
            Proposal.objects.of_store(proposal.store_id).filter(pk=proposal.pk).update(
                claimed_by=user, claimed_until=at + CLAIM
            )
    return None


def release(store_id: str, memories: Collection[str], user: User) -> None:
    """Release a person's claims of these memories."""
    with writing():
        for part in in_parts(sorted(memories)):
            Claim.objects.filter(store_id=store_id, memory_id__in=part, by=user).delete()
