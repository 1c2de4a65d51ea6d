"""The sessions of a store, and one session with its calls in order and with what it knew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, Finding, FindingState, MemoryStore, MemoryVersion, Role, Session, User
from memoryhub.models.audit import ActorKind
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store, person, signed_in
from memoryhub.web.common.marks import UNMARKED, Marks
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.common.versions import removed_history
from memoryhub.web.sessions import known
from memoryhub.web.sessions.before import sessions_before
from memoryhub.web.sessions.calls import BEGINNING, calls_of, figures_of, in_calls, is_proposal, stores_of
from memoryhub.web.sessions.story import story_of
from memoryhub.web.sessions.undone import UndoneThere, is_left, undone_in

PAGE, LOOKED_AT = 30, 500
"""The number of sessions on a page, and the number of newest entries in which calls without a session are counted."""
COUNTED = 100
"""The most calls of a session that its row counts."""
MOST_FINDINGS = 500
"""The most open findings of a store, the newest ones, for which the sessions that wrote them are looked up. The list
marks these sessions."""
FOUND = str(FindingState.OPEN)

LIVE = timedelta(hours=1)
"""The page of a session waits for new calls as long as the last call is not older than this."""

_FIRST = "sesn_"
_LAST = "sesn_~"


@dataclass(frozen=True, slots=True)
class Row:
    """A session in a store's list. Only the first COUNTED calls of the session in the store are counted."""

    session: Session
    first_seq: int
    last_seq: int
    calls: int
    reads: int
    writes: int
    proposed: int
    errors: int
    more: bool  # there are further calls
    cut: bool  # entries of earlier calls may have been removed
    marks: Marks = UNMARKED  # an open finding in a version that the session wrote


@require_GET
@in_store(Role.VIEWER)
def store_sessions(request: Request, store: MemoryStore) -> HttpResponse:
    """List a store's sessions, the newest first. In the query, `before` and `after` are ids of sessions."""
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    forward = bool(after) and not before
    found = _walk(store, after or _FIRST, newest=False) if forward else _walk(store, before or _LAST, newest=True)
    shown, left = found[:PAGE], removed_history.left_since(store.pk)
    more = len(found) > PAGE
    if forward:
        shown.reverse()
    return render(
        request,
        "sessions/list.html",
        pages.context(
            request,
            store,
            rows=_rows(store, shown, left),
            newer=shown[0] if shown and (more if forward else bool(before)) else None,
            older=shown[-1] if shown and (True if forward else more) else None,
            is_first=not (before or after),
            without=_without_session(store),
            looked_at=LOOKED_AT,
            is_cut=left is not None,
        ),
    )


def _without_session(store: MemoryStore) -> int:
    """Return how many of the newest LOOKED_AT entries are calls of agents that named no session."""
    newest = AuditEntry.objects.of_chain(store.pk).newest().values_list("actor_kind", "session")[:LOOKED_AT]
    return sum(kind == ActorKind.KEY and not session for kind, session in newest)


def _walk(store: MemoryStore, place: str, *, newest: bool) -> list[str]:
    """Return the ids of at most PAGE + 1 sessions after the id `place`, in order. With `newest`, return the ids before
    `place` instead, in descending order."""
    acts = AuditEntry.objects.of_chain(store.pk)
    found: list[str] = []
    place = place.replace("\0", "")
    while len(found) <= PAGE:
        beside = acts.filter(session__lt=place) if newest else acts.filter(session__gt=place)
        session = beside.order_by("-session" if newest else "session").values_list("session", flat=True).first()
        if session is None:
            break
        found.append(session)
        place = session
    return found


def _rows(store: MemoryStore, ids: Sequence[str], left: datetime | None) -> list[Row]:
    """Return sessions as rows. `left` is the time of the oldest remaining entry (None: none was removed)."""
    acts = AuditEntry.objects.filter(chain=store.pk, session=OuterRef("pk"))
    found = (
        Session.objects.filter(pk__in=ids)
        .select_related("agent")
        .annotate(
            first_seq=Subquery(acts.order_by("seq").values("seq")[:1]),
            last_seq=Subquery(acts.order_by("-seq").values("seq")[:1]),
        )
    )
    sessions = {session.pk: session for session in found}
    wrong = _with_findings(store, ids)
    return [_row(store, sessions[id], Marks(found=FOUND if id in wrong else ""), left) for id in ids if id in sessions]


