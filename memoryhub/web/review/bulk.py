"""Deciding about several versions at once: those that are selected, or all that match the inbox's filter."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub import ids
from memoryhub.actions.history import revert
from memoryhub.actions.review import decisions
from memoryhub.actions.review.decisions import MOST
from memoryhub.models import Claim, MemoryStore, MemoryVersion, Role, User
from memoryhub.protocol.errors import ToolError
from memoryhub.web.audit.filters import Malformed
from memoryhub.web.common.access import act, person, signed_in
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.review.decide import next_of, with_links
from memoryhub.web.review.filters import Filter, resolved
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.items import roles_in
from memoryhub.web.review.queries import page

DECISIONS = ("approve", "revert", "flag")
WALK_ALL = 50_000
"""So many versions are looked at for an act on all that match."""


@dataclass(frozen=True, slots=True)
class Part:
    """What an act does in one store: to versions (their ids), `earlier` of which nobody chose."""

    store: MemoryStore
    versions: Sequence[str]
    memories: Sequence[str]
    earlier: int = 0

    @property
    def count(self) -> int:
        return len(self.versions) + self.earlier


@dataclass(frozen=True, slots=True)
class Chosen:
    """The versions that a person chose; `remains`: there are more that match than one act takes."""

    ids: Sequence[str]
    remains: bool = False


@require_POST
@signed_in
def decide_many(request: Request) -> HttpResponse:
    """Says first what will be done, where that is more than was chosen; then does it, with one entry a store."""
    decision = request.POST.get("all") or request.POST.get("decision", "")
    if decision not in DECISIONS:
        return HttpResponseBadRequest(_("There is no such decision."))
    try:
        chosen = _chosen(request)
    except Malformed as malformed:
        messages.error(request, str(malformed))
        return see_other(next_of(request))
    if not chosen.ids:
        messages.info(request, _("Nothing was chosen, so nothing was done."))
        return see_other(next_of(request))
    parts = _parts(chosen.ids, decision, person(request))
    if not parts:
        messages.warning(request, _("No version that you chose awaits your decision any more."))
        return see_other(next_of(request))
    note, problem = request.POST.get("note", "").strip(), ""
    if len(note) > LONGEST_NOTE:
        problem = _("The note is too long: 1,000 characters are possible.")
    elif decision == "flag" and not note and request.POST.get("confirmed"):
        problem = _("Say in the note what is wrong.")
    if problem or _has_to_be_said(request, decision, chosen, parts):
        return _page(request, decision, chosen, parts, note, problem)
    return _done(request, decision, parts, note)


def _chosen(request: Request) -> Chosen:
    """What the checkboxes, the list of a page that was confirmed, or the filter name; at most MOST."""
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


def _parts(chosen: Sequence[str], decision: str, user: User) -> list[Part]:
    """What is left of it by store: versions that await review (of a flag: any) where the person may decide."""
    found = MemoryVersion.objects.filter(pk__in=chosen)
    if not user.is_superuser:
        found = found.filter(store_id__in=visible_stores(user))
    if decision != "flag":
        found = found.unreviewed()
    by_store: dict[str, dict[str, str]] = defaultdict(dict)
    for store, version, memory in found.values_list("store_id", "pk", "memory_id"):
        by_store[store][version] = memory
    roles = roles_in(user, by_store)
    mine = [s for s in by_store if user.is_superuser or roles.get(s, Role.VIEWER).includes(Role.CURATOR)]
    if by_store and not mine:
        raise PermissionDenied
    stores = MemoryStore.objects.in_bulk(mine)
    return [_part(stores[store], by_store[store], decision) for store in sorted(mine)]


def _part(store: MemoryStore, versions: Mapping[str, str], decision: str) -> Part:
    """What is chosen may be one page of a memory's versions: approving them approves the earlier ones too."""
    earlier = 0
    if decision == "approve":
        earlier = len(decisions.with_earlier(store.pk, list(versions))) - len(versions)
    return Part(store, sorted(versions), sorted(set(versions.values())), earlier)


