"""The type of a page's request, with the attributes that middleware and guards add."""

from typing import Any

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from memoryhub.models import BrowserSession, Role, User

ShownTexts = dict[str, dict[str, set[str]]]
"""{memory store: {memory: versions}}, all by id."""


class Request(HttpRequest):
    """A request to a page.

    `role` is set by `access.in_store`. `browser` exists if the person is signed in. `second` is the second
    person, who allowed the act. `shown_texts` exists on a page of a store that records views.
    """

    htmx: HtmxDetails
    session: Any  # memoryhub.sessions.SessionStore
    role: Role
    browser: BrowserSession
    second: User | None
    shown_texts: ShownTexts
    csp_nonce: str
