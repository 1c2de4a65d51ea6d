"""Creating, changing and deleting a retention policy, each with a preview of its effect."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts import second_person
from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.core.audit import to_json
from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import MemoryStore, RetentionPolicy, Role
from memoryhub.pure.retention_rules import DEFAULT_GRACE_DAYS, Policy
from memoryhub.templatetags.visible import visible
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, superuser_only
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.retention import sentences
from memoryhub.web.retention.access import of_policy
from memoryhub.web.retention.explain import about_pattern
from memoryhub.web.retention.forms import PolicyForm, drafted, query, typed
from memoryhub.web.retention.outlook import AT_ONCE, OfHub, Outlook, outlook, outlook_of_hub
from memoryhub.web.retention.rehearsal import weeks_url

METHODS = ["GET", "HEAD", "POST"]
SAVE = "save"


@require_http_methods(METHODS)
@in_store(Role.ADMIN)
def new(request: Request, store: MemoryStore) -> HttpResponse:
    """Create a policy; the query may prefill the form with a draft."""
    return _form(request, store, None)


@require_http_methods(METHODS)
@superuser_only
def new_of_hub(request: Request) -> HttpResponse:
    return _form(request, None, None)


@require_http_methods(METHODS)
@of_policy
def edit(request: Request, policy: RetentionPolicy) -> HttpResponse:
    return _form(request, policy.store, policy)


@require_http_methods(METHODS)
@of_policy
def delete(request: Request, policy: RetentionPolicy) -> HttpResponse:
    """Show what would change without the policy; on POST, delete the policy."""
    store = policy.store
    if request.method == "POST":
        before = PolicySettings.of(policy)
        if (asks := _second(request, store, before, _("Delete it"), _what_is_left())) is not None:
            return asks
        policies.delete_policy(policy.pk, act(request))
        _add_message_with_undo(
            request, _("The policy “%(name)s” was deleted.") % {"name": before.name}, _new_url(store, before)
        )
        return see_other(_list_url(store))
    without = [other for other in policies.concerning(policy.store_id) if other.id != policy.pk]
    return render(
        request,
        "retention/policies/delete.html",
        _context(
            request,
            store,
            policy=policy,
            words=sentences.sentences(policies.rules_of(policy)),
            grace=DEFAULT_GRACE_DAYS,
            outlook=_outlook(store, without),
        ),
    )


def _form(request: Request, store: MemoryStore | None, policy: RetentionPolicy | None) -> HttpResponse:
    """Show the form; on POST, show the preview, or save the policy if its preview was shown."""
    if request.method != "POST":
        draft = drafted(request.GET.dict())
        now = typed(PolicySettings.of(policy)) if policy else {}
        form = PolicyForm(store, initial=draft or now)
        return _page(request, store, policy, form)
    form = PolicyForm(store, request.POST)
    if not form.is_valid():
        return _page(request, store, policy, form)
    settings = form.settings()
    if other := policies.with_pattern(store.pk if store else None, settings.pattern, policy.pk if policy else ""):
        link = '{} <a href="{}"><bdi>{}</bdi></a>'
        said = _("Another policy has this pattern already. Change that one instead:")
        form.add_error("pattern", format_html(link, said, reverse("policy", args=[other.pk]), visible(other.name)))
        return _page(request, store, policy, form)
    if request.POST.get("act") != SAVE or request.POST.get("seen") != _digest(settings, policy):
        return _page(request, store, policy, form, settings, asks=request.POST.get("act") == SAVE)
    return _save(request, store, policy, form, settings)


def _save(
    request: Request,
    store: MemoryStore | None,
    policy: RetentionPolicy | None,
    form: PolicyForm,
    settings: PolicySettings,
) -> HttpResponse:
    what = _("Change it to this") if policy else _("Make it")
    if (asks := _second(request, store, settings, what, _before(policy) if policy else ())) is not None:
        return asks
    try:
        saved = policies.save_policy(
            store.pk if store else None, settings, act(request), policy_id=policy.pk if policy else None
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _page(request, store, policy, form)
    _tell_saved(request, saved, policy)
    return see_other(_list_url(store))


def _second(
    request: Request, store: MemoryStore | None, settings: PolicySettings, what: str, more: Words
) -> HttpResponse | None:
    """Return the page that asks for the password or for a second person; None if the policy may be changed now."""
    does = sentences.sentences(settings.as_policy(store.pk if store else None, ""))
    paused = [(_("State"), _("Paused"))] if settings.paused else []
    words = [
        (_("Memory store"), store.name if store else _("All memory stores")), (_("Policy"), settings.name),
        (_("What is done"), what), (_("Which memories"), sentences.pattern_words(settings.pattern)),
        *((_("What it does"), one) for one in does), *paused, *more,
    ]  # fmt: skip
    return guard(request, "set_policy", lambda: words, store) if second_person.is_on() else None


def _before(policy: RetentionPolicy) -> Words:
    """Return the words for the current effect of a policy that is to be changed."""
    paused = [_("Paused")] if policy.paused else []
    does = [sentences.pattern_words(policy.pattern), *sentences.sentences(policies.rules_of(policy)), *paused]
    return [(_("Until now"), one) for one in does]


def _what_is_left() -> Words:
    """Return the words for what will happen to memories that a deleted policy has moved to the trash."""
    said = _(
        "Memories that this policy moved to the trash are removed permanently when another policy that matches "
        "says so. If no other policy matches, they are removed permanently %(days)s after they were moved."
    )
    return [(_("Then"), said % {"days": sentences.days(DEFAULT_GRACE_DAYS)})]


def _page(
    request: Request,
    store: MemoryStore | None,
    policy: RetentionPolicy | None,
    form: PolicyForm,
    settings: PolicySettings | None = None,
    *,
    asks: bool = False,
) -> HttpResponse:
    """Show the form, and the preview of valid `settings`. `asks` means that the person tried to save before seeing this
    preview."""
    shown: dict[str, Any] = {"policy": policy, "form": form, "asks": asks}
    if store:
        shown |= about_pattern(store, str(form["pattern"].value() or "").strip())
    if settings:
        tried = _tried(store, policy, settings)
        shown |= {
            "outlook": _outlook(store, tried, tried[-1].id),
            "words": sentences.sentences(tried[-1]),
            "settings": settings,
            "seen": _digest(settings, policy),
            "draft": typed(settings),
            "weeks_url": weeks_url(store, f"{query(settings)}&policy={policy.pk if policy else ''}") if store else "",
        }
    return render(request, "retention/policies/form.html", _context(request, store, **shown))


def _outlook(store: MemoryStore | None, tried: Sequence[Policy], policy: str | None = None) -> Outlook | OfHub:
    now = timezone.now()
    if store is None:
        return outlook_of_hub(now, tried)
    return outlook(store.pk, now, tried, against_saved=True, weeks=store.memory_count <= AT_ONCE, policy=policy)


def _tried(store: MemoryStore | None, policy: RetentionPolicy | None, settings: PolicySettings) -> list[Policy]:
    """Return the saved policies with the draft `settings`. If `policy` is being edited, the draft replaces that
    policy."""
    store_id = store.pk if store else None
    return policies.instead_of(policies.concerning(store_id), settings.as_policy(store_id, policy.pk if policy else ""))


def _digest(settings: PolicySettings, policy: RetentionPolicy | None) -> str:
    """Return a digest of a draft and of the current state of the policy that the draft replaces."""
    before = asdict(PolicySettings.of(policy)) if policy else None
    return hashlib.sha256(to_json([asdict(settings), before]).encode()).hexdigest()[:32]


def _tell_saved(request: Request, saved: RetentionPolicy, before: RetentionPolicy | None) -> None:
    """Add a success message with a link that undoes the change of a policy."""
    said = _("The policy “%(name)s” was saved. It takes effect with the next run.") % {"name": saved.name}
    if before is None:
        _add_message_with_undo(request, said, reverse("delete_policy", args=[saved.pk]))
    else:
        _add_message_with_undo(
            request, said, f"{reverse('policy', args=[saved.pk])}?{query(PolicySettings.of(before))}"
        )


def _add_message_with_undo(request: Request, said: str, back: str) -> None:
    link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
    messages.success(request, format_html(link, said, back, _("Undo…")))


def _list_url(store: MemoryStore | None) -> str:
    return reverse("retention", args=[store.pk]) if store else reverse("hub_retention")


def _new_url(store: MemoryStore | None, draft: PolicySettings) -> str:
    url = reverse("new_policy", args=[store.pk]) if store else reverse("new_hub_policy")
    return f"{url}?{query(draft)}"


def _context(request: Request, store: MemoryStore | None, **more: Any) -> dict[str, Any]:
    shown = {"back_url": _list_url(store), **more}
    return pages.context(request, store, **shown) if store else shown
