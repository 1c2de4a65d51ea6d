"""Coming in and going out: invitations, sign-in and sign-out."""

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions import people
from memoryhub.models import Invitation, User
from memoryhub.web import accounts_theme
from memoryhub.web.accounts_answers import client_address, own_address, see_other
from memoryhub.web.accounts_forms import JoinForm, NewPasswordForm, SignInForm


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Asks for e-mail and password; `next` is where the person wanted to go."""
    wanted = own_address(request, request.POST.get("next") or request.GET.get("next"))
    if request.user.is_authenticated:
        return redirect(wanted)
    form = SignInForm(request.POST if request.method == "POST" else None, initial={"next": wanted})
    if form.is_valid():
        user = _recognised(request, form)
        if user is not None:
            return _welcome(request, user, wanted)
    return render(request, "accounts/sign_in.html", {"form": form})


def _recognised(request: HttpRequest, form: SignInForm) -> User | None:
    """The person of a filled-in form; without one the form says why."""
    typed = people.Credentials(form.cleaned_data["email"], form.cleaned_data["password"], client_address(request))
    try:
        user = people.sign_in(typed, at=timezone.now())
    except people.TooManyTries:
        minutes = people.SIGN_IN_WINDOW.seconds // 60
        sentence = _("Too many failed sign-ins with this e-mail address. Wait %(minutes)d minutes, then try again.")
        form.add_error(None, sentence % {"minutes": minutes})
        return None
    if user is None:
        form.add_error(None, _("E-mail address and password do not match an active account."))
    return user


def _welcome(request: HttpRequest, user: User, url: str) -> HttpResponse:
    """Begins the person's session in this browser."""
    login(request, user)
    return accounts_theme.remember(see_other(request, url), user.theme)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    if isinstance(request.user, User):
        people.sign_out(request.user, at=timezone.now())
        logout(request)
    return see_other(request, "sign_in")


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a one-time link: a new person says who they are, one that is known sets another password."""
    found = people.find_invitation(token, timezone.now())
    if found is None:
        return _spent(request)
    form = _invited(request, found)
    if form.is_valid():
        try:
            return _accepted(request, token, form)
        except people.InvitationSpent:
            return _spent(request)
        except people.EmailTaken:
            form.add_error("email" if "email" in form.fields else None, _("Somebody has this e-mail address already."))
    return render(request, "accounts/invitation.html", {"form": form, "invitation": found})


def _invited(request: HttpRequest, invitation: Invitation) -> NewPasswordForm:
    data = request.POST if request.method == "POST" else None
    if invitation.user is not None:
        return NewPasswordForm(data, user=invitation.user)
    return JoinForm(data, email=invitation.email)


def _accepted(request: HttpRequest, token: str, form: NewPasswordForm) -> HttpResponse:
    values = form.cleaned_data
    at = timezone.now()
    user = people.accept(
        token, email=values.get("email", ""), name=values.get("name", ""), password=values["password"], at=at
    )
    people.enter(user, address=client_address(request), at=at)
    return _welcome(request, user, own_address(request, None))


def _spent(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/invitation_spent.html", status=410)
