"""People: the first administrator, invitations, and what people change in their own accounts."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q

from memoryhub.actions.accounts import (
    authenticators,
    browsers,
    keys_and_roles,
    passwords,
    second_person,
    sign_in,
    tries,
    withdrawals,
)
from memoryhub.actions.accounts.keys_and_roles import LastAdministrator
from memoryhub.actions.accounts.withdrawals import Keys, Webhooks
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.rules.roles import require_right, write_role
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Door, Invitation, MailChoice, MailKind, Member, MemoryStore, Role, User
from memoryhub.models.access import fold_email
from memoryhub.models.audit import ActorKind
from memoryhub.pure import ids

INVITATION_LASTS = timedelta(days=7)
_NOBODY = Actor.system("")


class InvitationSpent(Exception):
    """The invitation was used, has expired, is for someone else, or never existed."""


class MayNotInvite(Exception):
    """The person who invites may not make this invitation, or may no longer make it."""


class EmailTaken(Exception):
    """Another person has this e-mail address."""


def digest_of_token(token: str) -> str:
    """Return the digest of an invitation's token. The invitation is stored with this digest instead of the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create_user(
    email: str, *, name: str, password: str, is_superuser: bool = False, actor: Actor, door: Door, at: datetime
) -> User:
    """Create a person. Raises EmailTaken and TooBusy."""
    encoded = passwords.hashed(password)
    with writing():
        audit.lock_hub()  # so that two people of one address cannot be made at once
        user = write_user(email, name, encoded, at, is_superuser=is_superuser)
        write_entry(user, "create_user", actor, door, at)
    return user


def write_user(email: str, name: str, encoded: str, at: datetime, *, is_superuser: bool = False) -> User:
    """Create the row of a person in the caller's transaction. The caller writes the entry. Raises EmailTaken."""
    folded = fold_email(email)
    if User.objects.filter(email=folded).exists():
        raise EmailTaken(email)
    user = User(
        id=ids.new_id(ids.USER, at), email=folded, name=name.strip(), is_superuser=is_superuser, created_at=at,
        password=encoded,
    )  # fmt: skip
    user.save(force_insert=True)
    return user


def write_entry(user: User, command: str, actor: Actor, door: Door, at: datetime) -> None:
    """Write the entry of an act on a person."""
    details = {"user": user.id, "email": user.email, "name": user.name, "is_superuser": user.is_superuser}
    audit.on_hub(Act(actor, door, at), Record(command, input=audit.to_json(details)))


def invite(
    *, actor: Actor, door: Door, at: datetime, email: str = "", is_superuser: bool = False, user: User | None = None,
    store: MemoryStore | None = None, role: Role = Role.VIEWER, mails: bool = False,
) -> tuple[Invitation, str]:  # fmt: skip
    """Create an invitation; return it and its token, which is not stored.

    With `user`, the invitation is a link with which that person sets a new password. With `mails`, the link is also
    sent to `email`. Raises MayNotInvite if the actor may not make this invitation; EmailTaken if the invitation is to
    the hub and a person has this address. An invitation to a memory store does not reveal whether the account exists.
    """
    nonce = outbox.new_nonce()
    token, act = outbox.token_of(nonce), Act(actor, door, at)
    with writing():
        head = withdrawals.lock_chain_of(store, act)
        audit.lock_hub()
        if user is None and store is None and email and User.objects.filter(email=fold_email(email)).exists():
            raise EmailTaken(email)
        invitation = Invitation.objects.create(
            id=ids.new_id(ids.INVITATION, at), digest=digest_of_token(token), email=fold_email(email), user=user,
            is_superuser=is_superuser, store=store, role=role, created_at=at, expires_at=at + INVITATION_LASTS,
            made_by_id=actor.id if actor.kind == ActorKind.USER else None,
            made_by_hub=actor.kind == ActorKind.SYSTEM,
        )  # fmt: skip
        if not Invitation.objects.granted().filter(pk=invitation.pk).exists():
            raise MayNotInvite
        details = {
            "invitation": invitation.id, "email": invitation.email, "is_superuser": is_superuser,
            "user": user.id if user else None, "store": store.id if store else None, "role": role,
        }  # fmt: skip
        audit.append(head, act, Record("invite", input=audit.to_json(details)))
        if mails and email:
            outbox.put(MailKind.INVITATION, [user.id if user else None], at, about=invitation.id, nonce=nonce)
    return invitation, token


