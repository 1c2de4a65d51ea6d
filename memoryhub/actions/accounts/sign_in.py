"""Signs people in and out; each attempt to sign in makes an audit entry."""

from dataclasses import dataclass
from datetime import datetime

from memoryhub.actions.accounts import passwords, tries
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Door, User
from memoryhub.models.access import fold_email


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a person typed to sign in, and the client's network address.

    `device` is the browser's id if the account has signed in with it before, else None.
    """

    email: str
    password: str
    address: str
    device: str | None = None


def user_of(email: str) -> User | None:
    """Return the active person with an e-mail address, or None."""
    return User.objects.filter(email=fold_email(email), is_active=True).first()


def sign_in(credentials: Credentials, *, at: datetime) -> User | None:
    """Return the person if the password is right, else None. Raises TooBusy, and TooManyTries before any hashing.

    Existing and missing accounts differ neither in the answer nor in the time that it takes.
    """
    email = fold_email(credentials.email)
    counters = tries.of_sign_in(email, credentials.address, credentials.device)
    tries.take(counters, at)
    user = user_of(email)
    try:
        is_right, stronger = passwords.fits(credentials.password, user.password if user else None)
    except passwords.TooBusy:
        tries.give_back(counters, passed=False)
        raise
    if user is None or not is_right:
        _tell(Actor.system(email[:200]), email, credentials.address, ok=False, at=at)
        return None
    with writing():
        tries.give_back(counters, passed=True)
        if stronger is not None:
            user.password = stronger
            User.objects.filter(pk=user.pk).update(password=stronger)
        _enter(user, credentials.address, at)
    return user


def enter(user: User, *, address: str, at: datetime) -> None:
    """Sign in a person who has just used an invitation, without a second password check."""
    with writing():
        _enter(user, address, at)


def sign_out(user: User, *, at: datetime) -> None:
    """Write the entry of a sign-out."""
    with writing():
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("sign_out"))


def _enter(user: User, address: str, at: datetime) -> None:
    User.objects.filter(pk=user.pk).update(last_login=at)
    _tell(Actor.person(user), user.email, address, ok=True, at=at)


def _tell(actor: Actor, email: str, address: str, *, ok: bool, at: datetime) -> None:
    details = audit.to_json({"email": email[:200], "address": address})
    with writing():
        audit.on_hub(Act(actor, Door.WEB, at), Record("sign_in", ok=ok, input=details))
