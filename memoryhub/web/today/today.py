"""Today, the home page: three lists of what needs attention in the stores that the person may see."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memoryhub.web.common.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.today import changed, dangerous, waiting


@require_safe
@signed_in
def today(request: Request) -> HttpResponse:
    user, now = person(request), timezone.now()
    stores = visible_stores(user)
    events = changed.events(stores, user, now)
    shown = {
        "has_stores": bool(stores),
        "dangers": dangerous.worst(stores, user, now),
        "waiting": waiting.waiting(stores, user),
        "events": events[: changed.SIZE],
        "more_events": len(events[changed.SIZE :]),
        "days": changed.DAYS,
    }
    return render(request, "today/today.html", shown)
