"""The pages of limits: the limits of one memory store, with its usage, and the limits of the hub."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.hub import settings
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HubSettings, MemoryStore, Role
from memoryhub.pure.limits import COLUMNS
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, by, in_store, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.stores.limits import forms, usage


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.VIEWER)
def limits(request: Request, store: MemoryStore) -> HttpResponse:
    """Show a store's limits and usage to every member. An admin may change the limits."""
    is_post = request.method == "POST"
    if is_post and not request.role.includes(Role.ADMIN):
        raise PermissionDenied
    form = forms.of_store(store, request.POST if is_post else None)
    if is_post and form.is_valid():
        try:
            stores.edit_store(store, StoreSettings(store.name, limits=form.limits()), only=COLUMNS, **by(request))
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            messages.success(request, _("The limits were saved."))
            return see_other("limits", store.id)
    hub, now = HubSettings.current(), timezone.now()
    shown = {"form": form, "meters": usage.meters(store, hub, now), "refused": usage.refused(store, now)}
    return render(request, "stores/limits/page.html", pages.context(request, store, **shown))


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def hub_limits(request: Request) -> HttpResponse:
    """Show and change the hub's limits, which apply to every store without its own."""
    form = forms.of_hub(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        settings.set_limits(form.limits(), act(request))
        messages.success(request, _("The limits of the hub were saved."))
        return see_other("hub_limits")
    return render(request, "stores/limits/hub.html", {"form": form, "section": "settings"})
