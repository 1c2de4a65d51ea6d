"""Signs people in and out; each attempt to sign in makes an audit entry."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from memoryhub.actions.accounts import browsers, passwords, tries
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Authenticator, AuthenticatorKind, BrowserSession, Door, User
from memoryhub.models.access import fold_email


@dataclass(frozen=True, slots=True)
class Credentials:
    """The e-mail address and the password that a person typed, and the client's network address.

    `device` is the id of a browser in which the account has signed in before, else None.
    """

    email: str
    password: str
    address: str
    device: str | None = None


def user_of(email: str) -> User | None:
    """Return the active person with an e-mail address, or None."""
    return User.objects.filter(email=fold_email(email), is_active=True).first()


def sign_in(credentials: Credentials, *, at: datetime) -> User | None:
    """Return the person if the password is right, else None.

    Raises TooManyTries (before any password is hashed) or TooBusy. Neither the answer nor its time reveals whether the
    account exists."""
    email = fold_email(credentials.email)
    counters = tries.of_sign_in(email, credentials.address, credentials.device)
    tries.take(counters, at)
    user = user_of(email)
    try:
        is_right, stronger = passwords.fits(credentials.password, _stored(user))
    except passwords.TooBusy:
        tries.give_back(counters, passed=False)
        raise
    if user is None or not is_right:
        _write_entry(Actor.system(email[:200]), email, credentials.address, ok=False, at=at)
        return None
    with writing():
        tries.give_back(counters, passed=True)
        if stronger is not None:
            user.password = stronger
            User.objects.filter(pk=user.pk).update(password=stronger)
        if not Authenticator.objects.of(user).of_kind(AuthenticatorKind.APP).exists():
            _enter(user, credentials.address, at)  # otherwise the code of the app completes it
    return user


def _stored(user: User | None) -> str | None:
    """Return the hash of the password with which a person may sign in, or None."""
    if user is None or not user.has_usable_password() or not may_use_password(user):
        return None
    return user.password


def may_use_password(user: User) -> bool:
    """Return whether a person may have and use a password.

    If the hub allows only single sign-on, this is True only for administrators of the hub who have no identity at the
    identity provider.
    """
    if not settings.MEMORYHUB_OIDC_ONLY:
        return True
    # With a password, the provider could no longer shut out a person who has an identity there.
    return user.is_superuser and not user.identities.filter(issuer=settings.MEMORYHUB_OIDC_ISSUER).exists()


def confirm(user: User, browser: BrowserSession, password: str, *, address: str, at: datetime) -> bool:
    """Record that a signed-in person has proved again who they are. Return False if the password is wrong.

    Raises TooManyTries (before any password is hashed) or TooBusy.
    """
    counters = tries.of_change(user.id)
    tries.take(counters, at)
    try:
        is_right, _ = passwords.fits(password, _stored(user))
    except passwords.TooBusy:
        tries.give_back(counters, passed=False)
        raise
    with writing():
        if is_right:
            tries.give_back(counters, passed=True)
            browsers.confirm(browser, at)
        details = audit.to_json({"email": user.email, "address": address})
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("confirm", ok=is_right, input=details))
    return is_right


def confirmed(user: User, browser: BrowserSession, *, address: str, at: datetime) -> None:
    """Record that a signed-in person has proved again who they are, in another way than with the password."""
    with writing():
        browsers.confirm(browser, at)
        details = audit.to_json({"email": user.email, "address": address})
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("confirm", input=details))


def refuse(email: str, *, address: str, at: datetime) -> None:
    """Write the entry of a refused sign-in: the identity provider's answer was not accepted, or the code was wrong."""
    email = fold_email(email)
    _write_entry(Actor.system(email[:200]), email, address, ok=False, at=at)


def enter(user: User, *, address: str, at: datetime, unnamed: str = "") -> None:
    """Sign in a person. The caller has checked who the person is.

    If the identity provider left out the field that lists the person's groups, `unnamed` is the name of this field. The
    roles then stayed as they were, and the entry names the field.
    """
    with writing():
        _enter(user, address, at, unnamed)


def sign_out(user: User, browser: str, *, at: datetime) -> None:
    """End the session of a browser, with the entry of a sign-out."""
    with writing():
        browsers.drop(user.browsers.filter(pk=browser))
        audit.on_hub(Act(Actor.person(user), Door.WEB, at), Record("sign_out"))


def _enter(user: User, address: str, at: datetime, unnamed: str = "") -> None:
    User.objects.filter(pk=user.pk).update(last_login=at)
    _write_entry(Actor.person(user), user.email, address, ok=True, at=at, unnamed=unnamed)


def _write_entry(actor: Actor, email: str, address: str, *, ok: bool, at: datetime, unnamed: str = "") -> None:
    more = {"unnamed": unnamed} if unnamed else {}
    details = audit.to_json({"email": email[:200], "address": address, **more})
    with writing():
        audit.on_hub(Act(actor, Door.WEB, at), Record("sign_in", ok=ok, input=details))
