"""Deciding about several versions at once: the selected ones, or all that match the filter of the inbox."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.history.revert import Skipped
from memoryhub.actions.review import decisions
from memoryhub.actions.review.decisions import MOST
from memoryhub.actions.review.verbs import OF_SEVERAL, VERBS, Verb
from memoryhub.pure import ids
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import why_not
from memoryhub.web.review import acts, pieces
from memoryhub.web.review.assign import assign_several
from memoryhub.web.review.decide import with_links
from memoryhub.web.review.decided import written
from memoryhub.web.review.filters import Filter, resolved
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.parts import Part, claims_on, found_in, parts_of
from memoryhub.web.review.queries import page

WALK_ALL = 50_000
"""The most versions that are scanned for a decision about all versions that match."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of the selected versions. `remains` means that more versions match than one decision can cover."""

    ids: Sequence[str]
    remains: bool = False


@require_POST
@signed_in
def decide_many(request: Request) -> HttpResponse:
    """Decide about several versions, with one audit entry for each store, and ask for confirmation if necessary. If the
    form names a person who is to review, nothing is decided: the reviews are assigned to this person."""
    if "who" in request.POST or "to" in request.POST:
        return assign_several(request, parts_of(_named(request).ids, VERBS["approve"], person(request)))
    verb = VERBS.get(request.POST.get("all") or request.POST.get("decision", ""))
    if verb is None or verb not in OF_SEVERAL:
        return HttpResponseBadRequest(_("This decision does not exist. Nothing was done."))
    try:
        return _decide(request, verb)
    except Malformed as malformed:
        messages.error(request, str(malformed))
    except BadPlace:
        messages.error(request, _("This link is out of date. Start again from the beginning."))
    return see_other(next_of(request, "review"))


def _decide(request: Request, verb: Verb) -> HttpResponse:
    in_pieces = verb.state is not None and not verb.changes_text
    note, problem = request.POST.get("note", "").strip(), ""
    if len(note) > LONGEST_NOTE:
        problem = _("The note is too long. Use at most 1,000 characters.")
    elif verb.needs_note and not note and request.POST.get("confirmed"):
        problem = _("Say in the note what is wrong.")
    if in_pieces and request.POST.get("all") and request.POST.get("confirmed"):
        return pieces.ask(request, verb, problem) if problem else pieces.go_on(request, verb)
    chosen = _chosen(request)
    if chosen.remains and in_pieces and request.POST.get("all"):
        return pieces.ask(request, verb, problem)
    if not chosen.ids:
        messages.info(request, _("Nothing was done, because nothing was selected. Select something first."))
        return see_other(next_of(request, "review"))
    parts = parts_of(chosen.ids, verb, person(request))
    if not parts:
        messages.warning(request, _("None of the versions that you chose still awaits a decision."))
        return see_other(next_of(request, "review"))
    if problem or _has_to_be_said(request, verb, chosen, parts):
        return _page(request, verb, chosen, parts, note, problem)
    return _done(request, verb, parts, note)


def _chosen(request: Request) -> Chosen:
    """Return the versions that are ticked, or were listed on the confirmed page, or match the filter; at most MOST."""
    if request.POST.get("all"):
        user = person(request)
        stores = visible_stores(user)
        wanted = Filter.of({"q": request.POST.get("q", "")}, user)
        now, zone = timezone.now(), timezone.get_current_timezone()
        target = resolved(wanted, stores, now=now, zone=zone, user=user.pk)
        found = page(target, size=MOST, walk=WALK_ALL)
        return Chosen([row.id for row in found.rows], found.next is not None)
    return _named(request)


def _named(request: Request) -> Chosen:
    named = request.POST.get("these", "").split(",") if request.POST.get("these") else request.POST.getlist("version")
    clean = list(dict.fromkeys(id for id in named if id.startswith(ids.MEMORY_VERSION) and "\0" not in id))
    return Chosen(clean[:MOST], len(clean) > MOST)


