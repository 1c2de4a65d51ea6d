"""Acts on agents, keys and roles. Each change has its audit entry."""

import secrets
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memoryhub.actions.accounts import withdrawals
from memoryhub.actions.accounts.withdrawals import Keys, Webhooks
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.rules.roles import RightLost, require_right, write_role
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories import calls
from memoryhub.models import Access, Agent, Door, Key, KeyStore, MemoryStore, Role, User
from memoryhub.pure import ids

KEY_PREFIX = "mh_"


class NameTaken(Exception):
    """Another agent has this name."""


class MayNotIssue(RightLost):
    """The person may not, or may no longer, issue the key."""


class LastAdministrator(Exception):
    """The change would leave the hub, or a store, without an administrator."""


def fold_name(name: str) -> str:
    """Return a form of an agent's name that is the same for all spellings of the name, such as in upper and in lower
    case."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def set_role(
    store: MemoryStore,
    user: User,
    role: Role | None,
    *,
    actor: Actor,
    door: Door,
    at: datetime,
    keep_admin: bool = False,
    revoke: Keys = tuple,
    pause: Webhooks = tuple,
) -> None:
    """Give a person a role in a store, or remove the role (None). If nothing changes, no entry is written.

    The invitations that the person made and may no longer grant are withdrawn. If the role becomes lower or is removed,
    the unused invitations that invite the person to this store are withdrawn too. The keys that `revoke` returns are
    revoked, and the webhooks that `pause` returns are paused. With `keep_admin`, raises LastAdministrator if no active
    admin of the store would remain. Raises RightLost if `actor` is a person who may not govern the store.
    """
    with tree.locked(store.id, Act(actor, door, at)) as locked:
        require_right(actor, store.id)
        before = write_role(store, user, role, at)
        if before == role:
            return
        if keep_admin and before == Role.ADMIN and not store.members.active_admins().exists():
            raise LastAdministrator
        details = {"user": user.id, "email": user.email, "before": before, "role": role}
        tree.commit(locked, Record("set_role", input=audit.to_json(details)))
        withdrawals.withdraw_lapsed(user, locked.act, {store.id: locked.head})
        if before is not None and (role is None or not role.includes(before)):
            withdrawals.withdraw_those_to(user, store, locked.head, locked.act)
        withdrawals.pause_webhooks(pause, {store.id: locked.head}, locked.act)
        for key in revoke():
            revoke_key(key, actor=actor, door=door, at=at)


def create_agent(
    name: str, *, actor: Actor, door: Door, at: datetime, description: str = "", seen_by: User | None = None
) -> Agent:
    """Create an agent without keys. Raises NameTaken if another agent has the name.

    With `seen_by`, NameTaken is raised only if this person may see the other agent.
    """
    with writing():
        audit.lock_hub()  # so that two agents of one name cannot be made at once
        seen = Agent.objects.all() if seen_by is None else Agent.objects.visible_to(seen_by)
        if seen.named(fold_name(name)).exists():
            raise NameTaken(name)
        agent = Agent.objects.create(
            id=ids.new_id(ids.AGENT, at),
            name=name.strip(),
            folded_name=fold_name(name),
            description=description,
            created_at=at,
        )
        details = {"agent": agent.id, "name": agent.name, "description": description}
        audit.on_hub(Act(actor, door, at), Record("create_agent", input=audit.to_json(details)))
    return agent


def edit_agent(agent: Agent, *, name: str, description: str, actor: Actor, door: Door, at: datetime) -> None:
    """Change an agent's name and description. Earlier entries keep the old name.

    Raises NameTaken if another agent has the new name.
    """
    name = name.strip()
    with writing():
        audit.lock_hub()
        before = Agent.objects.get(pk=agent.pk)
        if fold_name(name) != before.folded_name and Agent.objects.named(fold_name(name)).exists():
            raise NameTaken(name)
        if (before.name, before.description) == (name, description):
            return
        details = {"agent": agent.id, "name": [before.name, name], "description": [before.description, description]}
        Agent.objects.filter(pk=agent.pk).update(name=name, folded_name=fold_name(name), description=description)
        audit.on_hub(Act(actor, door, at), Record("edit_agent", input=audit.to_json(details)))


def issue_key(
    agent: Agent,
    *,
    stores: Sequence[MemoryStore] = (),
    all_stores: bool = False,
    access: Access = Access.WRITE,
    name: str = "",
    expires_at: datetime | None = None,
    actor: Actor,
    door: Door,
    at: datetime,
    created_by: User | None = None,
) -> tuple[Key, str]:
    """Create a key. Return the key and its secret, which is not stored."""
    secret = KEY_PREFIX + secrets.token_urlsafe(32)
    with writing():
        # PostgreSQL would otherwise lock them at the commit, for its foreign keys, after the hub's chain.
        _lock(stores)
        key = Key.objects.create(
            id=ids.new_id(ids.KEY, at), agent=agent, name=name, digest=calls.digest_of_key(secret), hint=secret[-4:],
            access=access, all_stores=all_stores, created_at=at, created_by=created_by, expires_at=expires_at,
        )  # fmt: skip
        KeyStore.objects.bulk_create(KeyStore(key=key, store=store) for store in stores)
        details = {
            "key": key.id,
            "agent": agent.id,
            "name": name,
            "access": access,
            "all_stores": all_stores,
            "stores": [store.id for store in stores],
            "expires_at": expires_at.isoformat() if expires_at else None,
        }
        audit.on_hub(Act(actor, door, at), Record("issue_key", input=audit.to_json(details)))
    return key, secret


def issue_key_by(
    user: User, agent: Agent, *, stores: Sequence[MemoryStore] = (), all_stores: bool = False, at: datetime, **more: Any
) -> tuple[Key, str]:
    """Create a key as `issue_key` does. Raises MayNotIssue if the person may not issue this key.

    If another act takes this right from the person at the same time, that act waits until the key exists. It can then
    revoke the key.
    """
    with writing():
        _lock(stores)
        audit.lock_hub()
        if not _may_issue(User.objects.get(pk=user.pk), agent, stores, all_stores=all_stores, at=at):
            raise MayNotIssue
        return issue_key(agent, stores=stores, all_stores=all_stores, created_by=user, at=at, **more)


def _lock(stores: Sequence[MemoryStore]) -> None:
    chosen = MemoryStore.objects.filter(pk__in=[store.pk for store in stores])
    list(chosen.select_for_update().order_by("pk").values_list("pk"))


def _may_issue(user: User, agent: Agent, stores: Sequence[MemoryStore], *, all_stores: bool, at: datetime) -> bool:
    if user.is_superuser or not user.is_active:
        return user.is_active
    administered = MemoryStore.objects.administered_by(user).filter(pk__in=[store.pk for store in stores])
    if all_stores or not stores or administered.count() != len(stores):
        return False
    return Agent.objects.filter(pk=agent.pk).without_hub_wide_keys(at).exists()


def revoke_key(key: Key, *, actor: Actor, door: Door, at: datetime) -> None:
    """Revoke a key at once and permanently. Do nothing if it is already revoked."""
    with writing():
        if Key.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=at):
            details = {"key": key.id, "agent": key.agent_id, "hint": key.hint}
            audit.on_hub(Act(actor, door, at), Record("revoke_key", input=audit.to_json(details)))


def reaches_all(caller: calls.Caller) -> bool:
    """Return whether the caller's key reaches all memory stores, even those created later."""
    return Key.objects.filter(pk=caller.key, all_stores=True).exists()
