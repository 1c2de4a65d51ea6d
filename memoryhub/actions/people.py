"""People: the first administrator, invitations, sign-ins and their own settings."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.contrib.auth.hashers import make_password, verify_password
from django.db.models import Q

from memoryhub import ids
from memoryhub.actions import audit, tree
from memoryhub.actions.access import LastAdministrator
from memoryhub.actions.audit import Act, Actor, Record
from memoryhub.actions.membership import write_role
from memoryhub.actions.transactions import writing
from memoryhub.models import HUB, AuditEntry, Door, Invitation, MemoryStore, Role, User
from memoryhub.models.access import fold_email

INVITATION_LASTS = timedelta(days=7)
SIGN_IN_WINDOW = timedelta(minutes=15)
SIGN_IN_TRIES = 10
SIGN_IN_TRIES_ANYWHERE = 100
"""From one place and from all: a stranger's wrong guesses do not soon keep somebody out who comes from elsewhere."""
_NOBODY = Actor.system("")


class InvitationSpent(Exception):
    """The invitation was used, has expired, or never was."""


class EmailTaken(Exception):
    """Another person has that e-mail address."""


class TooManyTries(Exception):
    """Too many failed sign-ins with one e-mail address in the last quarter of an hour."""


def digest_of_token(token: str) -> str:
    """How an invitation's token is stored and found."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create_user(
    email: str, *, name: str, password: str, is_superuser: bool = False, actor: Actor, door: Door, at: datetime
) -> User:
    """A new person; raises EmailTaken."""
    with writing():
        audit.lock_hub()  # so that two of one address cannot be made at once
        user = _write_user(email, name, password, is_superuser, at)
        _tell(user, "create_user", actor, door, at)
    return user


def _write_user(email: str, name: str, password: str, is_superuser: bool, at: datetime) -> User:
    folded = fold_email(email)
    if User.objects.filter(email=folded).exists():
        raise EmailTaken(email)
    user = User(id=ids.new_id(ids.USER, at), email=folded, name=name.strip(), is_superuser=is_superuser, created_at=at)
    user.set_password(password)
    user.save(force_insert=True)
    return user


def _tell(user: User, command: str, actor: Actor, door: Door, at: datetime) -> None:
    told = {"user": user.id, "email": user.email, "name": user.name, "is_superuser": user.is_superuser}
    audit.on_hub(Act(actor, door, at), Record(command, input=audit.to_json(told)))


def invite(
    *, actor: Actor, door: Door, at: datetime, email: str = "", is_superuser: bool = False, user: User | None = None,
    store: MemoryStore | None = None, role: Role = Role.VIEWER,
) -> tuple[Invitation, str]:  # fmt: skip
    """An invitation and its token, which is not stored; with `user`, a link to set another password.

    Raises EmailTaken where the address to invite is somebody's already.
    """
    token = secrets.token_urlsafe(32)
    with writing():
        if user is None and email and User.objects.filter(email=fold_email(email)).exists():
            raise EmailTaken(email)
        invitation = Invitation.objects.create(
            id=ids.new_id(ids.INVITATION, at), digest=digest_of_token(token), email=fold_email(email), user=user,
            is_superuser=is_superuser, store=store, role=role, created_at=at, expires_at=at + INVITATION_LASTS,
        )  # fmt: skip
        told = {
            "invitation": invitation.id, "email": invitation.email, "is_superuser": is_superuser,
            "user": user.id if user else None, "store": store.id if store else None, "role": role,
        }  # fmt: skip
        act = Act(actor, door, at)
        audit.append(_lock_chain_of(store, act), act, Record("invite", input=audit.to_json(told)))
    return invitation, token


def _lock_chain_of(store: MemoryStore | None, act: Act) -> audit.ChainHead:
    """An invitation to a store belongs to the store's chain, any other to the hub's."""
    return audit.lock_hub() if store is None else tree.lock(store.id, act).head


def find_invitation(token: str, at: datetime) -> Invitation | None:
    """The invitation that a token opens, if it can still be used: one of a deactivated person cannot."""
    usable = Invitation.objects.open(at).filter(digest=digest_of_token(token))
    return usable.filter(Q(user=None) | Q(user__is_active=True)).select_related("user", "store").first()


def accept(token: str, *, email: str, name: str, password: str, at: datetime) -> User:
    """Makes the invited person, or gives the one of the invitation another password. Once; raises InvitationSpent."""
    with writing():
        invitation = find_invitation(token, at)
        if invitation is None:
            raise InvitationSpent
        store = tree.lock(invitation.store_id, Act(_NOBODY, Door.WEB, at)) if invitation.store_id else None
        audit.lock_hub()  # invitations are spent under the locks of their chains: nobody waits in a circle
        if not Invitation.objects.filter(pk=invitation.pk, used_at=None).update(used_at=at):
            raise InvitationSpent
        user = invitation.user
        if user is None:
            user = _write_user(invitation.email or email, name, password, invitation.is_superuser, at)
            if store is not None:
                _join(store, invitation, user, at)
            _tell(user, "accept_invitation", Actor.person(user), Door.WEB, at)
        else:
            _write_password(user, password, at)
    return user


def _write_password(user: User, password: str, at: datetime) -> None:
    """Links to set another password end with it: a forgotten one must not open the account later."""
    user.set_password(password)
    user.save(update_fields=["password"])
    Invitation.objects.open(at).filter(user=user).update(used_at=at)
    _tell(user, "set_password", Actor.person(user), Door.WEB, at)


def _join(store: tree.Tree, invitation: Invitation, user: User, at: datetime) -> None:
    assert invitation.store is not None  # the caller has locked it
    store.act = Act(Actor.person(user), Door.WEB, at)
    write_role(invitation.store, user, Role(invitation.role), at)
    told = {"user": user.id, "email": user.email, "before": None, "role": invitation.role}
    tree.commit(store, Record("set_role", input=audit.to_json(told)))


def withdraw(invitation: Invitation, *, actor: Actor, door: Door, at: datetime) -> None:
    """Ends an invitation that nobody has used."""
    act = Act(actor, door, at)
    with writing():
        head = _lock_chain_of(invitation.store, act)
        if Invitation.objects.filter(pk=invitation.pk, used_at=None).update(used_at=at):
            told = {"invitation": invitation.id, "email": invitation.email}
            audit.append(head, act, Record("withdraw_invitation", input=audit.to_json(told)))


def first_administrator_link(*, at: datetime) -> str | None:
    """A fresh token for the first administrator, which ends the earlier ones; None where there already is one."""
    if User.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    by: dict[str, Any] = {"actor": Actor.system("memoryhub"), "door": Door.COMMAND, "at": at}
    with writing():
        audit.lock_hub()
        for earlier in Invitation.objects.open(at).filter(is_superuser=True):
            withdraw(earlier, **by)
        return invite(is_superuser=True, **by)[1]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody typed, and from where."""

    email: str
    password: str
    address: str