def find_invitation(token: str, at: datetime) -> Invitation | None:
    """Return the usable invitation with this token, or None. A password link of a deactivated person is not usable."""
    usable = Invitation.objects.open(at).filter(digest=digest_of_token(token))
    return usable.filter(Q(user=None) | Q(user__is_active=True)).select_related("user", "store").first()


def needs_provider(invitation: Invitation) -> bool:
    """Return whether the invited person must sign in at the identity provider and may not choose a password."""
    if invitation.user is not None:
        return not sign_in.may_use_password(invitation.user)
    return settings.MEMORYHUB_OIDC_ONLY and not invitation.is_superuser


def accept(
    token: str, *, email: str, name: str, password: str, at: datetime, address: str = "", ends_passkeys: bool = False
) -> User:
    """Create the invited person and return it. For a password link, set the new password of its person instead.

    With `ends_passkeys`, the passkeys of the person of a password link are removed. Raises InvitationSpent if no usable
    invitation has this token, or if the person must sign in at the identity provider; EmailTaken if another person has
    the address. Also raises TooManyTries and TooBusy.
    """
    found = find_invitation(token, at)
    if found is None or needs_provider(found):
        raise InvitationSpent
    tries.take(tries.of_invitation(address), at)
    encoded = passwords.hashed(password)
    with writing():
        invitation = find_invitation(token, at)
        if invitation is None:
            raise InvitationSpent
        joined = _spend(invitation, at)
        user = invitation.user
        if user is None:
            is_one = invitation.is_superuser
            user = write_user(invitation.email or email, name, encoded, at, is_superuser=is_one)
            for one, store in joined:
                _join(store, one, user, at)
            write_entry(user, "accept_invitation", Actor.person(user), Door.WEB, at)
        else:
            write_password(user, encoded, at, ends_passkeys=ends_passkeys)
    return user


def join(user: User, token: str, *, at: datetime) -> MemoryStore:
    """Use an invitation to a memory store for the signed-in person. Return the store.

    The invitations that `beside` returns are used too. If the person has a higher role already, that role stays. Raises
    InvitationSpent.
    """
    with writing():
        invitation = find_invitation(token, at)
        if invitation is None or invitation.store is None or not invites(invitation, user):
            raise InvitationSpent
        for one, store in _spend(invitation, at):
            _join(store, one, user, at)
    return invitation.store


def beside(invitation: Invitation, at: datetime) -> list[Invitation]:
    """Return the other usable invitations to stores that were made together with this one, for the same address."""
    if invitation.store_id is None or invitation.user_id is not None:
        return []
    same = {"email": invitation.email, "made_by": invitation.made_by_id, "created_at": invitation.created_at}
    found = Invitation.objects.open(at).filter(user=None, store__isnull=False, **same).exclude(pk=invitation.pk)
    return list(found.select_related("store").order_by("store_id"))


def _spend(invitation: Invitation, at: datetime) -> list[tuple[Invitation, tree.Tree]]:
    """Use an invitation and those that `beside` returns. Raises InvitationSpent.

    Return (invitation, locked store) for each of these invitations that is to a store.
    """
    together = sorted([invitation, *beside(invitation, at)], key=lambda one: one.store_id or "")
    stores = {one.pk: tree.lock(one.store_id, Act(_NOBODY, Door.WEB, at)) for one in together if one.store_id}
    audit.lock_hub()
    used = {one.pk for one in together if Invitation.objects.open(at).filter(pk=one.pk).update(used_at=at)}
    if invitation.pk not in used:
        raise InvitationSpent
    return [(one, stores[one.pk]) for one in together if one.pk in used and one.pk in stores]


def invites(invitation: Invitation, user: User) -> bool:
    """Return whether an invitation to a memory store is for this person."""
    return invitation.store is not None and invitation.user is None and invitation.email == user.email


def write_password(user: User, encoded: str, at: datetime, keep: str = "", *, ends_passkeys: bool = False) -> None:
    """Store a new password, withdraw the person's other password links, and sign out every browser but `keep`.

    With `ends_passkeys`, also remove the person's passkeys.
    """
    user.password = encoded
    user.save(update_fields=["password"])
    browsers.drop(user.browsers.exclude(pk=keep))
    for link in Invitation.objects.unused(at).filter(user=user):
        withdrawals.withdraw(link, actor=Actor.person(user), door=Door.WEB, at=at)
    write_entry(user, "set_password", Actor.person(user), Door.WEB, at)
    if ends_passkeys:
        authenticators.remove_passkeys(user, actor=Actor.person(user), at=at)


