"""Agents: the list and its download, the page of one agent, and creating and editing them."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import configuration
from memoryhub.models import Agent, ClaudePreset, Key, MemoryStore, Session, User
from memoryhub.models.access import AgentQuerySet
from memoryhub.pure.chain import moment
from memoryhub.web.agents.clients import PLACEHOLDER, clients, store_of
from memoryhub.web.agents.forms import AgentForm
from memoryhub.web.agents.rows import KeyRow, agent_rows, key_rows, with_tries
from memoryhub.web.agents.snippets import snippets
from memoryhub.web.common.guards.access import by, person, signed_in, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, asked, see_other
from memoryhub.web.common.tables import exported
from memoryhub.web.path_rules.naming import rules_naming
from memoryhub.web.search.keys import ending_of, without_keys

SESSIONS = 10
COLUMNS = ("agent", "name", "description", "created_at")


@signed_in
@require_safe
def agents(request: Request) -> HttpResponse:
    """List the agents that can access a store of this person; a superuser sees all agents."""
    query = asked(request, "q").strip()
    shown = list(_matching(person(request), query).after(asked(request, "after"))[: ROWS + 1])
    rows = agent_rows(shown[:ROWS], person(request), timezone.now())
    after = shown[ROWS - 1].pk if len(shown) > ROWS else None
    own = _administered(person(request))
    return render(request, "agents/agents.html", {"rows": rows, "after": after, "query": query, "own_stores": own})


def _matching(user: User, query: str) -> AgentQuerySet:
    """Return the agents that the person may see and that match `query`.

    An agent matches if its name contains `query`, or if the person may see one of its keys that ends with `query`.
    """
    found = Agent.objects.visible_to(user)
    if not query:
        return found
    ending = Key.objects.visible_to(user).filter(hint=ending_of(query) or None)
    named = Q(folded_name__contains=keys_and_roles.fold_name(query))
    return found.filter(named | Q(pk__in=ending.values("agent")))


@require_POST
@signed_in
def table(request: Request) -> HttpResponse:
    """Download the list of agents as the page with its filter shows it."""
    query = without_keys(request.POST.get("q", "")[:254]).replace("\0", "\ufffd").strip()
    found = _matching(person(request), query).order_by("folded_name")
    rows = [
        {"agent": one.pk, "name": one.name, "description": one.description, "created_at": moment(one.created_at)}
        for one in found
    ]
    return exported(request, None, "agents", COLUMNS, rows, filter=query)


@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_agent(request: Request) -> HttpResponse:
    """Create an agent and continue with its first key."""
    form = AgentForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            agent = keys_and_roles.create_agent(**form.cleaned_data, **by(request))
        except keys_and_roles.NameTaken:
            form.add_error("name", _("Another agent has this name."))
        else:
            return see_other(request, "issue_key", agent.id)
    return render(request, "agents/new.html", {"form": form})


@signed_in
@require_safe
def agent(request: Request, agent_id: str) -> HttpResponse:
    """Show an agent with its keys and latest sessions."""
    user = person(request)
    found = get_object_or_404(Agent.objects.visible_to(user), pk=agent_id)
    keys = Key.objects.visible_to(user).filter(agent=found).newest()[:ROWS]
    rows = key_rows(keys, user, timezone.now())
    rows = with_tries(rows, found) if user.is_superuser else rows
    is_of_hub = any(row.key.is_of_hub for row in rows)
    store = None if is_of_hub else store_of(rows, list(MemoryStore.objects.visible_to(user).active().by_name()[:1]))
    shown = {
        "agent": found,
        "is_of_hub": is_of_hub,
        "store": store,
        "clients": clients(settings.MEMORYHUB_URL, store.id, PLACEHOLDER) if store else None,
        "snippets": snippets(settings.MEMORYHUB_URL, store.id, PLACEHOLDER) if store else None,
        "presets": _presets(user, store) if store else [],
        "rows": rows,
        "is_cut": len(rows) == ROWS,
        "last_used": max((row.key.last_used_at for row in rows if row.key.last_used_at), default=None),
        "sessions": Session.objects.visible_to(user).latest_of(found)[:SESSIONS],
        "own_stores": _administered(user),
        "naming": rules_naming(user, [found.pk, *(row.key.pk for row in rows)]),
        "reached": (reached := _reached(rows)),
        "limitable": reached if user.is_superuser else [one for one in reached if one in _administered(user)],
    }
    return render(request, "agents/agent.html", shown)


def _presets(user: User, store: MemoryStore) -> list[ClaudePreset]:
    """Return the presets of Claude runs in a store, or [] if the person may not start Claude runs there."""
    found = ClaudePreset.objects.of_store(store.pk).by_name().only("pk", "name", "store")
    return list(found) if configuration.may_run(user, store) else []


def _reached(rows: Iterable[KeyRow]) -> list[MemoryStore]:
    """Return the active memory stores that `rows` list for usable keys, sorted by name."""
    named = {store.pk: store for row in rows if row.status == "usable" for store in row.scope.stores}
    return sorted((store for store in named.values() if store.archived_at is None), key=lambda store: store.name)


def _administered(user: User) -> list[MemoryStore]:
    """Return the first ROWS stores of which the person is an admin; none for a superuser, who may choose any store."""
    if user.is_superuser:
        return []
    mine = MemoryStore.objects.active().filter(members__user=user, members__role="admin")
    return list(mine.by_name()[:ROWS])


@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def edit_agent(request: Request, agent_id: str) -> HttpResponse:
    """Change the name or description of an agent; existing audit entries keep the previous name."""
    found = get_object_or_404(Agent, pk=agent_id)
    now = {"name": found.name, "description": found.description}
    form = AgentForm(request.POST if request.method == "POST" else None, initial=now)
    if form.is_valid():
        try:
            keys_and_roles.edit_agent(found, **form.cleaned_data, **by(request))
        except keys_and_roles.NameTaken:
            form.add_error("name", _("Another agent has this name."))
        else:
            messages.success(request, _("The agent is saved."))
            return see_other(request, "agent", found.id)
    return render(request, "agents/edit.html", {"form": form, "agent": found})
