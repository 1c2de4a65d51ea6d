"""A cookie that marks the browsers in which a person has signed in.

Wrong passwords delay the next sign-in. If they are typed in browsers without this mark, they do not delay a sign-in in
a marked browser.
"""

import secrets

from django.conf import settings
from django.http import HttpResponse

from memoryhub.models import User
from memoryhub.web.common.request import Request

COOKIE = "device"
SALT = "memoryhub.device"
LASTS = 180 * 24 * 3600


def of(request: Request, user: User | None) -> str | None:
    """Return the random name of this browser if this person has signed in from it before, otherwise None."""
    signed = request.get_signed_cookie(COOKIE, default=None, salt=SALT, max_age=LASTS)
    user_id, _, name = (signed or "").partition(".")
    return name if user is not None and user_id == user.id and name else None


def remember(request: Request, response: HttpResponse, user: User) -> HttpResponse:
    """Set the cookie which records that this person has signed in from this browser."""
    name = of(request, user) or secrets.token_urlsafe(16)
    response.set_signed_cookie(
        COOKIE,
        f"{user.id}.{name}",
        salt=SALT,
        max_age=LASTS,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return response
