"""The page on which an administrator of the hub makes another person an administrator, or takes this role away."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts import second_person
from memoryhub.actions.accounts.administrators import set_administrator
from memoryhub.actions.accounts.keys_and_roles import LastAdministrator
from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.accounts.single_sign_on import decides_administrators
from memoryhub.models import Invitation, Key, Member, Role, User, Webhook
from memoryhub.models.access import InvitationQuerySet
from memoryhub.templatetags.visible import isolated
from memoryhub.web.accounts.leaving_keys import Ending, count_of, ending_of, rows_of, told_of, webhooks_of
from memoryhub.web.common.guards.access import by, person, superuser_only
from memoryhub.web.common.guards.fresh import proof
from memoryhub.web.common.guards.second import counted, guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, see_other


@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def administrator(request: Request, user_id: str) -> HttpResponse:
    """Show what changes when a person becomes an administrator of the hub (`is_one=1`) or ceases to be one
    (`is_one=0`).

    On POST, change the role.
    """
    user = get_object_or_404(User, pk=user_id)
    if not user.is_active and not user.is_superuser:
        raise Http404
    if request.method == "POST" and (wanted := request.POST.get("is_one")) not in ("0", "1"):
        return HttpResponseBadRequest()
    if request.method == "POST" and (wanted == "1") == user.is_superuser:
        return see_other(request, "people")
    if decides_administrators(user, settings.MEMORYHUB_OIDC_ROLES):
        return render(request, "accounts/administrator.html", {"subject": user, "by_groups": True})
    return _taking(request, user) if user.is_superuser else _giving(request, user)


def _giving(request: Request, user: User) -> HttpResponse:
    if request.method != "POST":
        return render(request, "accounts/administrator.html", {"subject": user})
    if (asks := guard(request, "set_administrator", lambda: _words(user))) is not None:
        return asks
    set_administrator(user, True, **by(request))
    messages.success(request, _("%(name)s is an administrator of the hub now.") % {"name": isolated(str(user))})
    return see_other(request, "people")


def _taking(request: Request, user: User) -> HttpResponse:
    """Show which keys, webhooks and invitations of a hub administrator reach beyond the memory stores of which this
    person is an admin.

    On POST, take the role away, revoke the ticked keys and pause the ticked webhooks.
    """
    reaching, links = Key.objects.beyond(user), _links_of(user)
    administered = Member.objects.filter(user=user, role=Role.ADMIN).values("store")
    elsewhere = Webhook.objects.filter(Q(store=None) | ~Q(store__in=administered))
    sending = elsewhere.order_by("store__name", "name", "id")
    if request.method == "POST":
        ending = ending_of(request, user, reaching, sending)
        asks = proof(request)
        if user.is_active:  # the role of a deactivated account has no effect
            asks = guard(request, "unset_administrator", lambda: _words(user, ending))
        if asks is not None:
            return asks
        return _taken(request, user, ending)
    keys, issued = rows_of(reaching, user, person(request)), count_of(reaching, user)
    webhooks = webhooks_of(sending, user)
    left = second_person.administrators() - user.is_active
    shown: dict[str, Any] = {"subject": user, "leaving": user, "keys": keys, "webhooks": webhooks}
    shown |= {"invitations": links.newest()[:ROWS], "more_keys": issued - len(keys), "is_last": left < 1}
    shown["leaves_one"] = user.is_active and second_person.is_on() and left == 1
    return render(request, "accounts/administrator.html", shown)


def _taken(request: Request, user: User, ending: Ending) -> HttpResponse:
    links = _links_of(user).count()
    try:
        set_administrator(user, False, revoke=ending.keys, pause=ending.webhooks, **by(request))
    except LastAdministrator:
        messages.error(request, _("The hub needs an administrator. Make another person an administrator first."))
        return see_other(request, "people")
    done = _("%(name)s is no administrator of the hub any more.") % {"name": isolated(str(user))}
    messages.success(request, told_of(done, user, ending, links, *ending.going_on()))
    ending.say_late(request)
    return see_other(request, "today" if user == person(request) else "people")


def _links_of(user: User) -> InvitationQuerySet:
    """Return the open invitations that a person made and that only an administrator may make."""
    stores = Member.objects.filter(user=user, role=Role.ADMIN).values("store")
    stay = Q(user=None, is_superuser=False, store__in=stores)
    return Invitation.objects.open(timezone.now()).filter(~stay, made_by=user)


def _words(user: User, ending: Ending | None = None) -> Words:
    said = [(_("Person"), f"{user} ({user.email})")]
    if ending is None:
        return said
    for label, ends in ((_("Keys to revoke"), ending.keys()), (_("Webhooks to pause"), ending.webhooks())):
        if count := sum(one.pk in ending.ticked for one in ends):
            said.append((label, counted(count)))
    return said
