"""A session as a story: its calls in words, gaps between them, folded runs of calls, and findings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

from django.utils.timesince import timesince
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditEntry, Finding, FindingState, MemoryStore, Session
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.texts import kinds
from memoryhub.web.common.versions.undone import Undone
from memoryhub.web.sessions.calls import Call, Calls
from memoryhub.web.sessions.known import Known, Piece, known_before
from memoryhub.web.sessions.undone import UndoneThere

RUN = 4
"""The least number of consecutive reading or failed calls that are shown as one step."""
NAMED = 3
"""The most paths in the words for a run of calls."""
GAP, LONGEST_GAP = 12, 96
"""The mean and the greatest height of the gaps between steps, in pixels."""
WORTH_SAYING = timedelta(minutes=1)
TALL = 40
"""The height from which a gap has words even if they are only seconds. A high gap without words looks like a part of
the page that was not loaded."""
_ANY = datetime(2001, 1, 1, tzinfo=UTC)
MOST_FINDINGS = 100
FEW = 4
"""The most versions that are listed beside a finding, of those that the session knew."""


@dataclass(frozen=True, slots=True)
class Arose:
    """A finding in the version that a call made, and the URL of its line."""

    finding: Finding
    url: str

    @property
    def label(self) -> str:
        return kinds.label(self.finding.kind)

    @property
    def icon(self) -> str:
        return kinds.icon_of(self.finding.kind)

    @property
    def says(self) -> str:
        return "" if self.finding.in_path else kinds.says(self.finding.kind)

    @property
    def is_open(self) -> bool:
        return self.finding.state == FindingState.OPEN


@dataclass(frozen=True, slots=True)
class CallInWords:
    """A call in words, with the findings in its version, what the session knew before the call, and the call's undo."""

    call: Call
    words: str
    arose: Sequence[Arose]
    knew: Known | None
    undone: Undone | None = None

    @property
    def knew_last(self) -> Sequence[Piece]:
        """Return the FEW versions that the session had seen most recently before the call."""
        return self.knew.pieces[:FEW] if self.knew else ()

    @property
    def shows_decision(self) -> bool:
        """Return whether to show the last decision about the version: there must be one, and the shown undo must not
        have made it."""
        decided = self.call.decided
        return decided is not None and not (self.was_undone and self.undone and decided.seq == self.undone.entry.seq)

    @property
    def was_undone(self) -> bool:
        """Return whether an undo took back the call. A decision that only reverts the call's version does not count."""
        return self.undone is not None and self.undone.entry.command != "revert"

    @property
    def is_quiet(self) -> bool:
        """Return whether the call may be folded, because it changed nothing or failed."""
        return not self.call.entry.ok or self.call.entry.command == "view"


@dataclass(frozen=True, slots=True)
class Gap:
    """The time before a step, as an empty space."""

    height: int  # pixels
    words: str  # the time in words, if it is long
    is_cut: bool  # the height is less than the time would require


@dataclass(frozen=True, slots=True)
class Step:
    """One call, or a run of calls that are shown folded; `gap` is None for the first step of the page."""

    calls: Sequence[CallInWords]
    gap: Gap | None

    @property
    def first(self) -> CallInWords:
        return self.calls[0]

    @property
    def last(self) -> CallInWords:
        return self.calls[-1]

    @property
    def is_run(self) -> bool:
        return len(self.calls) > 1

    @property
    def words(self) -> str:
        """Return words for what the calls of this step did."""
        count = {"count": len(self.calls)}
        if self.first.call.entry.ok and all(one.call.is_read for one in self.calls):
            return ngettext("read %(count)s time", "read %(count)s times", count["count"]) % count
        if self.first.call.entry.ok:
            return ngettext("read or listed %(count)s time", "read or listed %(count)s times", count["count"]) % count
        return ngettext("%(count)s call failed", "%(count)s calls failed", count["count"]) % count

    @property
    def paths(self) -> Sequence[str]:
        return list(dict.fromkeys(one.call.entry.path or "/" for one in self.calls))

    @property
    def named(self) -> Sequence[str]:
        return self.paths[:NAMED]

    @property
    def rest(self) -> int:
        return len(self.paths) - len(self.named)


def story_of(
    session: Session, stores: Sequence[MemoryStore], calls: Calls, undone: Mapping[str, UndoneThere]
) -> list[Step]:
    """Return the steps of a page of calls. `undone` is {store: what was undone of the session there}."""
    arose = _arose([call for call in calls.rows if call.change])
    knew = known_before(session, stores, [call.entry for call in calls.rows if call.key in arose])
    undos = {(store, seq): undo for store, there in undone.items() for seq, undo in there.writes.items()}
    known = [
        CallInWords(call, words_of(call), arose.get(call.key, ()), knew.get(call.key), undos.get(call.key))
        for call in calls.rows
    ]
    return _steps(list(_runs(known)))


