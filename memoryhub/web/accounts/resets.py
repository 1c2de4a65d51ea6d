"""A new password by e-mail: the page that asks for the link, and the page of the link."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts import people, resets
from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.actions.core.hub import outbox
from memoryhub.web.accounts.forms import ForgottenForm, LinkPasswordForm
from memoryhub.web.accounts.sign_in import entered
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, not_now


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: Request) -> HttpResponse:
    """Send a link for a new password to the typed e-mail address, if an account has this address. The page does not
    show whether there is such an account."""
    if request.user.is_authenticated:
        return redirect("account")
    form = ForgottenForm(request.POST if request.method == "POST" else None)
    is_done = False
    if outbox.is_on() and form.is_valid():
        try:
            resets.request(form.cleaned_data["email"], address=client_address(request), at=timezone.now())
        except TooManyTries as error:
            return not_now(request, "accounts/forgotten.html", {"form": form, "is_on": True}, error)
        is_done = True
    shown = {"form": form, "is_on": outbox.is_on(), "is_done": is_done}
    return render(request, "accounts/forgotten.html", shown)


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: Request, person_id: str, token: str) -> HttpResponse:
    """Let the receiver of the e-mail set a new password, and sign them in.

    The URL contains the token, so a header prevents browsers from sending the URL as a referrer.
    """
    response = _reset(request, person_id, token)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _reset(request: Request, person_id: str, token: str) -> HttpResponse:
    at = timezone.now()
    user = resets.user_of(person_id, token, at)
    if user is None:
        return _spent(request)
    form = LinkPasswordForm(request.POST if request.method == "POST" else None, user=user)
    shown = {"form": form, "receiver": user}
    if not form.is_valid():
        return render(request, "accounts/reset.html", shown)
    address = client_address(request)
    try:
        values, ends = form.cleaned_data, bool(form.cleaned_data.get("passkeys"))
        user = resets.set_password(person_id, token, values["password"], ends_passkeys=ends, address=address, at=at)
    except people.InvitationSpent:
        return _spent(request)
    except (TooManyTries, TooBusy) as error:
        return not_now(request, "accounts/reset.html", shown, error)
    return entered(request, user)


def _spent(request: Request) -> HttpResponse:
    hours = settings.PASSWORD_RESET_TIMEOUT // 3600
    return render(request, "accounts/reset_spent.html", {"hours": hours, "is_on": outbox.is_on()}, status=410)
