"""The light or dark theme, stored in the person's profile and in a cookie."""

from typing import TypeVar

from django.conf import settings
from django.http import HttpResponse, HttpResponseBadRequest
from django.utils import timezone
from django.views.decorators.http import require_POST

from memoryhub.actions.accounts import people
from memoryhub.models import User
from memoryhub.models.access import Theme
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import SeeOther, own_address

Response = TypeVar("Response", bound=HttpResponse)

COOKIE = "theme"
_YEAR = 365 * 24 * 3600


def remember(response: Response, theme: str) -> Response:
    """Set the cookie of a theme and return the response."""
    response.set_cookie(
        COOKIE, theme, max_age=_YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=True
    )
    return response


@require_POST
def theme(request: Request) -> HttpResponse:
    """Save the chosen theme and redirect to the previous page; htmx reloads the page instead."""
    chosen = request.POST.get("theme")
    if chosen not in Theme.values:
        return HttpResponseBadRequest()
    if isinstance(request.user, User):
        people.edit_profile(request.user, at=timezone.now(), theme=chosen)
    if getattr(request, "htmx", False):
        return remember(HttpResponse(headers={"HX-Refresh": "true"}), chosen)
    back = request.POST.get("next") or request.headers.get("Referer")
    return remember(SeeOther(own_address(request, back)), chosen)