def _has_to_be_said(request: Request, decision: str, chosen: Chosen, parts: Sequence[Part]) -> bool:
    if request.POST.get("confirmed"):
        return False
    more = any(part.earlier for part in parts) or sum(len(part.versions) for part in parts) < len(chosen.ids)
    return bool(request.POST.get("all")) or decision == "flag" or more or bool(_claims(parts, person(request)))


def _claims(parts: Iterable[Part], user: User) -> list[dict[str, Any]]:
    """Who else is looking at how many of the memories."""
    people: Counter[User] = Counter()
    for part in parts:
        claims = Claim.objects.open(timezone.now()).filter(store=part.store, memory_id__in=part.memories)
        people.update(claim.by for claim in claims.exclude(by=user).select_related("by"))
    return [{"by": by, "count": count} for by, count in people.items()]


def _page(
    request: Request, decision: str, chosen: Chosen, parts: Sequence[Part], note: str, problem: str
) -> HttpResponse:
    total = sum(len(part.memories) if decision == "flag" else part.count for part in parts)
    question, button = _question(decision, total)
    return render(
        request,
        "review/many.html",
        {
            "decision": decision,
            "parts": parts,
            "total": total,
            "question": question,
            "button": button,
            "note": note,
            "problem": problem,
            "these": ",".join(id for part in parts for id in part.versions),
            "next": next_of(request),
            "left_out": len(chosen.ids) - sum(len(part.versions) for part in parts),
            "remains": chosen.remains,
            "claimed": _claims(parts, person(request)),
        },
    )


def _question(decision: str, total: int) -> tuple[str, str]:
    number = {"count": total}
    if decision == "approve":
        button = ngettext("Approve %(count)s version", "Approve %(count)s versions", total) % number
    elif decision == "revert":
        button = ngettext("Revert %(count)s version", "Revert %(count)s versions", total) % number
    else:
        button = ngettext("Flag %(count)s memory", "Flag %(count)s memories", total) % number
    return _("%(act)s?") % {"act": button}, button


def _done(request: Request, decision: str, parts: Sequence[Part], note: str) -> HttpResponse:
    """One entry a store, all of one group."""
    now = timezone.now()
    doing = act(request, note, group=ids.new_id(ids.GROUP, now) if len(parts) > 1 else None)
    for part in parts:
        try:
            done, left = _do(part, decision, doing)
        except ToolError as error:
            messages.error(request, f"{part.store.name}: {for_people(error)}")
            continue
        decisions.release(part.store.pk, part.memories, person(request))
        _tell(request, part, decision, done, left)
    return see_other(next_of(request))


def _do(part: Part, decision: str, doing: Any) -> tuple[decisions.Done | None, int]:
    if decision == "approve":
        return decisions.approve_many(part.store.pk, part.versions, doing), 0
    if decision == "revert":
        return revert.revert_many(part.store.pk, part.versions, doing)
    return decisions.flag(part.store.pk, part.versions, doing), 0


def _tell(request: Request, part: Part, decision: str, done: decisions.Done | None, left: int) -> None:
    if done is not None:
        count = len(done.versions)
        told = {
            "approve": ngettext("Approved %(count)s version.", "Approved %(count)s versions.", count),
            "revert": ngettext("Reverted %(count)s version.", "Reverted %(count)s versions.", count),
            "flag": ngettext("Flagged %(count)s memory.", "Flagged %(count)s memories.", count),
        }[decision] % {"count": count}
        said = f"{part.store.name}: {told}"
        messages.success(request, with_links(part.store.pk, said, done.seq, decision, next_of(request)))
    decided = len(part.versions) - left - (len(done.versions) if done else 0)
    if decision != "flag" and decided > 0:
        said = ngettext(
            "Somebody else had decided about %(count)s of them meanwhile.",
            "Somebody else had decided about %(count)s of them meanwhile.",
            decided,
        )
        messages.warning(request, said % {"count": decided})
    if left:
        said = ngettext(
            "%(count)s version was skipped: later edits overlap. Revert it from the inbox, where you can choose.",
            "%(count)s versions were skipped: later edits overlap. Revert them one by one, where you can choose.",
            left,
        )
        messages.warning(request, said % {"count": left})
