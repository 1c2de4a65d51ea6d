"""The identity provider (OpenID Connect): its configuration, its keys, and its statements about a person.

Everything that the provider signs is checked here: issuer, audience, signature, times and nonce. Requests follow no
redirect, and their time and bytes are limited.
"""

import base64
import hashlib
import json
import math
import queue
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings

ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""The signature algorithms that are accepted. A symmetric algorithm is never accepted, because a client could know its
key; `none` is never accepted either."""

TIMEOUT, WHOLE, LARGEST = 5.0, 8.0, 1_000_000
KEPT = 600.0
"""Seconds for which the configuration and the keys are remembered. A key that is not among them is fetched at once."""
SILENT = 10.0
"""Seconds for which a provider that did not answer is not asked again, because each wait occupies a thread of the
hub."""
LONGEST_SUBJECT = 255
LEEWAY = 30
"""The accepted difference between the clocks of the hub and the provider, in seconds."""


class Refused(Exception):
    """The provider refuses a request of the hub, or its answer must not be trusted. The message is for the log."""


class Unreachable(Exception):
    """The provider does not answer, or answers that it is not available."""


@dataclass(frozen=True, slots=True)
class Said:
    """The provider's statements about a person.

    `groups` is None if the provider does not list the person's groups. `has_more_groups`: it does not list them because
    there are too many.
    """

    subject: str
    email: str
    is_verified: bool
    name: str
    groups: tuple[str, ...] | None
    has_more_groups: bool
    is_active: bool
    signed_in_at: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens in the answer of the token endpoint."""

    access: str
    refresh: str
    identity: str


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)
_remembered: dict[str, tuple[float, Any]] = {}
_silent_until: dict[str, float] = {}


def is_on() -> bool:
    """Return whether the hub has an identity provider."""
    return bool(settings.MEMORYHUB_OIDC_ISSUER)


def name() -> str:
    """Return the provider's name, as pages show it."""
    return settings.MEMORYHUB_OIDC_NAME or urlsplit(settings.MEMORYHUB_OIDC_ISSUER).hostname or ""


def redirect_uri(path: str) -> str:
    """Return the URL to which the provider sends people back. It must be registered at the provider."""
    return str(settings.MEMORYHUB_URL) + path


def forget() -> None:
    """Forget the remembered configuration and keys of the provider."""
    _remembered.clear()
    _silent_until.clear()


def address(*, back: str, state: str, nonce: str, verifier: str, again: bool) -> str:
    """Return the address at the provider where a person signs in. The provider then sends the person to the address
    `back`.

    With `again`, the person has to sign in even if already signed in at the provider.
    """
    # with max_age, the provider also says when the person signed in there
    challenge = _encoded(hashlib.sha256(verifier.encode()).digest())
    asked = {
        "response_type": "code", "client_id": settings.MEMORYHUB_OIDC_CLIENT_ID, "redirect_uri": back,
        "scope": settings.MEMORYHUB_OIDC_SCOPES, "state": state, "nonce": nonce, "code_challenge": challenge,
        "code_challenge_method": "S256", "max_age": str(settings.SESSION_COOKIE_AGE),
    }  # fmt: skip
    if again:
        asked |= {"prompt": "login", "max_age": "0"}
    at = str(_configuration()["authorization_endpoint"])
    return f"{at}{'&' if '?' in at else '?'}{urlencode(asked)}"


