"""The dashboards of all stores of a person and of one store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from memoryhub.actions.transfer.exporting.entries import export_table
from memoryhub.models import Agent, AuditChain, MemoryStore, RetentionPolicy, Role, User
from memoryhub.pure import ids
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, person, signed_in
from memoryhub.web.common.pictures import Picture
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import download
from memoryhub.web.dashboards import (
    ages,
    charts,
    figures as dashboards_figures,
    findings,
    lists as dashboards_lists,
    stores as dashboards_stores,
    tree_map,
)
from memoryhub.web.dashboards.figures import Figures, Newer
from memoryhub.web.dashboards.links import Links
from memoryhub.web.dashboards.period import RANGES, Chosen, columns
from memoryhub.web.dashboards.tiles import tiles_of_all, tiles_of_store

MOST_STORES = 1_000
"""The most stores whose figures are summed up."""

SUGGESTED = 200


@dataclass(frozen=True, slots=True)
class Board:
    """The data for the charts and numbers of a dashboard.

    Versions and proposals that wait for a person are counted in the stores of `awaiting`. All other data are about the
    stores of `stores`.
    """

    stores: Sequence[str]
    awaiting: Sequence[str]
    chosen: Chosen
    now: datetime
    more: Newer
    figures: Figures
    start: date

    @property
    def today(self) -> date:
        return self.now.astimezone(UTC).date()


@require_GET
@signed_in
def overview(request: Request) -> HttpResponse:
    """Show the dashboard of all active stores of the person, or of one of them.

    Versions that await review are also counted in archived stores.
    """
    visible, now = MemoryStore.objects.visible_to(person(request)), timezone.now()
    mine, chosen = visible.active(), Chosen.of(request.GET.dict(), default="7")
    board, one = _of_person(visible, chosen, now)
    return render(
        request,
        "dashboards/overview.html",
        {
            **_shown(board, _agents(request, board.stores)),
            "one": one,
            "stores": mine.by_name()[:SUGGESTED],
            "pictures": _pictures_of_all(board, one),
            "tiles": tiles_of_all(
                board.figures, board.stores, board.awaiting, board.today, board.chosen, person(request)
            ),
            "acts": [] if chosen.agent else dashboards_stores.acts_of_people(board.stores, board.today),
            "acts_removed": AuditChain.objects.filter(pk__in=board.stores, start_seq__gt=0).exists(),
            "most": MOST_STORES,
            "is_cut": len(board.stores) == MOST_STORES,
        },
    )


@require_GET
@in_store(Role.VIEWER)
def store_overview(request: Request, store: MemoryStore) -> HttpResponse:
    board = _of_stores([store.pk], Chosen.of(request.GET.dict()), timezone.now())
    return render(
        request,
        "dashboards/store.html",
        pages.context(
            request,
            store,
            tab="overview",
            **_shown(board, _agents(request, board.stores)),
            pictures=_pictures(board, store),
            standing=_standing(store, board.now),
            tiles=tiles_of_store(board.figures, store, board.today, board.chosen.agent, person(request)),
        ),
    )


@require_POST
@signed_in
def export_overview(request: Request) -> HttpResponse:
    """Download the table of one chart as CSV or JSON, with the parameters of the page."""
    visible = MemoryStore.objects.visible_to(person(request))
    board, one = _of_person(visible, Chosen.of(request.POST.dict(), default="7"), timezone.now())
    return _export(request, board, _pictures_of_all(board, one), None)


@require_POST
@in_store(Role.VIEWER)
def export_store_overview(request: Request, store: MemoryStore) -> HttpResponse:
    """Download the table of one chart of a store."""
    board = _of_stores([store.pk], Chosen.of(request.POST.dict()), timezone.now())
    return _export(request, board, [*_pictures(board, store), *_standing(store, board.now)], store.pk)


def _standing(store: MemoryStore, now: datetime) -> list[Picture]:
    """Return the charts about a store's current memories."""
    lists = dashboards_lists.lists_of(store, now)
    backlog = dashboards_lists.backlog(store, now)
    return [tree_map.picture(store, lists, now), backlog, *dashboards_lists.memory_lists(store, lists)]


def _export(request: Request, board: Board, pictures: Sequence[Picture], store_id: str | None) -> HttpResponse:
    found = {picture.name: picture for picture in pictures}.get(request.POST.get("picture", ""))
    form = "json" if request.POST.get("format") == "json" else "csv"
    if found is None:
        raise Http404
    details = {"range": board.chosen.range, "agent": board.chosen.agent, "store": board.chosen.store}
    export_table(store_id, f"figures: {found.name}", form, act(request), **{k: v for k, v in details.items() if v})
    return download(f"figures-{found.name}", form, found.columns, found.records())


