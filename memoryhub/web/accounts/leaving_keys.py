"""Keys and webhooks of a person who loses a role or the account: they go on working unless they are revoked or
paused."""

import json
from dataclasses import dataclass, field

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
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import removed_history

MOST_KEYS = 500


def rows_of(keys: KeyQuerySet, maker: User, user: User) -> list[KeyRow]:
    """Return rows for those of `keys` that `maker` issued and that are usable: the newest first, at most MOST_KEYS.

    The rows name only what `user` may see.
    """
    now = timezone.now()
    return key_rows(keys.made_by(maker).usable(now).newest()[:MOST_KEYS], user, now)


def count_of(keys: KeyQuerySet, maker: User) -> int:
    """Return how many of `keys` were issued by `maker` and are usable."""
    return keys.made_by(maker).usable(timezone.now()).count()


@dataclass(frozen=True, slots=True)
class Sending:
    """An active webhook that a person made or changed, or may have changed.

    If `is_known` is False, the person may have changed the webhook: the entries that would show a change have been
    removed.
    """

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


@dataclass(slots=True)
class Ending:
    """The keys and webhooks that end when the person `leaving` loses a right.

    They are those that the person `user` ticked on the page, and those that `leaving` made or changed after the page
    was shown. So no one keeps a right by making more keys or webhooks in this time.
    """

    leaving: User
    user: User
    reaching: KeyQuerySet
    sending: WebhookQuerySet
    listed: list[Sending]  # the webhooks that `leaving` made or changed, or may have changed
    shown: frozenset[str] = frozenset()  # the ids of the keys and webhooks on the page
    ticked: frozenset[str] = frozenset()  # the ids of those that are ticked on the page
    revoked: list[Key] = field(default_factory=list)  # the keys that have ended
    paused: list[Webhook] = field(default_factory=list)  # the webhooks that have ended

    def keys(self) -> list[Key]:
        """Return the keys to revoke, among those that `user` may revoke."""
        # called while the action holds its locks
        usable = self.reaching.made_by(self.leaving).usable(timezone.now())
        known = Key.objects.filter(pk__in=self.shown).newest()
        oldest = known.last() if known.count() >= MOST_KEYS else None
        # no one keeps a right by making more keys after the page was shown
        late = usable.exclude(pk__in=self.shown)
        if oldest is not None:  # the page has said that older keys go on working
            late = late.filter(created_at__gte=oldest.created_at)
        ending = {*usable.filter(pk__in=self.ticked).values_list("pk", flat=True), *late.values_list("pk", flat=True)}
        self.revoked = list(Key.objects.governed_by(self.user).filter(pk__in=ending).newest())
        return self.revoked

    def webhooks(self) -> list[Webhook]:
        """Return the webhooks to pause, and remember them as `paused`."""
        known = {one.pk for one in webhooks_of(self.sending, self.leaving) if one.is_known}
        ending = self.ticked | (known - self.shown)
        self.paused = [webhook for webhook in self.sending.active() if webhook.pk in ending]
        return self.paused

    def going_on(self) -> tuple[int, int]:
        """Return how many keys and how many webhooks of `leaving` are not ended and go on working."""
        webhooks = {one.pk for one in self.listed} - {webhook.pk for webhook in self.paused}
        return count_of(self.reaching, self.leaving), len(webhooks)

    @property
    def late(self) -> int:
        return sum(one.pk not in self.shown for one in (*self.revoked, *self.paused))

    def say_late(self, request: Request) -> None:
        """Add a message for the person about the keys and webhooks that ended although the page did not show them."""
        if self.late:
            said = ngettext(
                "%(count)s key or webhook that was made in the meantime has ended, too.",
                "%(count)s keys or webhooks that were made in the meantime have ended, too.",
                self.late,
            )
            messages.warning(request, said % {"count": self.late})


def ending_of(request: Request, leaving: User, reaching: KeyQuerySet, sending: WebhookQuerySet) -> Ending:
    """Return the keys and webhooks that end.

    The submitted form names those that the page showed, and which of them were ticked.
    """
    shown = frozenset(request.POST.getlist("shown"))
    ticked = frozenset(request.POST.getlist("key") + request.POST.getlist("webhook")) & shown
    return Ending(leaving, person(request), reaching, sending, webhooks_of(sending, leaving), shown, ticked)


def told_of(done: str, leaving: User, ending: Ending, links: int, keys: int, webhooks: int) -> str:
    """Return a message about an act that took a right from `leaving`; the message begins with the sentence `done`.

    It says how much ended and how much goes on. `links` is the number of invitations that were withdrawn. `keys` and
    `webhooks` are the numbers of keys and webhooks of `leaving` that go on working.
    """
    revoked, paused = len(ending.revoked), len(ending.paused)
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
