"""Passkeys (WebAuthn): a person adds a passkey, signs in with it, or uses it to prove again who they are.

The browser gets a challenge in a signed cookie; the signature of the passkey is checked against this challenge and
against the address of the hub. Each answer counts once. A passkey asks its person for a PIN or a finger, so it counts
as two proofs.
"""

import base64
import json
import struct
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from memoryhub.actions.accounts import authenticators as actions, sign_in as sign_ins, tries
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.models import Authenticator, AuthenticatorKind, User
from memoryhub.web.accounts.passkeys import hosts
from memoryhub.web.accounts.sign_in import welcome
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.guards.fresh import is_fresh
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address, own_address

COOKIE, SALT, LASTS = "passkey", "memoryhub.passkey", 300
MOST = 20
_WRONG = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, NotImplementedError,
    struct.error, signing.BadSignature,
)  # fmt: skip
"""The exceptions that reading a malformed answer can raise. No browser sends such an answer."""


def _server() -> Any:
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    host = PublicKeyCredentialRpEntity(name="MemoryHub", id=urlsplit(settings.MEMORYHUB_URL).hostname)
    return Fido2Server(host, verify_origin=lambda origin: bool(origin == settings.MEMORYHUB_URL))


def _options(options: Any, state: dict[str, Any], what: str) -> HttpResponse:
    response = JsonResponse(dict(options))
    asked_at = timezone.now().isoformat()
    kept = signing.dumps({"challenge": state["challenge"], "what": what, "asked_at": asked_at}, salt=SALT)
    response.set_cookie(
        COOKIE, kept, max_age=LASTS, httponly=True, samesite="Strict", secure=settings.SESSION_COOKIE_SECURE
    )
    return response


def _answered(request: HttpRequest, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the state of the challenge in the cookie, the answer of the browser).

    The state has the time at which the challenge was made, as `asked_at`. The parameter `what` is the purpose that the
    challenge must have. Raises BadSignature if the cookie is missing, forged or too old; ValueError if the challenge
    has another purpose, or if the answer is not a JSON object.
    """
    kept = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LASTS)
    answer = json.loads(request.POST.get("answer", ""))
    if kept["what"] != what or not isinstance(answer, dict):
        raise ValueError("this challenge was for something else")
    return {"challenge": kept["challenge"], "user_verification": "required", "asked_at": kept["asked_at"]}, answer


def _wrong(status: int = 400, sentence: str = "") -> HttpResponse:
    said = sentence or _("The passkey was not accepted.")
    response = JsonResponse({"problem": said}, status=status)
    response.delete_cookie(COOKIE)
    return response


@never_cache
@signed_in
@require_POST
def begin(request: Request) -> HttpResponse:
    """Return the challenge and the options with which the browser makes a passkey."""
    from fido2.webauthn import AttestedCredentialData, PublicKeyCredentialUserEntity

    user = _with_passkeys(request)
    known = [AttestedCredentialData(_bytes(one.secret)) for one in _of(user)]
    entity = PublicKeyCredentialUserEntity(name=user.email, id=user.id.encode(), display_name=user.name)
    options, state = _server().register_begin(
        entity, known, resident_key_requirement="required", user_verification="required"
    )
    return _options(options, state, f"add {user.id}")


@never_cache
@signed_in
@require_POST
def add(request: Request) -> HttpResponse:
    """Add the passkey that the browser has made."""
    user = _with_passkeys(request)
    try:
        state, answer = _answered(request, f"add {user.id}")
        made = _server().register_complete(state, answer)
    except _WRONG:
        return _wrong()
    data = made.credential_data
    credential = base64.urlsafe_b64encode(data.credential_id).decode()
    name = " ".join(request.POST.get("name", "").replace("\0", "").split())[:100] or _("Passkey")
    if len(_of(user)) >= MOST or Authenticator.objects.filter(credential=credential).exists():
        return _wrong()
    public = base64.urlsafe_b64encode(bytes(data)).decode()
    actions.add_passkey(user, name, credential, public, made.counter, at=timezone.now())
    return _done("")


@never_cache
@require_POST
def ask(request: Request) -> HttpResponse:
    """Return the challenge and the options with which the browser signs in, by a passkey of any person."""
    if not hosts.are_on():
        raise Http404
    options, state = _server().authenticate_begin([], user_verification="required")
    return _options(options, state, "use")


@never_cache
@require_POST
def use(request: Request) -> HttpResponse:
    """Sign in the person whose passkey has signed the challenge.

    If this person is signed in already, the passkey is a new proof of who they are. If another person is signed in, the
    passkey is not accepted.
    """
    at, address = timezone.now(), client_address(request)
    counters = tries.of_provider(address)
    try:
        tries.take(counters, at)
        user = _user_of(request)
    except TooManyTries:
        return _wrong(429, _("Too many tries. Wait a minute, then try again."))
    except _WRONG:
        return _wrong()
    tries.give_back(counters, passed=True)
    if request.user.is_authenticated:
        if request.user.pk != user.pk:
            return _wrong()
        sign_ins.confirmed(user, request.browser, address=address, at=at)
        return _done("")
    if not sign_ins.may_use_password(user):
        return _wrong()
    sign_ins.enter(user, address=address, at=at)
    to = own_address(request, request.POST.get("next"))
    response = _done(to)
    response.cookies.update(welcome(request, user, to).cookies)
    return response


def _user_of(request: HttpRequest) -> User:
    """Return the active person whose passkey has signed the challenge. Raises ValueError and the exceptions of
    fido2."""
    from fido2.webauthn import AttestedCredentialData, AuthenticationResponse

    state, answer = _answered(request, "use")
    parsed = AuthenticationResponse.from_dict(answer)
    credential = base64.urlsafe_b64encode(parsed.raw_id).decode()
    found = Authenticator.objects.of_kind(AuthenticatorKind.PASSKEY).filter(user__is_active=True)
    passkey = found.select_related("user").filter(credential=credential).first()
    if passkey is None:
        raise ValueError("no such passkey")
    _server().authenticate_complete(state, [AttestedCredentialData(_bytes(passkey.secret))], answer)
    counter, asked_at = parsed.response.authenticator_data.counter, datetime.fromisoformat(state["asked_at"])
    if not actions.use_passkey(passkey, counter, asked_at=asked_at, at=timezone.now()):
        raise ValueError("this was answered before, or the passkey was copied")
    return passkey.user


def _done(to: str) -> HttpResponse:
    response = JsonResponse({"to": to})
    response.delete_cookie(COOKIE)
    return response


def _with_passkeys(request: Request) -> User:
    if not hosts.are_on():
        raise Http404
    if not is_fresh(request):
        raise PermissionDenied
    return person(request)


def _of(user: User) -> list[Authenticator]:
    return list(Authenticator.objects.of(user).of_kind(AuthenticatorKind.PASSKEY))


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text)
