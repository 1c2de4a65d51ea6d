"""Issuing, showing once and revoking the keys of agents."""

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.accounts.second_person import Words
from memoryhub.models import Access, Agent, AuditEntry, Key, KeyStore, MemoryStore, User
from memoryhub.models.access import fold_email
from memoryhub.web.agents.clients import clients
from memoryhub.web.agents.forms import IssueKeyForm, RevokeForm
from memoryhub.web.agents.rows import key_rows, newer_like
from memoryhub.web.agents.snippets import snippets
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.guards.access import by, person, signed_in, superuser_only
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, asked, fresh_form, see_other, spend_form
from memoryhub.web.path_rules.naming import rules_naming
from memoryhub.web.search.keys import ending_of

LOOK = 50
"""The most entries of an agent that are searched in each store for the first call with a new key."""
_BUTTON = '<a class="button button-small banner-undo" href="{}">{}</a>'
MOST_STORES = 20
"""The most stores that are searched for the first call."""


@never_cache
@superuser_only
@require_http_methods(["GET", "HEAD", "POST"])
def issue_key(request: Request, agent_id: str) -> HttpResponse:
    """Issue a key to an agent; the key can access some or all memory stores."""
    agent = get_object_or_404(Agent, pk=agent_id)
    initial = {"stores": [asked(request, "store")]}
    form = IssueKeyForm(request.POST if request.method == "POST" else None, initial=initial)
    if not form.is_valid():
        return render(request, "agents/issue_key.html", {"form": form, "agent": agent, "form_once": fresh_form()})
    may_redact = form.cleaned_data["access"] == Access.MANAGE
    if may_redact or form.reach().get("all_stores"):
        asks = guard(request, "issue_key", lambda: _words(agent, form))
        if asks is not None:
            return asks
    if not spend_form(request):
        return see_other(request, "agent", agent.id)
    acting = by(request)
    chosen = {name: form.cleaned_data[name] for name in ("name", "access")} | form.reach()
    expires_at = form.expires_at(acting["at"])
    key, secret = keys_and_roles.issue_key_by(person(request), agent, expires_at=expires_at, **chosen, **acting)
    return issued(request, key, secret)


def _words(agent: Agent, form: IssueKeyForm) -> Words:
    reach = form.reach()
    names = [_("all memory stores")] if reach["all_stores"] else [store.name for store in reach["stores"]]
    access = str(Access(form.cleaned_data["access"]).label)
    stores = ((_("Memory store"), str(name)) for name in names)
    return [(_("Agent"), agent.name), (_("Access"), access), (_("Expires in"), form.lasts()), *stores]


def issued(request: Request, key: Key, secret: str, old: Key | None = None) -> HttpResponse:
    """Show a new key once, with examples that contain it. `old` is the key that the new one replaces, if any."""
    row = key_rows([key], person(request), timezone.now())[0]
    store = next(iter(row.scope.stores), None) or MemoryStore.objects.active().by_name().first()
    copyable = snippets(settings.MEMORYHUB_URL, store.id, secret) if store else None
    connect = clients(settings.MEMORYHUB_URL, store.id, secret) if store else None
    shown = {"key": key, "row": row, "secret": secret, "store": store, "snippets": copyable, "clients": connect}
    shown |= {"old": old, "naming": rules_naming(person(request), [old.pk], but_not=key.pk) if old else None}
    return render(request, "agents/issued.html", shown)


@superuser_only
@require_safe
def every_key(request: Request) -> HttpResponse:
    """List all keys of the hub, newest first, in pages.

    With `q` in the URL, list only the keys that match `q`. A key matches if `q` is its ending, or a part of the name of
    its agent, of one of its memory stores, or of the person who issued it (or of this person's e-mail address). The
    beginning of “all memory stores” matches each key that can access all of them.
    """
    query, before = asked(request, "q").strip(), asked(request, "before")
    found = Key.objects.select_related("agent", "created_by").order_by("-pk")
    if query:
        named = Q(agent__folded_name__contains=keys_and_roles.fold_name(query))
        issued_by = Q(created_by__email__contains=fold_email(query)) | Q(created_by__name__icontains=query)
        reaching = Q(pk__in=KeyStore.objects.filter(store__in=MemoryStore.objects.named_like(query)).values("key"))
        if str(_("all memory stores")).startswith(query.casefold()):
            reaching |= Q(all_stores=True)
        found = found.filter(named | issued_by | reaching | Q(hint=ending_of(query) or None))
    page = list((found.filter(pk__lt=before) if before else found)[: ROWS + 1])
    shown = {
        "rows": key_rows(page[:ROWS], person(request), timezone.now()),
        "query": query,
        "before": page[ROWS - 1].pk if len(page) > ROWS else "",
    }
    return render(request, "agents/keys.html", shown)


