"""The changes of a plan as a preview shows them: problems first, each with diff, later writers and its choices."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.changes import Change, Choice, Plan, State
from memoryhub.diffs import Diff
from memoryhub.models import AuditEntry, MemoryStore, MemoryText, MemoryVersion
from memoryhub.web import masking, stores_pages
from memoryhub.web.masking import Cover
from memoryhub.web.undo_form import MOST_ASKED, Given, Option, effects_of, options

MOST_DIFFS = 50
MOST_BYTES = 500_000
"""Of the texts of all diffs of a page together."""

MOST_LATER = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One change. `diff` is now → what it becomes, `before_diff` now → as it was before (null: not shown, or none).

    `options` are the buttons of a problem; `asked` says whether it has its own. `later`: the newest versions that
    others wrote since, the newest first, each with its entry; `more_later` counts those that are not told.
    """

    change: Change
    diff: Diff | None
    before_diff: Diff | None
    options: Sequence[Option]
    asked: bool
    left_out: bool
    later: Sequence[tuple[MemoryVersion, AuditEntry | None]]
    more_later: int

    @property
    def effects(self) -> str:
        """What the change does unless it is left out, for the script that counts."""
        return effects_of([self.change])

    @property
    def is_whole(self) -> bool:
        """Whether a diff is there to be shown."""
        return self.diff is not None or self.before_diff is not None


@dataclass(frozen=True, slots=True)
class Preview:
    """All that a page shows of a plan. `briefly` are the changes that are only listed; `unasked` problems that have no
    buttons of their own; `plain` counts the changes without a problem, and `plain_effects` says what they do; `counts`
    and `count` are what will change as it is chosen."""

    whole: Sequence[Row]
    briefly: Sequence[Row]
    unasked: Sequence[Change]
    counts: dict[str, int]
    problems: int
    plain: int
    count: int
    plain_effects: str


def preview(store: MemoryStore, plan: Plan, given: Given) -> Preview:
    """The rows of a plan with what has been chosen so far."""
    changes = sorted(plan.changes, key=lambda change: (not change.problem, change.path, change.memory))
    shown = changes[: max(MOST_DIFFS, min(MOST_ASKED, sum(bool(c.problem) for c in changes)))]
    diffs = _diffs(store.pk, shown, masking.covers(store.pk, [change.memory for change in shown[:MOST_DIFFS]]))
    told = stores_pages.entries(store, *(version.seq for change in shown for version in change.later[-MOST_LATER:]))
    rows = [_row(change, place, given, diffs, told) for place, change in enumerate(changes)]
    problems = [change for change in changes if change.problem]
    return Preview(
        rows[: len(shown)], rows[len(shown) :], [c for c in problems[MOST_ASKED:] if len(c.choices) > 1],
        _counts(changes, given), len(problems), len(changes) - len(problems), given.count(plan),
        effects_of(change for change in changes if not change.problem),
    )  # fmt: skip


def _counts(changes: Iterable[Change], given: Given) -> dict[str, int]:
    """How many come back, change, move and go, as it is chosen; one that moves and changes counts as both."""
    counted = Counter(effect for change in changes for effect in change.effects(given.choice(change)))
    return {kind: counted[kind] for kind in ("created", "modified", "moved", "deleted")}


def _row(
    change: Change, place: int, given: Given, diffs: dict[str, tuple[Diff | None, Diff | None]],
    told: dict[int, AuditEntry],
) -> Row:  # fmt: skip
    diff, before_diff = diffs.get(change.memory, (None, None))
    is_asked = bool(change.problem) and place < MOST_ASKED and len(change.choices) > 1
    newest = [(version, told.get(version.seq)) for version in reversed(change.later[-MOST_LATER:])]
    return Row(
        change, diff, before_diff, options(change, given) if is_asked else (), is_asked,
        not change.problem and given.choice(change) == Choice.KEEP, newest,
        max(0, len(change.later) - MOST_LATER),
    )  # fmt: skip


def _diffs(
    store_id: str, changes: Sequence[Change], covers: Mapping[str, Cover]
) -> dict[str, tuple[Diff | None, Diff | None]]:  # fmt: skip
    """The two diffs of each change, as long as they are few and short; their texts are masked."""
    chosen, budget = [], MOST_BYTES
    for change in changes[:MOST_DIFFS]:
        size = change.now.size + change.then.size + (change.before.size if change.before else 0)
        if size <= budget:
            chosen.append(change)
            budget -= size
    texts = _texts(
        store_id, (state for change in chosen for state in (change.now, change.then, change.before) if state)
    )
    seen = {change.memory: _Texts(texts, covers.get(change.memory, masking.NOTHING)) for change in chosen}
    return {
        change.memory: (_diff(change.now, change.then, seen[change.memory]), _before(change, seen[change.memory]))
        for change in chosen
    }


def _before(change: Change, texts: "_Texts") -> Diff | None:
    if change.before is None or Choice.BEFORE not in change.choices:
        return None
    return _diff(change.now, change.before, texts)


def _texts(store_id: str, states: Iterable[State]) -> dict[str, str]:
    return MemoryText.objects.contents(store_id, {state.text for state in states if state.text})


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts by their ids, and what is masked in those of one memory."""

    by_id: Mapping[str, str]
    cover: Cover

    def of(self, state: State) -> str | None:
        if not state.is_there:
            return ""
        text = state.content if state.content is not None else self.by_id.get(state.text or "")
        return None if text is None else masking.masked(text, self.cover)


def _diff(old: State, new: State, texts: _Texts) -> Diff | None:
    """What differs between two states; null where the texts are the same, or one is gone."""
    before, after = texts.of(old), texts.of(new)
    same = old.is_there and new.is_there and before == after
    return None if before is None or after is None or same else masking.compared(before, after, texts.cover)
