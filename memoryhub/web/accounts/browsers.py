"""The pages that list the browsers in which a person is signed in, with buttons that sign the person out."""

import re
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.accounts import browsers as actions
from memoryhub.models import Authenticator, BrowserSession, User
from memoryhub.models.browsers import BrowserSessionQuerySet
from memoryhub.web.common.guards.access import by, person, signed_in, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, see_other

_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A browser as the list shows it."""

    session: BrowserSession
    name: str
    is_this: bool


def name_of(device: str) -> str:
    """Return words for the browser and the system that a User-Agent header names. If the header names neither, return
    the beginning of its first word."""
    browser = next((name for sign, name in _BROWSERS if sign in device), "")
    system = next((name for sign, name in _SYSTEMS if sign in device), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    first = re.match(r"[\w.-]{1,40}", device)
    return browser or system or (first[0] if first else _("A browser that does not say which"))


@signed_in
@require_safe
def own(request: Request) -> HttpResponse:
    """List the browsers in which the person is signed in."""
    return _page(request, person(request), is_own=True)


@signed_in
@require_POST
def end(request: Request, browser_id: str) -> HttpResponse:
    """Sign the person out of one of their browsers."""
    found = get_object_or_404(person(request).browsers, pk=browser_id)
    if found.pk == request.browser.pk:
        return see_other(request, "browsers")
    return _ended(request, person(request), person(request).browsers.filter(pk=found.pk), "browsers")


@signed_in
@require_POST
def end_others(request: Request) -> HttpResponse:
    """Sign the person out of every browser but this one."""
    return _ended(request, person(request), person(request).browsers.exclude(pk=request.browser.pk), "browsers")


@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def of_person(request: Request, user_id: str) -> HttpResponse:
    """List a person's browsers for an administrator. A POST signs the person out of the browser in the form field
    `browser`, or of all browsers."""
    user = get_object_or_404(User, pk=user_id)
    if request.method != "POST":
        return _page(request, user, is_own=False)
    one = request.POST.get("browser")
    return _ended(request, user, user.browsers.filter(pk=one) if one else user.browsers.all(), "browsers_of", user.pk)


def _ended(request: Request, user: User, found: BrowserSessionQuerySet, to: str, *args: str) -> HttpResponse:
    count = actions.end(found, user, **by(request))
    said = ngettext("%(count)s browser is signed out.", "%(count)s browsers are signed out.", count)
    messages.success(request, said % {"count": count})
    return see_other(request, to, *args)


def _page(request: Request, user: User, *, is_own: bool) -> HttpResponse:
    found = user.browsers.open(timezone.now()).newest()[: ROWS + 1]
    rows = [Row(one, name_of(one.device), one.pk == request.browser.pk) for one in found[:ROWS]]
    shown = {"owner": user, "rows": rows, "is_own": is_own, "is_cut": len(found) > ROWS}
    shown["others"] = sum(not row.is_this for row in rows)
    shown["has_authenticators"] = not is_own and Authenticator.objects.of(user).exists()
    return render(request, "accounts/browsers.html", shown)