@never_cache
@require_safe
def first_call(request: Request, key_id: str) -> HttpResponse:
    """Show whether a new key has been used, in a part of the page that reloads itself. Without htmx, redirect to the
    agent's page."""
    # the page stays, because it shows the key only once
    if request.htmx and not request.user.is_authenticated:
        return render(request, "agents/_first_call.html", {"back": request.path})
    return _first_call_of(request, key_id)


@signed_in
def _first_call_of(request: Request, key_id: str) -> HttpResponse:
    user = person(request)
    key = get_object_or_404(Key.objects.visible_to(user).select_related("agent"), pk=key_id)
    if not request.htmx:
        return redirect("agent", key.agent_id)
    call = _first_call(key, user) if key.last_used_at else None
    shown = {"key": key, "call": call, "words": act_words(call.command) if call and call.ok else ""}
    return render(request, "agents/_first_call.html", shown)


def _first_call(key: Key, user: User) -> AuditEntry | None:
    """Return the first entry of a new key in the stores that the person may see.

    Return None if the key has no entry, or if it is not certain which entry is the first.
    """
    stores = MemoryStore.objects.visible_to(user)
    if not key.all_stores:
        stores = stores.filter(keys=key)
    calls: list[AuditEntry] = []
    for store_id in stores.order_by("pk").values_list("pk", flat=True)[:MOST_STORES]:
        newest = list(AuditEntry.objects.of_chain(store_id).filter(author_id=key.agent_id).order_by("-seq")[:LOOK])
        if len(newest) == LOOK and newest[-1].at >= key.created_at:
            return None
        calls += [entry for entry in newest if entry.actor_id == key.pk]
    return min(calls, key=lambda entry: entry.at, default=None)


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_key(request: Request, key_id: str) -> HttpResponse:
    """Ask for the agent's name, and revoke the key permanently.

    With the form field `others`, also revoke the agent's other usable keys that the person governs.
    """
    user, now = person(request), timezone.now()
    key = get_object_or_404(Key.objects.visible_to(user).select_related("agent"), pk=key_id)
    governed = Key.objects.governed_by(user).filter(agent=key.agent_id)
    if not governed.filter(pk=key.pk).exists():
        raise PermissionDenied
    others = [] if key.revoked_at else list(governed.usable(now).exclude(pk=key.pk).order_by("pk"))
    stops = Key.objects.usable(now).filter(agent=key.agent_id).exclude(pk=key.pk).count() == len(others)
    form = RevokeForm(request.POST if request.method == "POST" else None, others=others, stops=stops)
    if form.is_valid():
        if keys_and_roles.fold_name(form.cleaned_data["name"]) == key.agent.folded_name:
            revoked = [key, *(others if form.cleaned_data.get("others") else [])]
            for one in revoked:
                keys_and_roles.revoke_key(one, **by(request))
            hints = ", ".join(f"…{one.hint}" for one in revoked)
            said = ngettext("The key %(hints)s is revoked.", "The keys %(hints)s are revoked.", len(revoked))
            said %= {"hints": hints}
            done = ("key", key.pk) if len(revoked) == 1 else ("agent", key.agent_id)
            seen = _("See what was done with the key") if len(revoked) == 1 else _("See what the agent did")
            links = [(f"{reverse('audit')}?{urlencode([done])}", seen)]
            if len(revoked) == 1 and not key.is_of_hub:
                links.append((reverse("replace_key", args=[key.pk]), _("Issue a new key with the same rights")))
            messages.success(request, format_html("{} {}", said, format_html_join(" ", _BUTTON, links)))
            return see_other(request, "agent", key.agent_id)
        form.add_error("name", _("This is not the agent's name. Type it exactly as shown."))
    shown = {"form": form, "row": key_rows([key], user, now)[0], "key": key, "naming": rules_naming(user, [key.pk])}
    newer = newer_like(key, now)
    shown |= {"newer": newer, "only_old": rules_naming(user, [key.pk], but_not=newer.pk) if newer else []}
    return render(request, "agents/revoke.html", shown)
