"""The page of a proposal: who proposes which changes, and the form to merge or refuse them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.comments import on_proposals
from memoryhub.actions.core.plans import Choice, Plan, PlanChanged
from memoryhub.actions.history.apply_plan import as_shown
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.decide import AlreadyDecided, Decided
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.proposals.proposed import Proposed, as_proposed
from memoryhub.actions.proposals.selected import WHOLE, Parts, selected, to_edit, with_texts
from memoryhub.actions.review.decisions import claim_proposal
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import Agent, AuditEntry, Memory, MemoryStore, Proposal, ProposalState, Role
from memoryhub.pure.path_rules import of_json
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.comments.on_proposal import of_proposal
from memoryhub.web.comments.refusals import REFUSALS, why
from memoryhub.web.comments.threads import for_forms
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import May, came_from, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions import undo_banner
from memoryhub.web.common.versions.undone import Undone
from memoryhub.web.proposals import preview
from memoryhub.web.proposals.afterwards import MERGED, undone_of
from memoryhub.web.proposals.checks import checked
from memoryhub.web.proposals.drafts import OPEN, Drafts
from memoryhub.web.proposals.editing import DISCARD, EDIT, editors, parts_of
from memoryhub.web.proposals.hunks import Outcomes, ticks
from memoryhub.web.proposals.lines import with_lines
from memoryhub.web.proposals.preview import Row
from memoryhub.web.proposals.rows import Row as Heading, rows_of
from memoryhub.web.proposals.trust import query_of, rules_of
from memoryhub.web.sessions.read_before import Reads
from memoryhub.web.undo.form import MOST_NOTE, Given
from memoryhub.web.undo.rows import in_diffs

REOPEN, COMMENT = "reopen", "comment"
DECISIONS = ("merge", "refuse", REOPEN, COMMENT)
MOST_CALLS = 20
"""The most calls whose entries are listed."""


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore, number: int) -> HttpResponse:
    """Show a proposal to every member. Only curators and admins can decide about it."""
    proposal = Proposal.objects.of_store(store.pk).filter(number=number).first()
    if proposal is None:
        raise Http404
    if request.method != "POST":
        return _page(request, store, proposal, Given())
    role: Role = request.role
    if not role.includes(WHO):
        raise PermissionDenied
    given = Given.of(request.POST)
    try:
        parts = parts_of(request.POST)
    except ValueError:
        return _page(
            request, store, proposal, given, _("Nothing was done: a text has a character that is not allowed.")
        )
    return _answer(request, store, proposal, given, parts)


def _answer(request: Request, store: MemoryStore, proposal: Proposal, given: Given, parts: Parts) -> HttpResponse:
    """Do what the posted form asks for. If that is not possible, show the page again with the reason."""
    try:
        if problem := _problem(request, store, given) or _doubt(request, proposal):
            return _page(request, store, proposal, given, problem, parts)
        if {OPEN, EDIT, DISCARD} & {*request.POST}:
            return _editing(request, store, proposal, given, parts)
        return _decided(request, store, proposal, given, parts)
    except AlreadyDecided as error:
        messages.warning(request, _not_open(error.proposal))
        return _back(request, proposal)
    except PlanChanged:
        return _page(request, store, proposal, given, _since_opened(), replace(parts, left_out={}))
    except REFUSALS as error:
        refused = in_words(error) if isinstance(error, ToolError) else why(error)
        return _page(request, store, proposal, given, refused, parts)


def _problem(request: Request, store: MemoryStore, given: Given) -> str:
    """Return a sentence on why the posted form cannot be carried out; "" if it can."""
    if store.is_archived:
        return _("Nothing was done: this memory store is archived.")
    if max(len(given.note), len(_why(request))) > MOST_NOTE:
        return _("The reason is too long. Use at most 1,000 characters.")
    if problem := Drafts.of(request.POST).problem(alone=request.POST.get("decision") == COMMENT):
        return problem
    if request.POST.get("decision") not in DECISIONS and not {EDIT, DISCARD, OPEN} & {*request.POST}:
        return _("Nothing was done: the form does not say whether to merge or to refuse the proposal.")
    return ""


def _why(request: Request) -> str:
    """Return the person's reason for leaving something out of the merge."""
    return request.POST.get("why", "").strip()


