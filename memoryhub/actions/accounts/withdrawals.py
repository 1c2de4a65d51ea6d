"""Withdraws unused invitations: by hand, or when their maker or the invited person loses a right.

It also pauses webhooks of a person who loses a role or the account.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.webhooks import manage
from memoryhub.models import Door, Invitation, Key, MemoryStore, User, Webhook
from memoryhub.models.access import InvitationQuerySet

Keys = Callable[[], Iterable[Key]]
Webhooks = Callable[[], Iterable[Webhook]]
"""Functions that return the keys, or the webhooks, that end together with a right of a person.

They are called once the locks are held, so that they also return what was made just before.
"""


def lock_chain_of(store: MemoryStore | None, act: Act) -> audit.ChainHead:
    """Lock the chain of a store, or of the hub if `store` is None. Return the chain's head."""
    return audit.lock_hub() if store is None else tree.lock(store.id, act).head


def withdraw(invitation: Invitation, *, actor: Actor, door: Door, at: datetime) -> None:
    """Withdraw an unused invitation; do nothing if it has been used or withdrawn."""
    act = Act(actor, door, at)
    with writing():
        _end(invitation, lock_chain_of(invitation.store, act), act)


def lock_stores_of(maker: User, act: Act, webhooks: Webhooks = tuple) -> dict[str, audit.ChainHead]:
    """Lock the chains of the stores in which an act on a person may withdraw invitations or pause webhooks.

    These are the stores to which the person made invitations that are still unused, and the stores of the webhooks that
    `webhooks` returns. Return {store id: head of the store's chain}. Call it before the hub's chain is locked.
    """
    stores = _unused(maker, act.at).filter(store__deleted_at=None).values_list("store_id", flat=True)
    concerned = {*stores, *(webhook.store_id for webhook in webhooks())} - {None}
    return {store: tree.lock(store, act).head for store in sorted(concerned)}


def withdraw_lapsed(maker: User, act: Act, heads: Mapping[str, audit.ChainHead]) -> None:
    """Withdraw the invitations that a person may no longer grant. Call it in the transaction that removes the right.

    `heads` are the locked chains of stores. For any other store, the withdrawal is recorded in the hub's chain.
    """
    if not _unused(maker, act.at).exists():
        return
    # Otherwise the invitations would work again if the person regained the right.
    open_ones = Invitation.objects.open(act.at).filter(made_by=maker)
    for invitation in _unused(maker, act.at).exclude(pk__in=open_ones.values("pk")).order_by("id"):
        head = heads.get(invitation.store_id or "") or audit.lock_hub()
        _end(invitation, head, act, {"maker": maker.id, "email_of_maker": maker.email})


def withdraw_those_to(user: User, store: MemoryStore, head: audit.ChainHead, act: Act) -> None:
    """Withdraw the invitations to a store for a person. Call it in the transaction that lowers the person's role."""
    # Otherwise an older invitation could give the higher role back.
    for invitation in Invitation.objects.unused(act.at).filter(store=store, user=None, email=user.email).order_by("id"):
        _end(invitation, head, act)


def pause_webhooks(webhooks: Webhooks, heads: Mapping[str, audit.ChainHead], act: Act) -> None:
    """Pause the webhooks that `webhooks` returns. Call it in the transaction in which their maker loses a right.

    `heads` are the locked chains of stores. For any other store, the pause is recorded in the hub's chain.
    """
    for webhook in Webhook.objects.select_for_update().filter(pk__in=[one.pk for one in webhooks()]).order_by("pk"):
        head = heads.get(webhook.store_id or "") or audit.lock_hub()
        manage.pause_in(webhook, partial(audit.append, head, act), act.at)


def _unused(maker: User, at: datetime) -> InvitationQuerySet:
    return Invitation.objects.unused(at).filter(made_by=maker)


def _end(invitation: Invitation, head: audit.ChainHead, act: Act, more: Mapping[str, Any] | None = None) -> None:
    if Invitation.objects.filter(pk=invitation.pk, used_at=None).update(used_at=act.at):
        details = {"invitation": invitation.id, "email": invitation.email, **(more or {})}
        audit.append(head, act, Record("withdraw_invitation", input=audit.to_json(details)))
