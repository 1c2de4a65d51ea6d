"""A person's own account page: name, time zone, theme, shortcuts and password."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.accounts import people
from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.models import User
from memoryhub.web.accounts import theme
from memoryhub.web.accounts.forms import ChangePasswordForm, ProfileForm, time_zones
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import not_now, see_other

_OWN = ("name", "time_zone", "theme", "single_keys")


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: Request) -> HttpResponse:
    """Show the account page, and save the profile on POST."""
    user = person(request)
    now = {name: getattr(user, name) for name in _OWN}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=now)
    if form.is_valid():
        people.edit_profile(user, at=timezone.now(), **form.cleaned_data)
        messages.success(request, _("Your account is saved."))
        return theme.remember(see_other(request, "account"), user.theme)
    return _page(request, user, profile=form)


@sensitive_post_parameters("current", "password", "again")
@never_cache
@signed_in
@require_POST
def change_password(request: Request) -> HttpResponse:
    """Change the password; this browser stays signed in, other browsers are signed out."""
    user = person(request)
    form = ChangePasswordForm(request.POST, user=user)
    try:
        is_done = form.is_valid() and _changed(user, form, request.browser.pk)
    except (TooManyTries, TooBusy) as error:
        return not_now(request, "accounts/account.html", _shown(user, password=form), error)
    if is_done:
        update_session_auth_hash(request, user)
        messages.success(request, _("Your password is changed. Other browsers are signed out."))
        return see_other(request, "account")
    return _page(request, user, password=form)


def _changed(user: User, form: ChangePasswordForm, browser: str) -> bool:
    """Change the password and return True. If the current password is wrong, add an error to the form and return
    False."""
    typed = form.cleaned_data
    if people.change_password(user, typed["current"], typed["password"], at=timezone.now(), keep=browser):
        return True
    form.add_error("current", _("This is not your current password."))
    return False


def _page(request: Request, user: User, **forms: Any) -> HttpResponse:
    return render(request, "accounts/account.html", _shown(user, **forms))


def _shown(user: User, **forms: Any) -> dict[str, Any]:
    now = {name: getattr(user, name) for name in _OWN}
    shown = {"profile": ProfileForm(initial=now), "password": ChangePasswordForm(user=user), "time_zones": time_zones()}
    return shown | forms