def _doubt(request: Request, proposal: Proposal) -> str:
    """Return a sentence that asks the person to confirm, if someone else is looking at the proposal; else "".

    Only a merge or a refusal is checked, and only until the person confirms it. If no one else is looking, the check
    claims the proposal for the person.
    """
    if request.POST.get("decision") not in ("merge", "refuse") or request.POST.get("anyway") or not proposal.is_open:
        return ""
    other = claim_proposal(proposal, person(request), timezone.now())
    words = _("Nothing has been done yet, because %(name)s is looking at this right now. Press again to decide anyway.")
    return words % {"name": other} if other else ""


def _not_open(proposal: Proposal) -> str:
    """Return a sentence on why a decision is not possible in the current state of the proposal."""
    if proposal.state == ProposalState.WITHDRAWN:
        return _("Nothing was done: the agent has withdrawn this proposal.")
    return _("Nothing was done: someone has already decided about this proposal, or opened it again.")


def _since_opened() -> str:
    return _(
        "Nothing was done, because the proposal or one of its memories has changed since you opened this page. "
        "Check it and decide again."
    )


def _editing(request: Request, store: MemoryStore, proposal: Proposal, given: Given, parts: Parts) -> HttpResponse:
    """Show the page again with an editor opened or closed, or with a new comment field."""
    if OPEN in request.POST:
        return _page(request, store, proposal, given, "", parts)
    if not proposal.is_open:
        raise AlreadyDecided(proposal)
    memory = request.POST.get(EDIT, "")
    plan = as_shown(proposal_plan(proposal), given.digest)
    text = to_edit(plan, memory, parts) if memory not in parts.texts else None
    if text is None:
        return _page(request, store, proposal, given, "", parts)
    choices = {change.memory: change.choices for change in plan.changes}[memory]
    takes = Choice.BEFORE if Choice.BEFORE in choices else Choice.APPLY
    given = replace(given, choices={**given.choices, memory: takes})
    return _page(request, store, proposal, given, "", replace(parts, texts={**parts.texts, memory: text}), memory)


def _decided(request: Request, store: MemoryStore, proposal: Proposal, given: Given, parts: Parts) -> HttpResponse:
    """Do the decision or publish the comments, and redirect."""
    if request.POST.get("decision") == REOPEN:
        return _reopened(request, store, proposal)
    drafts = Drafts.of(request.POST).written()
    if request.POST.get("decision") == COMMENT:
        on_proposals.comment(store.pk, proposal.number, drafts, act(request))
        messages.success(request, _("The comment is published."))
        return see_other(f"{_url(proposal)}#comment")
    if not proposal.is_open:
        raise AlreadyDecided(proposal)
    number, plan = proposal.number, proposal_plan(proposal)
    if request.POST.get("decision") == "refuse":
        decide.refuse(store.pk, number, act(request, given.note), seen=request.POST.get("changed", ""), drafts=drafts)
        said = _("Refused proposal #%(number)s.") % {"number": number}
        link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
        messages.success(request, format_html(link, said, f"{_url(proposal)}#reopen", _("Undo…")))
        return _back(request, proposal)
    choices = given.for_plan(plan)
    count = selected(as_shown(plan, given.digest), choices, parts).count
    if plan.changes and not count:
        nothing = _("Nothing was done, because every change is left out. Choose one to merge, or refuse the proposal.")
        return _page(request, store, proposal, given, nothing, parts)
    done = decide.merge(
        store.pk, number, choices, given.digest, act(request, _why(request)), parts=parts, drafts=drafts
    )
    said = _said(number, done, count, len(plan.changes))
    if done.versions:
        undo_banner.tell_done(request, store.pk, said, done.seq)
    else:
        messages.success(request, said)
    return _back(request, proposal)


