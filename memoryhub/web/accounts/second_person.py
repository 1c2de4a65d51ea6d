"""The pages about acts that need a second person: the list of requests, one request with its decision, the setting."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actions.accounts import second_person as actions
from memoryhub.actions.accounts.second_person import ACTS, Content
from memoryhub.models import ActRequest, ActRequestState, MemoryStore, User
from memoryhub.templatetags.visible import visible
from memoryhub.web.common.guards.access import act, person, signed_in, superuser_only
from memoryhub.web.common.guards.fresh import proof
from memoryhub.web.common.guards.second import LONGEST, guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import see_other

SHOWN = 50
"""The most ended requests that are listed."""


class AnswerForm(forms.Form):
    """The reason for refusing a request."""

    answer = forms.CharField(
        label=gettext_lazy("Why it is refused"), max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 2})
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A request for an act that needs a second person, as pages show it."""

    request: ActRequest
    title: str | Promise
    store: str  # its name; or the subject of the act, if the act belongs to no store
    is_in_store: bool
    state: str  # as in the database, or `lapsed`

    @property
    def is_open(self) -> bool:
        return self.state in (ActRequestState.WAITING, ActRequestState.ALLOWED)

    @property
    def gives_link(self) -> bool:
        """Return whether the act makes a link to another person's account and shows it to the person who requested the
        act."""
        return self.request.act in ("invite_administrator", "password_link")


def rows_of(found: list[ActRequest], at: datetime) -> list[Row]:
    """Return the requests as rows; the requests must have been loaded with the people that they name."""
    stores = {one.store for one in found if one.store}
    names = dict(MemoryStore.objects.filter(pk__in=stores).values_list("pk", "name")) if stores else {}
    return [
        Row(
            one,
            ACTS.get(one.act, one.act),
            names.get(one.store or "", "") or _subject(one),
            one.store in names,
            _state(one, at),
        )
        for one in found
    ]


def _subject(request: ActRequest) -> str:
    """Return the subject of an act that belongs to no memory store: the first value in the act's description.

    Return "" if the description was deleted, and for the act `erase`.
    """
    # texts to erase are shown only on the page of the request
    content = actions.content_of(request) if request.act != "erase" else None
    return str(content.words[0][1]) if content and content.words else ""


def _state(request: ActRequest, at: datetime) -> str:
    is_open = request.state in (ActRequestState.WAITING, ActRequestState.ALLOWED)
    if is_open and (request.expires_at <= at or not request.asked_by.is_active):
        return "lapsed"
    return request.state


def waiting_for(user: User, at: datetime) -> list[Row]:
    """Return the rows for a person's home page: the requests that the person can decide, and the person's own requests
    that someone has allowed."""
    loaded = ActRequest.objects.select_related("asked_by").newest()
    own = loaded.open(at).filter(asked_by=user, state=ActRequestState.ALLOWED)
    return rows_of([*loaded.to_decide_by(user, at)[:SHOWN], *own[:SHOWN]], at)


@never_cache
@require_safe
@signed_in
def acts(request: Request) -> HttpResponse:
    """List the requests that concern the person: those to decide, their own open ones, and those that ended."""
    user, at = person(request), timezone.now()
    found = ActRequest.objects.concerning(user).select_related("asked_by", "decided_by").newest()
    to_decide = rows_of(list(found.to_decide_by(user, at)), at)
    own = rows_of(list(found.open(at).filter(asked_by=user)), at)
    known = {row.request.pk for row in (*to_decide, *own)}
    shown = {
        "to_decide": to_decide,
        "own": own,
        "ended": [row for row in rows_of(list(found[:SHOWN]), at) if row.request.pk not in known],
        "is_on": actions.is_on(),
        "administrators": actions.administrators(),
    }
    return render(request, "accounts/second_person/list.html", shown)


