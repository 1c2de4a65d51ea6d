"""Acts that cannot be undone require a recent proof of who the person is.

A view calls `proof` just before the act. If the proof is too old, the person gets a page that asks for a new one. The
form of this page also contains the fields of the request, and sends them again.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.actions.accounts import sign_in
from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.models import Authenticator, AuthenticatorKind, User
from memoryhub.web.common.forms import PasswordForm
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, not_now, own_address

CAME_FROM = "came_from"
PROOF_FIELDS = ("csrfmiddlewaretoken", "proof", CAME_FROM)
PAGE = "common/guards/proof.html"
LONG_AGO = datetime.fromtimestamp(0, UTC)
"""The time of the proof of a person whom a provider or a proxy signed in: it is not known how strong that sign-in
was."""


def is_fresh(request: Request) -> bool:
    """Return whether the person has recently proved in this browser who they are."""
    minutes = settings.MEMORYHUB_FRESH_MINUTES
    return minutes is None or abs(timezone.now() - request.browser.confirmed_at) < timedelta(minutes=minutes)


def can_prove(user: User) -> bool:
    """Return whether a person can prove their identity with a password or a passkey of the hub."""
    return _by_password(user) or _by_passkey(user)


def cancel_address(request: Request) -> str:
    """Return the address of the page on which the person began the act, for the link *Cancel*."""
    return own_address(request, request.POST.get(CAME_FROM) or request.headers.get("Referer"))


def _by_password(user: User) -> bool:
    return user.has_usable_password() and sign_in.may_use_password(user)


def _by_passkey(user: User) -> bool:
    return Authenticator.objects.of(user).of_kind(AuthenticatorKind.PASSKEY).exists()


def proof(request: Request) -> HttpResponse | None:
    """Return the page that asks for the password, or None if the act may be done now. Call it only in a POST."""
    if is_fresh(request):
        return None
    form = PasswordForm(request.POST if "proof" in request.POST else None)
    shown = {
        "form": form,
        "kept": [(name, values) for name, values in request.POST.lists() if name not in PROOF_FIELDS],
    }
    shown |= {
        "minutes": settings.MEMORYHUB_FRESH_MINUTES,
        "by_passkey": _by_passkey(person(request)),
        "by_provider": bool(request.browser.grant),
        "by_password": _by_password(person(request)),
        "came_from": cancel_address(request),
    }
    if form.is_valid():
        try:
            is_right = sign_in.confirm(
                person(request), request.browser, form.cleaned_data["proof"], address=client_address(request),
                at=timezone.now(),
            )  # fmt: skip
        except (TooManyTries, TooBusy) as error:
            return not_now(request, PAGE, shown, error)
        if is_right:
            return None
        form.add_error("proof", _("This is not your current password."))
    return render(request, PAGE, shown)