def _reopened(request: Request, store: MemoryStore, proposal: Proposal) -> HttpResponse:
    """Reopen a refused proposal and redirect to its page. Raises AlreadyDecided and ToolError."""
    decide.reopen(store.pk, proposal.number, act(request))
    messages.success(request, _("Proposal #%(number)s is open again.") % {"number": proposal.number})
    return see_other(_url(proposal))


def _back(request: Request, proposal: Proposal) -> HttpResponse:
    """Redirect to the page from which the proposal was opened, or to the page of the proposal."""
    return see_other(came_from(request) or _url(proposal))


def _url(proposal: Proposal) -> str:
    return reverse("proposal", args=[proposal.store_id, proposal.number])


def _said(number: int, done: Decided, count: int, of: int) -> str:
    if not done.versions:
        return _("Closed proposal #%(number)s.") % {"number": number}
    if done.state == ProposalState.PARTLY_MERGED and count == of:
        return _("Merged a part of proposal #%(number)s. Refused the rest.") % {"number": number}
    if done.state == ProposalState.PARTLY_MERGED:
        words = _("Merged %(count)s of %(of)s changes of proposal #%(number)s. Refused the other %(left)s.")
        return words % {"count": count, "of": of, "number": number, "left": of - count}
    return _("Merged proposal #%(number)s.") % {"number": number}


# ------------------------------------------------------------------------------------------------ showing


def _page(
    request: Request,
    store: MemoryStore,
    proposal: Proposal,
    given: Given,
    problem: str = "",
    parts: Parts = WHOLE,
    opened: str = "",
) -> HttpResponse:
    may_write = May.of(request.role, store).write
    may_decide = may_write and proposal.is_open
    undone = undone_of(store, [proposal]).get(proposal.pk)
    entry = _entry(store, proposal)
    details = _input_of(entry)
    was = None if proposal.is_open else as_proposed(proposal, _listed(details, "merged_in_part"))
    plan = was.plan if was else proposal_plan(proposal)
    (heading,) = rows_of([proposal], person(request))
    new = with_texts(plan, parts.texts)
    found, rows = _rows(request, store, new, heading, given)
    if was:
        rows = _with_outcomes(_with_gone(store, rows), details, was)
    elif may_decide:
        rows = _with_choices(proposal, rows, parts, opened)
    rows, held = checked(store, proposal, heading.outlines, plan, rows)
    drafts, agent = Drafts.of(request.POST), Agent.objects.filter(pk=proposal.agent).first()
    rows, talks = with_lines(request, store, rows, of_proposal(proposal), drafts, may_write=may_write, agent=agent)
    shown = pages.context(
        request, store,
        proposal=proposal, heading=heading, plan=plan, preview=found, rows=rows, given=given, problem=problem,
        may_decide=may_decide, entry=entry, held=held, changed=decide.seen_of(proposal), talks=talks, agent=agent,
        may_reopen=may_write and _may_reopen(proposal, undone),
        undone=undone, calls=heading.seqs[:MOST_CALLS], more_calls=len(heading.seqs[MOST_CALLS:]),
        found_in=sum(bool(row.found) for row in rows), trust=None if undone else _trust(store, heading),
        blocks=any(found.blocks for row in rows for found in row.found),
        reads=Reads(store.pk).before_call(proposal.session, max(heading.seqs, default=0)),
        gone=_gone(heading, plan), button=preview.button_words(found.count), most_note=MOST_NOTE,
        editing=bool(parts.texts), action=request.path, next=came_from(request), here=request.path, drafts=drafts,
        anyway=request.method == "POST" and heading.looking, why=_why(request), **for_forms(request, store),
    )  # fmt: skip
    return render(request, "proposals/proposal.html", shown)


