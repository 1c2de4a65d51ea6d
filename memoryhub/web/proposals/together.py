"""Deciding about several proposals of a memory store at once.

Each proposal is decided in its own transaction with its own entry. The entries have a common group and are undone
together.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.plans import PlanChanged
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.decide import AlreadyDecided
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import MemoryStore, Proposal, ProposalState, Role
from memoryhub.pure import ids
from memoryhub.pure.path_rules import of_json
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import May, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.proposals.alike import NUMBER
from memoryhub.web.proposals.outlook import MOST, Outlook, outlook
from memoryhub.web.proposals.rows import Row, rows_of
from memoryhub.web.proposals.trust import query_of, rules_of
from memoryhub.web.undo.form import MOST_NOTE
from memoryhub.web.undo.rows import in_diffs

MERGE, REFUSE = "merge", "refuse"
SECONDS = 4.0
"""The seconds for which one request decides. Proposals that it does not reach stay open."""


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a form: {number of a proposal: its entry's seq} and, for the other proposals, {number: why nothing
    was done}."""

    entries: Mapping[int, int]
    left: Mapping[int, str]


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the preview of merging the proposals with the numbers `n` in the URL. On POST, merge or refuse the named
    proposals."""
    if request.method != "POST":
        return _page(request, store, _numbers(request.GET.getlist(NUMBER)))
    role: Role = request.role
    if not role.includes(WHO):
        raise PermissionDenied
    decision = request.POST.get("decision", "")
    seen = _seen(request.POST.getlist(decision))
    note = request.POST.get("note", "").strip() if decision == REFUSE else ""
    problem = ""
    if len(note) > MOST_NOTE:
        problem = _("The reason is too long. Use at most 1,000 characters.")
    elif decision not in (MERGE, REFUSE) or not seen:
        problem = _("Nothing was done: the form does not say whether to merge or to refuse the proposals.")
    if problem:
        return _page(request, store, _numbers(request.GET.getlist(NUMBER)), problem, note)
    done = _decided(store, seen, decision, act(request, note, group=ids.new_id(ids.GROUP, timezone.now())))
    _add_message(request, store, decision, done)
    return see_other("proposals", store.pk)


def _page(
    request: Request, store: MemoryStore, numbers: Sequence[int], problem: str = "", note: str = ""
) -> HttpResponse:
    found = Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN).filter(number__in=numbers)
    rows = rows_of(list(found.order_by("number")), person(request))
    shown: Outlook = outlook(store, rows)
    shows(request, store, in_diffs(store.pk, (change.row for one in shown.merged for change in one.changes)))
    return render(
        request,
        "proposals/together.html",
        pages.context(
            request,
            store,
            outlook=shown,
            closed=len(numbers) - len(rows),
            looking=sorted({str(row.looking) for row in rows if row.looking}),
            merge=[(one.number, one.seen) for one in shown.merged],
            refuse=[(row.proposal.number, decide.seen_of(row.proposal)) for row in rows],
            may_decide=May.of(request.role, store).write,
            merge_words=_merge_words(len(shown.merged)),
            refuse_words=_refuse_words(len(rows)),
            most_note=MOST_NOTE,
            problem=problem,
            note=note,
        ),
    )


def _merge_words(count: int) -> str:
    return ngettext("Merge %(count)s proposal", "Merge %(count)s proposals", count) % {"count": count}


def _refuse_words(count: int) -> str:
    return ngettext("Refuse %(count)s proposal", "Refuse %(count)s proposals", count) % {"count": count}


def _numbers(values: Sequence[str]) -> list[int]:
    """Return the numbers among the values, each once and in ascending order, at most MOST."""
    clean = {int(value) for value in values if value.isascii() and value.isdigit() and len(value) < 19}
    return sorted(clean)[:MOST]


def _seen(values: Sequence[str]) -> dict[int, str]:
    """Return {number: digest of the plan that the person saw} from values `number:seen`."""
    pairs = [value.partition(":") for value in values]
    known = {number: seen for number, _colon, seen in pairs}
    return {number: known[str(number)] for number in _numbers([*known]) if str(number) in known}


def _decided(store: MemoryStore, seen: Mapping[int, str], decision: str, doing: Act) -> Done:
    entries, left, until = dict[int, int](), dict[int, str](), time.monotonic() + SECONDS
    for number, saw in seen.items():
        if time.monotonic() > until:
            left[number] = _("there was no time left for it")
            continue
        try:
            if decision == MERGE:
                entries[number] = decide.merge(store.pk, number, {}, saw, doing).seq
            else:
                entries[number] = decide.refuse(store.pk, number, doing, seen=saw).seq
        except AlreadyDecided as error:
            withdrawn = error.proposal.state == ProposalState.WITHDRAWN
            left[number] = _("its agent withdrew it") if withdrawn else _("someone has already decided about it")
        except Proposal.DoesNotExist:
            left[number] = _("it has been removed")
        except PlanChanged:
            left[number] = _("it, or one of its memories, has changed since you opened the page")
        except ToolError as error:
            left[number] = for_people(error)
    return Done(entries, left)


# ------------------------------------------------------------------------------------------------ afterwards


def _add_message(request: Request, store: MemoryStore, decision: str, done: Done) -> None:
    """Add a message on what was done, with links that undo it, and a link to path rules that would have allowed the
    changes."""
    count = {"count": len(done.entries)}
    if done.entries:
        merged = ngettext("Merged %(count)s proposal.", "Merged %(count)s proposals.", len(done.entries))
        refused = ngettext("Refused %(count)s proposal.", "Refused %(count)s proposals.", len(done.entries))
        said = (merged if decision == MERGE else refused) % count
        entries = ",".join(f"{store.pk}:{seq}" for seq in done.entries.values())
        undo = reverse("undo_decisions", query={"entries": entries, "next": reverse("proposals", args=[store.pk])})
        may_trust = decision == MERGE and May.of(request.role, store).administer
        messages.success(
            request,
            format_html(
                '{} {} <a class="button button-small banner-undo" href="{}">{}</a>',
                said, _trust(store, done.entries) if may_trust else "", undo, _("Undo all"),
            ),
        )  # fmt: skip
    if done.left:
        words = " ".join(f"#{number}: {why.rstrip('.')}." for number, why in done.left.items())
        messages.warning(request, f"{_('Nothing was done about these proposals:')} {words}")


def _trust(store: MemoryStore, numbers: Collection[int]) -> SafeString:
    """Return for each agent of these proposals a link to path rules that would allow the same changes."""
    by_agent: dict[str, list[Row]] = {}
    for row in rows_of(list(Proposal.objects.of_store(store.pk).filter(number__in=numbers))):
        by_agent.setdefault(row.proposal.agent, []).append(row)
    saved = {*of_json(store.path_rules).rules}
    wanted = [(some[0].agent, rules_of(*some)) for some in by_agent.values()]
    form, words = reverse("edit_path_rules", args=[store.pk]), _("Let %(agent)s do this without asking…")
    links = [
        (f"{form}?{query_of(rules)}#outcome", words % {"agent": agent})
        for agent, rules in wanted
        if rules and not {*rules} <= saved
    ]
    return format_html_join(" ", '<a href="{}">{}</a>', links)
