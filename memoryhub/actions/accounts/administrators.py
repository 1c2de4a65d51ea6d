"""Gives people the role of an administrator of the hub, and takes this role away."""

from datetime import datetime

from memoryhub.actions.accounts import keys_and_roles, people, second_person, withdrawals
from memoryhub.actions.accounts.keys_and_roles import LastAdministrator
from memoryhub.actions.accounts.withdrawals import Keys, Webhooks
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules.roles import require_right
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Door, User


def set_administrator(
    user: User,
    is_one: bool,
    *,
    actor: Actor,
    door: Door,
    at: datetime,
    keep_one: bool = True,
    revoke: Keys = tuple,
    pause: Webhooks = tuple,
) -> bool:
    """Make a person an administrator of the hub, or take this role away. Return whether the role changed.

    If the person loses the role, two things end: the invitations that the person may no longer grant, and the open
    requests (see `second_person`) that the person made or allowed. The keys that `revoke` returns are revoked, and the
    webhooks that `pause` returns are paused. With `keep_one`, raises LastAdministrator if no active administrator would
    remain. Raises RightLost if `actor` is a person who may not govern the hub.
    """
    act = Act(actor, door, at)
    with writing():
        heads = {} if is_one else withdrawals.lock_stores_of(user, act, pause)
        audit.lock_hub()  # so that two administrators cannot take the role from each other at once
        require_right(actor, None)
        if not User.objects.filter(pk=user.pk).exclude(is_superuser=is_one).update(is_superuser=is_one):
            return False
        if keep_one and not User.objects.filter(is_active=True, is_superuser=True).exists():
            raise LastAdministrator
        user.is_superuser = is_one
        if not is_one:
            second_person.lapse(user, at)
        people.write_entry(user, "set_administrator" if is_one else "unset_administrator", actor, door, at)
        if not is_one:
            withdrawals.withdraw_lapsed(user, act, heads)
            withdrawals.pause_webhooks(pause, heads, act)
        for key in revoke():
            keys_and_roles.revoke_key(key, actor=actor, door=door, at=at)
    return True
