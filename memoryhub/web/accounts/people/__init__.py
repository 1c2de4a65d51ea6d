"""The people of the hub and their invitations, for hub administrators."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.accounts import people as actions, second_person, withdrawals
from memoryhub.actions.accounts.keys_and_roles import LastAdministrator
from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.accounts.sign_in import may_use_password
from memoryhub.actions.core.hub import outbox
from memoryhub.models import Invitation, Key, MemoryStore, Role, User, Webhook
from memoryhub.models.access import InvitationQuerySet, fold_email
from memoryhub.templatetags.visible import isolated
from memoryhub.web.accounts.leaving_keys import Ending, count_of, ending_of, rows_of, told_of, webhooks_of
from memoryhub.web.accounts.left_behind import left_behind
from memoryhub.web.accounts.people.forms import InviteForm
from memoryhub.web.common.guards.access import by, person, superuser_only
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, asked, fresh_form, page, see_other, spend_form


def link_of(token: str) -> str:
    """Return the URL of an invitation, which an administrator passes on to the person."""
    return settings.MEMORYHUB_URL.rstrip("/") + reverse("invitation", args=[token])


@superuser_only
@require_safe
def people(request: Request) -> HttpResponse:
    """List all people, sorted by e-mail address, and the open invitations."""
    return _page(request, InviteForm())


@never_cache
@superuser_only
@require_POST
def invite(request: Request) -> HttpResponse:
    """Create an invitation (one for each chosen store), and show its link once."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    gives_all = form.cleaned_data["is_superuser"] or form.cleaned_data["role"] == Role.ADMIN
    if gives_all and (asks := guard(request, "invite_administrator", lambda: _words(form.cleaned_data))) is not None:
        return asks
    if not spend_form(request):
        return see_other(request, "people")
    try:
        invitation, token = _invited(form.cleaned_data, by(request))
    except actions.MayNotInvite:
        raise PermissionDenied from None
    except actions.EmailTaken:
        form.add_error("email", _("Another person already has this e-mail address."))
        return _page(request, form)
    return shown_link(request, invitation, token, reverse("people"))


def _words(given: Mapping[str, Any]) -> Words:
    roles = [_("Administrator of the hub")] if given["is_superuser"] else []
    roles += [f"{store.name}: {Role(given['role']).label}" for store in given["stores"]]
    return [(_("Person"), given["email"]), *((_("Role"), str(role)) for role in roles)]


def _person(user: User) -> Words:
    return [(_("Person"), f"{user} ({user.email})")]


def _invited(given: Mapping[str, Any], who: Mapping[str, Any]) -> tuple[Invitation, str]:
    """Create one invitation for each store in `given`, or a single invitation if `given` has no store.

    Return the last invitation and its token. A link with this token accepts all the invitations.
    """
    wanted = {name: given[name] for name in ("email", "is_superuser", "role")}
    first, *others = list(given["stores"]) or [None]
    # the link of the last invitation accepts all of them
    for store in others:
        actions.invite(**wanted, store=store, **who)
    return actions.invite(**wanted, store=first, mails=True, **who)  # made last, so that its e-mail names all stores


@superuser_only
@require_POST
def withdraw(request: Request, invitation_id: str) -> HttpResponse:
    """Withdraw an unused invitation."""
    invitation = get_object_or_404(Invitation.objects.open(timezone.now()).newest(), pk=invitation_id)
    withdrawals.withdraw(invitation, **by(request))
    messages.success(request, _("The invitation is withdrawn: its link no longer works."))
    return see_other(request, "people")


@superuser_only
@require_POST
def set_active(request: Request, user_id: str) -> HttpResponse:
    """Reactivate an account (`active=1`). For a deactivation, redirect to its confirmation page."""
    user = get_object_or_404(User, pk=user_id)
    if request.POST.get("active") != "1":
        return see_other(request, "deactivate", user.id)
    gives_all = user.is_superuser or MemoryStore.objects.administered_by(user).exists()
    if gives_all and (asks := guard(request, "activate_user", lambda: _person(user))) is not None:
        return asks
    actions.set_active(user, True, **by(request))
    messages.success(request, _("%(name)s can sign in again.") % {"name": isolated(str(user))})
    return see_other(request, "people")


