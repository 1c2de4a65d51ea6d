"""Computes the decisions about versions again from their entries, and compares them with the reviews."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F, OuterRef, Subquery

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history import undone
from memoryhub.actions.history.apply_plan import named_ids
from memoryhub.actions.review.flag_notices import FLAGS
from memoryhub.actions.review.verbs import STATES, VERBS
from memoryhub.models import AuditChain, AuditEntry, Decision, Memory, MemoryVersion, Review, ReviewState

UNDOS = ("undo", "take_out")
_DECISIONS = dict.fromkeys(UNDOS, Decision.REVERTED) | {verb.name: verb.decision for verb in VERBS.values()}
_TOLD = ("chain", "seq", "actor_id", "actor_kind", "session", "command", "input", "note")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, as its entry describes it."""

    seq: int
    version: str
    memory: str
    decision: Decision
    note: str
    by: str | None


def states(store_id: str) -> dict[str, str]:
    """Return {version id: review state} of the versions about which there is a decision."""
    found: dict[str, str] = {}
    for version, decision in _before(store_id).values_list("version_id", "decision"):
        if state := STATES.get(Decision(decision)):
            found[version] = state.value
    for one in decisions(store_id):
        if state := STATES.get(one.decision):
            found[one.version] = state.value
    return found


def _before(store_id: str) -> Any:
    """Return the reviews that cannot be checked, because retention removed their entries."""
    start = AuditChain.objects.filter(pk=store_id).values_list("start_seq", flat=True).first() or 0
    return Review.objects.filter(store_id=store_id, seq__lte=start).order_by("seq", "pk")


def problems(store_id: str) -> Iterator[tuple[int, str]]:
    """Yield (seq, sentence) for each review or flag that differs from the entries."""
    decided = {(d.seq, d.version, d.decision.value): d for d in decisions(store_id)}
    flagged: dict[str, bool] = {}
    before = set()
    for review in _before(store_id):
        before.add(review.pk)
        if review.decision in FLAGS:
            flagged[review.memory_id] = review.decision == Decision.FLAGGED
    for one in decided.values():
        if one.decision in FLAGS:
            flagged[one.memory] = one.decision == Decision.FLAGGED
    for review in Review.objects.filter(store_id=store_id).order_by("seq").iterator(2000):
        if review.pk in before:
            continue
        expected = decided.pop((review.seq, review.version_id, review.decision), None)
        if expected is None:
            yield review.seq, f"review {review.pk} is not told by an entry"
        elif (expected.memory, expected.note) != (review.memory_id, review.note) or review.by_id not in (
            None,
            expected.by,
        ):
            yield review.seq, f"review {review.pk} is not as its entry tells"
    entry = AuditEntry.objects.filter(chain=store_id, seq=OuterRef("seq")).values("at")[:1]
    moved = Review.objects.filter(store_id=store_id).annotate(told_at=Subquery(entry)).exclude(at=F("told_at"))
    for pk, seq in moved.filter(told_at__isnull=False).values_list("pk", "seq"):
        yield seq, f"review {pk} was not made when its entry says"
    for seq, version, decision in decided:
        yield seq, f"the review of version {version} ({decision}) is missing"
    wrong = Memory.objects.filter(store_id=store_id).exclude(flagged=False).values_list("pk", flat=True)
    set_now, set_then = set(wrong), {memory for memory, is_set in flagged.items() if is_set}
    for memory in sorted(set_now ^ set_then):
        yield 0, f"the flag of memory {memory} is not as the entries tell"


def decisions(store_id: str) -> Iterator[Decided]:
    """Yield every decision in a store that had an effect, in the order of the entries.

    A version that is already decided cannot be decided again before it is reopened.
    """
    state: dict[str, ReviewState] = {}
    for version, decision in _before(store_id).values_list("version_id", "decision"):
        if after := STATES.get(Decision(decision)):
            state[version] = after
    entries = AuditEntry.objects.of_chain(store_id).filter(ok=True, command__in=_DECISIONS).oldest()
    for entry in entries.only(*_TOLD).iterator(500):
        taken_back = undone.told_in(entry)
        for memory, version, decision in _decided(store_id, entry, taken_back):
            if not _changes(state.get(version, ReviewState.UNREVIEWED), decision):
                continue
            if after := STATES.get(decision):
                state[version] = after
            yield Decided(entry.seq, version, memory, decision, entry.note or "", entry.actor_id)


def _changes(before: ReviewState, decision: Decision) -> bool:
    """Return whether a decision has an effect on a version in this state."""
    if decision in FLAGS:
        return True
    return (before != ReviewState.UNREVIEWED) == (decision == Decision.REOPENED)


def _decided(store_id: str, entry: AuditEntry, details: dict[str, Any]) -> Iterator[tuple[str, str, Decision]]:
    """Yield (memory, version, decision) for the decisions of an entry."""
    decision = _DECISIONS[str(entry.command)]
    if entry.command == "edit" and not MemoryVersion.objects.of_entry(store_id, entry.seq).exists():
        decision = Decision.APPROVED
    for memory, version in _versions(store_id, entry, details):
        yield memory, version, decision
    if entry.command in UNDOS:
        for flag in FLAGS:
            for memory, version, _ in _known(store_id, details.get(flag.value) or (), entry.seq):
                yield memory, version, flag


def _versions(store_id: str, entry: AuditEntry, details: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (memory, version) of the versions about which an entry decided."""
    named = details.get("reviewed" if entry.command == "edit" else "versions", ())
    if "reverted" in details:
        named = _reverted(store_id, entry.seq, details)
    found = _known(store_id, named, entry.seq)
    if entry.command in ("flag", "unflag"):
        return [(memory, version) for memory, version, _ in found]
    # Only versions that agents wrote need a review.
    return [(memory, version) for memory, version, state in found if state is not None]


def _reverted(store_id: str, seq: int, details: dict[str, Any]) -> Collection[str]:
    """Return the ids of the versions that an entry reverted.

    If the entry's input has only a digest of these ids, the ids are read from the entry's reviews. If these ids do
    not match the digest, the ids of all versions that the entry undid are returned.
    """
    named = details["reverted"]
    if not isinstance(named, dict):
        return named or ()
    reviewed = Review.objects.of_entry(store_id, seq).filter(decision=Decision.REVERTED)
    found = set(reviewed.values_list("version_id", flat=True))
    return found if named_ids(found) == named else undone.undone_by(store_id, seq, details)


def _known(store_id: str, versions: Iterable[str], seq: int) -> list[tuple[str, str, str | None]]:
    """Return (memory, version, state) of those given versions that are older than the entry `seq`, or were removed."""
    found: list[tuple[str, str, str | None]] = []
    for part in in_parts(versions):
        rows = MemoryVersion.objects.among(store_id, part).filter(seq__lt=seq)
        there = list(rows.values_list("memory_id", "pk", "review_state"))
        found += there
        if len(there) < len(set(part)):
            found += _known_once(store_id, part)
    return found


def _known_once(store_id: str, versions: Iterable[str]) -> list[tuple[str, str, str | None]]:
    """Return (memory, version, UNREVIEWED) for the given versions that were removed and have a review."""
    reviews = Review.objects.filter(store_id=store_id, version_id__in=versions)
    gone = reviews.exclude(version_id__in=MemoryVersion.objects.filter(store_id=store_id).values("pk"))
    return [
        (memory, version, ReviewState.UNREVIEWED.value)
        for memory, version in set(gone.values_list("memory_id", "version_id"))
    ]
