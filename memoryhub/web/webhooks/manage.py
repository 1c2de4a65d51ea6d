"""Creating, editing, pausing and deleting webhooks, and showing or rotating the secret."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.core import tree
from memoryhub.actions.webhooks import manage
from memoryhub.actions.webhooks.manage import NoSuchWebhook, TooManyWebhooks
from memoryhub.models import MemoryStore, Role, Webhook
from memoryhub.pure.outgoing import Refused
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.guards.access import act, in_store, person, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import fresh_form, spend_form
from memoryhub.web.webhooks import sentences
from memoryhub.web.webhooks.access import context, done, list_url, of_webhook
from memoryhub.web.webhooks.forms import WebhookForm
from memoryhub.web.webhooks.snippets import SNIPPETS

METHODS = ["GET", "HEAD", "POST"]


@never_cache
@require_http_methods(METHODS)
@in_store(Role.ADMIN)
def new_of_store(request: Request, store: MemoryStore) -> HttpResponse:
    return _new(request, store)


@never_cache
@require_http_methods(METHODS)
@superuser_only
def new_of_hub(request: Request) -> HttpResponse:
    return _new(request, None)


def _new(request: Request, store: MemoryStore | None) -> HttpResponse:
    form = _form(request, store, None)
    if request.method != "POST" or not form.is_valid():
        return _asked(request, store, form, None)
    if not spend_form(request):
        return see_other(list_url(store))
    try:
        made = manage.create_webhook(store.pk if store else None, form.settings(), act(request))
    except TooManyWebhooks:
        form.add_error(None, _("There are already %(most)s webhooks. Delete one first.") % {"most": manage.MOST})
        return _asked(request, store, form, None)
    except tree.NoSuchStore:
        raise Http404 from None
    if made.is_chat:
        messages.success(request, _("The webhook was created. Send a test to see a message in the chat."))
        return see_other("webhook", made.pk)
    return _secret(request, made, _("The secret of the new webhook"))


@require_http_methods(METHODS)
@of_webhook
def edit(request: Request, webhook: Webhook) -> HttpResponse:
    form = _form(request, webhook.store, webhook)
    if request.method != "POST" or not form.is_valid():
        return _asked(request, webhook.store, form, webhook)
    try:
        changed = manage.edit_webhook(webhook.pk, form.settings(), act(request))
    except Refused as refused:
        form.add_error("url", sentences.problem(refused.code))
        return _asked(request, webhook.store, form, webhook)
    except NoSuchWebhook:
        raise Http404 from None
    if changed:
        messages.success(request, _("The webhook was saved."))
    else:
        messages.info(request, _("Nothing was changed."))
    return see_other("webhook", webhook.pk)


@require_http_methods(METHODS)
@of_webhook
def delete(request: Request, webhook: Webhook) -> HttpResponse:
    """Ask for confirmation; on POST, delete the webhook."""
    if request.method != "POST":
        return render(request, "webhooks/delete.html", context(request, webhook.store, webhook=webhook))
    done(lambda: manage.delete_webhook(webhook.pk, act(request)))
    messages.success(request, _("The webhook “%(name)s” was deleted.") % {"name": isolated(webhook.name)})
    return see_other(list_url(webhook.store))


@require_POST
@of_webhook
def pause(request: Request, webhook: Webhook) -> HttpResponse:
    if done(lambda: manage.pause(webhook.pk, act(request))):
        messages.success(
            request,
            _("The webhook is paused. Waiting deliveries are kept. Events that happen from now on are not sent."),
        )
    return see_other("webhook", webhook.pk)


@require_POST
@of_webhook
def resume(request: Request, webhook: Webhook) -> HttpResponse:
    if done(lambda: manage.resume(webhook.pk, act(request))):
        messages.success(request, _("The webhook is resumed. Waiting deliveries are sent first."))
    return see_other("webhook", webhook.pk)


@never_cache
@require_POST
@of_webhook
def rotate(request: Request, webhook: Webhook) -> HttpResponse:
    """Create a new secret and show it. For a day, deliveries are signed with both secrets."""
    if not spend_form(request):
        return see_other("webhook", webhook.pk)
    rotated: Webhook = done(lambda: manage.rotate(webhook.pk, act(request)))
    return _secret(request, rotated, _("The new secret"))


@never_cache
@require_POST
@of_webhook
def reveal(request: Request, webhook: Webhook) -> HttpResponse:
    """Show the secret again; this is audited."""
    done(lambda: manage.reveal(webhook.pk, act(request)))
    return _secret(request, webhook, _("The secret"))


# ------------------------------------------------------------------------------------------------ answers


def _form(request: Request, store: MemoryStore | None, webhook: Webhook | None) -> WebhookForm:
    return WebhookForm(
        request.POST if request.method == "POST" else None,
        is_superuser=person(request).is_superuser,
        of_hub=store is None,
        webhook=webhook,
    )


def _asked(request: Request, store: MemoryStore | None, form: WebhookForm, webhook: Webhook | None) -> HttpResponse:
    shown = {"form": form, "webhook": webhook, "form_once": fresh_form()}
    return render(request, "webhooks/form.html", context(request, store, **shown))


def _secret(request: Request, webhook: Webhook, heading: str) -> HttpResponse:
    """Show the secret of a webhook, on a page that is not cached and has the heading `heading`."""
    secret, *before = manage.secrets_of(webhook, timezone.now())
    shown = {
        "webhook": webhook,
        "secret": secret,
        "heading": heading,
        "is_rotating": bool(before),
        "snippets": SNIPPETS,
    }
    return render(request, "webhooks/secret.html", context(request, webhook.store, **shown))
