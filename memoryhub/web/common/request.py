"""The request of a page, with what middleware and guards have put on it."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from memoryhub.models import Role


class Request(HttpRequest):
    """A request of the pages. `role` is the person's in the memory store of the address, where `access.in_store` guards
    the view."""

    htmx: HtmxDetails
    role: Role
    csp_nonce: str
