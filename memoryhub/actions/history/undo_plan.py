"""Plans that undo some versions of memories, and keep later changes by others."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import zip_longest

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State, in_parts
from memoryhub.actions.core.snapshot import snapshot
from memoryhub.actions.history import undone
from memoryhub.actions.history.restore import is_redacted, without_text
from memoryhub.models import AuditEntry, Memory, MemoryText, MemoryVersion
from memoryhub.text.changed_lines import ended
from memoryhub.text.diffs import counts_within
from memoryhub.text.matching import Work, cost_of_matching
from memoryhub.text.merging import merge, overruled

_EMPTY = sha256(b"").hexdigest()

MOST_STEPS = 300
"""The most versions of a memory that are merged one by one: a merge is slow, and writers wait for it."""


PLAN_WORK = 2_000_000
"""The most work for all merges of one plan, in units of matching.Work: some seconds. A press makes the plan once more
while it holds the lock of the store, so other writers wait for it.

Work is counted, not timed, so that the applied plan equals the shown one. For memories beyond it, no lines are undone:
a person keeps the memory or restores its earlier state.
"""


@dataclass(slots=True)
class _History:
    """A memory's history, replayed step by step in two forms.

    `real` is the history as it was; `left` is the history without the undone versions. Each is the last state in which
    the memory existed, even if it was deleted since (None: it never existed). `conflict`: a later change overlaps with
    an undone one. `gone`: a needed text no longer exists. `unmerged`: too little of the plan's work was left for a
    merge. `for_lines`: the memory exists only because of undone versions, so `left` has only the lines that others
    added. `texts` is {SHA-256 of a text with undone lines: the text without them}. If such a text is restored later,
    its lines still belong to their first author. `first` is the number of the first undone version.
    """

    real: State | None
    left: State | None
    real_is_there: bool
    left_is_there: bool
    memory: Memory
    first: int
    work: Work
    unmerged: bool = False
    conflict: bool = False
    gone: bool = False
    for_lines: bool = False
    texts: dict[str, tuple[State | None, bool, bool]] = field(default_factory=dict)

    @classmethod
    def after(cls, base: MemoryVersion | None, memory: Memory, first: int, work: Work) -> "_History":
        state = plans.of_version(base)
        known = state if state.is_there else None
        return cls(known, known, state.is_there, state.is_there, memory, first, work)

    @property
    def store(self) -> str:
        return str(self.memory.store_id)

    def had(self, state: State) -> bool:
        """Return whether the memory had this text before the undone versions."""
        before = MemoryVersion.objects.filter(store_id=self.store, memory_id=self.memory.pk, number__lt=self.first)
        return before.filter(sha256=state.sha256).exists()

    @property
    def outcome(self) -> State:
        if self.left is None or not self.left_is_there or (self.for_lines and not self.left.size):
            return NOWHERE
        return self.left


def session_versions(store_id: str, session_id: str) -> list[str]:
    """Return the ids of the versions that one session wrote in a store, in the order of their entries."""
    seqs = AuditEntry.objects.of_chain(store_id).of_session(session_id).order_by("seq").values_list("seq", flat=True)
    found: list[str] = []
    for part in in_parts(seqs.iterator(2000)):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).order_by("seq", "pk")
        found += made.values_list("pk", flat=True)
    return found


def entry_versions(store_id: str, *seqs: int) -> list[str]:
    """Return the ids of the versions that some entries made."""
    return list(MemoryVersion.objects.filter(store_id=store_id, seq__in=seqs).values_list("pk", flat=True))


def undo_plan(store_id: str, versions: Collection[str]) -> Plan:
    """Return the plan that undoes these versions. Where possible, later changes by others are kept.

    If later changes overlap with the same lines, KEEP is proposed. APPLY then keeps the later lines and undoes the
    rest; BEFORE drops the later lines. Raises plans.TooMuch.
    """
    with snapshot():
        return plans.made(store_id, _changes(store_id, frozenset(versions)))


def _changes(store_id: str, versions: frozenset[str]) -> Iterator[Change]:
    firsts, work = _firsts(store_id, versions), Work(PLAN_WORK)
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
            yield _change(memory, history, versions, first, work)


def _firsts(store_id: str, versions: frozenset[str]) -> dict[str, int]:
    """Return {memory: the number of its first version to undo}."""
    firsts: dict[str, int] = {}
    for part in in_parts(sorted(versions)):
        found = MemoryVersion.objects.among(store_id, part).values_list("memory_id", "number")
        for memory, number in found:
            firsts[memory] = min(number, firsts.get(memory, number))
    return firsts


def _change(
    memory: Memory, history: Sequence[MemoryVersion], versions: frozenset[str], first: int, work: Work
) -> Change:
    """Return the change of one memory. `history` begins with the version before the first one to undo, if it exists."""
    base = history[0] if history[0].number < first else None
    steps = history[1:] if base else history
    passed = undone.without_cancelled(memory.store_id, steps, versions)
    before, now = plans.of_version(base), plans.of_memory(memory)
    later = tuple(step for step in steps if step.pk not in passed)
    cancelled = passed - versions
    change = Change(memory.pk, memory.head_id, memory.version_count, now, before, later=later, cancelled=cancelled)
    told = _told(_History.after(base, memory, first, work), steps, passed)
    if _has_gaps(base, steps, first):
        return without_text(change)
    if told.gone or (base is not None and is_redacted(base)):
        return without_text(change)
    if told.unmerged:
        choices = (Choice.KEEP, Choice.BEFORE)
        return replace(change, then=now, before=before, problem=Problem.UNMERGED, choices=choices, later_lines=None)
    change = replace(change, then=told.outcome)
    if not told.conflict or (told.outcome.same(now) and before.same(now)):
        return change
    return _asked(memory.store_id, change, before, work)


def _asked(store: str, change: Change, before: State, work: Work) -> Change:
    """Return a change with a conflict: its choices, and how many lines BEFORE would drop."""
    choices: tuple[Choice, ...] = (Choice.KEEP, Choice.APPLY, Choice.BEFORE)
    if change.then.same(change.now):
        choices = (Choice.KEEP, Choice.BEFORE)
    elif change.then.same(before):
        choices = (Choice.KEEP, Choice.APPLY)
    texts = (content_of(store, before) or "" if before.is_there else "", content_of(store, change.then) or "")
    counted = counts_within(work, *texts) if change.then.is_there else (0, 0)
    return replace(change, before=before, problem=Problem.CONFLICT, choices=choices, later_lines=counted and counted[0])


def _has_gaps(base: MemoryVersion | None, steps: Sequence[MemoryVersion], first: int) -> bool:
    """Return whether retention has removed a version that the replay needs."""
    numbers = [step.number for step in steps]
    return (first > 1 and base is None) or numbers != list(range(first, first + len(numbers)))


def _told(history: _History, steps: Sequence[MemoryVersion], passed: frozenset[str]) -> _History:
    """Replay all steps and return the history.

    If there are more than MOST_STEPS, consecutive versions by others are replayed as one step and count as a conflict.
    """
    in_stretches = len(steps) > MOST_STEPS
    for step, following in zip_longest(steps, steps[1:]):
        now = plans.of_version(step)
        if history.unmerged:
            break
        if step.pk not in passed:
            if in_stretches and following is not None and now.is_there and _goes_on(following, passed):
                history.conflict = True
                continue
            _repeat(history, now)
        history.real_is_there = now.is_there
        if now.is_there:
            history.real = now
            _note_text(history, now)
    return history


def _goes_on(following: MemoryVersion, passed: frozenset[str]) -> bool:
    """Return whether the following version is by others too, and is not a deletion."""
    return following.pk not in passed and plans.of_version(following).is_there


def _note_text(history: _History, now: State) -> None:
    """For a text with undone lines, remember the text without them, in case a later version has that text again."""
    if history.left is None or history.left.sha256 != now.sha256:
        history.texts.setdefault(now.sha256, (history.left, history.left_is_there, history.for_lines))


def _repeat(history: _History, now: State) -> None:
    """Apply someone else's version to the history without the undone versions."""
    left, real = history.left, history.real
    if not now.is_there:
        history.left_is_there = False
    elif real is None:
        history.left, history.left_is_there, history.conflict = now, True, True
    elif now.sha256 != real.sha256 and now.sha256 in history.texts:
        _bring_back(history, now)
    elif left is None:
        _repeat_alone(history, real, now)
    elif history.real_is_there and not history.left_is_there:
        history.conflict = True
        _repeat_edit(history, left, real, now)
        history.left_is_there = _adds_lines(history, real, now)
    else:
        history.left_is_there |= not history.real_is_there
        _repeat_edit(history, left, real, now)


