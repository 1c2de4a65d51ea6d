"""The preview of a proposal, memory by memory: a diff, the choices, and the findings in new lines."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core.plans import Change, Choice, Plan, Problem, State
from memoryhub.actions.core.proposing import MOST_CHANGES
from memoryhub.actions.core.rules.ruling import Ruling, ruling
from memoryhub.actions.findings.findings import fingerprint, recorded
from memoryhub.actions.proposals.selected import offered
from memoryhub.models import HubSettings, MemoryStore
from memoryhub.pure.sensitive import Action, Span, line_of
from memoryhub.pure.text.diffs import Diff
from memoryhub.pure.text.novelty import Novelty
from memoryhub.web.common.texts import kinds, masking
from memoryhub.web.common.versions.comparisons import Heads, Lined
from memoryhub.web.proposals.editing import Editor
from memoryhub.web.proposals.rows import Outline
from memoryhub.web.undo import rows as plan_rows
from memoryhub.web.undo.form import Given
from memoryhub.web.undo.rows import Preview, Wanted

MOST_FOUND = 20
"""The most findings that are listed for one memory."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in a proposed line."""

    kind: str
    line: int
    masks: bool = False  # the merge masks the value
    blocks: bool = False  # the finding prevents the merge

    @property
    def label(self) -> str:
        return kinds.label(self.kind)

    @property
    def icon(self) -> str:
        return kinds.icon_of(self.kind)


@dataclass(frozen=True, slots=True)
class Row:
    """One memory of a proposal: its row in the plan, its outline, and the findings in its new lines."""

    row: plan_rows.Row
    outline: Outline
    found: Sequence[Found]
    outcome: str = ""  # after a decision: `merged`, `edited`, `part`, `left`, or `there` (the memory already had it)
    heads: Heads | None = None  # makes the HTML above each hunk
    may_edit: bool = False  # whether the page shows the whole text
    editor: Editor | None = None
    lined: Lined | None = None  # makes the HTML of line numbers, and of comments below lines
    beside: str = ""  # comments on lines that are not shown
    is_screened: bool = False  # False if the page had no room for the text: then the rules did not check it
    stopped: str = ""  # a sentence on what stops the merge
    others: Sequence[int] = ()  # the numbers of other open proposals about the memory
    is_gone: bool = False  # the memory no longer exists

    @property
    def diff(self) -> Diff | None:
        """Return the diff between the current and the proposed text, or None if there is none on the page."""
        return self.row.before_diff or self.row.diff

    @property
    def replaced(self) -> list[int]:
        """Return the seqs of the calls whose changes to the memory were replaced by later calls, at least in part."""
        change = self.row.change
        return sorted(self.outline.calls[one] for one in {*change.replaced, *change.cut})


@dataclass
class Screen:
    """Checks the new lines of proposed texts with the store's rules. `found` is {memory: findings}."""

    rules: Ruling
    found: dict[str, Sequence[Found]] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)
    """The memories in whose new texts nothing is masked."""

    @classmethod
    def of(cls, store: MemoryStore) -> "Screen":
        return cls(ruling(json.dumps(store.rules), json.dumps(HubSettings.current().rules)))

    def covers(self, store_id: str, changes: Sequence[Change], texts: Mapping[str, str]) -> Mapping[str, masking.Cover]:
        """Return {memory: the kinds to mask in its texts}, and add the findings in the new lines to `found`."""
        new = {change.memory: _text(offered(change), texts) for change in changes}
        spans = {change.memory: self._spans(_text(change.now, texts), new[change.memory]) for change in changes}
        known = masking.covers(
            store_id, list(new), {memory: {span.kind for span in found} for memory, found in spans.items() if found}
        )
        for memory, found in spans.items():
            cover = known.get(memory, masking.NOTHING)
            harmless = cover.harmless
            if not masking.values_in(new[memory] or "", cover):
                self.bare.add(memory)
            self.found[memory] = list(self._unless_harmless(new[memory] or "", found, harmless))[:MOST_FOUND]
        return known

    def _spans(self, old: str | None, new: str | None) -> list[Span]:
        if self.rules.is_idle or not new:
            return []
        novelty = Novelty(old, new)
        return novelty.found(self.rules.watched) if novelty.has_any(self.rules.watched) else []

    def _unless_harmless(self, text: str, spans: Iterable[Span], harmless: frozenset[str]) -> Iterable[Found]:
        for span in recorded(spans, text):
            if fingerprint(span.kind, text[span.start : span.end]) not in harmless:
                action = self.rules.actions[span.kind]
                yield Found(span.kind, line_of(text, span.start), action == Action.MASK, action == Action.BLOCK)