def redeem(code: str, *, back: str, verifier: str, nonce: str) -> tuple[Said, Tokens]:
    """Exchange the code of a sign-in. Return the provider's statements about the person, and the tokens.

    Raises Refused and Unreachable.
    """
    tokens = _tokens(
        {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
    )
    claims = _claims(tokens.identity, nonce)
    return _said(claims, tokens), tokens


def again(subject: str, tokens: Tokens) -> tuple[Said, Tokens]:
    """Request the provider's current statements about a person who has signed in. Raises Refused and Unreachable."""
    if tokens.refresh:
        fresh = _tokens({"grant_type": "refresh_token", "refresh_token": tokens.refresh})
        tokens = Tokens(fresh.access, fresh.refresh or tokens.refresh, fresh.identity)
    elif not tokens.access or "userinfo_endpoint" not in _configuration():
        raise Unreachable("it gave no refresh token and has no userinfo, so it cannot be asked again")
    claims = _claims(tokens.identity, None) if tokens.identity else {"sub": subject}
    said = _said(claims, tokens)
    if said.subject != subject:
        raise Refused("it names another person")
    return said, tokens


def _tokens(form: dict[str, str]) -> Tokens:
    client, secret = settings.MEMORYHUB_OIDC_CLIENT_ID, settings.MEMORYHUB_OIDC_CLIENT_SECRET
    configuration, headers = _configuration(), {"Content-Type": "application/x-www-form-urlencoded"}
    ways = configuration.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if secret and "client_secret_basic" in ways:
        pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
    found = _asked(configuration["token_endpoint"], urlencode(form).encode(), headers)
    texts = [found.get(name) or "" for name in ("access_token", "refresh_token", "id_token")]
    if not all(isinstance(text, str) for text in texts):
        raise Refused("its tokens are not strings")
    return Tokens(*texts)


def _claims(token: str, nonce: str | None) -> dict[str, Any]:
    """Return the claims of an ID token after every check of OpenID Connect Core 3.1.3.7. Raises Refused."""
    import jwt

    client = settings.MEMORYHUB_OIDC_CLIENT_ID
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise Refused("its signature is of a kind that is not accepted")
        claims: dict[str, Any] = jwt.decode(
            token, _key(header), algorithms=[header["alg"]], audience=client, issuer=settings.MEMORYHUB_OIDC_ISSUER,
            leeway=LEEWAY, options={"require": ["exp", "iat", "aud", "iss", "sub"]},
        )  # fmt: skip
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"its ID token is not valid: {error}") from error
    if claims.get("azp", client) != client or (isinstance(claims["aud"], list) and claims["aud"] != [client]):
        raise Refused("its ID token is for another program")
    if nonce is not None and claims.get("nonce") != nonce:
        raise Refused("its ID token is for another sign-in")
    return claims


def _key(header: dict[str, Any]) -> Any:
    """Return the key that signed a token. The keys are fetched again if this key is not among the known keys."""
    import jwt

    for is_fresh in (False, True):
        keys = _fetched(_configuration()["jwks_uri"], fresh=is_fresh).get("keys") or []
        for key in keys if isinstance(keys, list) else []:
            is_right = "kid" not in header or key.get("kid") == header["kid"]
            if is_right and key.get("use", "sig") == "sig" and key.get("kty") != "oct":
                return jwt.PyJWK(key, header["alg"])
    raise Refused("it signed with a key that it does not publish")


def _said(claims: dict[str, Any], tokens: Tokens) -> Said:
    """Return the provider's statements about a person, from the claims in the ID token.

    If the e-mail address or the groups are not in the token, the missing claims come from the userinfo endpoint.
    """
    is_complete = False
    wanted, configuration = {settings.MEMORYHUB_OIDC_GROUPS, "email"}, _configuration()
    if not wanted <= claims.keys() and tokens.access and "userinfo_endpoint" in configuration:
        headers = {"Authorization": f"Bearer {tokens.access}"}
        more = _asked(configuration["userinfo_endpoint"], None, headers)
        if more.get("sub") != claims["sub"]:
            raise Refused("its userinfo is about another person")
        if claims.get("email", more.get("email")) != more.get("email"):
            more.pop("email_verified", None)  # it is about another address
        claims = more | claims
        is_complete = True
    subject = claims["sub"]
    if not (0 < len(subject) <= LONGEST_SUBJECT and subject.isprintable()):
        raise Refused("its subject is empty, too long, or has control characters")
    is_known, moment = is_complete and not _has_more_groups(claims), claims.get("auth_time")
    groups = claims.get(settings.MEMORYHUB_OIDC_GROUPS, [] if is_known else None)
    groups = [groups] if isinstance(groups, str) else groups
    if not isinstance(groups, list | None):
        raise Refused("its groups are not a list")
    return Said(
        subject=subject,
        email=_text(claims.get("email")),
        is_verified=settings.MEMORYHUB_OIDC_TRUSTS_EMAIL or claims.get("email_verified") in (True, "true"),
        name=_text(claims.get("name") or claims.get("preferred_username")),
        groups=None if groups is None else tuple(str(group) for group in groups),
        has_more_groups=groups is None and _has_more_groups(claims),
        is_active=claims.get("active") not in (False, "false"),
        signed_in_at=max(0, int(moment)) if isinstance(moment, int | float) and math.isfinite(moment) else 0,
    )


