"""People come in and go out; each try to sign in is an entry."""

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
    """What somebody typed, from where; `device` is the browser, where this account has signed in from it before."""

    email: str
    password: str
    address: str
    device: str | None = None


def user_of(email: str) -> User | None:
    """The active person of an address."""
    return User.objects.filter(email=fold_email(email), is_active=True).first()


def sign_in(credentials: Credentials, *, at: datetime) -> User | None:
    """The person whose password it is, or None. Raises TooManyTries before anything is hashed, and TooBusy.

    Accounts that are there and those that are not differ neither in the answer nor in the time that it takes.
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
    """A person who has just shown an invitation is signed in without typing the password once more."""
    with writing():
        _enter(user, address, at)


def sign_out(user: User, *, at: datetime) -> None:
    """Writes the entry of a sign-out."""
    with writing():
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("sign_out"))


def _enter(user: User, address: str, at: datetime) -> None:
    User.objects.filter(pk=user.pk).update(last_login=at)
    _tell(Actor.person(user), user.email, address, ok=True, at=at)


def _tell(actor: Actor, email: str, address: str, *, ok: bool, at: datetime) -> None:
    told = audit.to_json({"email": email[:200], "address": address})
    with writing():
        audit.on_hub(Act(actor, Door.WEB, at), Record("sign_in", ok=ok, input=told))