def shown(
    store: MemoryStore, plan: Plan, outlines: Sequence[Outline], given: Given, query: QueryDict, path: str
) -> tuple[Preview, list[Row]]:
    """Return the preview of a plan, and a row for each memory, those with problems first.

    `query` and `path` are those of the page's address.
    """
    screen = Screen.of(store)
    preview = plan_rows.preview(
        store,
        plan,
        given,
        Wanted.of(query, path),
        covers=screen.covers,
        words=words,
        most=MOST_CHANGES,
        in_hunks=True,
    )
    by_name = {outline.name: outline for outline in outlines}
    return preview, [
        Row(
            row,
            by_name[row.change.memory],
            screen.found.get(row.change.memory, ()),
            may_edit=row.change.memory in screen.bare and offered(row.change).content is not None,
            is_screened=row.change.memory in screen.found,
        )
        for row in preview.whole
        if row.change.memory in by_name
    ]


def _text(state: State, texts: Mapping[str, str]) -> str | None:
    if not state.is_there:
        return None
    return state.content if state.content is not None else texts.get(state.text or "")


def words(change: Change, choice: Choice) -> tuple[str, str]:
    """Return (label, sentence) of the button with which a person makes `choice` about a change with a problem."""
    if choice == Choice.KEEP and not change.now.is_there:
        return _("Leave it out"), _("There is no memory here now, and none is created.")
    if choice == Choice.KEEP:
        return _("Keep it as it is"), _("Nothing changes in this memory.")
    if choice == Choice.APPLY:
        return _("Put it next to the other memory"), _("It will be at %(path)s.") % {"path": change.then.path}
    return _words_of_before(change, change.chosen(choice))


def _words_of_before(change: Change, state: State) -> tuple[str, str]:
    if not state.is_there:
        return _("Delete it anyway"), _("What was written since then goes to the trash too.")
    there = _("It will be at %(path)s.") % {"path": state.path}
    if not change.now.is_there:
        return _("Bring it back with the proposed text"), there
    if _only_moves(change, state):
        return _("Move it anyway"), there
    return _("Take the proposed lines"), _("They replace the lines that were written since then.")


def _only_moves(change: Change, state: State) -> bool:
    return state.path != change.now.path and state.sha256 == change.now.sha256


def conflict_words(change: Change) -> str:
    """Return a sentence on why a person has to choose, or on why the change cannot be merged."""
    of_problem = {
        Problem.TAKEN: _("Another memory is at this path."),
        Problem.REDACTED: _("The text that the agent saw no longer exists, so this memory stays as it is."),
        Problem.UNMERGED: _("There are too many changes to merge at once, so this memory stays as it is."),
    }
    return of_problem.get(change.problem) or _words_of_conflict(change, offered(change))


def _words_of_conflict(change: Change, wanted: State) -> str:
    if not change.now.is_there:
        return _("The memory was deleted since the agent saw it.")
    if not wanted.is_there:
        return _("The memory has changed since the agent proposed to delete it.")
    if _only_moves(change, wanted):
        return _("The memory was moved elsewhere since the agent saw it.")
    return _("The same lines were changed since the agent saw them.")


def button_words(count: int) -> str:
    return ngettext("Merge changes to %(count)s memory", "Merge changes to %(count)s memories", count) % {
        "count": count
    }
