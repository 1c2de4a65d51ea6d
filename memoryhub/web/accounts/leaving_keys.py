"""Keys and webhooks of a person who loses a role or the account: they go on working unless they are revoked or
paused."""

import json
from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import HUB, AuditEntry, Key, Role, User, Webhook
from memoryhub.models.access import KeyQuerySet
from memoryhub.models.webhooks import WebhookQuerySet
from memoryhub.web.agents.rows import KeyRow, key_rows
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import removed_history

MOST_KEYS = 500


def rows_of(keys: KeyQuerySet, maker: User, user: User) -> list[KeyRow]:
    """Return the usable keys that `maker` issued, newest first, as rows that `user` may see; at most MOST_KEYS."""
    now = timezone.now()
    return key_rows(keys.made_by(maker).usable(now).newest()[:MOST_KEYS], user, now)


def count_of(keys: KeyQuerySet, maker: User) -> int:
    """Return the number of usable keys that `maker` issued; `rows_of` returns only the first of them."""
    return keys.made_by(maker).usable(timezone.now()).count()


@dataclass(frozen=True, slots=True)
class Sending:
    """An active webhook that a person made or changed. If `is_known` is False, the person may have changed it:
    retention has removed the audit entries that would show it."""

    webhook: Webhook
    is_known: bool

    @property
    def pk(self) -> str:
        return str(self.webhook.pk)


def webhooks_of(webhooks: WebhookQuerySet, maker: User) -> list[Sending]:
    """Return the active webhooks that `maker` made or changed, or may have changed."""
    found = webhooks.active().filter(Q(store=None) | Q(store__deleted_at=None)).select_related("store")
    chains = {webhook.store_id or HUB for webhook in found}
    edits = AuditEntry.objects.filter(chain__in=chains, author_id=maker.pk, command="edit_webhook")
    edited = {json.loads(input or "{}").get("webhook") for input in edits.values_list("input", flat=True)}
    known = {webhook.pk for webhook in found if webhook.created_by_id == maker.pk or webhook.pk in edited}
    administers = set(maker.memberships.filter(role=Role.ADMIN).values_list("store_id", flat=True))
    return [
        Sending(webhook, webhook.pk in known)
        for webhook in found
        if webhook.pk in known
        or (
            (maker.is_superuser or webhook.store_id in administers)
            and removed_history.began_after(webhook.store_id or HUB, webhook.created_at)
        )
    ]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The keys to revoke and the webhooks to pause."""

    keys: list[Key]
    webhooks: list[Webhook]


def chosen(request: Request, rows: list[KeyRow], webhooks: list[Sending]) -> Chosen | None:
    """Return the ticked webhooks, and the ticked keys that the person may revoke.

    If a key or a webhook was made after the page was shown, add a warning for the person and return None.
    """
    shown = request.POST.getlist("shown")
    if any(row.key.pk not in shown for row in rows):
        messages.warning(
            request, _("Nothing was changed, because another key was issued in the meantime. Check the list again.")
        )
        return None
    if any(webhook.pk not in shown for webhook in webhooks):
        messages.warning(
            request, _("Nothing was changed, because another webhook was made in the meantime. Check the list again.")
        )
        return None
    revoke, pause = request.POST.getlist("key"), request.POST.getlist("webhook")
    keys = [row.key for row in rows if row.key.pk in revoke and row.may_revoke]
    return Chosen(keys, [one.webhook for one in webhooks if one.pk in pause])


def told_of(done: str, leaving: User, ending: Chosen, links: int, keys: int, webhooks: int) -> str:
    """Return a sentence that begins with `done` and says what ended and what goes on when a person leaves.

    `links` is the number of invitations that were withdrawn. `keys` and `webhooks` are the numbers of the person's keys
    and webhooks that go on working.
    """
    revoked, paused = len(ending.keys), len(ending.webhooks)
    said = [done]
    for words, count in (
        (ngettext("%(count)s key was revoked.", "%(count)s keys were revoked.", revoked), revoked),
        (ngettext("%(count)s invitation was withdrawn.", "%(count)s invitations were withdrawn.", links), links),
        (ngettext("%(count)s webhook was paused.", "%(count)s webhooks were paused.", paused), paused),
        (ngettext("%(count)s webhook goes on sending.", "%(count)s webhooks go on sending.", webhooks), webhooks),
        (ngettext("%(count)s key of theirs goes on working.", "%(count)s keys of theirs go on working.", keys), keys),
    ):
        if count:
            said.append(words % {"count": count})
    told = " ".join(said)
    if not keys:
        return told
    link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
    return format_html(link, told, f"{reverse('keys')}?{urlencode({'q': leaving.email})}", _("See the keys"))
