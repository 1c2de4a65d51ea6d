"""Second steps of the sign-in, and passkeys: adding, using and removing them."""

import base64
import hashlib
import secrets
from datetime import datetime

from django.conf import settings

from memoryhub.actions.accounts import sign_in, tries
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Authenticator, AuthenticatorKind, Door, User
from memoryhub.pure import ids, totp

CODES = 10


def needs_code(user: User) -> bool:
    """Return whether the person has an authenticator app. Then a password alone does not sign them in."""
    return Authenticator.objects.of(user).of_kind(AuthenticatorKind.APP).exists()


def add_app(user: User, secret: str, code: str, *, at: datetime) -> list[str] | None:
    """Add an authenticator app to a person if `code` is a current code for `secret`, and return new recovery codes.

    Return None if the code is wrong. The person's earlier app no longer works.
    """
    step = totp.step_of(secret, code, at, after=0)
    if step is None:
        return None
    codes = [f"{text[:5]}-{text[5:]}" for text in (secrets.token_hex(5) for _ in range(CODES))]
    with writing():
        Authenticator.objects.of(user).exclude(kind=AuthenticatorKind.PASSKEY).delete()
        _add(user, AuthenticatorKind.APP, _cipher(secret), at, counter=step)
        for one in codes:
            _add(user, AuthenticatorKind.RECOVERY, _digest(one), at)
        _write_entry(user, "add_app", Actor.person(user), at)
    return codes


def add_passkey(user: User, name: str, credential: str, public: str, counter: int, *, at: datetime) -> None:
    """Add a passkey that the browser has made and the caller has checked."""
    with writing():
        _add(user, AuthenticatorKind.PASSKEY, public, at, name=name, credential=credential, counter=counter)
        _write_entry(user, "add_passkey", Actor.person(user), at, name=name)


def _add(user: User, kind: AuthenticatorKind, secret: str, at: datetime, **more: object) -> None:
    new = ids.new_id(ids.AUTHENTICATOR, at)
    Authenticator.objects.create(id=new, user=user, kind=kind, secret=secret, created_at=at, **more)


def remove_app(user: User, *, actor: Actor, at: datetime) -> None:
    """Remove a person's app with its recovery codes; do nothing if there is none."""
    with writing():
        if Authenticator.objects.of(user).exclude(kind=AuthenticatorKind.PASSKEY).delete()[0]:
            _write_entry(user, "remove_app", actor, at)


def remove_passkeys(user: User, id: str | None = None, *, actor: Actor, at: datetime) -> None:
    """Remove the person's passkey with this `id`, or all passkeys of the person (None)."""
    found = Authenticator.objects.of(user).of_kind(AuthenticatorKind.PASSKEY)
    with writing():
        for passkey in found.filter(pk=id) if id else found:
            passkey.delete()
            _write_entry(user, "remove_passkey", actor, at, name=passkey.name)


def enter(user: User, code: str, *, address: str, at: datetime) -> bool:
    """Complete a sign-in with a code of the app or a recovery code. Return whether the code was right.

    The caller has checked the password. Each code works once. Raises TooManyTries.
    """
    counters = tries.of_second(user.id)
    tries.take(counters, at)
    typed = "".join(code.split()).lower()
    with writing():
        if not (_uses_app(user, typed, at) or _uses_recovery(user, typed)):
            sign_in.refuse(user.email, address=address, at=at)
            return False
        tries.give_back(counters, passed=True)
        sign_in.enter(user, address=address, at=at)
    return True


def _uses_app(user: User, typed: str, at: datetime) -> bool:
    app = Authenticator.objects.of(user).select_for_update().of_kind(AuthenticatorKind.APP).first()
    step = totp.step_of(_decrypted(app.secret), typed, at, after=app.counter) if app and typed.isascii() else None
    if app is None or step is None:
        return False
    return bool(Authenticator.objects.filter(pk=app.pk, counter=app.counter).update(counter=step, used_at=at))


def _uses_recovery(user: User, typed: str) -> bool:
    found = Authenticator.objects.of(user).of_kind(AuthenticatorKind.RECOVERY).filter(secret=_digest(typed))
    return bool(found.delete()[0])


def use_passkey(passkey: Authenticator, counter: int, *, asked_at: datetime, at: datetime) -> bool:
    """Record that a passkey answered a challenge which the hub made at `asked_at`.

    Record nothing and return False in two cases: the passkey was used after the hub made the challenge, or the counter
    shows that the passkey was copied. A last use in the future comes from a wrong clock, and is ignored.
    """
    with writing():
        row = Authenticator.objects.select_for_update().get(pk=passkey.pk)
        if row.used_at is not None and asked_at <= row.used_at <= at:
            return False
        if (counter or row.counter) and counter <= row.counter:
            return False
        Authenticator.objects.filter(pk=row.pk).update(counter=counter, used_at=at)
    return True


def _write_entry(user: User, command: str, actor: Actor, at: datetime, **more: str) -> None:
    details = audit.to_json({"user": user.id, "email": user.email, **more})
    audit.on_hub(Act(actor, Door.WEB, at), Record(command, input=details))


def _digest(code: str) -> str:
    return hashlib.sha256(code.replace("-", "").encode()).hexdigest()


def _key() -> bytes:
    """Return the key that encrypts the secrets of authenticator apps. It is derived from SECRET_KEY."""
    # Derived from SECRET_KEY, which is not in the database.
    return base64.urlsafe_b64encode(hashlib.sha256(b"memoryhub.pure.totp" + settings.SECRET_KEY.encode()).digest())


def _cipher(secret: str) -> str:
    from cryptography.fernet import Fernet

    return Fernet(_key()).encrypt(secret.encode()).decode()


def _decrypted(secret: str) -> str:
    """Return the decrypted secret of an app. If SECRET_KEY has changed, return a new random secret, which matches no
    app."""
    from cryptography.fernet import Fernet, InvalidToken

    try:
        return Fernet(_key()).decrypt(secret.encode()).decode()
    except InvalidToken:
        return totp.new_secret()
