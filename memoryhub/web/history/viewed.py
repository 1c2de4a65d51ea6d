"""The mark that a person sets on a change to remember that they have viewed it."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from memoryhub.actions.review import viewed
from memoryhub.models import MemoryStore, Role
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.pages import came_from, next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import version_of


@require_POST
@in_store(Role.VIEWER)
def mark_viewed(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    """Record that the person has viewed the memory as of the version `version_id`. With `viewed=0`, remove this
    record."""
    version = version_of(store, version_id)
    is_viewed = request.POST.get("viewed") != "0"
    (viewed.mark if is_viewed else viewed.unmark)(version, person(request))
    if request.htmx:
        here = came_from(request)
        return render(
            request, "history/_viewed.html", {"store": store, "version": version, "viewed": is_viewed, "here": here}
        )
    return see_other(next_of(request, "stores"))
