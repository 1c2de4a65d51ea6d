"""Replays a memory's history without some of its versions: the changes of all other versions are applied to the
text that remains."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import zip_longest

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import NOWHERE, State
from memoryhub.models import Memory, MemoryText, MemoryVersion
from memoryhub.pure.text.changed_lines import ended
from memoryhub.pure.text.diffs import counts_within
from memoryhub.pure.text.matching import Work, cost_of_matching
from memoryhub.pure.text.merging import merge, overruled

_EMPTY = sha256(b"").hexdigest()

MOST_STEPS = 300
"""The most versions of a memory that are merged one by one: a merge is slow, and writers wait for it."""


@dataclass(slots=True)
class History:
    """A memory's history, replayed step by step: as it was, and without the undone versions."""

    real: State | None  # as it was: the last state in which the memory existed (None: never)
    left: State | None  # the same state of the history without the undone versions
    real_is_there: bool
    left_is_there: bool
    memory: Memory
    first: int  # the number of the first undone version
    work: Work
    unmerged: bool = False  # a merge would be too much work
    conflict: bool = False  # a later change overlaps with an undone one
    gone: bool = False  # a needed text no longer exists
    for_lines: bool = False  # only undone versions made the memory, so `left` has only other versions' lines
    # after `real`: for each redacted version whether it is undone
    unknown: set[bool] = field(default_factory=set)
    # by the SHA-256 of a text with undone lines: the state without them
    texts: dict[str, tuple[State | None, bool, bool]] = field(default_factory=dict)

    @classmethod
    def after(cls, base: MemoryVersion | None, memory: Memory, first: int, work: Work) -> "History":
        state = plans.of_version(base)
        known = state if state.is_there else None
        return cls(known, known, state.is_there, state.is_there, memory, first, work)

    @property
    def store(self) -> str:
        return str(self.memory.store_id)

    def had(self, state: State) -> bool:
        """Return whether the memory had the text of this state before the undone versions."""
        before = MemoryVersion.objects.filter(store_id=self.store, memory_id=self.memory.pk, number__lt=self.first)
        return before.filter(sha256=state.sha256).exists()

    @property
    def outcome(self) -> State:
        if self.left is None or not self.left_is_there or (self.for_lines and not self.left.size):
            return NOWHERE
        return self.left


def replayed(history: History, steps: Sequence[MemoryVersion], passed: frozenset[str]) -> History:
    """Replay all steps without the versions in `passed`, and return the history.

    If there are more than MOST_STEPS steps, consecutive versions that are not in `passed` are replayed as one step and
    count as a conflict. A redacted version is replayed together with the next version that has a text: a needed text is
    gone if only one of the two is in `passed`.
    """
    in_stretches = len(steps) > MOST_STEPS
    for step, following in zip_longest(steps, steps[1:]):
        now = plans.of_version(step)
        if history.unmerged:
            break
        if now.is_redacted:
            history.unknown.add(step.pk in passed)
            history.conflict |= step.pk not in passed
            continue
        if now.is_there and history.unknown:
            history.gone |= history.unknown != {step.pk in passed}
        if step.pk not in passed:
            if in_stretches and following is not None and now.is_there and _goes_on(following, passed):
                history.conflict = True
                continue
            _repeat(history, now)
        history.real_is_there = now.is_there
        if now.is_there:
            history.real = now
            history.unknown.clear()
            _note_text(history, now)
    return history


def _goes_on(following: MemoryVersion, passed: frozenset[str]) -> bool:
    """Return whether the following version belongs to the same step: it is not skipped, and it is not a deletion."""
    return following.pk not in passed and plans.of_version(following).is_there


def _note_text(history: History, now: State) -> None:
    """For a text that contains undone lines, remember the text without these lines.

    It is needed if a later version brings the text with the undone lines back (see `_bring_back`).
    """
    if history.left is None or history.left.sha256 != now.sha256:
        history.texts.setdefault(now.sha256, (history.left, history.left_is_there, history.for_lines))


def _repeat(history: History, now: State) -> None:
    """Apply a version that is not undone to `left`, the history without the undone versions."""
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


def _bring_back(history: History, now: State) -> None:
    """Apply a version that restores an earlier text with undone lines. These lines still count as undone."""
    left, was_there, history.for_lines = history.texts[now.sha256]
    history.left = left if left is None else replace(left, path=now.path)
    history.left_is_there = left is not None and (was_there or not history.real_is_there)
    history.conflict = True


def _repeat_alone(history: History, real: State, now: State) -> None:
    """Apply a version of a memory that exists only because of undone versions. Only lines that this version added
    are left."""
    history.conflict = True
    if _adds_lines(history, real, now):
        history.left = _merged(history, State(now.path, None, 0, _EMPTY, ""), real, now)
        history.left_is_there = history.for_lines = True
    history.gone |= now.text is None


def _adds_lines(history: History, real: State, now: State) -> bool:
    old, new = content_of(history.store, real), content_of(history.store, now)
    if old is None or new is None:
        return False
    counted = counts_within(history.work, ended(old), ended(new))
    history.unmerged |= counted is None
    return counted is not None and counted[0] > 0


def _repeat_edit(history: History, left: State, real: State, now: State) -> None:
    if now.path != real.path:
        left = replace(left, path=now.path)
    if now.sha256 != real.sha256 or now.text is None:
        if left.sha256 == real.sha256:
            left, history.gone = replace(now, path=left.path), history.gone or now.text is None
        else:
            left = _merged(history, left, real, now)
    history.left = left


def _merged(history: History, left: State, real: State, now: State) -> State:
    """Return `left` with the change from `real` to `now`. Where both changed the same lines, `now` wins."""
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
    """Return the text of a state of a memory; None if the state has no text, or if its text no longer exists."""
    if state.content is not None or state.text is None:
        return state.content
    return MemoryText.objects.contents(store, [state.text]).get(state.text)
