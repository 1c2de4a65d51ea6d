"""The search page: the first matches immediately, and the place at which the search continues."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import Directory, MemoryStore, User
from memoryhub.pure.text.spellings import is_long_enough
from memoryhub.pure.text.word_endings import texts_of
from memoryhub.web.audit.filters import Filter, named, resolved
from memoryhub.web.audit.masking import not_curated
from memoryhub.web.audit.unknown_authors import Unknown, unknown_author
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.filters.bar import bar_of
from memoryhub.web.common.filters.keys import base
from memoryhub.web.common.filters.marks import mark_filter
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.guards.erasers import who_erases
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows, shows_of_stores
from memoryhub.web.search import not_found
from memoryhub.web.search.filters import CONTENTS, NOTES, PATHS, Query
from memoryhub.web.search.results import in_excerpts, results
from memoryhub.web.search.scan import MOST_VERSIONS, Part, Place, Wanted, scan

FIRST_SECONDS, FIRST_HITS = 0.0015, 3
"""The time limit in seconds and the number of matches of the first answer, which must be immediate."""

SECONDS, SECONDS_OF_A_PRESS = 0.1, 1.5
"""The time limits in seconds of each later answer: one that htmx requests, and one that a button without script
requests."""

MOST_NEAR = 5
"""The most memory stores that are offered for a legal hold on the results."""

AUDITED = frozenset(("agent", "person", "session", "path", "when", "from", "to"))
"""The filters that have the same meaning on the pages of the audit."""


@require_safe
@signed_in
def search(request: Request) -> HttpResponse:
    """Show the search page with its first matches. htmx gets only further matches."""
    user, parameters = person(request), request.GET.dict()
    context: dict[str, Any] = {"query": Query.as_typed(parameters), "problem": ""}
    try:
        query = context["query"] = Query.of(parameters, user)
        if not query.finds_everything:
            context |= _found(user, query, parameters, goes_on_by_itself=bool(request.htmx))
    except Malformed as malformed:
        context["problem"] = str(malformed)
    except BadPlace:
        context["problem"] = _("This link is out of date. Search again.")
    shows_of_stores(request, in_excerpts(context.get("results", ())))
    for store in context.get("searched", ()):
        shows(request, store, ())  # the page says that the store records views, even without results
    if request.htmx and not request.htmx.history_restore_request and parameters.get("at"):
        return render(request, "search/_part.html", context)
    query = context["query"]
    stores = list(MemoryStore.objects.visible_to(user).values_list("pk", flat=True)) if query.values else []
    words = named(Filter(query.values), stores)
    bar = bar_of(query, parameters, words, user=user, here=request.path, extra=("in", "versions", "trash"))
    return render(request, "search/search.html", context | bar | {"parameters": parameters, "is_new": not parameters})


def _found(user: User, query: Query, parameters: Mapping[str, str], *, goes_on_by_itself: bool) -> dict[str, Any]:
    """Do a step of the search and return its template context. With the parameter `stop`, return only the progress so
    far."""
    stores = stores_of(user, query)
    wanted = replace(wanted_of(query, list(stores), user.pk), masked=not_curated(user, stores))
    written = parameters.get("at")
    place = Place.of(written) if written else Place(total=_total(stores, wanted.path))
    part = Part(place)
    if "stop" not in parameters:
        began = place.on_a_new_page() if place.is_full else place
        bounds = (SECONDS, MOST_VERSIONS) if written else (FIRST_SECONDS, FIRST_HITS)
        if written and not goes_on_by_itself:
            bounds = (SECONDS_OF_A_PRESS, MOST_VERSIONS)
        part = scan(wanted, list(stores), began, *bounds)
    unknown = _unknown(query, list(stores))
    going = "" if part.ended or unknown else "?" + query.query(at=str(part.place))
    return {
        "results": results(part.hits, stores, (*texts_of(wanted.words), *query.folded)),
        "part": part,
        "place": part.place,
        "share": min(part.place.looked, part.place.total),
        "looked": intcomma(part.place.looked),
        "total": intcomma(max(part.place.total, part.place.looked)),
        "old": intcomma(part.place.old),
        "spent": _("%(seconds)s s") % {"seconds": f"{part.place.spent:.1f}"},
        "not_found": not_found.of(query, wanted, list(stores), part.place) if _is_empty(query, part) else None,
        "unknown": unknown,
        "without_filters": urlencode({"q": " ".join(query.text)}),
        "with_everything": query.query(versions="all", trash="yes"),
        "with_earlier_changes": query.query(versions="all") if _is_by_last_author(query) else "",
        "goes_on": going,
        "by_itself": bool(going) and not part.place.is_full and "stop" not in parameters,
        "several": len(stores) > 1,
        "searched": stores.values(),
        **_holdable(stores, wanted.masked, query),
        **_erasable(user, query, list(stores)),
    }


def _unknown(query: Query, stores: Sequence[str]) -> Unknown | None:
    """If a filter names an unknown author, return the author, with a query that names a similar known author instead
    (if there is none, the query has no such filter). If all authors are known, return None."""
    found = unknown_author(query.values, stores)
    return found and replace(found, query=query.query(**{found.key: found.near}))


def _is_empty(query: Query, part: Part) -> bool:
    """Return whether a search with words has ended without a result."""
    return part.ended and not part.place.found and bool(query.text)


def _holdable(stores: Mapping[str, MemoryStore], not_mine: Collection[str], query: Query) -> dict[str, Any]:
    """Return the template context for placing a legal hold on the results. In the stores `not_mine`, the person may not
    place holds."""
    mine = [store for id, store in stores.items() if id not in not_mine]
    if len(stores) == len(mine) == 1:
        return {"held_in": mine[0].id}
    near = sorted(mine, key=attrgetter("name"))[:MOST_NEAR]
    return {"may_hold": bool(mine), "hold_in": [(store.name, query.query(store=store.id)) for store in near]}


def _is_by_last_author(query: Query) -> bool:
    """Return whether a query names an author but does not search old versions."""
    return bool(query.values.keys() & {"agent", "person", "session"}) and "versions" not in query.values


def _erasable(user: User, query: Query, stores: Sequence[str]) -> dict[str, str]:
    """Return the template context for erasing the words of a query, or the names of people who may erase."""
    text = " ".join(query.plain_words)
    if MemoryStore.objects.administered_by(user).exists():
        return {"erasable": text} if is_long_enough(text) else {}
    return {"ask_to_erase": who_erases(stores)} if text else {}


def wanted_of(query: Query, stores: Sequence[str], user: str) -> Wanted:
    """Return the criteria of a person's query. Raise Malformed if a filter is invalid."""
    values = {key: _rooted(value) if base(key) == "path" else value for key, value in query.values.items()}
    known = {key: value for key, value in values.items() if base(key) in AUDITED}
    target = resolved(Filter(known), stores, now=timezone.now(), zone=timezone.get_current_timezone()).search
    return Wanted(
        words=query.forms,
        contents=query.looks_in(CONTENTS),
        paths=query.looks_in(PATHS),
        notes=query.looks_in(NOTES),
        path=(target.path or "").rstrip("/") or None,
        author=target.author,
        session=target.session,
        start=target.start,
        end=target.end,
        old="versions" in values,
        trash="trash" in values,
        excluded=target.excluded,
        marks=mark_filter(values, user),
    )


def _rooted(path: str) -> str:
    """Return a typed path with one slash at its beginning and none at its end."""
    return "/" + path.strip("/")


def stores_of(user: User, query: Query) -> dict[str, MemoryStore]:
    """Return {id: store} of the stores to search.

    Raise Malformed if the store in the filter is not visible to the person, or if several stores have its name.
    """
    visible = {store.id: store for store in MemoryStore.objects.visible_to(user)}
    known = {key: value for key, value in query.values.items() if base(key) == "store"}
    target = resolved(Filter(known), list(visible), now=timezone.now(), zone=timezone.get_current_timezone())
    return {id: visible[id] for id in target.chains}


def _total(stores: Mapping[str, MemoryStore], path: str | None) -> int:
    """Return the number of live memories to scan: all memories of the stores or, with a `path`, only the memories under
    it."""
    if path is None:
        return sum(store.memory_count for store in stores.values())
    found = Directory.objects.at(path).filter(store_id__in=stores).aggregate(count=Sum("memory_count"))
    return int(found["count"] or 0)


def intcomma(number: int) -> str:
    """Return a number with thousands separators, such as 1,200."""
    return f"{number:,}"
