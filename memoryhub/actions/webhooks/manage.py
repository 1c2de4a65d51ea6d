"""The acts of people on webhooks. Each act has an entry in the chain of the webhook's store, or of the hub."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record, keys
from memoryhub.actions.core.rules.roles import require_right
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.webhooks import gather
from memoryhub.models import Delivery, Pause, Webhook
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain, ids, outgoing
from memoryhub.pure.webhook_rules import chat, events as webhook_events, schedule, signing

Tell = Callable[[Record], int]

MOST = 20
"""The most webhooks of a memory store, and of the hub."""


class TooManyWebhooks(Exception):
    """The store, or the hub, already has MOST webhooks."""


class UnknownEvent(Exception):
    """There is no such event."""


class NoSuchWebhook(Exception):
    """The webhook does not exist, or was deleted."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The settings of a webhook that a person chooses."""

    name: str
    url: str
    events: Sequence[str]
    may_be_private: bool = False
    is_chat: bool = False

    @classmethod
    def of(cls, webhook: Webhook) -> "WebhookSettings":
        return cls(webhook.name, webhook.url, tuple(webhook.events), webhook.may_be_private, webhook.is_chat)

    def as_json(self) -> dict[str, Any]:
        """Return the settings for the audit. The address is included without its secret part."""
        return {
            "name": self.name,
            "url": without_secret(self.url, is_chat=self.is_chat),
            "events": sorted(self.events),
            "may_be_private": self.may_be_private,
            "is_chat": self.is_chat,
        }


def without_secret(url: str, *, is_chat: bool) -> str:
    """Return an address without its query, which may contain a secret. For a chat, return only the host: the path is
    secret too."""
    parts = urlsplit(url)
    # Anyone who knows the rest of a chat's address can write there.
    if is_chat or chat.is_of_chat(url):
        return parts._replace(path="/…", query="", fragment="").geturl()
    return parts._replace(query="…").geturl() if parts.query else url


@contextmanager
def place(store_id: str | None, act: Act) -> Iterator[Tell]:
    """Lock a webhook's store (None: the hub); yield a function that writes the entry.

    Raises tree.NoSuchStore. Raises RightLost if the person of `act` may no longer manage the webhooks of this store or
    the hub.
    """
    if store_id is not None:
        with tree.locked(store_id, act) as store:
            require_right(act.actor, store_id)
            yield lambda record: tree.commit(store, record)
    else:
        with writing():
            head = audit.lock_hub()
            require_right(act.actor, None)
            yield lambda record: audit.append(head, act, record)


# ------------------------------------------------------------------------------------------------ making and changing


def create_webhook(store_id: str | None, wanted: WebhookSettings, act: Act) -> Webhook:
    """Create a webhook of a store (None: of the hub, for all stores) and return it. The webhook gets events from now
    on.

    Raises outgoing.Refused, UnknownEvent, TooManyWebhooks, tree.NoSuchStore and RightLost.
    """
    _check(wanted)
    with place(store_id, act) as tell:
        if Webhook.objects.of_place(store_id).count() >= MOST:
            raise TooManyWebhooks
        gather.begin(store_id)
        webhook = Webhook(
            id=ids.new_id(ids.WEBHOOK, act.at),
            store_id=store_id,
            name=wanted.name,
            url=wanted.url,
            events=sorted(wanted.events),
            may_be_private=wanted.may_be_private,
            is_chat=wanted.is_chat,
            created_at=act.at,  # type: ignore[misc]
            created_by_id=act.actor.id if act.actor.kind == ActorKind.USER else None,
        )
        webhook.keys = _keys_from(webhook, webhook.generation)
        webhook.save(force_insert=True)
        tell_of(tell, "create_webhook", webhook, {"state": [None, wanted.as_json()]})
    return webhook


def edit_webhook(webhook_id: str, wanted: WebhookSettings, act: Act) -> bool:
    """Change a webhook's settings; return whether anything changed. Waiting deliveries go to the new address.

    Raises outgoing.Refused, UnknownEvent, NoSuchWebhook and RightLost.
    """
    _check(wanted)
    with locked(webhook_id, act) as (webhook, tell):
        before, after = WebhookSettings.of(webhook).as_json(), wanted.as_json()
        changes = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
        if not changes and webhook.url == wanted.url:
            return False
        change(
            webhook,
            name=wanted.name,
            url=wanted.url,
            events=sorted(wanted.events),
            may_be_private=wanted.may_be_private,
            is_chat=wanted.is_chat,
        )
        tell_of(tell, "edit_webhook", webhook, changes or {"url": [before["url"], after["url"]]})
    return True


def pause(webhook_id: str, act: Act) -> bool:
    """Pause a webhook. Return whether it was active. The webhook's deliveries keep waiting.

    Events after the pause are never sent to it. Events shortly before the pause may also be missing, if the hub had not
    read their entries yet.
    """
    with locked(webhook_id, act) as (webhook, tell):
        return pause_in(webhook, tell, act.at)


