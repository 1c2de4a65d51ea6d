"""The keys that can access a memory store. The store's admins may issue keys to this store only."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Access, Key, MemoryStore, Role
from memoryhub.web.agents.forms import StoreKeyForm
from memoryhub.web.agents.keys import issued
from memoryhub.web.agents.rows import key_rows
from memoryhub.web.common.guards.access import by, in_store, person
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, asked, fresh_form, see_other, spend_form


@never_cache
@in_store(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def store_keys(request: Request, store: MemoryStore) -> HttpResponse:
    """List the keys that can access the store; on POST, issue a key to this store only."""
    wanted = {"agent": asked(request, "agent")}
    given = request.POST if request.method == "POST" else None
    form = StoreKeyForm(given, store=store, user=person(request), initial=wanted)
    if not form.is_valid():
        return _page(request, store, form)
    if form.cleaned_data["access"] == Access.MANAGE:
        agent = form.chosen.name if form.chosen else form.cleaned_data["new_agent"]
        words = [
            (_("Agent"), agent), (_("Access"), str(Access.MANAGE.label)), (_("Expires in"), form.lasts()),
            (_("Memory store"), store.name),
        ]  # fmt: skip
        if (asks := guard(request, "issue_key", lambda: words)) is not None:
            return asks
    if not spend_form(request):
        return see_other(request, "store_keys", store.id)
    try:
        key, secret = _issue(request, store, form)
    except keys_and_roles.NameTaken:
        form.add_error("new_agent", _("Another agent has this name."))
        return _page(request, store, form)
    return issued(request, key, secret)


def _issue(request: Request, store: MemoryStore, form: StoreKeyForm) -> tuple[Key, str]:
    """Create the agent if it is new, and issue a key to it. Return the key and its secret."""
    acting = by(request)
    values = form.cleaned_data
    agent = form.chosen or keys_and_roles.create_agent(values["new_agent"], seen_by=person(request), **acting)
    return keys_and_roles.issue_key_by(
        person(request),
        agent,
        stores=[store],
        name=values["name"],
        access=values["access"],
        expires_at=form.expires_at(acting["at"]),
        **acting,
    )


def _page(request: Request, store: MemoryStore, form: StoreKeyForm) -> HttpResponse:
    keys = Key.objects.for_store(store).newest()[:ROWS]
    rows = key_rows(keys, person(request), timezone.now())
    shown = {
        "rows": [row for row in rows if not row.key.is_of_hub],
        "rows_of_hub": [row for row in rows if row.key.is_of_hub],
        "is_cut": len(rows) == ROWS,
        "form": form,
        "form_once": fresh_form(),
    }
    return render(request, "stores/members/keys.html", context(request, store, **shown))
