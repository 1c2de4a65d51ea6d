"""The page that replays a recorded session without effect, and compares each answer with the recorded answer."""

from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.plans import TooMuch
from memoryhub.models import AuditEntry, Key, Memory, MemoryStore, Role, Session
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.tried.replay import replay

PAST, NOW = "past", "now"


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def page(request: Request, store: MemoryStore, session_id: str) -> HttpResponse:
    """Show a form that asks whether to replay on the store as it was before the calls, or as it is now.

    A POST replays the calls from the entry `start` in the form, or from the first call.
    """
    session = Session.objects.select_related("agent").filter(pk=session_id).first()
    acts = AuditEntry.objects.of_chain(store.pk).of_session(session_id)
    first = acts.oldest().values_list("seq", flat=True).first()
    if session is None or first is None:
        raise Http404
    given = request.POST if request.method == "POST" else request.GET
    start, moment = max(first, _start(given) or first), NOW if given.get("moment") == NOW else PAST
    shown: dict[str, Any] = {"session": session, "start": start, "is_first": start == first, "moment": moment}
    if request.method == "POST":
        try:
            shown["replay"] = replayed = replay(store, session, start, timezone.now(), is_past=moment == PAST)
            shows(request, store, [(one.entry.memory, one.entry.version) for one in replayed.calls if one.entry.memory])
            now = Memory.objects.among(store.pk, {one.memory for one in replayed.calls if one.memory})
            shows(request, store, now.values_list("pk", "head_id"))
        except TooMuch as error:
            shown["problem"] = _too_much(error)
        except ToolError as error:
            words = {"why": in_words(error)}
            shown["problem"] = _("The memory store cannot be put back to that moment: %(why)s") % words
        shown["gone_keys"] = _keys_that_no_longer_work(acts.values_list("actor_id", flat=True))
    return render(request, "tried/session.html", pages.context(request, store, **shown))


def _start(given: QueryDict) -> int | None:
    seq = given.get("start", "")
    return int(seq) if seq.isascii() and seq.isdigit() and len(seq) < 19 else None


def _too_much(error: TooMuch) -> str:
    words = ngettext(
        "More than %(most)s memory has changed since then, which is too much to put back. Replay on the store as it is "
        "now, or begin at a later call.",
        "More than %(most)s memories have changed since then, which is too much to put back. Replay on the store as it "
        "is now, or begin at a later call.",
        error.most,
    )
    return words % {"most": error.most}


def _keys_that_no_longer_work(acts: Any) -> list[Key]:
    used = set(acts.filter(actor_kind=ActorKind.KEY).order_by().distinct())
    found = Key.objects.filter(pk__in=used).select_related("agent")
    works = set(Key.objects.filter(pk__in=used).usable(timezone.now()).values_list("pk", flat=True))
    return [key for key in found if key.pk not in works]