def _bring_back(history: _History, now: State) -> None:
    """Apply a version that restores a text with undone lines. These lines still count as undone."""
    left, was_there, history.for_lines = history.texts[now.sha256]
    history.left = left if left is None else replace(left, path=now.path)
    history.left_is_there = left is not None and (was_there or not history.real_is_there)
    history.conflict = True


def _repeat_alone(history: _History, real: State, now: State) -> None:
    """Apply a version of a memory that exists only because of undone versions.

    Only lines that others added are left.
    """
    history.conflict = True
    if _adds_lines(history, real, now):
        history.left = _merged(history, State(now.path, None, 0, _EMPTY, ""), real, now)
        history.left_is_there = history.for_lines = True
    history.gone |= now.text is None


def _adds_lines(history: _History, real: State, now: State) -> bool:
    old, new = content_of(history.store, real), content_of(history.store, now)
    if old is None or new is None:
        return False
    counted = counts_within(history.work, ended(old), ended(new))
    history.unmerged |= counted is None
    return counted is not None and counted[0] > 0


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
    """Return `left` with the change from `real` to `now`. Where both changed the same lines, `now` wins.

    If `now` has a text from before the undone versions, it is the result: it lacks nothing that these removed.
    """
    base, mine, theirs = (content_of(history.store, state) for state in (real, left, now))
    if base is None or mine is None or theirs is None:
        history.gone = True
        return left
    if not history.work.opens(cost_of_matching(base, mine, theirs)):
        history.unmerged = True
        return left
    merged = merge(ended(base), ended(mine), ended(theirs), work=history.work)
    if not merged.is_clean and history.had(now):
        return replace(now, path=left.path)
    history.conflict |= not merged.is_clean
    content = merged.settled(partial(overruled, work=history.work))
    if not _is_ended(theirs if _is_ended(theirs) != _is_ended(base) else mine):
        content = content.removesuffix("\n")
    encoded = content.encode()
    return State(left.path, None, len(encoded), sha256(encoded).hexdigest(), content)


def _is_ended(text: str) -> bool:
    return not text or text.endswith("\n")


def content_of(store: str, state: State) -> str | None:
    """Return the text of a state of a memory; None if it no longer exists."""
    if state.content is not None or state.text is None:
        return state.content
    return MemoryText.objects.contents(store, [state.text]).get(state.text)