@never_cache
@require_safe
@signed_in
def act_request(request: Request, request_id: str) -> HttpResponse:
    """Show one request to the person who made it and to the people who may decide it."""
    return _page(request, _found(request, request_id), AnswerForm())


def _page(request: Request, found: ActRequest, form: AnswerForm) -> HttpResponse:
    user, at = person(request), timezone.now()
    (row,) = rows_of([found], at)
    content = actions.content_of(found)
    shown = {
        "row": row,
        "content": content,
        "fields": _hidden(content) if row.state == ActRequestState.ALLOWED and found.asked_by == user else [],
        "may_decide": row.state == ActRequestState.WAITING and actions.may_decide(found, user) and content,
        "is_own": found.asked_by == user,
        "form": form,
    }
    return render(request, "accounts/second_person/page.html", shown)


def _hidden(content: Content | None) -> list[tuple[str, str]]:
    """Return the fields (name, value) of the form with which the act was requested.

    Once the request is allowed, its page has a form with these fields: the person sends it to do the act.
    """
    return [(name, value) for name, values in content.fields for value in values] if content else []


def _found(request: Request, request_id: str) -> ActRequest:
    rows = ActRequest.objects.concerning(person(request)).select_related("asked_by", "decided_by")
    found = rows.filter(pk=request_id).first()
    if found is None:
        raise Http404
    return found


@require_POST
@signed_in
def allow_act(request: Request, request_id: str) -> HttpResponse:
    """Allow the act that another person requested. This needs a proof of identity."""
    found = _decidable(request, request_id)
    if (asks := proof(request)) is not None:
        return asks
    said = _("You allowed it. %(name)s can do it now.") % {"name": visible(found.asked_by.name)}
    return _decide(request, found, lambda user: actions.allow(found.pk, user, act(request)), said)


@require_POST
@signed_in
def refuse_act(request: Request, request_id: str) -> HttpResponse:
    """Refuse the act that another person requested, with a reason."""
    found = _decidable(request, request_id)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form)
    answer = form.cleaned_data["answer"].replace("\0", "\ufffd")
    said = _("You refused it.")
    return _decide(request, found, lambda user: actions.refuse(found.pk, user, answer, act(request)), said)


def _decidable(request: Request, request_id: str) -> ActRequest:
    found = _found(request, request_id)
    if not actions.may_decide(found, person(request)):
        raise PermissionDenied
    return found


def _decide(request: Request, found: ActRequest, decide: Callable[[User], ActRequest], said: str) -> HttpResponse:
    try:
        decide(person(request))
    except actions.MayNotDecide:
        raise PermissionDenied from None
    except actions.NotOpen:
        messages.warning(request, _("This request has already been decided or taken back, or it has lapsed."))
    else:
        messages.success(request, said)
    return see_other(request, "act_request", found.pk)


@require_POST
@signed_in
def withdraw_act(request: Request, request_id: str) -> HttpResponse:
    """Withdraw a request that the person made."""
    found = _found(request, request_id)
    if found.asked_by != person(request):
        raise PermissionDenied
    try:
        actions.withdraw(found.pk, person(request), act(request))
    except actions.NotOpen:
        messages.warning(request, _("This request has already been decided or taken back, or it has lapsed."))
    return see_other(request, "acts")


@require_POST
@superuser_only
def set_second_person(request: Request) -> HttpResponse:
    """Require a second person for acts that cannot be undone (`on=1`), or end this requirement. Ending it needs a
    second person, too."""
    on = request.POST.get("on") == "1"
    asks = proof(request) if on else guard(request, "unset_second_person", list)
    if asks is not None:
        return asks
    try:
        actions.turn(act(request), on=on)
    except actions.TooFew:
        messages.warning(request, _("This needs two administrators of the hub who can sign in."))
    else:
        on_now, off_now = (
            _("These acts need a second person from now on."),
            _("These acts need no second person any more."),
        )
        messages.success(request, on_now if on else off_now)
    return see_other(request, "acts")
