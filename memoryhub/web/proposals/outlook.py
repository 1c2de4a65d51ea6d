"""The preview of merging several proposals one after the other, and the proposals that are left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.actions.core.plans import Plan, in_parts
from memoryhub.actions.proposals.plan import PLAN_WORK, proposal_plan
from memoryhub.models import Finding, MemoryStore
from memoryhub.pure.protocol import paths
from memoryhub.pure.text.matching import Work
from memoryhub.web.proposals import preview
from memoryhub.web.proposals.preview import Row as Changed
from memoryhub.web.proposals.rows import Row
from memoryhub.web.undo.form import Given
from memoryhub.web.undo.rows import Wanted

MOST = 25
"""The most proposals that are decided together."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A proposal that would be merged: its memories with their differences, and the digest of its plan."""

    row: Row
    changes: Sequence[Changed]
    seen: str

    @property
    def number(self) -> int:
        return self.row.proposal.number


@dataclass(frozen=True, slots=True)
class Outlook:
    """The proposals that would be merged, in order, and those that would not, each with the reason."""

    merged: Sequence[Merged]
    left: Sequence[tuple[Row, str]]


def outlook(store: MemoryStore, rows: Sequence[Row]) -> Outlook:
    """Return the preview of merging these open proposals."""
    work = Work(PLAN_WORK)
    plans = {row.proposal.pk: proposal_plan(row.proposal, work) for row in rows}
    why = _conflicts(rows, plans) | _with_findings(store, rows, plans)
    rest = [row for row in rows if row.proposal.pk not in why]
    why |= _overlaps(rest, plans)
    rest = [row for row in rest if row.proposal.pk not in why]
    changes = _changes(store, rest, plans)
    why |= {pk: reason for pk, some in changes.items() if (reason := _of_lines(some, plans[pk]))}
    return Outlook(
        [
            Merged(row, changes[row.proposal.pk], plans[row.proposal.pk].digest)
            for row in rest
            if row.proposal.pk not in why
        ],
        [(row, why[row.proposal.pk]) for row in rows if row.proposal.pk in why],
    )


def _conflicts(rows: Sequence[Row], plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return {proposal: why it is left out} for proposals with a conflict or without any change."""
    found: dict[str, str] = {}
    for row in rows:
        plan = plans[row.proposal.pk]
        if plan.is_empty:
            found[row.proposal.pk] = _("The memories already have all changes of this proposal.")
        elif problem := next((change for change in plan.changes if change.problem), None):
            found[row.proposal.pk] = f"{problem.path}: {preview.conflict_words(problem)}"
    return found


def _with_findings(store: MemoryStore, rows: Sequence[Row], plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return {proposal: why it is left out} for proposals about a memory with an open finding."""
    memories = {change.memory for plan in plans.values() for change in plan.changes}
    known: set[str] = set()
    for part in in_parts(sorted(memories)):
        open_ones = Finding.objects.of_store(store.pk).open().filter(memory_id__in=part)
        known |= set(open_ones.values_list("memory_id", flat=True))
    found: dict[str, str] = {}
    for row in rows:
        if one := next((change for change in plans[row.proposal.pk].changes if change.memory in known), None):
            found[row.proposal.pk] = _("%(path)s has an open finding.") % {"path": one.path}
    return found


def _overlaps(rows: Sequence[Row], plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return {proposal: why it is left out} for the proposals that concern the same path as an earlier proposal in the
    list, or a path above or under it."""
    at, above = dict[str, int](), dict[str, int]()
    found: dict[str, str] = {}
    for row in rows:
        places = {*_places(plans[row.proposal.pk])}
        directories = {directory for place in places for directory in paths.ancestors(place)[1:]}
        met = {at[place] for place in places | directories if place in at}
        met |= {above[place] for place in places if place in above}
        if met:
            words = _("This proposal is about the same memory as #%(number)s. Decide about this proposal afterwards.")
            found[row.proposal.pk] = words % {"number": min(met)}
            continue
        at |= dict.fromkeys(places, row.proposal.number)
        above |= dict.fromkeys(directories, row.proposal.number)
    return found


def _places(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        yield from {state.path for state in (change.now, change.then) if state.path}


def _changes(store: MemoryStore, rows: Sequence[Row], plans: Mapping[str, Plan]) -> dict[str, list[Changed]]:
    """Return {proposal: its memories with their differences}."""
    of = {change.memory: row.proposal for row in rows for change in plans[row.proposal.pk].changes}
    whole = Plan(store.pk, tuple(change for row in rows for change in plans[row.proposal.pk].changes))
    outlines = [outline for row in rows for outline in row.outlines]
    _preview, shown = preview.shown(store, whole, outlines, Given(), QueryDict(), "")
    found: dict[str, list[Changed]] = {row.proposal.pk: [] for row in rows}
    for one in shown:
        proposal = of[one.row.change.memory]
        address = Wanted(path=reverse("proposal", args=[store.pk, proposal.number]))
        found[proposal.pk].append(replace(one, row=replace(one.row, wanted=address)))
    return found


def _of_lines(changes: Sequence[Changed], plan: Plan) -> str:
    """Return why a person must read the new lines on the proposal's own page before a merge, or ""."""
    for one in changes:
        for found in one.found:
            return _("%(kind)s in line %(line)s of %(path)s.") % {
                "kind": found.label, "line": found.line, "path": one.outline.path,
            }  # fmt: skip
    if len(changes) < len(plan.changes) or not all(one.is_screened for one in changes):
        return _("This proposal is too long to be read together with others.")
    return ""