@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def deactivate(request: Request, user_id: str) -> HttpResponse:
    """Show the roles, keys, webhooks, invitations and open work of a person.

    On POST, deactivate the account, revoke the ticked keys and pause the ticked webhooks.
    """
    user = get_object_or_404(User, pk=user_id, is_active=True)
    sending = Webhook.objects.order_by("store__name", "name", "id")
    if request.method == "POST":
        return _deactivated(request, user, ending_of(request, user, Key.objects.all(), sending))
    keys, issued = rows_of(Key.objects.all(), user, person(request)), count_of(Key.objects.all(), user)
    webhooks = webhooks_of(sending, user)
    invitations = _links_of(user).newest()[:ROWS]
    roles = user.memberships.filter(store__deleted_at=None).select_related("store").order_by("store__name", "pk")
    shown = {"leaving": user, "keys": keys, "webhooks": webhooks, "invitations": invitations, "roles": roles[:ROWS]}
    shown |= {"issued": issued, "more_keys": issued - len(keys), "left": left_behind(user, timezone.now())}
    shown["more_roles"] = max(0, roles.count() - ROWS)
    shown["leaves_one"] = user.is_superuser and second_person.is_on() and second_person.administrators() == 2
    return render(request, "accounts/people/deactivate.html", shown)


def _links_of(user: User) -> InvitationQuerySet:
    """Return the open invitations that a deactivation withdraws: those that the person made, and links for the person's
    password."""
    return Invitation.objects.open(timezone.now()).filter(Q(made_by=user) | Q(user=user))


def _deactivated(request: Request, user: User, ending: Ending) -> HttpResponse:
    links, left = _links_of(user).count(), left_behind(user, timezone.now())
    try:
        actions.set_active(user, False, revoke=ending.keys, pause=ending.webhooks, **by(request))
    except LastAdministrator:
        messages.error(
            request,
            _("The last administrator of the hub cannot be deactivated. Make another person an administrator first."),
        )
        return see_other(request, "people")
    done = _("%(name)s is deactivated and signed out everywhere.") % {"name": isolated(str(user))}
    done = f"{done} {left.outcome}" if left else done
    messages.success(request, told_of(done, user, ending, links, *ending.going_on()))
    ending.say_late(request)
    if user == person(request):
        return see_other(request, "sign_in")
    return see_other(request, "people")


@never_cache
@superuser_only
@require_POST
def password_link(request: Request, user_id: str) -> HttpResponse:
    """Create a link with which a person sets a new password, and show it once."""
    user = get_object_or_404(User, pk=user_id, is_active=True)
    if not may_use_password(user):
        raise PermissionDenied
    if (asks := guard(request, "password_link", lambda: _person(user))) is not None:
        return asks
    if not spend_form(request):
        return see_other(request, "people")
    try:
        invitation, token = actions.invite(user=user, email=user.email, mails=True, **by(request))
    except actions.MayNotInvite:
        raise PermissionDenied from None
    return shown_link(request, invitation, token, reverse("people"))


def shown_link(request: Request, invitation: Invitation, token: str, back: str) -> HttpResponse:
    """Show the link of an invitation, which cannot be shown again.

    `token` is the secret in the link, `back` the URL of the next page.
    """
    beside = actions.beside(invitation, timezone.now())
    shown = {
        "invitation": invitation,
        "beside": beside,
        "link": link_of(token),
        "back": back,
        "is_mailed": outbox.is_on(),
    }
    return render(request, "accounts/people/password_link.html", shown)


def _page(request: Request, form: InviteForm) -> HttpResponse:
    query = asked(request, "q").strip()
    found = page(_matching(query), "email", asked(request, "after"))
    shown: dict[str, Any] = {
        "page": found,
        "with_password": {user.pk for user in found.rows if may_use_password(user)},
        "invitations": Invitation.objects.open(timezone.now()).newest()[:ROWS],
        "form": form,
        "form_once": fresh_form(),
        "query": query,
        "administrators": User.objects.filter(is_active=True, is_superuser=True)[:2].count(),
    }
    return render(request, "accounts/people/page.html", shown)


def _matching(query: str) -> QuerySet[User]:
    """Return the people whose e-mail address or name contains the text `query`."""
    people = User.objects.prefetch_related("memberships__store")
    return people.filter(Q(email__contains=fold_email(query)) | Q(name__icontains=query)) if query else people
