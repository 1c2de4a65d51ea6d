"""Signing in, signing out, and accepting invitations."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.core import signing
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.accounts import authenticators, people, sign_in as sign_ins
from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.actions.core.hub import outbox
from memoryhub.models import Invitation, User
from memoryhub.templatetags.visible import isolated
from memoryhub.web.accounts import known_device, provider, theme
from memoryhub.web.accounts.forms import CodeForm, JoinForm, LinkPasswordForm, NewPasswordForm, SignInForm
from memoryhub.web.accounts.passkeys import hosts
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, not_now, own_address, see_other

SECOND_STEP, SECONDS_OF_STEP = "memoryhub.second_step", 300
"""The salt of the signed text that says whose password was right in which browser, and the seconds for which the text
is valid."""


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: Request) -> HttpResponse:
    """Ask for e-mail address and password, and sign the person in; `next` is the page to continue to."""
    wanted = own_address(request, request.POST.get("next") or request.GET.get("next"))
    if request.user.is_authenticated:
        return redirect(wanted)
    form = SignInForm(request.POST if request.method == "POST" else None, initial={"next": wanted})
    if form.is_valid():
        try:
            user = _recognised(request, form)
        except (TooManyTries, TooBusy) as error:
            return not_now(request, "accounts/sign_in.html", _asked(form), error)
        if user is not None:
            return next_step(request, user, wanted)
        form.add_error(None, _("E-mail address and password do not match an active account."))
    return render(request, "accounts/sign_in.html", _asked(form, is_local="local" in request.GET))


def _asked(form: SignInForm, *, is_local: bool = False) -> dict[str, Any]:
    """Return the template context: the sign-in form, the identity provider, or both.

    If single sign-on is required, only administrators can use the form. It is then hidden, unless it was asked for
    (`is_local`) or has just been sent.
    """
    is_only = settings.MEMORYHUB_OIDC_ONLY and not form.is_bound
    return {
        "form": form, "sends_mail": outbox.is_on(), "provider": provider.name() if provider.is_on() else "",
        "has_form": not is_only or is_local, "is_only": settings.MEMORYHUB_OIDC_ONLY,
        "with_passkeys": hosts.are_on(),
    }  # fmt: skip


def _recognised(request: Request, form: SignInForm) -> User | None:
    """Return the person with the submitted e-mail address and password, or None."""
    email, password = form.cleaned_data["email"], form.cleaned_data["password"]
    device = known_device.of(request, sign_ins.user_of(email))
    typed = sign_ins.Credentials(email, password, client_address(request), device)
    return sign_ins.sign_in(typed, at=timezone.now())


def next_step(request: Request, user: User, url: str) -> HttpResponse:
    """Sign in a person whose password was right, or first ask for the code of the person's authenticator app."""
    if not authenticators.needs_code(user):
        return welcome(request, user, url)
    step = {"user": user.id, "hash": user.get_session_auth_hash(), "browser": browser_of(request), "next": url}
    shown = {"form": CodeForm(initial={"step": signing.dumps(step, salt=SECOND_STEP)})}
    return render(request, "accounts/code.html", shown)


def browser_of(request: Request) -> str:
    """Return a text that is the same in each request of one browser until it signs in: a digest of its CSRF cookie."""
    get_token(request)
    return salted_hmac(SECOND_STEP, request.META["CSRF_COOKIE"], algorithm="sha256").hexdigest()


def welcome(request: Request, user: User, url: str) -> HttpResponse:
    """Start the person's session in this browser and redirect."""
    login(request, user)
    response = theme.remember(see_other(request, url), user.theme)
    return known_device.remember(request, response, user)


@require_POST
def sign_out(request: Request) -> HttpResponse:
    if isinstance(request.user, User):
        sign_ins.sign_out(request.user, request.browser.pk, at=timezone.now())
        logout(request)
    return see_other(request, "sign_in")


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: Request, token: str) -> HttpResponse:
    """Show the page of a one-time link.

    The URL contains the token, so a header prevents browsers from sending the URL as a referrer.
    """
    response = _invitation(request, token)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _invitation(request: Request, token: str) -> HttpResponse:
    """Show or accept a one-time link: create an account, set a new password, or join a store."""
    found = people.find_invitation(token, timezone.now())
    if found is None:
        return _spent(request)
    if isinstance(request.user, User) and people.invites(found, request.user):
        return _join(request, found, token, request.user)
    if people.needs_provider(found):
        to_sign_in = reverse("sign_in", query={"next": request.path})
        return redirect("today" if request.user.is_authenticated else to_sign_in)
    return _with_password(request, found, token)


def _with_password(request: Request, found: Invitation, token: str) -> HttpResponse:
    """Ask for a new password, and for a name if the person is new."""
    form = _invited(request, found)
    if form.is_valid():
        try:
            return _accepted(request, token, form)
        except people.InvitationSpent:
            return _spent(request)
        except people.EmailTaken:
            form.add_error("email" if "email" in form.fields else None, _taken(found))
        except (TooManyTries, TooBusy) as error:
            said = {"form": form, **_shown(found)}
            return not_now(request, "accounts/invitation.html", said, error)
    return render(request, "accounts/invitation.html", {"form": form, **_shown(found)})


def _shown(invitation: Invitation) -> dict[str, Any]:
    return {"invitation": invitation, "beside": people.beside(invitation, timezone.now())}


def _taken(invitation: Invitation) -> str:
    if invitation.store is None:
        return _("Another person already has this e-mail address.")
    return _(
        "This address already has an account. If the account is yours, sign in with it, then open this link again."
    )


def _join(request: Request, invitation: Invitation, token: str, user: User) -> HttpResponse:
    """Let a signed-in person accept an invitation to a store with one button."""
    if request.method != "POST":
        return render(request, "accounts/invitation_join.html", _shown(invitation))
    try:
        store = people.join(user, token, at=timezone.now())
    except people.InvitationSpent:
        return _spent(request)
    messages.success(request, _("You are now a member of %(store)s.") % {"store": isolated(store.name)})
    return see_other(request, "store", store.id)


def _invited(request: Request, invitation: Invitation) -> NewPasswordForm:
    data = request.POST if request.method == "POST" else None
    if invitation.user is not None:
        return LinkPasswordForm(data, user=invitation.user)
    return JoinForm(data, email=invitation.email)


def _accepted(request: Request, token: str, form: NewPasswordForm) -> HttpResponse:
    values = form.cleaned_data
    at = timezone.now()
    user = people.accept(
        token,
        email=values.get("email", ""),
        name=values.get("name", ""),
        password=values["password"],
        ends_passkeys=bool(values.get("passkeys")),
        at=at,
        address=client_address(request),
    )
    return entered(request, user)


def entered(request: Request, user: User) -> HttpResponse:
    """Sign in a person who has set a password through a link.

    If the sign-in also needs a code from an authenticator app, redirect to the sign-in page instead.
    """
    if authenticators.needs_code(user):
        messages.success(request, _("Your password is changed. Sign in with it."))
        return see_other(request, "sign_in")
    sign_ins.enter(user, address=client_address(request), at=timezone.now())
    return welcome(request, user, own_address(request, None))


def _spent(request: Request) -> HttpResponse:
    return render(request, "accounts/invitation_spent.html", status=410)
