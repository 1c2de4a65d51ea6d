"""The review inbox: versions by agents that no one has reviewed, and open proposals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from memoryhub.actions.review import assignments
from memoryhub.models import MemoryStore, User
from memoryhub.pure.text.filter_words import MINE, UNASSIGNED
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.filters.bar import bar_of
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.proposals.rows import Row as Heading
from memoryhub.web.review.filters import MEMORY, NEWEST, OLDEST, SESSION, WORST, Filter, named, resolved
from memoryhub.web.review.items import Item, in_diffs, items_of
from memoryhub.web.review.proposed import Place, Proposals, headings
from memoryhub.web.review.queries import CHUNK, PAGE, Page, Row, page
from memoryhub.web.review.worst import MOST as MOST_FIRST, worst

NOTHING = Page([], None, False)
MOST_NEW = 50
"""The most new versions that are counted."""


@dataclass(frozen=True, slots=True)
class Group:
    """The versions of one session or one memory on a page, or one proposal."""

    items: Sequence[Item] = ()
    proposal: Heading | None = None

    @property
    def first(self) -> Item | None:
        return self.items[0] if self.items else None


@require_safe
@signed_in
def review(request: Request) -> HttpResponse:
    """Show a page of the inbox. A malformed filter finds nothing and shows an error."""
    user, loaded_at = person(request), timezone.now()
    stores = visible_stores(user)
    parameters = request.GET.dict()
    wanted, found, first, problem = Filter.as_typed(parameters), NOTHING, "", ""
    try:
        wanted = Filter.of(parameters, user)
        found, first = _found(request, wanted, stores)
    except Malformed as malformed:
        problem = str(malformed)
    except BadPlace:
        problem = _("This link is out of date. Start again from the beginning.")
    proposals = headings(found.rows, user)
    items = items_of([row for row in found.rows if row.id not in proposals], user, timezone.now())
    further = bool(request.htmx and request.GET.get("at"))
    shows_of_stores(request, in_diffs(items))
    return render(
        request,
        "review/inbox/_versions.html" if further else "review/inbox/page.html",
        {
            **bar_of(wanted, parameters, named(wanted, stores), user=user, here=request.path),
            "groups": groups(found.rows, items, proposals, wanted.group),
            "items": items,
            "has_rows": bool(items or proposals),
            "whose_memories": _of_others(wanted, stores) if not (items or proposals) else None,
            "problem": problem,
            "page": found,
            "next": found.next and wanted.query(at=found.next, first=first),
            "news": wanted.query(since=str(int(loaded_at.timestamp() * 1000) + 1)),
            "is_first": not request.GET.get("at"),
            "may_decide": any(item.may_decide for item in items),
            "colleagues": sorted({one for item in items for one in item.reviewers}, key=str),
            "here": f"{request.path}?{wanted.query()}" if further else request.get_full_path(),
            **_switches(wanted),
        },
    )


@require_GET
@signed_in
def news(request: Request) -> HttpResponse:
    """Answer with a link that says how many matching versions are new; 204 if there are none.

    `since` in the URL is the time in milliseconds at which the page was loaded. At most MOST_NEW versions are counted.
    """
    user, now = person(request), timezone.now()
    stores = visible_stores(user)
    since = request.GET.get("since", "")
    try:
        wanted = replace(Filter.of(request.GET.dict(), user), order=NEWEST)
        target = resolved(wanted, stores, now=now, zone=timezone.get_current_timezone(), user=user.pk)
    except Malformed:
        return HttpResponse(status=204)
    if not since.isascii() or not since.isdigit() or len(since) > 15:
        return HttpResponse(status=204)
    waiting = Proposals(target, user, newest=True)
    rows = page(target, newest=True, size=MOST_NEW + 1, walk=CHUNK, beside=waiting).rows
    count = sum(row.at.timestamp() * 1000 > int(since) for row in rows)
    if not count:
        return HttpResponse(status=204)
    shown = {"count": min(count, MOST_NEW), "is_more": count > MOST_NEW, "query": wanted.query()}
    return render(request, "review/inbox/_news.html", shown)


def visible_stores(user: User) -> list[str]:
    """Return the ids of the stores in which a person may see the versions that await review."""
    return list(MemoryStore.objects.visible_to(user).order_by("pk").values_list("pk", flat=True))


def _found(request: Request, wanted: Filter, stores: Sequence[str]) -> tuple[Page, str]:
    """Return a page of rows, and the ids of the worst rows (see `worst`), separated by commas.

    If the order of the filter is WORST, the first page begins with the worst rows. Later pages leave these rows out:
    each page passes the ids on to the next page, in the parameter `first`.
    """
    now, zone = timezone.now(), timezone.get_current_timezone()
    target = resolved(wanted, stores, now=now, zone=zone, user=person(request).pk)
    place, first = Place.of(request.GET.get("at", "")), request.GET.get("first", "")
    rows: list[Row] = []
    if not request.GET.get("at"):
        rows = worst(target, Proposals(target, person(request))) if wanted.order == WORST else []
        first = ",".join(sorted(row.id for row in rows))
    target = replace(target, without=frozenset(first.split(",")[:MOST_FIRST]) if first else frozenset())
    waiting = Proposals(target, person(request), place.proposal, newest=wanted.is_newest)
    if not rows:
        return _with_place(page(target, place.versions, newest=wanted.is_newest, beside=waiting), waiting), first
    found = page(target, size=max(1, PAGE - len(rows)), beside=waiting)
    return _with_place(replace(found, rows=[*rows, *found.rows]), waiting), first


def _with_place(found: Page, waiting: Proposals) -> Page:
    return found if found.next is None else replace(found, next=str(Place(found.next, waiting.passed)))


def _of_others(wanted: Filter, stores: Sequence[str]) -> list[tuple[User, int]] | None:
    """Return (reviewer, number of reviews assigned to the reviewer), or None if the filter is not exactly `is:mine`.

    The page shows this list if no review is assigned to the person.
    """
    return assignments.of_each(stores) if wanted.values == {"is": MINE} else None


def _switches(wanted: Filter) -> dict[str, Any]:
    """Return the query strings of the same inbox in other layouts."""
    return {
        "by_session": replace(wanted, group=SESSION).query(),
        "by_memory": replace(wanted, group=MEMORY).query(),
        "worst": replace(wanted, order=WORST).query(),
        "oldest": replace(wanted, order=OLDEST).query(),
        "newest": replace(wanted, order=NEWEST).query(),
        "whose": _whose(wanted),
    }


def _whose(wanted: Filter) -> list[dict[str, Any]]:
    """Return the options that limit the inbox by reviewer: words, query strings, and which one is chosen."""
    values = set(wanted.values_of("is"))
    rest, on = sorted(values - {MINE, UNASSIGNED}), values & {MINE, UNASSIGNED}
    anyone = wanted.without("assigned")
    choices = ((set[str](), _("Everyone’s")), ({MINE}, _("Mine")), ({UNASSIGNED}, _("Unassigned")))
    return [
        {
            "words": words,
            "query": anyone.query(**{"is": ",".join([*rest, *value])}),
            "chosen": on == value and anyone == wanted,
        }
        for value, words in choices
    ]


def groups(rows: Iterable[Row], items: Iterable[Item], proposals: Mapping[str, Heading], by: str) -> list[Group]:
    """Return the groups of a page in order: each proposal alone, and the versions of each memory or session.

    Without a session, versions are grouped by author.
    """
    known = {item.version.pk: item for item in items}
    together: dict[tuple[str, str], list[Item]] = {}
    alone: dict[tuple[str, str], Heading] = {}
    order: dict[tuple[str, str], None] = {}
    for row in rows:
        if row.id in proposals:
            order[row.store, row.id] = None
            alone[row.store, row.id] = proposals[row.id]
        elif item := known.get(row.id):
            entry = item.entry
            run = (entry.session or entry.author_id or "") if entry else ""
            key = (item.store.pk, item.version.memory_id if by == MEMORY else run)
            order[key] = None
            together.setdefault(key, []).append(item)
    return [Group(proposal=alone[key]) if key in alone else Group(together[key]) for key in order]