def _rows(
    request: Request, store: MemoryStore, plan: Plan, heading: Heading, given: Given
) -> tuple[preview.Preview, list[Row]]:
    found, rows = preview.shown(store, plan, heading.outlines, given, request.GET, request.path)
    shows(request, store, in_diffs(store.pk, (row.row for row in rows)))
    return found, rows


def _may_reopen(proposal: Proposal, undone: Undone | None) -> bool:
    is_closed = proposal.state == ProposalState.REFUSED or bool(undone and undone.is_whole)
    return is_closed and not proposal.was_decided_elsewhere


def _trust(store: MemoryStore, heading: Heading) -> dict[str, Any] | None:
    """Return the data for a link to path rules that would have allowed the changes of a merged proposal.

    Return None if the proposal is not merged, if the store already has these rules, or if `rules_of` returns none.
    """
    rules = rules_of(heading)
    if heading.proposal.state not in MERGED or {*rules} <= {*of_json(store.path_rules).rules}:
        return None
    return {"places": [rule.pattern for rule in rules], "query": query_of(rules)}


def _with_choices(proposal: Proposal, rows: Sequence[Row], parts: Parts, opened: str) -> list[Row]:
    """Return the rows of an open proposal with checkboxes and editors; `opened` is the memory whose editor was opened
    last."""
    open_editors = editors(parts.texts, opened)
    compared = ((row.row.change, row.diff) for row in rows if row.row.change.memory not in open_editors)
    heads = ticks(proposal.number, compared, parts.left_out)
    return [
        replace(row, heads=heads.get(memory), editor=open_editors.get(memory) if row.may_edit else None)
        for row in rows
        for memory in (row.row.change.memory,)
    ]


def _gone(heading: Heading, plan: Plan) -> int:
    """Return how many proposed changes are not in the plan, because the memories already have them."""
    named = {change.memory for change in plan.changes}
    return sum(outline.name not in named for outline in heading.outlines)


def _entry(store: MemoryStore, proposal: Proposal) -> AuditEntry | None:
    """Return the audit entry that closed the proposal in this hub, or None if there is no such entry."""
    if proposal.seq is None:
        return None
    return AuditEntry.objects.of_chain(store.pk).filter(seq=proposal.seq).first()


def _with_gone(store: MemoryStore, rows: Sequence[Row]) -> list[Row]:
    there = set(Memory.objects.among(store.pk, [row.row.change.memory for row in rows]).values_list("pk", flat=True))
    return [replace(row, is_gone=row.row.change.memory not in there) for row in rows]


def _with_outcomes(rows: Sequence[Row], details: Mapping[str, Any], was: Proposed) -> list[Row]:
    """Return the rows of a decided proposal, with the outcome of each change if the entry's input `details` has the
    outcomes."""
    if not (isinstance(details.get("merged"), list) and isinstance(details.get("refused"), list)):
        return list(rows)
    outcome = dict.fromkeys(details["merged"], "merged") | dict.fromkeys(details["refused"], "left")
    outcome |= dict.fromkeys(_listed(details, "merged_in_part"), "part") | dict.fromkeys(
        _listed(details, "edited"), "edited"
    )
    return [
        replace(
            row,
            outcome=outcome.get(row.row.change.memory, "there"),
            heads=Outcomes(taken) if (taken := was.had.get(row.row.change.memory)) else None,
        )
        for row in rows
    ]


def _listed(details: Mapping[str, Any], name: str) -> list[str]:
    """Return the ids that the entry's input `details` lists under `name`."""
    listed = details.get(name)
    return listed if isinstance(listed, list) else []


def _input_of(entry: AuditEntry | None) -> Mapping[str, Any]:
    try:
        details = json.loads((entry and entry.input) or "{}")
    except ValueError:
        return {}
    return details if isinstance(details, dict) else {}
