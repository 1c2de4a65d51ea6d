"""The home page: three lists of work and events in the stores that the person may see."""

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memoryhub.models import MemoryStore, MemoryVersion
from memoryhub.web.accounts import second_person
from memoryhub.web.common.guards.access import person, signed_in, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import SeeOther, asked
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.findings.rows import in_rows
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.stores.limits import usage
from memoryhub.web.today import changed, dangerous, for_you, waiting
from memoryhub.web.today.first_steps import Step, first_steps

HIDDEN = "first-steps-hidden"
"""The cookie of a person who has hidden the first steps."""
ROLES = 6
"""The most memory stores for which the empty page shows the person's role."""
_YEAR = 365 * 24 * 3600


@require_safe
@signed_in
def today(request: Request) -> HttpResponse:
    user, now = person(request), timezone.now()
    stores = visible_stores(user)
    if asked(request, "part") == "first-steps":
        if HIDDEN in request.COOKIES or not user.is_superuser:
            return HttpResponse()  # hidden in another tab since
        return render(request, "today/_first_steps.html", {"steps": _first_steps(request, stores, now)})
    events = changed.events(stores, user, now)
    roles = user.memberships.filter(store__in=stores).select_related("store")
    dangers = dangerous.worst(stores, user, now)
    shows_of_stores(request, in_rows(danger.item for danger in dangers))
    reviewed = list(MemoryStore.objects.reviewed_by(user).order_by("pk").values_list("pk", flat=True))
    shown = {
        "has_stores": bool(stores),
        "roles": roles.order_by("store__name", "pk")[:ROLES],
        "steps": _first_steps(request, stores, now),
        "acts": second_person.waiting_for(user, now),
        "for_you": for_you.for_you(stores, user),
        "dangers": dangers,
        "reviews": bool(reviewed),
        "waiting": waiting.waiting(reviewed, user),
        "near_limits": usage.nearest(MemoryStore.objects.administered_by(user)),
        "events": events[: changed.SIZE],
        "more_events": len(events[changed.SIZE :]),
        "days": changed.DAYS,
    }
    return render(request, "today/today.html", shown)


def _first_steps(request: Request, stores: Sequence[str], at: datetime) -> Sequence[Step]:
    if HIDDEN in request.COOKIES:
        return ()
    has_waiting = MemoryVersion.objects.filter(store_id__in=stores).unreviewed().exists()
    return first_steps(stores, person(request), at, has_waiting=has_waiting)


@superuser_only
@require_POST
def hide_first_steps(request: Request) -> HttpResponse:
    """Hide the first steps in this browser."""
    response = SeeOther(reverse("today"))
    response.set_cookie(
        HIDDEN, "1", max_age=_YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=True
    )
    return response
