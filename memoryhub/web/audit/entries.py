"""Lists of audit entries, newest first and filtered: of all chains that a person may see, or of one store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.core import commands
from memoryhub.actions.core.commands import Scope
from memoryhub.actions.verification.entries import MOST
from memoryhub.models import HUB, Agent, Door, MemoryStore, Role, User
from memoryhub.web.audit.filters import Filter, named, resolved
from memoryhub.web.audit.queries import FURTHER, BadPlace, Page, newer_page, older_page
from memoryhub.web.audit.rows import rows_of, visible_chains
from memoryhub.web.common import pages, removed_history
from memoryhub.web.common.access import in_store, person, signed_in
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.request import Request

SUGGESTED = 200
LABELS = {
    "store": lambda: _("Store"), "agent": lambda: _("Agent"), "person": lambda: _("Person"),
    "session": lambda: _("Session"), "command": lambda: _("Command"), "path": lambda: _("Path"),
    "outcome": lambda: _("Outcome"), "door": lambda: _("Came in through"),
    "from": lambda: _("From"), "to": lambda: _("To"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter in words, and the query string of the page without it."""

    key: str
    label: str
    shown: str
    query_without: str


@require_GET
@signed_in
def audit(request: Request) -> HttpResponse:
    return _answer(request, visible_chains(person(request)), None)


@require_GET
@in_store(Role.VIEWER)
def store_audit(request: Request, store: MemoryStore) -> HttpResponse:
    return _answer(request, [store.id], store)


def _answer(request: Request, chains: Sequence[str], store: MemoryStore | None) -> HttpResponse:
    """Render the list; a malformed filter finds nothing and shows an error."""
    wanted, page, problem = Filter.as_typed(request.GET.dict()), Page([], None, None), ""
    try:
        wanted = Filter.of(request.GET.dict())
        page = _page(request, wanted, chains)
    except Malformed as malformed:
        problem = str(malformed)
    except BadPlace:
        problem = _("This link is out of date. Start again from the newest entries.")
    context = pages.context(request, store) if store else {}
    context |= {
        "here": request.path,
        "filter": wanted,
        "bar": request.GET.get("q") or wanted.words,
        "chips": _chips(wanted, chains),
        "rows": rows_of(page.entries, wanted),
        "newer": page.newer and _on(wanted, "after", page.newer, page),
        "older": page.older and _on(wanted, "before", page.older, page),
        "problem": problem,
        "reached": page.reached,
        "is_newer": "after" in request.GET,
        "starts": _starts(chains, page),
    }
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "audit/_list.html", context)
    return render(request, "audit/entries.html", context | _choices(person(request), chains, store))


def _page(request: Request, wanted: Filter, chains: Sequence[str]) -> Page:
    target = resolved(wanted, chains, now=timezone.now(), zone=timezone.get_current_timezone())
    most = FURTHER if "further" in request.GET else MOST
    if after := request.GET.get("after"):
        return newer_page(target.search, target.chains, after, most=most)
    return older_page(target.search, target.chains, request.GET.get("before"), most=most)


def _starts(chains: Sequence[str], page: Page) -> str:
    """Return a sentence that says where the chain starts, if its first entries have been removed; else an empty text.

    Only the last page of a single chain has this sentence.
    """
    start = (
        removed_history.start_of(chains[0]) if len(chains) == 1 and page.older is None and not page.reached else None
    )
    return removed_history.starts_here(start) if start else ""


def _on(wanted: Filter, key: str, place: str, page: Page) -> str:
    """Return the query string of the page at `place`; `key` is `before` or `after`.

    After a scan that ended early, the next page may scan more entries.
    """
    further = {"further": "1"} if page.reached else {}
    return Filter({**wanted.values, key: place, **further}).query()


def _chips(wanted: Filter, chains: Sequence[str]) -> list[Chip]:
    shown = named(wanted, chains)
    return [Chip(key, LABELS[key](), shown[key], wanted.query(**{key: None})) for key in wanted.values]


def _choices(user: User, chains: Sequence[str], store: MemoryStore | None) -> dict[str, Any]:
    """Return the suggestions of the filter controls, limited to names in the chains that the person may see."""
    agents, people = Agent.objects.order_by("folded_name"), User.objects.order_by("email")
    if not user.is_superuser:
        agents = agents.filter(Q(keys__all_stores=True) | Q(keys__stores__in=chains)).distinct()
        people = people.filter(memberships__store__in=chains).distinct()
    hub = HUB in chains
    return {
        "stores": [] if store else MemoryStore.objects.filter(pk__in=chains).by_name(),
        "hub": HUB if hub else None,
        "agents": agents[:SUGGESTED],
        "people": people[:SUGGESTED],
        "commands": commands.of(Scope.BOTH if hub else Scope.STORE),
        "doors": Door.values,
    }
