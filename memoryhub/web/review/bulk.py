"""Deciding about several versions at once: the selected ones, or all that match the filter of the inbox."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub import ids
from memoryhub.actions.review import decisions
from memoryhub.actions.review.decisions import MOST
from memoryhub.actions.review.verbs import OF_SEVERAL, VERBS, WHO, Verb
from memoryhub.models import Claim, Finding, MemoryStore, MemoryVersion, Role, User
from memoryhub.protocol.errors import ToolError
from memoryhub.web.common.access import act, person, signed_in
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.review import acts
from memoryhub.web.review.decide import with_links
from memoryhub.web.review.decided import written
from memoryhub.web.review.filters import Filter, resolved
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.items import roles_in
from memoryhub.web.review.queries import page

WALK_ALL = 50_000
"""The most versions scanned for a decision about all that match."""


@dataclass(frozen=True, slots=True)
class Part:
    """The versions of one store that a decision covers.

    `earlier` counts the older versions that the decision covers although they were not selected.
    """

    store: MemoryStore
    versions: Sequence[str]
    memories: Sequence[str]
    earlier: int = 0

    @property
    def count(self) -> int:
        return len(self.versions) + self.earlier


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of the selected versions; `remains` means that more match than one decision can cover."""

    ids: Sequence[str]
    remains: bool = False


@require_POST
@signed_in
def decide_many(request: Request) -> HttpResponse:
    """Decide about several versions, with one audit entry per store; ask for confirmation first if necessary."""
    verb = VERBS.get(request.POST.get("all") or request.POST.get("decision", ""))
    if verb is None or verb not in OF_SEVERAL:
        return HttpResponseBadRequest(_("This decision does not exist. Nothing was done."))
    try:
        chosen = _chosen(request)
    except Malformed as malformed:
        messages.error(request, str(malformed))
        return see_other(next_of(request, "review"))
    if not chosen.ids:
        messages.info(request, _("Nothing was done, because nothing was selected. Select something first."))
        return see_other(next_of(request, "review"))
    parts = _parts(chosen.ids, verb, person(request))
    if not parts:
        messages.warning(request, _("None of the versions that you chose still awaits a decision."))
        return see_other(next_of(request, "review"))
    note, problem = request.POST.get("note", "").strip(), ""
    if len(note) > LONGEST_NOTE:
        problem = _("The note is too long. Use at most 1,000 characters.")
    elif verb.needs_note and not note and request.POST.get("confirmed"):
        problem = _("Say in the note what is wrong.")
    if problem or _has_to_be_said(request, verb, chosen, parts):
        return _page(request, verb, chosen, parts, note, problem)
    return _done(request, verb, parts, note)


def _chosen(request: Request) -> Chosen:
    """Return the versions that the checkboxes, the confirmed page or the filter name; at most MOST."""
    if request.POST.get("all"):
        user = person(request)
        stores = visible_stores(user)
        wanted = Filter.of({"q": request.POST.get("q", "")})
        target = resolved(wanted, stores, now=timezone.now(), zone=timezone.get_current_timezone())
        found = page(target, size=MOST, walk=WALK_ALL)
        return Chosen([row.id for row in found.rows], found.next is not None)
    named = request.POST.get("these", "").split(",") if request.POST.get("these") else request.POST.getlist("version")
    clean = list(dict.fromkeys(id for id in named if id.startswith(ids.MEMORY_VERSION) and "\0" not in id))
    return Chosen(clean[:MOST], len(clean) > MOST)


def _parts(chosen: Sequence[str], verb: Verb, user: User) -> list[Part]:
    """Return the versions that the person may decide about, by store.

    For a flag, these are versions in any state; for another decision, only versions that still await review. Raise
    PermissionDenied if the person may decide in none of the stores.
    """
    found = MemoryVersion.objects.filter(pk__in=chosen)
    if not user.is_superuser:
        found = found.filter(store_id__in=visible_stores(user))
    if verb.state:
        found = found.unreviewed()
    by_store: dict[str, dict[str, str]] = defaultdict(dict)
    for store, version, memory in found.values_list("store_id", "pk", "memory_id"):
        by_store[store][version] = memory
    roles = roles_in(user, by_store)
    mine = [s for s in by_store if user.is_superuser or roles.get(s, Role.VIEWER).includes(WHO)]
    if by_store and not mine:
        raise PermissionDenied
    stores = MemoryStore.objects.in_bulk(mine)
    return [_part(stores[store], by_store[store], verb) for store in sorted(mine)]


