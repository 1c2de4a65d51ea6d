"""Signing in by a header: a trusted proxy, which knows people by LDAP, SAML or Kerberos, names the person of a request.

The header counts only if the address of the connection itself is trusted. A person who was signed in by the header is
signed out if the header is missing or names someone else.
"""

from django.conf import settings
from django.contrib.auth import login, logout
from django.utils import timezone

from memoryhub.actions.accounts import browsers, sign_in as sign_ins
from memoryhub.models import User
from memoryhub.models.access import fold_email
from memoryhub.pure import proxies
from memoryhub.web.common.guards.fresh import LONG_AGO, can_prove
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address

MARK = "by_proxy"
"""The key in the cookie's session that records that a proxy named its person."""


def admit(request: Request) -> None:
    """Sign in the person whom the proxy names. Sign out a person whom the proxy no longer names."""
    if not settings.MEMORYHUB_PROXY_EMAIL_HEADER:
        return
    email = _named(request)
    if isinstance(request.user, User):
        if not request.session.get(MARK) or request.user.email == email:
            return
        logout(request)
    user = sign_ins.user_of(email) if email else None
    if user is not None:
        sign_ins.enter(user, address=client_address(request), at=timezone.now())
        login(request, user)
        request.session[MARK] = True
        if can_prove(user):
            browsers.confirm(request.browser, LONG_AGO)


def _named(request: Request) -> str:
    """Return the e-mail address in the header of a trusted proxy, or "" if there is not exactly one such header."""
    if not proxies.is_trusted(str(request.META.get("REMOTE_ADDR") or ""), settings.TRUSTED_PROXIES):
        return ""
    key = "HTTP_" + settings.MEMORYHUB_PROXY_EMAIL_HEADER.upper().replace("-", "_")
    value = str(request.META.get(key) or "")
    return "" if "," in value or "\0" in value else fold_email(value)
