"""The second step of the sign-in (the code of an authenticator app), and the page on which a person adds an app."""

from typing import Any

from django.contrib import messages
from django.core import signing
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.accounts import authenticators as actions, sign_in as sign_ins
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.actions.core.audit import Actor
from memoryhub.models import Authenticator, AuthenticatorKind, User
from memoryhub.pure import totp
from memoryhub.web.accounts.forms import CodeForm
from memoryhub.web.accounts.passkeys import hosts
from memoryhub.web.accounts.sign_in import SECOND_STEP, SECONDS_OF_STEP, browser_of, welcome
from memoryhub.web.common.guards.access import by, person, signed_in, superuser_only
from memoryhub.web.common.guards.fresh import is_fresh, proof
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, not_now, own_address, see_other

APP, SECONDS_OF_APP = "memoryhub.app", 3600


@sensitive_post_parameters()
@never_cache
@require_POST
def code(request: Request) -> HttpResponse:
    """Sign in a person whose password was right in this browser, if the code is right too."""
    try:
        step = signing.loads(request.POST.get("step", ""), salt=SECOND_STEP, max_age=SECONDS_OF_STEP)
    except signing.BadSignature:
        return _again(request)
    user = User.objects.filter(pk=step["user"], is_active=True).first()
    if user is None or user.get_session_auth_hash() != step["hash"] or not sign_ins.may_use_password(user):
        return _again(request)
    if step.get("browser") != browser_of(request):
        return _again(request)
    form, at = CodeForm(request.POST), timezone.now()
    if form.is_valid():
        try:
            if actions.enter(user, form.cleaned_data["code"], address=client_address(request), at=at):
                return welcome(request, user, own_address(request, step["next"]))
        except TooManyTries as error:
            return not_now(request, "accounts/code.html", {"form": form}, error)
        form.add_error("code", _("This code is not right, or was used already."))
    return render(request, "accounts/code.html", {"form": form})


def _again(request: Request) -> HttpResponse:
    messages.warning(request, _("That took too long. Sign in again."))
    return see_other(request, "sign_in")


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: Request) -> HttpResponse:
    """Show the person's authenticator app and passkeys. On POST, ask the person for a proof of who they are, so that
    the app and the passkeys can be changed."""
    if request.method == "POST":
        return proof(request) or see_other(request, "second_step")
    user = person(request)
    shown = {
        "app": Authenticator.objects.of(user).of_kind(AuthenticatorKind.APP).first(),
        "codes": Authenticator.objects.of(user).of_kind(AuthenticatorKind.RECOVERY).count(),
        "passkeys": Authenticator.objects.of(user).of_kind(AuthenticatorKind.PASSKEY),
        "is_fresh": is_fresh(request),
        "are_on": hosts.are_on(),
    }
    return render(request, "accounts/second_step.html", shown)


@sensitive_post_parameters()
@never_cache
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def app(request: Request) -> HttpResponse:
    """Show the secret for a new authenticator app. On POST, add the app if the code that it made is right."""
    if not is_fresh(request):
        return redirect("second_step")
    user = person(request)
    form = CodeForm(request.POST if request.method == "POST" else None)
    secret = _secret_of(request, user) or totp.new_secret()
    if form.is_valid():
        codes = actions.add_app(user, secret, "".join(form.cleaned_data["code"].split()), at=timezone.now())
        if codes is not None:
            return render(request, "accounts/recovery_codes.html", {"codes": codes})
        form.add_error("code", _("This code is not right. Check the clock of your phone, and type the newest code."))
    form.initial["step"] = signing.dumps({"user": user.id, "secret": secret}, salt=APP)
    return render(request, "accounts/app.html", {"form": form, "secret": secret, "picture": _picture(user, secret)})


def _secret_of(request: Request, user: User) -> str | None:
    """Return the secret that was shown to this person, or None if it was not shown or is too old."""
    try:
        shown: dict[str, Any] = signing.loads(request.POST.get("step", ""), salt=APP, max_age=SECONDS_OF_APP)
    except signing.BadSignature:
        return None
    return str(shown["secret"]) if shown["user"] == user.id else None


def _picture(user: User, secret: str) -> str:
    import segno

    address = totp.address_of(secret, user.email, "MemoryHub")
    return str(segno.make(address, micro=False).svg_data_uri(scale=4, border=3, light="#fff"))


@signed_in
@require_POST
def remove(request: Request, authenticator_id: str) -> HttpResponse:
    """Remove the person's authenticator app with its recovery codes, or one of the person's passkeys."""
    if not is_fresh(request):
        return see_other(request, "second_step")
    user = person(request)
    found = get_object_or_404(
        Authenticator.objects.of(user).exclude(kind=AuthenticatorKind.RECOVERY), pk=authenticator_id
    )
    if found.kind == AuthenticatorKind.APP:
        actions.remove_app(user, actor=Actor.person(user), at=timezone.now())
        messages.success(request, _("The app is removed: your password alone signs you in."))
    else:
        actions.remove_passkeys(user, found.pk, actor=Actor.person(user), at=timezone.now())
        messages.success(request, _("The passkey is removed."))
    return see_other(request, "second_step")


@superuser_only
@require_POST
def remove_all(request: Request, user_id: str) -> HttpResponse:
    """Remove the authenticator app and the passkeys of a person who has lost them."""
    user = get_object_or_404(User, pk=user_id)
    if (asks := guard(request, "remove_proofs", lambda: [(_("Person"), f"{user} ({user.email})")])) is not None:
        return asks
    acting = by(request)
    actions.remove_app(user, actor=acting["actor"], at=acting["at"])
    actions.remove_passkeys(user, actor=acting["actor"], at=acting["at"])
    messages.success(request, _("The app and the passkeys are removed."))
    return see_other(request, "browsers_of", user.pk)
