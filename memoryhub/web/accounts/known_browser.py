"""The row in the database for the browser that sends a request. The cookie's session has the id of this row."""

import logging
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.db import DatabaseError
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from memoryhub.actions.accounts import browsers
from memoryhub.models import BrowserSession, User
from memoryhub.models.browsers import idle
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import client_address

MARK = "browser"
"""The key in the cookie's session under which the id of the browser's row is stored."""

logger = logging.getLogger(__name__)


def begin(sender: object, request: Request, user: User, **_: Any) -> None:
    """Store a row for the browser in which a person signs in."""
    device = request.META.get("HTTP_USER_AGENT", "").replace("\0", "")
    row = browsers.begin(user, device=device, address=client_address(request), at=timezone.now())
    request.session[MARK] = row.pk
    request.browser = row


def used(request: Request) -> BrowserSession | None:
    """Record that a signed-in browser was used, and return its row.

    Return None if the row has ended or the password has changed: the person is then signed out.
    """
    at = timezone.now()
    row = browsers.of(request.session.get(MARK, ""), request.session[SESSION_KEY], at)
    if row is None or not _is_of_the_password(request, row.user):
        return None
    try:
        browsers.note_use(row, address=client_address(request), idle=idle(), at=at)
    except DatabaseError:  # a read-only database can still show pages
        logger.warning("The use of a browser could not be written down.", exc_info=True)
    return row


def _is_of_the_password(request: Request, user: User) -> bool:
    """Return whether the cookie's session is from a sign-in with the current password."""
    return constant_time_compare(request.session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