def _part(store: MemoryStore, versions: Mapping[str, str], verb: Verb) -> Part:
    """Return the selected versions of one store; for an approval, also the number of earlier ones that it includes."""
    earlier = 0
    if verb.takes_earlier:
        earlier = len(decisions.with_earlier(store.pk, list(versions))) - len(versions)
    return Part(store, sorted(versions), sorted(set(versions.values())), earlier)


def _has_to_be_said(request: Request, verb: Verb, chosen: Chosen, parts: Sequence[Part]) -> bool:
    if request.POST.get("confirmed"):
        return False
    more = any(part.earlier for part in parts) or sum(len(part.versions) for part in parts) < len(chosen.ids)
    is_doubtful = bool(_claims(parts, person(request))) or _found(verb, parts) > 0
    return bool(request.POST.get("all")) or verb.needs_note or more or is_doubtful


def _found(verb: Verb, parts: Iterable[Part]) -> int:
    """Return the number of open findings in the memories whose text the decision approves; 0 if it approves none."""
    if not verb.state or verb.changes_text:
        return 0
    findings = Finding.objects.open()
    return sum(findings.filter(store=part.store, memory_id__in=part.memories).count() for part in parts)


def _claims(parts: Iterable[Part], user: User) -> list[dict[str, Any]]:
    """Return the other people who are looking at the memories (`by`) and at how many of them (`count`)."""
    people: Counter[User] = Counter()
    for part in parts:
        claims = Claim.objects.open(timezone.now()).filter(store=part.store, memory_id__in=part.memories)
        people.update(claim.by for claim in claims.exclude(by=user).select_related("by"))
    return [{"by": by, "count": count} for by, count in people.items()]


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
            "these": ",".join(id for part in parts for id in part.versions),
            "next": next_of(request, "review"),
            "left_out": len(chosen.ids) - sum(len(part.versions) for part in parts),
            "remains": chosen.remains,
            "claimed": _claims(parts, person(request)),
            "found": _found(verb, parts),
        },
    )


def _done(request: Request, verb: Verb, parts: Sequence[Part], note: str) -> HttpResponse:
    """Carry out the decision with one entry per store; several entries share a group id."""
    now = timezone.now()
    doing = act(request, note, group=ids.new_id(ids.GROUP, now) if len(parts) > 1 else None)
    entries = []
    for part in parts:
        try:
            done, left = acts.MANY[verb.name](part.store.pk, part.versions, doing)
        except ToolError as error:
            messages.error(request, f"{part.store.name}: {for_people(error)}")
            continue
        decisions.release(part.store.pk, part.memories, person(request))
        _tell(request, part, verb, done, left)
        entries += [(part.store.pk, done.seq)] if done else []
    if verb.is_answer and len(entries) > 1:
        _offer_undo(request, entries)
    return see_other(next_of(request, "review"))


def _offer_undo(request: Request, entries: Sequence[tuple[str, int]]) -> None:
    """Offer to undo together what was decided in several stores."""
    undo = reverse("undo_decisions", query={"entries": written(entries), "next": next_of(request, "review")})
    link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
    said = _("What was decided in these stores can be undone together.")
    messages.success(request, format_html(link, said, undo, _("Undo all")))


def _tell(request: Request, part: Part, verb: Verb, done: decisions.Done | None, left: int) -> None:
    if done is not None and verb.did:
        count = len(done.versions)
        said = f"{part.store.name}: {verb.did(count) % {'count': count}}"
        messages.success(request, with_links(part.store.pk, said, done.seq, verb, next_of(request, "review")))
    decided = len(part.versions) - left - (len(done.versions) if done else 0)
    if verb.state and decided > 0:
        said = ngettext(
            "%(count)s of them had already been decided about.",
            "%(count)s of them had already been decided about.",
            decided,
        )
        messages.warning(request, said % {"count": decided})
    if left:
        said = ngettext(
            "%(count)s version was skipped, because later edits overlap it. Revert it from the "
            "inbox, where you can choose what to keep.",
            "%(count)s versions were skipped, because later edits overlap them. Revert them one by one "
            "from the inbox, where you can choose what to keep.",
            left,
        )
        messages.warning(request, said % {"count": left})
