"""An agent's own sessions in the API. They have the shape of Anthropic's, so the SDK's directory sync can use them."""

import re
from collections.abc import Iterator

from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories.api.requests import note_key
from memoryhub.actions.memories.calls import Caller
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.sessions import ListSessions, SessionObject, SessionPage
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, AuditEntry, MemoryStore, Session
from memoryhub.models.access import SessionQuerySet
from memoryhub.models.stores import MemoryStoreQuerySet
from memoryhub.pure import chain

router = Router()

MOUNTED = "/mnt/memory/"
_NOT_IN_PATH = re.compile("[^a-z0-9]+")
"""What becomes one hyphen in a path, as the SDK describes it."""
MOST_STORES = 50
"""The most memory stores that one session names."""


@router.get("/sessions", auth=needs(Access.READ), response=answers(SessionPage), summary="List your sessions")
def list_sessions(request: HttpRequest, query: Query[ListSessions]) -> Json:
    """The sessions of the key's agent that have entries in a memory store which the key reaches, newest first. Sessions
    of other agents are left out. A session begins with its first recorded request under a name in the header
    `Memoryhub-Session`."""
    caller = call_of(request).caller
    note_key(call_of(request).asked)
    stores = reached(caller)
    filters = query.model_dump(exclude={"limit", "page"}, mode="json")
    key = cursors.decode("sessions", filters, query.page, (str,))
    sessions = _matching(caller, stores, query)
    if key is not None:
        sessions = sessions.filter(pk__gt=key[0]) if query.order == "asc" else sessions.filter(pk__lt=key[0])
    found = list(sessions.order_by("pk" if query.order == "asc" else "-pk")[: query.limit + 1])
    shown = found[: query.limit]
    more = len(found) > query.limit
    return {
        "data": [as_json(session, caller, stores) for session in shown],
        "next_page": cursors.encode("sessions", filters, [shown[-1].pk]) if more else None,
    }


@router.get(
    "/sessions/{session_id}", auth=needs(Access.READ), response=answers(SessionObject, 404),
    summary="Retrieve your session",
)  # fmt: skip
def retrieve_session(request: HttpRequest, session_id: str) -> Json:
    """One session of the key's agent. Its `resources` are the memory stores that have entries of the session and that
    the key reaches."""
    caller = call_of(request).caller
    note_key(call_of(request).asked)
    stores = reached(caller)
    session = _own(caller, stores).filter(pk=session_id).first()
    if session is None:
        raise Problem.not_found("There is no such session of this key's agent in a memory store that the key reaches.")
    return as_json(session, caller, stores)


def reached(caller: Caller) -> MemoryStoreQuerySet:
    """Return the memory stores that a key reaches."""
    is_all = keys_and_roles.reaches_all(caller)
    return MemoryStore.objects.all() if is_all else MemoryStore.objects.reached_by(caller.key)


def _own(caller: Caller, stores: MemoryStoreQuerySet) -> SessionQuerySet:
    return Session.objects.filter(agent=caller.agent).known_in(stores.values("pk")).select_related("agent")


def _matching(caller: Caller, reached: MemoryStoreQuerySet, query: ListSessions) -> SessionQuerySet:
    """Return the agent's sessions that match a query and have entries in the stores `reached`."""
    stores = reached if query.memory_store_id is None else reached.filter(pk=query.memory_store_id)
    sessions = _own(caller, stores)
    if query.agent_id is not None:
        sessions = sessions.filter(agent=query.agent_id)
    limits = {
        "first_seen_at__gt": query.created_at_gt,
        "first_seen_at__gte": query.created_at_gte,
        "first_seen_at__lt": query.created_at_lt,
        "first_seen_at__lte": query.created_at_lte,
    }
    return sessions.filter(**{name: moment for name, moment in limits.items() if moment is not None})


def as_json(session: Session, caller: Caller, reached: MemoryStoreQuerySet) -> Json:
    """Return a session in the shape of Anthropic's sessions; what the hub does not know is empty."""
    agent = session.agent
    lasted = (session.last_seen_at - session.first_seen_at).total_seconds()
    return {
        "type": "session",
        "id": session.pk,
        "title": session.name,
        "agent": {
            "type": "agent",
            "id": agent.pk,
            "name": agent.name,
            "description": agent.description,
            "version": 1,
            "model": {"id": "unknown"},
            "system": None,
            "tools": [],
            "skills": [],
            "mcp_servers": [],
            "multiagent": None,
            "execution_identity": {"type": "service_account"},
        },
        "status": "idle",
        "resources": list(_resources(session, caller, reached)),
        "created_at": chain.moment(session.first_seen_at),
        "updated_at": chain.moment(session.last_seen_at),
        "archived_at": None,
        "environment_id": "",
        "deployment_id": None,
        "budget": None,
        "metadata": {},
        "vault_ids": [],
        "outcome_evaluations": [],
        "stats": {"active_seconds": None, "duration_seconds": lasted},
        "usage": {},
    }


def _resources(session: Session, caller: Caller, reached: MemoryStoreQuerySet) -> Iterator[Json]:
    """Yield the memory stores in which a session has entries. Each is mounted at a path of its own."""
    acts = AuditEntry.objects.filter(chain=OuterRef("pk"), session=session.pk)
    mounted: set[str] = set()
    for store in reached.filter(Exists(acts)).order_by("pk")[:MOST_STORES]:
        name = _NOT_IN_PATH.sub("-", store.name.lower()).strip("-") or store.pk
        path = MOUNTED + (f"{name}-{store.pk[-6:].lower()}" if name in mounted else name)
        mounted.add(name)
        may_write = caller.access.includes(Access.WRITE) and not store.is_archived
        yield {
            "type": "memory_store",
            "memory_store_id": store.pk,
            "name": store.name,
            "description": store.description,
            "instructions": None,
            "access": "read_write" if may_write else "read_only",
            "mount_path": path,
        }