def _has_to_be_said(request: Request, verb: Verb, chosen: Chosen, parts: Sequence[Part]) -> bool:
    if request.POST.get("confirmed"):
        return False
    more = any(part.earlier for part in parts) or sum(len(part.versions) for part in parts) < len(chosen.ids)
    is_doubtful = bool(claims_on(parts, person(request))) or found_in(verb, parts) > 0
    return bool(request.POST.get("all")) or verb.needs_note or more or is_doubtful


def _page(request: Request, verb: Verb, chosen: Chosen, parts: Sequence[Part], note: str, problem: str) -> HttpResponse:
    total = sum(part.count if verb.state else len(part.memories) for part in parts)
    button = verb.ask(total) % {"count": total} if verb.ask else ""
    return render(
        request,
        "review/many.html",
        {
            "verb": verb,
            "parts": parts,
            "total": total,
            "question": _("%(act)s?") % {"act": button},
            "button": button,
            "note": note,
            "problem": problem,
            "fields": {
                "decision": verb.name,
                "these": ",".join(id for part in parts for id in part.versions),
                "confirmed": "1",
            },
            "next": next_of(request, "review"),
            "left_out": len(chosen.ids) - sum(len(part.versions) for part in parts),
            "remains": chosen.remains,
            "claimed": claims_on(parts, person(request)),
            "found": found_in(verb, parts),
        },
    )


def _done(request: Request, verb: Verb, parts: Sequence[Part], note: str) -> HttpResponse:
    """Do the decision, with one entry for each store and a common group id."""
    now = timezone.now()
    doing = act(request, note, group=ids.new_id(ids.GROUP, now) if len(parts) > 1 else None)
    entries = []
    for part in parts:
        try:
            done, skipped = acts.MANY[verb.name](part.store.pk, part.versions, doing)
        except (ToolError, NoSuchStore) as error:
            messages.error(request, f"{part.store.name}: {why_not(error)}")
            continue
        decisions.release(part.store.pk, part.memories, person(request))
        _add_message(request, part, verb, done, skipped)
        entries += [(part.store.pk, done.seq)] if done else []
    if verb.is_answer and len(entries) > 1:
        _offer_undo(request, entries)
    return see_other(next_of(request, "review"))


def _offer_undo(request: Request, entries: Sequence[tuple[str, int]]) -> None:
    """Add a message with a button that undoes the decisions in several stores together."""
    undo = reverse("undo_decisions", query={"entries": written(entries), "next": next_of(request, "review")})
    link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
    said = _("What was decided in these stores can be undone together.")
    messages.success(request, format_html(link, said, undo, _("Undo all")))


def _add_message(request: Request, part: Part, verb: Verb, done: decisions.Done | None, skipped: Skipped) -> None:
    if done is not None and verb.did:
        count = len(done.versions)
        said = f"{part.store.name}: {verb.did(count) % {'count': count}}"
        messages.success(request, with_links(part.store.pk, said, done.seq, verb, next_of(request, "review")))
    decided = len(part.versions) - skipped.count - (len(done.versions) if done else 0)
    if verb.state and decided > 0:
        said = ngettext(
            "%(count)s of them had already been decided about.",
            "%(count)s of them had already been decided about.",
            decided,
        )
        messages.warning(request, said % {"count": decided})
    if left := skipped.forbidden:
        said = ngettext(
            "%(count)s version was skipped, because a legal hold or the rules for sensitive text forbid the change. "
            "Revert it from the inbox to see why.",
            "%(count)s versions were skipped, because a legal hold or the rules for sensitive text forbid the change. "
            "Revert them one by one from the inbox to see why.",
            left,
        )
        messages.warning(request, said % {"count": left})
    if left := skipped.overlapping:
        said = ngettext(
            "%(count)s version was skipped, because later edits overlap it. Revert it from the "
            "inbox, where you can choose what to keep.",
            "%(count)s versions were skipped, because later edits overlap them. Revert them one by one "
            "from the inbox, where you can choose what to keep.",
            left,
        )
        messages.warning(request, said % {"count": left})
