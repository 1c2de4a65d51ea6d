"""People who sign in at the identity provider: their accounts, and the roles that their groups give them.

An account is found by its linked identity, or else by an e-mail address that the provider has verified. The account of
an administrator is never found by its address. So a provider cannot make anyone an administrator by naming an address.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.hashers import make_password

from memoryhub.actions.accounts import authenticators, browsers, keys_and_roles, people, sign_in, withdrawals
from memoryhub.actions.accounts.administrators import set_administrator
from memoryhub.actions.accounts.keys_and_roles import LastAdministrator
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import BrowserSession, Door, Identity, Invitation, Member, MemoryStore, Role, User
from memoryhub.models.access import fold_email, has_other_letters
from memoryhub.pure.group_roles import Grant, is_administrator, known, roles_of

ASKED_EVERY = timedelta(minutes=1)
"""The provider is asked at most once in this time about a person who uses the hub."""
BELIEVED_FOR = timedelta(minutes=10)
"""While the provider does not answer, its last answer counts for this long."""

PROVIDER = Actor.system("single sign-on")


class NotAdmitted(Exception):
    """The person may not sign in with this identity; the message says why, for the audit."""


@dataclass(frozen=True, slots=True)
class Known:
    """A person as the identity provider describes them. `groups` is None if the provider does not name the groups.

    With `has_more_groups`, the groups are too many for the provider to name, and roles stay as they are.
    """

    issuer: str
    subject: str
    email: str
    is_verified: bool
    name: str
    groups: Collection[str] | None
    is_active: bool
    has_more_groups: bool = False


def enter(known_as: Known, grants: Collection[Grant], *, address: str, at: datetime) -> User:
    """Sign in the person whom the provider names, with the roles that their groups give. Raises NotAdmitted."""
    try:
        user = _person(known_as, grants, at)
        if not user.is_active or not known_as.is_active:
            raise NotAdmitted("the account is not active")
    except NotAdmitted:
        sign_in.refuse(known_as.email, address=address, at=at)
        raise
    if known_as.has_more_groups:
        sign_in.enter(user, address=address, at=at, unnamed=settings.MEMORYHUB_OIDC_GROUPS)
        return user
    apply(user, known_as.groups or (), grants, at=at)
    sign_in.enter(user, address=address, at=at)
    return user


def _person(known_as: Known, grants: Collection[Grant], at: datetime) -> User:
    identities = Identity.objects.filter(issuer=known_as.issuer, subject=known_as.subject)
    if linked := identities.select_related("user").first():
        return linked.user
    email = fold_email(known_as.email)
    if "@" not in email or len(email) > 254 or not known_as.is_verified:
        raise NotAdmitted("its e-mail address is not verified")
    if has_other_letters(known_as.email):
        raise NotAdmitted("its e-mail address has letters that the hub cannot distinguish from others")
    with writing():
        audit.lock_hub()  # so that a first sign-in in two tabs makes one person
        if linked := identities.select_related("user").first():
            return linked.user
        user = User.objects.filter(email=email).first()
        if user is not None and (user.is_superuser or user.identities.filter(issuer=known_as.issuer).exists()):
            raise NotAdmitted("the account of this address is not linked by its address")
        if user is None:
            if grants and not list(known(grants, known_as.groups or ())):
                many = "it has more groups than the provider names"
                raise NotAdmitted(many if known_as.has_more_groups else "none of its groups has a role")
            name = " ".join(known_as.name.split())[:100] or email
            user = people.write_user(email, name, make_password(None), at)
            people.write_entry(user, "create_user", PROVIDER, Door.WEB, at)
        else:
            _take_over(user, at)
        Identity.objects.create(user=user, issuer=known_as.issuer, subject=known_as.subject, created_at=at)
        details = {"user": user.id, "email": user.email, "issuer": known_as.issuer}
        audit.on_hub(Act(PROVIDER, Door.WEB, at), Record("link_identity", input=audit.to_json(details)))
    return user


def _take_over(user: User, at: datetime) -> None:
    """Remove the password, the app, the passkeys, the sessions and the links of an account that existed before the
    provider verified its e-mail address.

    Someone else may have made the account with an invitation to this address.
    """
    # Someone else may have made the account, with an invitation to this address.
    user.password = make_password(None)
    user.save(update_fields=["password"])
    end(user.browsers.all(), user, at=at)
    authenticators.remove_app(user, actor=PROVIDER, at=at)
    authenticators.remove_passkeys(user, actor=PROVIDER, at=at)
    for link in Invitation.objects.unused(at).filter(user=user):
        withdrawals.withdraw(link, actor=PROVIDER, door=Door.WEB, at=at)


def apply(user: User, groups: Collection[str], grants: Collection[Grant], *, at: datetime) -> None:
    """Give a person exactly the roles that `grants` give to `groups`. In a store that `grants` do not name, the person
    keeps the role.

    The role of an administrator is given or taken only if `grants` name groups for it.
    """
    wanted = roles_of(grants, groups)
    stores = MemoryStore.objects.filter(pk__in=wanted, deleted_at=None)
    now = dict(Member.objects.filter(user=user, store__in=wanted).values_list("store_id", "role"))
    for store in stores.order_by("pk"):
        role = wanted[store.pk]
        if now.get(store.pk) != role:
            keys_and_roles.set_role(store, user, Role(role) if role else None, actor=PROVIDER, door=Door.WEB, at=at)
    is_one = is_administrator(grants, groups)
    if is_one is not None and is_one != user.is_superuser:
        set_administrator(user, is_one, keep_one=False, actor=PROVIDER, door=Door.WEB, at=at)


def decides_administrators(user: User, grants: Collection[Grant]) -> bool:
    """Return whether groups at the provider decide if this person is an administrator of the hub."""
    comes_by_it = user.identities.filter(issuer=settings.MEMORYHUB_OIDC_ISSUER)
    return is_administrator(grants, ()) is not None and comes_by_it.exists()


def is_due(browser: BrowserSession, at: datetime) -> bool:
    """Return whether this request has to ask the provider again.

    If so, store the time, so that of several requests only one asks.
    """
    if browser.asked_at is None or abs(at - browser.asked_at) < ASKED_EVERY:
        return False
    with writing():
        same = BrowserSession.objects.filter(pk=browser.pk, asked_at=browser.asked_at)
        return bool(same.update(asked_at=at))


def keep(browser: BrowserSession, grant: str, *, at: datetime) -> None:
    """Store the time of the provider's answer, and `grant`: the encrypted token for the next question to it."""
    with writing():
        BrowserSession.objects.filter(pk=browser.pk).update(grant=grant, asked_at=at, answered_at=at)


def renew(user: User, known_as: Known, grants: Collection[Grant], *, at: datetime) -> bool:
    """Apply the provider's newest answer about a person. Return whether the person stays signed in."""
    if not known_as.is_active:
        _deactivate(user, at)
        return False
    if known_as.groups is not None:
        apply(user, known_as.groups, grants, at=at)
    return True


def _deactivate(user: User, at: datetime) -> None:
    try:
        people.set_active(user, False, actor=PROVIDER, door=Door.WEB, at=at)
    except LastAdministrator:
        end(user.browsers.all(), user, at=at)


def end(found: Iterable[BrowserSession], user: User, *, at: datetime) -> None:
    """Sign a person out of browsers, because the provider no longer confirms their sign-in."""
    browsers.end(found, user, actor=PROVIDER, door=Door.WEB, at=at)


def is_believed(browser: BrowserSession, at: datetime) -> bool:
    """Return whether the provider's last answer about this browser still counts while the provider does not respond."""
    return browser.answered_at is not None and abs(at - browser.answered_at) < BELIEVED_FOR
