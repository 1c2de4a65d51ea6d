"""The type of a page's request, with the attributes that middleware and guards add."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from memoryhub.models import Role


class Request(HttpRequest):
    """A request to a page; `role` is the person's role in the store, set by `access.in_store`."""

    htmx: HtmxDetails
    role: Role
    csp_nonce: str
