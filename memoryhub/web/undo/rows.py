"""The changes of a plan as rows of a preview, problems first. A row has the diff, the later authors and the choices."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from memoryhub.actions.history.apply_plan import Change, Choice, Plan, State
from memoryhub.models import AuditEntry, MemoryStore, MemoryText, MemoryVersion
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff
from memoryhub.pure.text.matching import Work
from memoryhub.web.common import pages
from memoryhub.web.common.texts import masking
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions.comparisons import Sides
from memoryhub.web.undo.form import MOST_ASKED, Given, Option, Words, effects_of, options, undo_words
from memoryhub.web.undo.rivals import Rival, rivals_of

MOST_DIFFS = 50
MOST_BYTES = 500_000
"""The most bytes of text for all diffs of a page together."""

MOST_LATER = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """The diffs that a URL asks for."""

    memory: str = ""  # the memory of the diff, if the URL asks for a single one
    before: bool = False  # this single diff leads to the text before the change
    after: int = 0  # the number of rows to skip
    query: str = ""  # the rest of the query string
    path: str = ""  # the path in the page's URL

    @classmethod
    def of(cls, given: QueryDict, path: str = "") -> "Wanted":
        kept = given.copy()
        memory, side, after = (kept.pop(name, [""])[-1] for name in ("difference", "side", "after"))
        kept.pop("piece", None)
        number = int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0
        return cls(memory, side == "before", number, kept.urlencode(), path)

    def address(self, memory: str, *, before: bool = False) -> str:
        """Return the URL of the page with only the diff of one memory. With `before`, the diff goes from the current
        text to the text before the change."""
        query = urlencode({"difference": memory, **({"side": "before"} if before else {})})
        return f"{self.path}?{self.query}&{query}" if self.query else f"{self.path}?{query}"

    def wants(self, memory: str, *, before: bool) -> bool:
        return not self.memory or (self.memory == memory and self.before == before)


@dataclass(frozen=True, slots=True)
class Row:
    """One change, with its diffs (None: not shown, or none exists)."""

    change: Change
    diff: Diff | None  # from the current text to the new one
    before_diff: Diff | None  # from the current text to the one before the change
    options: Sequence[Option]  # the buttons of a problem
    asked: bool  # the problem has its own buttons
    left_out: bool
    later: Sequence[tuple[MemoryVersion, AuditEntry | None]]  # versions by others after the undone ones, newest first
    more_later: int  # the number of older ones that are left out
    closed: bool  # a link opens the diff separately
    before_closed: bool
    wanted: "Wanted"
    rivals: Sequence[Rival] = ()  # other memories that may need the same path

    @property
    def sides(self) -> Sides:
        """Return the link to the full diff."""
        return Sides(self.wanted.address(self.change.memory))

    @property
    def before_sides(self) -> Sides:
        return Sides(self.wanted.address(self.change.memory, before=True))

    @property
    def blocked(self) -> str:
        """Return why a choice is not possible, other than because of a legal hold; "" if all are."""
        return in_words(self.change.blocked) if self.change.blocked else ""

    @property
    def effects(self) -> str:
        """Return the effects of the proposed choice for this change."""
        return effects_of([self.change])


@dataclass(frozen=True, slots=True)
class Preview:
    """The content of a preview."""

    whole: Sequence[Row]  # changes with their diffs
    briefly: Sequence[Row]  # changes that are only listed
    unasked: Sequence[Change]  # problems without their own buttons
    counts: dict[str, int]  # {effect: number of memories}, with the current choices
    problems: int  # how many changes with a problem have a choice for a person
    fixed: int  # how many changes have no choice, so that their memories stay as they are
    plain: int  # how many changes have neither a problem nor a forbidden choice
    count: int  # how many memories change, with the current choices
    plain_effects: str  # the effects of the `plain` changes


Covers = Callable[[str, Sequence[Change], Mapping[str, str]], Mapping[str, masking.Cover]]
"""A function that returns {memory: what to mask in its texts} for some changes of a store. Its last argument has the
stored texts by id."""


def covers_of(store_id: str, changes: Sequence[Change], texts: Mapping[str, str]) -> Mapping[str, masking.Cover]:
    """Return {memory: what to mask in its texts}, for a plan whose texts all belong to stored versions."""
    return masking.covers(store_id, [change.memory for change in changes])


def preview(
    store: MemoryStore,
    plan: Plan,
    given: Given,
    wanted: Wanted,
    *,
    covers: Covers = covers_of,
    words: Words = undo_words,
    most: int | None = None,
    in_hunks: bool = False,
) -> Preview:
    """Return the rows of a plan with the current choices. If the URL asks for one diff, only that diff is computed.

    Only the first `most` changes (default: MOST_DIFFS) can have diffs. Changes with a problem or a forbidden choice
    come first; up to MOST_ASKED of them can have diffs, even if that is more than `most`. With `in_hunks`, each diff
    has the same hunks as one of the unmasked texts.
    """
    rivals = rivals_of(plan.changes)
    changes = sorted(plan.changes, key=lambda one: (one.is_plain, one.memory not in rivals, one.path, one.memory))
    shown = changes[: max(most or MOST_DIFFS, min(MOST_ASKED, sum(not change.is_plain for change in changes)))]
    diffs = _Diffs(wanted, shown, store.pk, covers, in_hunks=in_hunks)
    entries = pages.entries(store, *(version.seq for change in shown for version in change.later[-MOST_LATER:]))
    rows = [_row(change, place, given, diffs, entries, words) for place, change in enumerate(changes)]
    rows = [replace(row, rivals=rivals.get(row.change.memory, ())) for row in rows]
    problems = [change for change in changes if change.problem]
    plain = [change for change in changes if change.is_plain]
    return Preview(
        rows[: len(shown)],
        rows[len(shown) :],
        [change for change in problems[MOST_ASKED:] if change.has_choice],
        _counts(changes, given),
        sum(change.has_choice for change in problems),
        sum(not change.has_choice for change in changes),
        len(plain),
        given.count(plan),
        effects_of(plain),
    )


def _counts(changes: Iterable[Change], given: Given) -> dict[str, int]:
    """Return {effect: number of memories} with the current choices."""
    counted = Counter(effect for change in changes for effect in change.effects(given.choice(change)))
    return {kind: counted[kind] for kind in ("created", "modified", "moved", "deleted")}


def _row(change: Change, place: int, given: Given, diffs: "_Diffs", by_seq: dict[int, AuditEntry], words: Words) -> Row:
    diff, closed = diffs.of(change, change.then)
    offered = change.before if Choice.BEFORE in change.choices else None
    before_diff, before_closed = diffs.of(change, offered, before=True)
    offered_count = len(change.choices) + len(change.refused)
    is_asked = bool(change.problem or change.refused) and place < MOST_ASKED and offered_count > 1
    newest = [(version, by_seq.get(version.seq)) for version in reversed(change.later[-MOST_LATER:])]
    return Row(
        change,
        diff,
        before_diff,
        options(change, given, words) if is_asked else (),
        is_asked,
        change.is_plain and given.choice(change) == Choice.KEEP,
        newest,
        change.more_later + max(0, len(change.later) - MOST_LATER),
        closed,
        before_closed,
        diffs.wanted,
    )


def in_diffs(store_id: str, found: Iterable[Row]) -> Iterator[tuple[str, str | None]]:
    """Yield (memory id, version id) for the texts in the diffs of the rows."""
    rows = [row for row in found if row.change.number and (row.diff or row.before_diff)]
    yield from ((row.change.memory, row.change.head) for row in rows)
    states = ((row.change.memory, state) for row in rows for state in (row.change.then, row.change.before))
    wanted = {(memory, state.sha256) for memory, state in states if state is not None and state.is_there}
    versions = MemoryVersion.objects.filter(store_id=store_id, text__isnull=False)
    same = versions.filter(memory_id__in={memory for memory, _ in wanted}, sha256__in={one for _, one in wanted})
    for memory, version, sha256 in same.values_list("memory_id", "pk", "sha256") if wanted else ():
        if (memory, sha256) in wanted:
            yield memory, version


class _Diffs:
    """The diffs of a page's masked texts, within limits on their number, size and work."""

    def __init__(
        self, wanted: Wanted, shown: Sequence[Change], store_id: str, covers: Covers, *, in_hunks: bool
    ) -> None:
        self.wanted, self.work, self.in_hunks = wanted, Work(REQUEST_WORK), in_hunks
        self.shown = {change.memory for change in shown}
        self.chosen = {change.memory: change for change in _in_room(wanted, shown)}
        states = (s for change in self.chosen.values() for s in (change.now, change.then, change.before) if s)
        self.texts = MemoryText.objects.contents(store_id, {state.text for state in states if state.text})
        self.covers = covers(store_id, list(self.chosen.values()), self.texts)

    def of(self, change: Change, state: State | None, *, before: bool = False) -> tuple[Diff | None, bool]:
        """Return the diff from a memory's current state to `state`, and whether it is closed.

        A closed diff is not on the page; a link opens it. `before` means that `state` is the one before the change. The
        diff is None if it is closed, if the texts are equal, if one of the texts is not available, or if the change
        cannot have a diff.
        """
        now = change.now
        if state is None or change.memory not in self.shown or state.same(now):
            return None, False
        if now.is_there and now.sha256 == state.sha256:
            return None, False
        if any(s.is_there and s.text is None and s.content is None for s in (now, state)):
            return None, False
        if change.memory not in self.chosen or not self.wanted.wants(change.memory, before=before):
            return None, True
        old, new = self._text(now), self._text(state)
        if old is None or new is None:
            return None, False
        known = self.covers.get(change.memory, masking.NOTHING)
        diff = masking.opened(self.work, old, new, known, in_hunks=self.in_hunks)
        return diff, diff is None

    def _text(self, state: State) -> str | None:
        if not state.is_there:
            return ""
        return state.content if state.content is not None else self.texts.get(state.text or "")


def _in_room(wanted: Wanted, shown: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes whose texts the page loads, up to its limits."""
    if wanted.memory:
        yield from (change for change in shown if change.memory == wanted.memory)
        return
    budget = MOST_BYTES
    for change in shown[:MOST_DIFFS]:
        size = change.now.size + change.then.size + (change.before.size if change.before else 0)
        if size <= budget:
            budget -= size
            yield change