def _with_findings(store: MemoryStore, sessions: Sequence[str]) -> set[str]:
    """Return the ids of `sessions` that wrote a version with one of the MOST_FINDINGS newest open findings."""
    newest = Finding.objects.of_store(store.pk).open().newest().values_list("version_id", flat=True)[:MOST_FINDINGS]
    seqs = MemoryVersion.objects.among(store.pk, set(newest)).values_list("seq", flat=True)
    entries = AuditEntry.objects.of_chain(store.pk).of_seqs(set(seqs)).filter(session__in=sessions)
    return {str(session) for session in entries.values_list("session", flat=True)}


def _row(store: MemoryStore, session: Any, marks: Marks, left: datetime | None) -> Row:
    acts = AuditEntry.objects.of_chain(store.pk).of_session(session.pk).oldest()
    looked = list(acts.values_list("command", "ok", "version", BEGINNING)[: COUNTED + 1])
    calls = looked[:COUNTED]
    proposed = sum(is_proposal(answer) for *_rest, answer in calls)
    return Row(
        session,
        session.first_seq,
        session.last_seq,
        len(calls),
        reads=sum(command == "view" and ok and version is not None for command, ok, version, _answer in calls),
        writes=sum(command in WRITES and ok for command, ok, *_ in calls),
        proposed=proposed,
        errors=sum(not ok for _command, ok, *_ in calls) - proposed,
        more=len(looked) > COUNTED,
        cut=left is not None and session.first_seen_at < left,
        marks=marks,
    )


@require_GET
@signed_in
def session(request: Request, session_id: str) -> HttpResponse:
    """Show a session, limited to stores that the person may see."""
    user = person(request)
    found = Session.objects.visible_to(user).select_related("agent").filter(pk=session_id).first()
    stores = stores_of(found, user) if found else []
    if found is None or not stores:
        raise Http404
    problem, raw = "", "raw" in request.GET
    try:
        calls = calls_of(found, stores, request.GET.get("after"), request.GET.get("before"), raw=raw)
    except BadPlace:
        problem = _("This link is out of date. Here are the first calls of the session.")
        calls = calls_of(found, stores, raw=raw)
    shows_of_stores(request, in_calls(calls.rows))
    curated, undone = _curated(stores, user), undone_in(found, stores)
    moment, figures = known.moment_of(request.GET, found, stores), figures_of(found, stores)
    return render(
        request,
        "sessions/session.html",
        {
            "session": found,
            "agent": found.agent,
            "stores": stores,
            "several": len(stores) > 1,
            "calls": calls,
            "story": story_of(found, stores, calls, undone),
            "undone": list(undone.values()),
            "raw": raw,
            "figures": figures,
            "problem": problem or moment.problem,
            "moment": moment,
            "known": known.known(found, stores, moment),
            "before": list(sessions_before(found, stores)),
            "undo": _undoable(found, curated, undone) if figures.writes or figures.more else [],
            "curated": curated,
            "tries": [store.pk for store in curated],
            "section": "agents" if len(stores) > 1 else "stores",
            "is_live": found.last_seen_at > timezone.now() - LIVE,
        },
    )


def _curated(stores: Sequence[MemoryStore], user: User) -> list[MemoryStore]:
    roles = ((store, user.role_in(store)) for store in stores)
    return [store for store, role in roles if role is not None and role.includes(Role.CURATOR)]


def _undoable(session: Session, curated: Sequence[MemoryStore], undone: Mapping[str, UndoneThere]) -> list[MemoryStore]:
    """Return the stores in which something of the session is left to undo."""
    active = [store for store in curated if not store.is_archived]
    return [store for store in active if is_left(session, store, undone.get(store.pk))]
