"""Replacing a key: a new key with the same rights is issued, then the old key is revoked."""

from contextlib import suppress
from datetime import datetime

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.stores import path_rules
from memoryhub.models import Access, Agent, Key, MemoryStore, User
from memoryhub.pure.path_rules import BadRule
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.agents.forms import DAYS, NEVER, ReplaceKeyForm
from memoryhub.web.agents.keys import issued
from memoryhub.web.agents.rows import key_rows
from memoryhub.web.common.guards.access import act, by, person, signed_in
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import fresh_form, see_other, spend_form
from memoryhub.web.path_rules.naming import rules_naming


@never_cache
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def replace_key(request: Request, key_id: str) -> HttpResponse:
    """Issue a new key with the agent, the access and the memory stores of an old key.

    The page that shows the new key links to the page that revokes the old key.
    """
    user, now = person(request), timezone.now()
    key = get_object_or_404(Key.objects.visible_to(user).select_related("agent"), pk=key_id)
    if key.is_of_hub or not Key.objects.governed_by(user).filter(pk=key.pk).exists():
        raise PermissionDenied
    is_named = _stores_to_change(key, user).exists()
    form = ReplaceKeyForm(request.POST if request.method == "POST" else None, initial=_like(key), is_named=is_named)
    may_issue = _may_issue(key, user, now)
    if not may_issue or not form.is_valid():
        shown = {"form": form, "row": key_rows([key], user, now)[0], "key": key, "may_issue": may_issue}
        shown |= {"naming": rules_naming(user, [key.pk])}
        return render(request, "agents/replace.html", shown | {"form_once": fresh_form()})
    stores = list(MemoryStore.objects.filter(keys=key).by_name())
    if key.access == Access.MANAGE or key.all_stores:
        asks = guard(request, "issue_key", lambda: _words(key, stores, form))
        if asks is not None:
            return asks
    if not spend_form(request):
        return see_other(request, "agent", key.agent_id)
    acting = by(request)
    new, secret = keys_and_roles.issue_key_by(
        user, key.agent, name=form.cleaned_data["name"], access=Access(key.access), all_stores=key.all_stores,
        stores=stores, expires_at=form.expires_at(acting["at"]), **acting,
    )  # fmt: skip
    if form.cleaned_data.get("rules"):
        _name_too(request, key, new)
    return issued(request, new, secret, old=key)


def _stores_to_change(key: Key, user: User) -> QuerySet[MemoryStore]:
    """Return the memory stores whose path rules name `key`, if `user` may change these rules."""
    return MemoryStore.objects.administered_by(user).active().filter(path_rules__contains=key.pk)


def _name_too(request: Request, key: Key, new: Key) -> None:
    """Add the same rule for the key `new` after each path rule that names `key`."""
    for store in _stores_to_change(key, person(request)):
        with suppress(BadRule, ToolError, NoSuchStore):
            path_rules.name_too(store.pk, key.pk, new.pk, act(request))


def _may_issue(key: Key, user: User, at: datetime) -> bool:
    """Return whether a person may issue a key to the agent of `key`."""
    if user.is_superuser:
        return True
    return Agent.objects.filter(pk=key.agent_id).without_hub_wide_keys(at).exists()


def _like(key: Key) -> dict[str, object]:
    """Return the initial values of the form: the name of a key, and the period for which the key was issued."""
    if key.expires_at is None:
        return {"name": key.name, "expires_in": NEVER}
    days = str((key.expires_at - key.created_at).days)
    shown: dict[str, object] = {"name": key.name}
    return shown | ({"expires_in": days} if days in dict(DAYS) else {})


def _words(key: Key, stores: list[MemoryStore], form: ReplaceKeyForm) -> Words:
    names = [_("all memory stores")] if key.all_stores else [store.name for store in stores]
    reach = ((_("Memory store"), str(name)) for name in names)
    access = str(Access(key.access).label)
    return [(_("Agent"), key.agent.name), (_("Access"), access), (_("Expires in"), form.lasts()), *reach]