def _of_person(visible: Any, chosen: Chosen, now: datetime) -> tuple[Board, MemoryStore | None]:
    """Return the board of the selected store, and the store. Without a selection: the board of all stores, and None."""
    mine = visible.active()
    one = mine.filter(pk=chosen.store).first() if chosen.store else None
    stores = [one.pk] if one else list(mine.by_name().values_list("pk", flat=True)[:MOST_STORES])
    archived = [] if one else list(visible.archived().values_list("pk", flat=True)[:MOST_STORES])
    return _of_stores(stores, replace(chosen, store=one.pk if one else ""), now, archived), one


def _of_stores(stores: Sequence[str], chosen: Chosen, now: datetime, archived: Sequence[str] = ()) -> Board:
    today = now.astimezone(UTC).date()
    more = dashboards_figures.newer(stores)
    start = chosen.start(today) or dashboards_figures.first_day(stores, more) or today
    since = min(start, today - timedelta(days=6))
    found = dashboards_figures.figures_of(stores, more, since, chosen.agent)
    return Board(stores, [*stores, *archived], chosen, now, more, found, start)


def _pictures_of_all(board: Board, one: MemoryStore | None) -> list[Picture]:
    found = _pictures(board, one)
    return found if board.chosen.agent else [*found, dashboards_lists.never_read(board.stores)]


def _pictures(board: Board, store: MemoryStore | None) -> list[Picture]:
    store_id = store.pk if store else ""
    among, links = columns(board.start, board.today), Links(store_id, board.chosen.agent)
    of_author = [
        charts.commands_over_time(board.figures, among, links),
        charts.reads_and_writes(board.figures, among, links),
        charts.errors(board.figures, board.start, links),
    ]
    if board.chosen.agent:  # the other charts cannot be limited to an agent
        return of_author
    names = _names({author for author, _ok in board.figures.authors})
    before, by_day = dashboards_figures.growth_of(board.stores, board.more, among[0].start)
    whole = Links(store_id)
    found = [findings.over_time(store, among, whole)] if store else []
    return [
        *of_author,
        ages.over_time(board.awaiting, among, board.now, whole),
        *found,
        *charts.growth(before, by_day, among, whole),
        charts.by_author(board.figures, names, board.start, whole),
    ]


def _names(authors: set[str]) -> Mapping[str, tuple[str, str]]:
    """Return {id: (kind, name)} of agents, people and retention policies."""
    agents = Agent.objects.filter(pk__in=[author for author in authors if author.startswith(ids.AGENT)])
    people = User.objects.filter(pk__in=[author for author in authors if author.startswith(ids.USER)])
    policies = RetentionPolicy.objects.filter(pk__in=[author for author in authors if author.startswith(ids.POLICY)])
    return {
        **{author: ("system", _("A deleted retention policy")) for author in authors if author.startswith(ids.POLICY)},
        **{policy.pk: ("system", policy.name) for policy in policies},
        **{agent.pk: ("key", str(agent)) for agent in agents},
        **{user.pk: ("user", str(user)) for user in people},
    }


def _name_in(stores: Sequence[str], author: str) -> str:
    """Return the name of an agent or person of these stores. For any other id, return the id."""
    for known in (Agent.objects.known_in(stores), User.objects.known_in(stores)):
        if author and (found := known.filter(pk=author).first()):
            return str(found)
    return author


def _agents(request: Request, stores: Sequence[str]) -> list[Agent]:
    """Return the agents that the filter suggests, at most SUGGESTED."""
    found = Agent.objects.order_by("folded_name")
    if not person(request).is_superuser or len(stores) == 1:
        found = found.filter(Q(keys__all_stores=True) | Q(keys__stores__in=stores)).distinct()
    return list(found[:SUGGESTED])


def _shown(board: Board, agents: Sequence[Agent]) -> dict[str, Any]:
    """Return the template context that both dashboards share."""
    words = {"7": _("7 days"), "30": _("30 days"), "90": _("90 days"), "all": _("All")}
    chosen = board.chosen
    return {
        "chosen": chosen,
        "agents": agents,
        "up_to": board.more.up_to,
        "start": board.start,
        "today": board.today,
        "ranges": [(words[name], chosen.query(range=name), name == chosen.range) for name in RANGES],
        "agent_name": _name_in(board.stores, chosen.agent),
        "without_agent": chosen.query(agent=""),
        "without_store": chosen.query(store=""),
    }
