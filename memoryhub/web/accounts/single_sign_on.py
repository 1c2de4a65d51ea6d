"""Signing in at the identity provider, and asking the provider again while a person uses the hub.

A signed cookie keeps the data of a sign-in that has begun. So an answer of the provider is accepted only once, and only
in the browser that requested it.
"""

import base64
import hashlib
import json
import logging
import secrets
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import DatabaseError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memoryhub.actions.accounts import browsers, sign_in as sign_ins, single_sign_on as actions, tries
from memoryhub.actions.accounts.single_sign_on import Known, NotAdmitted
from memoryhub.actions.accounts.tries import Counter, TooManyTries
from memoryhub.models import BrowserSession, User
from memoryhub.web.accounts import provider
from memoryhub.web.accounts.provider import Refused, Said, Tokens, Unreachable
from memoryhub.web.accounts.sign_in import welcome
from memoryhub.web.common.guards.fresh import LONG_AGO, can_prove
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, own_address

COOKIE, SALT = "provider", "memoryhub.provider"
LASTS = 600
"""Seconds that a person may spend at the provider."""

logger = logging.getLogger(__name__)


class Untold(Exception):
    """The provider does not say when the person signed in there, so the sign-in is no proof of identity.

    It is raised only for a person who can prove their identity in another way. For anyone else, the sign-in is enough.
    """


@never_cache
@require_safe
def start(request: Request) -> HttpResponse:
    """Send the person to the provider. With `again` in the URL, the person has to sign in there again, as a proof."""
    if not provider.is_on():
        raise Http404
    is_again = "again" in request.GET and request.user.is_authenticated
    wanted = own_address(request, request.GET.get("next"))
    if request.user.is_authenticated and not is_again:
        return redirect(wanted)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    kept = {"state": state, "nonce": nonce, "verifier": verifier, "next": wanted, "again": is_again}
    try:
        to = provider.address(back=_back(), state=state, nonce=nonce, verifier=verifier, again=is_again)
    except (Refused, Unreachable) as error:
        return _failed(request, error)
    response = HttpResponseRedirect(to)
    response.set_cookie(
        COOKIE, signing.dumps(kept, salt=SALT), max_age=LASTS, httponly=True, samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE, path=reverse("provider"),
    )  # fmt: skip
    return response


@never_cache
@require_safe
def back(request: Request) -> HttpResponse:
    """Sign in the person whom the provider sent back."""
    if not provider.is_on():
        raise Http404
    response = _back_again(request)
    response.delete_cookie(COOKIE, path=reverse("provider"))
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _back_again(request: Request) -> HttpResponse:
    kept, at, address = _kept(request), timezone.now(), client_address(request)
    if kept is None:
        return _failed(request, None)
    counters = tries.of_provider(address)
    try:
        tries.take(counters, at)
        code, verifier, nonce = request.GET.get("code", ""), kept["verifier"], kept["nonce"]
        said, tokens = provider.redeem(code, back=_back(), verifier=verifier, nonce=nonce)
        if kept["again"]:
            return _proved(request, said, counters)
        user = actions.enter(_known(said), settings.MEMORYHUB_OIDC_ROLES, address=address, at=at)
    except (Refused, Unreachable, NotAdmitted, TooManyTries) as error:
        return _failed(request, error)
    tries.give_back(counters, passed=True)
    response = welcome(request, user, own_address(request, kept["next"]))
    actions.keep(request.browser, sealed(said.subject, tokens), at=at)
    if said.signed_in_at:
        browsers.confirm(request.browser, datetime.fromtimestamp(min(said.signed_in_at, at.timestamp()), UTC))
    elif can_prove(user):
        browsers.confirm(request.browser, LONG_AGO)
    return response


def _back() -> str:
    return provider.redirect_uri(reverse("provider_back"))


def _kept(request: Request) -> dict[str, Any] | None:
    """Return the data of the sign-in in the cookie if the provider's answer belongs to this sign-in, else None."""
    try:
        kept: dict[str, Any] = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return None
    is_mine = secrets.compare_digest(kept["state"].encode(), request.GET.get("state", "").encode())
    is_its = request.GET.get("iss", settings.MEMORYHUB_OIDC_ISSUER) == settings.MEMORYHUB_OIDC_ISSUER
    return kept if is_mine and is_its and "code" in request.GET else None


