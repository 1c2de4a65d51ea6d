"""Memory stores: the list, creating one, its settings, and archiving it."""

from datetime import UTC

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from memoryhub.actions.stores import stores
from memoryhub.models import MemoryStore, Proposal, ProposalState, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common import pages
from memoryhub.web.common.forms import NameTypedForm
from memoryhub.web.common.guards.access import by, in_store, person, signed_in, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.stores import listing as stores_listing
from memoryhub.web.stores.forms import GENERAL, StoreForm
from memoryhub.web.stores.limits import usage


@require_safe
@signed_in
def listing(request: Request) -> HttpResponse:
    """List the stores that the person may see."""
    chosen = stores_listing.Filter.of(request.GET)
    page = stores_listing.page(person(request), chosen, timezone.now().astimezone(UTC).date())
    states = [
        (stores_listing.ACTIVE, _("Active")),
        (stores_listing.ARCHIVED, _("Archived")),
        (stores_listing.ALL, _("All")),
    ]
    tabs = [(label, chosen.query(state=state), state == chosen.state) for state, label in states]
    found = {"chosen": chosen, "page": page, "tabs": tabs, "without_words": chosen.query(q="")}
    if chosen == stores_listing.Filter():
        found["near_limits"] = usage.nearest(MemoryStore.objects.visible_to(person(request)))
    if page.next:
        found["next"] = chosen.query(after=page.next)
    return render(request, "stores/list.html", found)


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def new(request: Request) -> HttpResponse:
    """Create a store. Its creator becomes its first admin."""
    form = StoreForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        store = stores.create_store(form.settings(), admin=person(request), **by(request))
        messages.success(request, _("The memory store “%(name)s” was created.") % {"name": isolated(store.name)})
        return see_other("store", store.id)
    return render(request, "stores/new.html", {"form": form})


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def edit(request: Request, store: MemoryStore) -> HttpResponse:
    """Change the settings of a store, such as its name and description."""
    form = StoreForm(request.POST) if request.method == "POST" else StoreForm.of(store)
    form.lead_to_reads(store)
    if request.method == "POST" and form.is_valid():
        try:
            stores.edit_store(store, form.settings(), only=GENERAL, **by(request))
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            messages.success(request, _("The settings were saved."))
            return see_other("edit_store", store.id)
    return render(request, "stores/settings.html", pages.context(request, store, form=form))


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def archive(request: Request, store: MemoryStore) -> HttpResponse:
    """Archive an active store or reactivate an archived one, after its name was typed.

    The form field `archived` says which of the two the page offered. If two people confirm the same page, the second
    one therefore does not undo what the first one did.
    """
    form = NameTypedForm(store, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        archived = request.POST.get("archived") == "yes"
        stores.set_archived(store, archived, **by(request))
        said = _("The memory store is archived.") if archived else _("The memory store is active again.")
        messages.success(request, said)
        return see_other("store", store.id)
    proposals = Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN).count()
    return render(request, "stores/archive.html", pages.context(request, store, form=form, proposals=proposals))
