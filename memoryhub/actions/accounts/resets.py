"""New passwords through a link that is sent by e-mail."""

from datetime import datetime

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from memoryhub.actions.accounts import passwords, people, sign_in, tries
from memoryhub.actions.accounts.people import InvitationSpent
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Door, MailKind, User
from memoryhub.models.access import fold_email


class _Tokens(PasswordResetTokenGenerator):
    """Makes and checks Django's tokens for new passwords, as of a given moment.

    A token is valid until the person signs in or the password changes, but at most for PASSWORD_RESET_TIMEOUT.
    """

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = at.replace(tzinfo=None)

    def _now(self) -> datetime:
        return self.at


def token_for(user: User, at: datetime) -> str:
    """Return the token of a link with which a person sets a new password."""
    return _Tokens(at).make_token(user)


def request(email: str, *, address: str, at: datetime) -> None:
    """Send the person with this e-mail address a link for a new password. Raises TooManyTries.

    Neither the answer nor its time reveals whether the account exists.
    """
    folded = fold_email(email)
    tries.take(tries.of_reset(folded, address), at)
    user = sign_in.user_of(folded)
    user = user if user is not None and sign_in.may_use_password(user) else None
    details = audit.to_json({"email": folded[:200], "address": address})
    with writing():
        outbox.put(MailKind.RESET, [user.id if user else None], at)
        audit.on_hub(Act(Actor.system(folded[:200]), Door.WEB, at), Record("request_password", input=details))


def user_of(user_id: str, token: str, at: datetime) -> User | None:
    """Return the active person for whom a link with this token works, or None."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    is_right = _Tokens(at).check_token(user, token) and user is not None and sign_in.may_use_password(user)
    return user if is_right else None


def set_password(
    user_id: str, token: str, password: str, *, address: str, at: datetime, ends_passkeys: bool = False
) -> User:
    """Set a new password through a link, and return the person. Every browser of the person is signed out.

    With `ends_passkeys`, the person's passkeys are removed. Raises InvitationSpent, TooManyTries and TooBusy.
    """
    if user_of(user_id, token, at) is None:
        raise InvitationSpent
    tries.take(tries.of_invitation(address), at)
    encoded = passwords.hashed(password)
    with writing():
        audit.lock_hub()  # so that a link is not used twice at once
        user = user_of(user_id, token, at)
        if user is None:
            raise InvitationSpent
        people.write_password(user, encoded, at, ends_passkeys=ends_passkeys)
    return user