def _join(store: tree.Tree, invitation: Invitation, user: User, at: datetime) -> None:
    assert invitation.store is not None  # the caller has locked it
    store.act = Act(Actor.person(user), Door.WEB, at)
    member = Member.objects.filter(store=invitation.store, user=user).first()
    before, role = Role(member.role) if member else None, Role(invitation.role)
    if before is not None and before.includes(role):
        role = before
    write_role(invitation.store, user, role, at)
    details: dict[str, object] = {"user": user.id, "email": user.email, "before": before, "role": role}
    if invitation.made_by_id:
        details["invited_by"] = invitation.made_by_id
    tree.commit(store, Record("set_role", input=audit.to_json(details)))


def first_administrator_link(*, at: datetime) -> str | None:
    """Return the token of a new invitation for the first administrator; None if the hub has an administrator.

    Earlier invitations for the first administrator are withdrawn.
    """
    if User.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    by: dict[str, Any] = {"actor": Actor.system("memoryhub"), "door": Door.COMMAND, "at": at}
    with writing():
        audit.lock_hub()
        for earlier in Invitation.objects.unused(at).filter(is_superuser=True):
            withdrawals.withdraw(earlier, **by)
        return invite(is_superuser=True, **by)[1]


def edit_profile(user: User, *, at: datetime, **changes: object) -> None:
    """Change the person's own settings, such as name, theme or time zone. If nothing changes, no entry is written."""
    changed = {name: value for name, value in changes.items() if getattr(user, name) != value}
    if not changed:
        return
    details = {name: [getattr(user, name), value] for name, value in changed.items()}
    with writing():
        User.objects.filter(pk=user.pk).update(**changed)
        if "time_zone" in changed:
            MailChoice.objects.filter(pk=user.pk).update(next_at=None)
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("edit_profile", input=audit.to_json(details)))
    for name, value in changed.items():
        setattr(user, name, value)


def change_password(user: User, current: str, password: str, *, at: datetime, keep: str = "") -> bool:
    """Set a new password for a person who knows the current one. Return False if `current` is wrong.

    Every browser but `keep` is signed out. Raises TooManyTries (before any password is hashed) or TooBusy.
    """
    counters = tries.of_change(user.id)
    tries.take(counters, at)
    try:
        if not passwords.fits(current, user.password)[0]:
            return False
        encoded = passwords.hashed(password)
    except passwords.TooBusy:
        tries.give_back(counters, passed=False)
        raise
    with writing():
        tries.give_back(counters, passed=True)
        write_password(user, encoded, at, keep)
    return True


def set_active(
    user: User,
    active: bool,
    *,
    actor: Actor,
    door: Door,
    at: datetime,
    revoke: Keys = tuple,
    pause: Webhooks = tuple,
) -> None:
    """Activate or deactivate a person. If nothing changes, no entry is written.

    A deactivation also ends the person's browser sessions and password links, the invitations that the person made, and
    the open requests (see `second_person`) that the person made or allowed. The keys that `revoke` returns are
    revoked, and
    the webhooks that `pause` returns are paused. Raises LastAdministrator if no active administrator would remain.
    Raises RightLost if `actor` is a person who is no administrator.
    """
    act = Act(actor, door, at)
    with writing():
        heads = {} if active else withdrawals.lock_stores_of(user, act, pause)
        audit.lock_hub()  # so that two administrators cannot deactivate each other at once
        require_right(actor, None)
        if not User.objects.filter(pk=user.pk).exclude(is_active=active).update(is_active=active):
            return
        if not User.objects.filter(is_active=True, is_superuser=True).exists():
            raise LastAdministrator
        user.is_active = active
        if not active:
            second_person.lapse(user, at)
        write_entry(user, "activate_user" if active else "deactivate_user", actor, door, at)
        if not active:
            browsers.drop(user.browsers.all())
            for link in Invitation.objects.unused(at).filter(user=user):
                withdrawals.withdraw(link, actor=actor, door=door, at=at)
            withdrawals.withdraw_lapsed(user, act, heads)
            withdrawals.pause_webhooks(pause, heads, act)
        for key in revoke():
            keys_and_roles.revoke_key(key, actor=actor, door=door, at=at)