def sign_in(credentials: Credentials, *, at: datetime) -> User | None:
    """The person whose password it is, or None; each try is an entry. Raises TooManyTries, before looking."""
    email = fold_email(credentials.email)
    here, anywhere = failed_sign_ins(email, credentials.address, at)
    if here >= SIGN_IN_TRIES or anywhere >= SIGN_IN_TRIES_ANYWHERE:
        raise TooManyTries
    user = User.objects.filter(email=email, is_active=True).first()
    is_right, is_outdated = verify_password(credentials.password, user.password if user else _any_hash())
    if user is None or not is_right:
        _tell_of_sign_in(Actor.system(email[:200]), email, credentials.address, ok=False, at=at)
        return None
    with writing():
        if is_outdated:
            user.password = make_password(credentials.password)
            User.objects.filter(pk=user.pk).update(password=user.password)
        _enter(user, credentials.address, at)
    return user


@lru_cache(maxsize=1)
def _any_hash() -> str:
    """The hash of a password that nobody has: checking takes as long for a stranger, so that the time tells nothing."""
    return make_password(secrets.token_urlsafe(32))


def enter(user: User, *, address: str, at: datetime) -> None:
    """A person who has just shown an invitation is signed in without typing the password once more."""
    with writing():
        _enter(user, address, at)


def _enter(user: User, address: str, at: datetime) -> None:
    User.objects.filter(pk=user.pk).update(last_login=at)
    _tell_of_sign_in(Actor.person(user), user.email, address, ok=True, at=at)


def _tell_of_sign_in(actor: Actor, email: str, address: str, *, ok: bool, at: datetime) -> None:
    with writing():
        audit.on_hub(Act(actor, Door.WEB, at), Record("sign_in", ok=ok, input=_told_of_sign_in(email, address)))


def _told_of_sign_in(email: str, address: str) -> str:
    return audit.to_json({"email": email[:200], "address": address})


def failed_sign_ins(email: str, address: str, at: datetime) -> tuple[int, int]:
    """How many of the newest sign-ins with an e-mail address failed, from one network address and from all.

    In the last quarter of an hour, back to the last success.
    """
    entries = AuditEntry.objects.of_chain(HUB).filter(command="sign_in", at__gt=at - SIGN_IN_WINDOW).newest()[:500]
    told = f'{{"email":{audit.to_json(email[:200])},'
    here = anywhere = 0
    for ok, input in entries.values_list("ok", "input"):
        if (input or "").startswith(told):
            if ok:
                break
            anywhere += 1
            here += input == _told_of_sign_in(email, address)
    return here, anywhere


def sign_out(user: User, *, at: datetime) -> None:
    """Writes the entry of a sign-out."""
    with writing():
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("sign_out"))


def edit_profile(user: User, *, at: datetime, **changes: object) -> None:
    """Changes a person's own name, theme, time zone or single-key shortcuts; the entry names what changed."""
    changed = {name: value for name, value in changes.items() if getattr(user, name) != value}
    if not changed:
        return
    told = {name: [getattr(user, name), value] for name, value in changed.items()}
    with writing():
        User.objects.filter(pk=user.pk).update(**changed)
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("edit_profile", input=audit.to_json(told)))
    for name, value in changed.items():
        setattr(user, name, value)


def set_password(user: User, password: str, *, at: datetime) -> None:
    """Gives a person another password; other browsers are signed out by it."""
    with writing():
        _write_password(user, password, at)


def set_active(user: User, active: bool, *, actor: Actor, door: Door, at: datetime) -> None:
    """Lets a person in or keeps them out; what they did stays theirs. Nothing where it already is so.

    Raises LastAdministrator where the hub would be left without one.
    """
    with writing():
        audit.lock_hub()  # so that two administrators cannot deactivate each other at once
        if not User.objects.filter(pk=user.pk).exclude(is_active=active).update(is_active=active):
            return
        if not User.objects.filter(is_active=True, is_superuser=True).exists():
            raise LastAdministrator
        Invitation.objects.open(at).filter(user=user).update(used_at=at)
        user.is_active = active
        _tell(user, "activate_user" if active else "deactivate_user", actor, door, at)