def _arose(writes: Sequence[Call]) -> dict[tuple[str, int], list[Arose]]:
    """Return {(chain, seq): findings that arose in the version that the call made}, at most MOST_FINDINGS."""
    made = {call.version.pk: call for call in writes if call.version}
    found: dict[tuple[str, int], list[Arose]] = defaultdict(list)
    if made:
        of_stores = Finding.objects.filter(store_id__in={call.store.pk for call in made.values()})
        memories = {call.version.memory_id for call in made.values() if call.version}
        rows = of_stores.filter(memory_id__in=memories, version_id__in=list(made)).order_by(kinds.rank(), "id")
        for finding in rows.exclude(state=FindingState.DISMISSED)[:MOST_FINDINGS]:
            call = made[finding.version_id]
            url = call.version_url if finding.in_path else f"{call.version_url}#L{finding.line}"
            found[call.key].append(Arose(finding, url))
    return found


def _runs(calls: Sequence[CallInWords]) -> Iterator[list[CallInWords]]:
    """Yield the calls of each step: RUN or more similar quiet calls together, other calls alone."""
    for is_quiet, some in groupby(calls, lambda one: (one.is_quiet, one.call.entry.ok) if one.is_quiet else None):
        run = list(some)
        if is_quiet and len(run) >= RUN:
            yield run
        else:
            yield from ([one] for one in run)


def _steps(runs: Sequence[list[CallInWords]]) -> list[Step]:
    ends = [(before[-1].call.entry.at, after[0].call.entry.at) for before, after in pairwise(runs)]
    waits = [max(timedelta(), end - start) for start, end in ends]
    total = sum(waits, timedelta())
    scale = GAP * len(waits) / total.total_seconds() if total else 0.0
    gaps = [None, *(_gap(wait, scale) for wait in waits)]
    return [Step(run, gap) for run, gap in zip(runs, gaps, strict=False)]


def _gap(wait: timedelta, scale: float) -> Gap:
    height = round(wait.total_seconds() * scale)
    words = ""
    if height > GAP and wait >= WORTH_SAYING:
        words = _("%(time)s later") % {"time": timesince(_ANY, _ANY + wait, depth=1)}
    elif height >= TALL and (seconds := int(wait.total_seconds())):
        words = ngettext("%(count)s second later", "%(count)s seconds later", seconds) % {"count": seconds}
    return Gap(min(height, LONGEST_GAP), words, height > LONGEST_GAP)


# ------------------------------------------------------------------------------------------------ in words


def words_of(call: Call) -> str:
    """Return words for what a call did or tried to do; the path of the call follows them."""
    entry = call.entry
    if call.proposal:
        return _proposed(entry)
    if not entry.ok:
        return _tried(entry)
    if entry.command == "view":
        return _("read") if call.is_read else _("listed")
    if entry.command == "create" and call.version and call.version.number > 1:
        return _("rewrote")
    if entry.command in ("str_replace", "insert"):
        return _changed(call)
    return act_words(entry.command)


def _tried(entry: AuditEntry) -> str:
    words = {
        "view": _("tried to read"),
        "create": _("tried to create"),
        "str_replace": _("tried to replace text in"),
        "insert": _("tried to add text to"),
        "delete": _("tried to delete"),
        "rename": _("tried to rename"),
    }
    return words.get(entry.command or "") or _("tried: %(act)s") % {"act": act_words(entry.command)}


def _proposed(entry: AuditEntry) -> str:
    words = {
        "create": _("proposed to create"),
        "str_replace": _("proposed to replace text in"),
        "insert": _("proposed to add text to"),
        "delete": _("proposed to delete"),
        "rename": _("proposed to rename"),
    }
    return words.get(entry.command or "") or _("proposed: %(act)s") % {"act": act_words(entry.command)}


def _changed(call: Call) -> str:
    added, removed = call.added or 0, call.removed or 0
    if removed and added:
        return ngettext("replaced a line in", "replaced %(count)s lines in", removed) % {"count": removed}
    if removed:
        return ngettext("took a line out of", "took %(count)s lines out of", removed) % {"count": removed}
    if added:
        return ngettext("added a line to", "added %(count)s lines to", added) % {"count": added}
    return _("replaced text in") if call.entry.command == "str_replace" else _("added text to")