def _proved(request: Request, said: Said, counters: list[Counter]) -> HttpResponse:
    """Record that a signed-in person has signed in at the provider again, as a proof of who the person is."""
    user, at = request.user, timezone.now()
    if not isinstance(user, User):
        return _failed(request, None)
    # without the time of the sign-in, it is a proof only for a person who has no other
    if not said.signed_in_at and can_prove(user):
        return _failed(request, Untold("it does not say when the person signed in"))
    is_new = not said.signed_in_at or at.timestamp() - said.signed_in_at <= LASTS
    if not is_new or not user.identities.filter(issuer=settings.MEMORYHUB_OIDC_ISSUER, subject=said.subject).exists():
        return _failed(request, None)
    tries.give_back(counters, passed=True)
    sign_ins.confirmed(user, request.browser, address=client_address(request), at=at)
    return render(request, "accounts/provider_proved.html")


def _known(said: Said) -> Known:
    return Known(
        settings.MEMORYHUB_OIDC_ISSUER, said.subject, said.email, said.is_verified, said.name, said.groups,
        said.is_active, said.has_more_groups,
    )  # fmt: skip


def _failed(request: Request, error: Exception | None) -> HttpResponse:
    """Show that no one was signed in, and write the reason to the log only."""
    # only in the log, so that the person who tries does not learn the reason
    logger.warning("A sign-in at the identity provider failed: %s", error or "it was begun elsewhere, or long ago")
    is_down = isinstance(error, Unreachable)
    status = 429 if isinstance(error, TooManyTries) else 502 if is_down else 403
    shown = {
        "is_down": is_down,
        "is_untold": isinstance(error, Untold),
        "is_admitted": not isinstance(error, NotAdmitted),
        "provider": provider.name(),
    }
    return render(request, "accounts/provider_failed.html", shown, status=status)


# ------------------------------------------------------------------------------------------------ while it is used


def is_confirmed(browser: BrowserSession) -> bool:
    """Return whether a person who signed in at the provider stays signed in.

    For this, the provider is asked at most once a minute.
    """
    at = timezone.now()
    try:
        if not browser.grant or not actions.is_due(browser, at):
            return True
    except DatabaseError:  # a read-only database can still show pages
        logger.warning("That the identity provider is asked could not be written down.", exc_info=True)
        return actions.is_believed(browser, at)
    subject, tokens = _unsealed(browser.grant)
    try:
        if not provider.is_on() or tokens is None:
            raise Refused("the hub has no provider any more, or another secret")
        said, tokens = provider.again(subject, tokens)
    except Unreachable as error:
        logger.warning("The identity provider does not answer: %s", error)
        if actions.is_believed(browser, at):
            return True
        actions.end([browser], browser.user, at=at)
        return False
    except Refused as error:
        logger.warning("The identity provider no longer confirms a sign-in: %s", error)
        actions.end([browser], browser.user, at=at)
        return False
    actions.keep(browser, sealed(subject, tokens), at=at)
    return actions.renew(browser.user, _known(said), settings.MEMORYHUB_OIDC_ROLES, at=at)


def _cipher() -> Any:
    from cryptography.fernet import Fernet

    key = hashlib.sha256(b"memoryhub.provider" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def sealed(subject: str, tokens: Tokens) -> str:
    """Return the encrypted text in which the hub stores a sign-in at the provider. The secret that decrypts it is not
    in the database."""
    kept = [subject, tokens.access, tokens.refresh]
    return str(_cipher().encrypt(json.dumps(kept).encode()).decode())


def _unsealed(grant: str) -> tuple[str, Tokens | None]:
    from cryptography.fernet import InvalidToken

    try:
        subject, access, refresh = json.loads(_cipher().decrypt(grant.encode()))
    except (InvalidToken, ValueError):
        return "", None
    return subject, Tokens(access, refresh, "")