def _has_more_groups(claims: dict[str, Any]) -> bool:
    """Return whether the claims say that the person has groups which they do not list.

    The claim `_claim_names` (OpenID Connect Core 5.6.2) or `hasgroups` says so. The hub does not request these groups.
    """
    elsewhere = claims.get("_claim_names")
    is_elsewhere = isinstance(elsewhere, dict) and settings.MEMORYHUB_OIDC_GROUPS in elsewhere
    return is_elsewhere or claims.get("hasgroups") in (True, "true")


def _text(claim: Any) -> str:
    """Return a claim as a text that the database accepts."""
    return str(claim or "").replace("\0", "").encode("utf-8", "replace").decode()


def _configuration() -> dict[str, Any]:
    issuer = settings.MEMORYHUB_OIDC_ISSUER
    found = _fetched(issuer.rstrip("/") + "/.well-known/openid-configuration")
    if found.get("issuer") != issuer:
        forget()
        raise Refused("its configuration names another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", *found.keys() & {"userinfo_endpoint"}):
        if urlsplit(str(found.get(name))).scheme not in ("https", urlsplit(issuer).scheme):
            raise Refused(f"its {name} is not an address that is as safe as its own")
    return found


def _fetched(url: str, *, fresh: bool = False) -> dict[str, Any]:
    """Return a document of the provider, which is remembered for KEPT seconds.

    With `fresh`, it is fetched again even if it is remembered.
    """
    at, found = _remembered.get(url, (0.0, None))
    if found is None or fresh or time.monotonic() - at > KEPT:
        found = _asked(url, None, {})
        _remembered[url] = time.monotonic(), found
    return dict(found)


def _asked(url: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
    """Return the JSON object with which an endpoint answers.

    Raises Refused for the status 400, 401 or 403; Unreachable for any other failure.
    """
    request = urllib.request.Request(url, body, {"Accept": "application/json"} | headers)
    if (until := _silent_until.get(request.host, 0.0)) > (now := time.monotonic()):
        raise Unreachable(f"{urlsplit(url).path}: it did not answer a moment ago")
    if until:
        _silent_until[request.host] = now + TIMEOUT  # only this request tries again
    try:
        found = json.loads(_read(request))
        _silent_until.pop(request.host, None)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (400, 401, 403):
            raise Refused(f"{urlsplit(url).path} answers {error.code}") from error
        raise Unreachable(f"{urlsplit(url).path} answers {error.code}") from error
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        if isinstance(error, OSError):
            _silent_until[request.host] = time.monotonic() + SILENT
        raise Unreachable(f"{urlsplit(url).path}: {error}") from error
    if not isinstance(found, dict):
        raise Unreachable(f"{urlsplit(url).path} answers no object")
    return found


def _read(request: urllib.request.Request) -> bytes:
    """Return the answer to a request.

    Raises TimeoutError if the whole answer does not arrive within WHOLE seconds. Raises any other error that occurs
    while it is read.
    """
    came: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
    end = time.monotonic() + WHOLE

    def read() -> None:
        try:
            with _opener.open(request, timeout=TIMEOUT) as answer:
                found = bytearray()
                while len(found) < LARGEST and (part := answer.read1(LARGEST)):
                    found += part
                    if time.monotonic() > end:
                        raise TimeoutError("it answers too slowly")
            came.put(bytes(found))
        except Exception as error:
            came.put(error)

    # in a thread, because the timeout of a socket limits only each part
    threading.Thread(target=read, name="provider", daemon=True).start()
    try:
        found = came.get(timeout=WHOLE)
    except queue.Empty:
        raise TimeoutError("it answers too slowly") from None
    if isinstance(found, Exception):
        raise found
    return found


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
