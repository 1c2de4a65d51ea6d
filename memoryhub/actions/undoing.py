"""Plans that take some versions out of memories again and leave what others have changed since."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest

from memoryhub.actions import plans
from memoryhub.actions.plans import NOWHERE, Change, Choice, Plan, Problem, State, in_parts
from memoryhub.actions.restoring import is_redacted, without_text
from memoryhub.actions.snapshot import snapshot
from memoryhub.merging import merge
from memoryhub.models import AuditEntry, Memory, MemoryText, MemoryVersion

MOST_STEPS = 300
"""So many versions of a memory are gone through one by one: each can cost a merge, and writers wait meanwhile."""


@dataclass(slots=True)
class _History:
    """A memory's history, as it was and without what is undone, told step by step.

    `real` and `left` are the last states in which it was there, through deletions too (null: never yet); `conflict`
    once a later change met what is undone, `gone` once a text that it takes is no more.
    """

    real: State | None
    left: State | None
    real_is_there: bool
    left_is_there: bool
    conflict: bool = False
    gone: bool = False

    @classmethod
    def after(cls, base: MemoryVersion | None) -> "_History":
        state = plans.of_version(base)
        known = state if state.is_there else None
        return cls(known, known, state.is_there, state.is_there)

    @property
    def outcome(self) -> State:
        return self.left if self.left is not None and self.left_is_there else NOWHERE


def session_versions(store_id: str, session_id: str) -> list[str]:
    """The ids of the versions that one session wrote in a store, in their order."""
    seqs = AuditEntry.objects.of_chain(store_id).of_session(session_id).order_by("seq").values_list("seq", flat=True)
    found: list[str] = []
    for part in in_parts(seqs.iterator(2000)):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).order_by("seq", "pk")
        found += made.values_list("pk", flat=True)
    return found


def entry_versions(store_id: str, seq: int) -> list[str]:
    """The ids of the versions that one entry made."""
    return list(MemoryVersion.objects.of_entry(store_id, seq).values_list("pk", flat=True))


def undo_plan(store_id: str, versions: Collection[str]) -> Plan:
    """What takes the versions (by id) out of their memories; what others changed since stays, where it can.

    Where later changes met the same lines, KEEP is proposed, APPLY keeps them and takes out the rest, BEFORE drops
    them. Raises plans.TooMuch.
    """
    with snapshot():
        return plans.made(store_id, _changes(store_id, frozenset(versions)))


def _changes(store_id: str, undone: frozenset[str]) -> Iterator[Change]:
    firsts = _firsts(store_id, undone)
    if len(firsts) > plans.MOST:
        raise plans.TooMuch(len(firsts), plans.MOST)
    for part in in_parts(sorted(firsts)):
        memories = Memory.objects.among(store_id, part)
        for memory in memories:
            first = firsts[memory.pk]
            history = list(
                MemoryVersion.objects.filter(store_id=store_id, memory_id=memory.pk, number__gte=first - 1).order_by(
                    "number"
                )
            )
            yield _change(memory, history, undone, first)


def _firsts(store_id: str, undone: frozenset[str]) -> dict[str, int]:
    """The number of the first version to undo, by memory."""
    firsts: dict[str, int] = {}
    for part in in_parts(sorted(undone)):
        found = MemoryVersion.objects.among(store_id, part).values_list("memory_id", "number")
        for memory, number in found:
            firsts[memory] = min(number, firsts.get(memory, number))
    return firsts


def _change(memory: Memory, history: Sequence[MemoryVersion], undone: frozenset[str], first: int) -> Change:
    """`history` begins with the version before the first to undo, if there is one."""
    base = history[0] if history[0].number < first else None
    steps = history[1:] if base else history
    before, now = plans.of_version(base), plans.of_memory(memory)
    later = tuple(step for step in steps if step.pk not in undone)
    change = Change(memory.pk, memory.head_id, memory.version_count, now, before, later=later)
    told = _told(base, steps, undone)
    if _has_gaps(base, steps, first):
        return without_text(change)
    if told.gone or (base is not None and is_redacted(base)):
        return without_text(change)
    change = replace(change, then=told.outcome)
    if not told.conflict or (told.outcome.same(now) and before.same(now)):
        return change
    choices: tuple[Choice, ...] = (Choice.KEEP, Choice.APPLY, Choice.BEFORE)
    if told.outcome.same(now):
        choices = (Choice.KEEP, Choice.BEFORE)
    elif told.outcome.same(before):
        choices = (Choice.KEEP, Choice.APPLY)
    return replace(change, before=before, problem=Problem.CONFLICT, choices=choices)


def _has_gaps(base: MemoryVersion | None, steps: Sequence[MemoryVersion], first: int) -> bool:
    """Whether retention has removed a version that telling the history again would need."""
    numbers = [step.number for step in steps]
    return (first > 1 and base is None) or numbers != list(range(first, first + len(numbers)))


def _told(base: MemoryVersion | None, steps: Sequence[MemoryVersion], undone: frozenset[str]) -> _History:
    """The history after all steps; of very many, those of others that follow each other as one: that is asked about."""
    history, in_stretches = _History.after(base), len(steps) > MOST_STEPS
    for step, following in zip_longest(steps, steps[1:]):
        now = plans.of_version(step)
        if step.pk not in undone:
            if in_stretches and following is not None and now.is_there and _goes_on(following, undone):
                history.conflict = True
                continue
            _repeat(history, now)
        history.real_is_there = now.is_there
        history.real = now if now.is_there else history.real
    return history


def _goes_on(following: MemoryVersion, undone: frozenset[str]) -> bool:
    """Whether a version goes on with what others made before it."""
    return following.pk not in undone and plans.of_version(following).is_there


def _repeat(history: _History, now: State) -> None:
    """Does to what is left what somebody else did to the memory."""
    if not now.is_there:
        history.left_is_there = False
    elif history.left is None or history.real is None:
        history.conflict = True  # they changed, or brought back, what is only there through what is undone
        if not history.real_is_there:
            history.left, history.left_is_there = now, True
    else:
        history.conflict |= history.real_is_there and not history.left_is_there
        history.left_is_there |= not history.real_is_there
        _repeat_edit(history, history.left, history.real, now)


def _repeat_edit(history: _History, left: State, real: State, now: State) -> None:
    if now.path != real.path:
        left = replace(left, path=now.path)
    if now.sha256 != real.sha256 or now.text is None:
        if left.sha256 == real.sha256:
            left, history.gone = replace(now, path=left.path), history.gone or now.text is None
        else:
            left = _merged(history, left, real, now)
    history.left = left


def _merged(history: _History, left: State, real: State, now: State) -> State:
    """Both texts' changes; where they met, the later one's lines."""
    base, mine, theirs = _content(real), _content(left), _content(now)
    if base is None or mine is None or theirs is None:
        history.gone = True
        return left
    merged = merge(base, mine, theirs)
    history.conflict |= not merged.is_clean
    content = "".join(part if isinstance(part, str) else part.theirs for part in merged.parts)
    encoded = content.encode()
    return State(left.path, None, len(encoded), sha256(encoded).hexdigest(), content)


def _content(state: State) -> str | None:
    if state.content is not None or state.text is None:
        return state.content
    return MemoryText.objects.filter(pk=state.text).values_list("content", flat=True).first()