def pause_in(webhook: Webhook, tell: Tell, at: datetime) -> bool:
    """Pause a webhook as `pause` does, in a transaction that has locked its store or the hub.

    `tell` writes the entry. Return whether the webhook was active.
    """
    if webhook.paused_at is not None:
        return False
    change(webhook, paused_at=at, paused_for=Pause.PERSON)
    tell_of(tell, "pause_webhook", webhook, {"state": ["active", "paused"]})
    return True


def resume(webhook_id: str, act: Act) -> bool:
    """Resume a webhook: waiting deliveries are sent at once, and it gets events from now on. Return whether it was
    paused."""
    with locked(webhook_id, act) as (webhook, tell):
        if webhook.paused_at is None:
            return False
        gather.begin(webhook.store_id)
        waiting = Delivery.objects.waiting().filter(webhook=webhook)
        waiting.update(next_at=act.at, attempts=0)
        change(
            webhook,
            paused_at=None,
            paused_for="",
            failing_since=None,
            leased_until=None,
            next_at=act.at if waiting.exists() else None,
        )
        tell_of(tell, "resume_webhook", webhook, {"state": ["paused", "active"]})
    return True


def rotate(webhook_id: str, act: Act) -> Webhook:
    """Give a webhook a new secret, and return the webhook. For a day, deliveries are signed with both secrets."""
    with locked(webhook_id, act) as (webhook, tell):
        before = webhook.generation
        made = {"generation": before + 1, "keys": _keys_from(webhook, before + 1)}
        change(webhook, previous_until=act.at + schedule.ROTATION, **made)
        tell_of(tell, "rotate_webhook", webhook, {"generation": [before, before + 1]})
    return webhook


def delete_webhook(webhook_id: str, act: Act) -> None:
    """Delete a webhook. The background then deletes its deliveries, even those that wait."""
    with locked(webhook_id, act) as (webhook, tell):
        change(webhook, deleted_at=act.at)
        tell_of(tell, "delete_webhook", webhook, {"state": [WebhookSettings.of(webhook).as_json(), None]})


# ------------------------------------------------------------------------------------------------ secrets


def secrets_of(webhook: Webhook, at: datetime) -> list[str]:
    """Return the secrets that are valid at the moment `at`; the current one is first."""
    generations = [webhook.generation]
    if webhook.previous_until is not None and webhook.previous_until > at:
        generations.append(webhook.generation - 1)
    return [signing.secret_of(_key_of(webhook, one), webhook.pk, one) for one in generations]


def _key_of(webhook: Webhook, generation: int) -> bytes:
    """Return the audit key from which a generation of the webhook's secret is derived; if that key is lost, the current
    key."""
    names = [name for since, name in webhook.keys if since <= generation]
    # The receiver refuses signatures of another key until the secret is renewed.
    return (keys.of(names[-1]) or keys.current()) if names else keys.first()


def _keys_from(webhook: Webhook, generation: int) -> list[list[Any]]:
    """Return the new value of the column `keys` of a webhook whose secret is renewed now."""
    of_now = keys.key_name()
    known = webhook.keys[-1][1] if webhook.keys else chain.key_id(keys.first())
    return webhook.keys if known == of_now else [*webhook.keys, [generation, of_now]]


def reveal(webhook_id: str, act: Act) -> str:
    """Return the webhook's current secret, and record who has seen it."""
    with locked(webhook_id, act) as (webhook, tell):
        tell_of(tell, "reveal_webhook", webhook, {"generation": webhook.generation})
    return secrets_of(webhook, act.at)[0]


# ------------------------------------------------------------------------------------------------ internals


@contextmanager
def locked(webhook_id: str, act: Act) -> Iterator[tuple[Webhook, Tell]]:
    """Lock a webhook's store or the hub; yield the webhook and a function that writes the entry.

    Raises NoSuchWebhook and RightLost.
    """
    found = Webhook.objects.filter(pk=webhook_id).values_list("store_id").first()
    if found is None:
        raise NoSuchWebhook
    try:
        with place(found[0], act) as tell:
            webhook = Webhook.objects.select_for_update().filter(pk=webhook_id).first()
            if webhook is None:
                raise NoSuchWebhook
            yield webhook, tell
    except tree.NoSuchStore:
        raise NoSuchWebhook from None


def _check(wanted: WebhookSettings) -> None:
    outgoing.parse(wanted.url, private=wanted.may_be_private)
    for event in wanted.events:
        if event not in webhook_events.EVENTS:
            raise UnknownEvent(event)


def change(webhook: Webhook, **values: Any) -> None:
    for name, value in values.items():
        setattr(webhook, name, value)
    webhook.save(update_fields=[*values])


def tell_of(tell: Tell, command: str, webhook: Webhook, details: dict[str, Any]) -> int:
    return tell(Record(command, input=audit.to_json({"webhook": webhook.pk, "name": webhook.name} | details)))
