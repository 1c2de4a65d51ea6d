"""Redirects, forms whose result is shown once, and paged lists."""

import secrets
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.contrib import messages
from django.db.models import Model, QuerySet
from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.pure.proxies import client_of
from memoryhub.web.common.request import Request

M = TypeVar("M", bound=Model)

ROWS = 100


class SeeOther(HttpResponseRedirect):
    status_code = 303


def see_other(request: Request, to: str, *args: str) -> HttpResponse:
    """Redirect after a POST; for htmx with the header `HX-Redirect`, which loads the whole page."""
    url = resolve_url(to, *args)
    if getattr(request, "htmx", False):
        return HttpResponse(headers={"HX-Redirect": url})
    return SeeOther(url)


def own_address(request: Request, wanted: str | None) -> str:
    """Return the URL `wanted` if it belongs to this hub, else the URL of the start page."""
    hosts = {request.get_host()}
    # `resolve_url` would interpret a word without a slash as the name of a route, which may not exist.
    if wanted and "/" in wanted and url_has_allowed_host_and_scheme(wanted, hosts, require_https=request.is_secure()):
        return wanted
    return resolve_url(settings.LOGIN_REDIRECT_URL)


def page_of(request: Request, *, query: bool) -> str:
    """Return the address to which a form on the page leads back.

    For a GET, this is the address of the page; it includes the query string if `query` is True. For a POST, it is the
    posted `next`, or else the address of the page that sent the form.
    """
    if request.method != "POST":
        return request.get_full_path() if query else request.path
    return own_address(request, request.POST.get("next") or request.headers.get("Referer"))


def client_address(request: Request) -> str:
    """Return the client's address. Behind trusted proxies, it is the last address in X-Forwarded-For that does not
    belong to a trusted proxy."""
    return client_of(request.META, settings.TRUSTED_PROXIES)


def not_now(request: Request, template: str, shown: dict[str, Any], error: TooManyTries | TooBusy) -> HttpResponse:
    """Show the form again with an error that says when to try again.

    The status is 429 after too many attempts, and 503 if too many people are signing in. `Retry-After` has the seconds
    to wait.
    """
    wait = error.wait if isinstance(error, TooManyTries) else 1
    if isinstance(error, TooManyTries):
        sentence = ngettext(
            "Too many tries. Wait %(count)d second, then try again.",
            "Too many tries. Wait %(count)d seconds, then try again.",
            wait,
        ) % {"count": wait}
    else:
        sentence = _("Many people are signing in at this moment. Try again.")
    form: Form = shown["password"] if "password" in shown else shown["form"]
    form.add_error(None, sentence)
    status = 429 if isinstance(error, TooManyTries) else 503
    response = render(request, template, shown, status=status)
    response.headers["Retry-After"] = str(wait)
    return response


def fresh_form() -> str:
    """Return a one-time token for a form whose result is shown once, so that it cannot be submitted twice."""
    return secrets.token_urlsafe(16)


def spend_form(request: Request) -> bool:
    """Return whether a form is submitted for the first time. If it is not, add a warning for the person."""
    form = request.POST.get("form", "")[:64]
    if not form or request.session.spend(form):
        return True
    messages.warning(request, _("This was already done. The result was shown once and cannot be shown again."))
    return False


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Some rows of a list; `after` is the cursor of the next page, None at the end."""

    rows: list[M]
    after: Any


def page(rows: QuerySet[M], field: str, after: str, size: int = ROWS) -> Page[M]:
    """Return at most `size` rows in the order of the unique `field`.

    If `after` is not empty, only rows whose field is greater than `after` are returned. `field` may belong to a related
    row (`a__b`).
    """
    beyond: dict[str, Any] = {f"{field}__gt": after} if after else {}
    found = list(rows.filter(**beyond).order_by(field)[: size + 1])
    return Page(found[:size], reduce(getattr, field.split("__"), found[size - 1]) if len(found) > size else None)


def asked(request: Request, name: str) -> str:
    """Return a query parameter, cut to 254 characters: no e-mail address or name is longer."""
    return request.GET.get(name, "")[:254]
