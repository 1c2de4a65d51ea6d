"""People with their roles, agents with their keys, and the sessions that agents name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import check_password
from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils.translation import gettext_lazy as _

from memoryhub.models.audit import AuditEntry
from memoryhub.models.fields import IdField, PathField
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore


class Role(models.TextChoices):
    VIEWER = "viewer", _("Viewer")
    CURATOR = "curator", _("Curator")
    ADMIN = "admin", _("Admin")

    def includes(self, other: Role) -> bool:
        """Return whether this role allows everything that `other` allows."""
        order = list(Role)
        return order.index(self) >= order.index(other)


class Access(models.TextChoices):
    READ = "read", _("Read")
    WRITE = "write", _("Write")
    MANAGE = "manage", _("Manage")

    def includes(self, other: Access) -> bool:
        """Return whether this access allows everything that `other` allows."""
        order = list(Access)
        return order.index(self) >= order.index(other)


class Theme(models.TextChoices):
    SYSTEM = "system", _("Like the system")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


def fold_email(email: str) -> str:
    """Return the form in which all spellings of an e-mail address are equal."""
    return unicodedata.normalize("NFKC", email).strip().casefold()


def has_other_letters(email: str) -> bool:
    """Return whether `fold_email` does more than write letters in lower case: for example, it replaces ß by ss.

    The result of `fold_email` may then be the address of another mailbox: strasse.de is not straße.de.
    """
    return fold_email(email) != unicodedata.normalize("NFC", email).strip().lower()


def _did_something(chains: Sequence[str]) -> Exists:
    """Return a condition: the agent or person of the outer query is the author of an entry in one of these chains."""
    return Exists(AuditEntry.objects.filter(chain__in=chains, author_id=OuterRef("pk")))


class UserQuerySet(SealedQuerySet["User"]):
    def known_in(self, chains: Sequence[str]) -> UserQuerySet:
        """Return the people who have a role in one of the stores with the ids `chains`, or an entry in the chain of one
        of them."""
        role = Member.objects.filter(user=OuterRef("pk"), store__in=chains)
        return self.filter(Exists(role) | _did_something(chains))


_People = models.Manager.from_queryset(UserQuerySet)


class UserManager(_People["User"]):
    def get_by_natural_key(self, email: str) -> User:
        """Return the person with this e-mail address, in any spelling. django.contrib.auth calls this at sign-in."""
        return self.get(email=fold_email(email))


class User(Sealed, AbstractBaseUser):
    """A person. If `is_superuser`, the person may do everything. Otherwise, the person's roles in stores say what is
    allowed."""

    OUTSIDE: ClassVar = {"last_login": "the entries of sign-ins say it"}

    id = IdField(primary_key=True)
    email = models.TextField(unique=True)
    name = models.CharField(max_length=100)
    is_active = models.BooleanField(default=True)
    is_superuser = models.BooleanField(default=False)
    time_zone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=16, default="en")
    theme = models.CharField(max_length=6, choices=Theme.choices, default=Theme.SYSTEM)
    single_keys = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    def __str__(self) -> str:
        return self.name or self.email

    def check_password(self, raw_password: str | None) -> bool:
        """Return whether the password is right. Unlike Django's method, this saves no stronger hash: the sign-in action
        does."""
        return check_password(raw_password, self.password)

    def role_in(self, store: MemoryStore) -> Role | None:
        """Return the person's role in a store; None without a role. A superuser is an admin of every store.

        No one has a role in a deleted store. In a store's throw-away copies, people with a role in the store are
        viewers.
        """
        if store.deleted_at is not None:
            return None
        if store.copy_of is not None:
            original = MemoryStore.objects.filter(pk=store.copy_of).first()
            return Role.VIEWER if original and self.role_in(original) else None
        if self.is_superuser:
            return Role.ADMIN
        role = Member.objects.filter(user=self, store=store).values_list("role", flat=True).first()
        return Role(role) if role else None


class MemberQuerySet(SealedQuerySet["Member"]):
    def active_admins(self) -> MemberQuerySet:
        """Return the members who are admins of their store and may sign in."""
        return self.filter(role=Role.ADMIN, user__is_active=True)


class Member(Sealed):
    """A person's role in a store."""

    HOME: ClassVar = "store_id"

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="members")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=7, choices=Role.choices)
    created_at = models.DateTimeField()

    objects = MemberQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "user"], name="member_once")]


class InvitationQuerySet(SealedQuerySet["Invitation"]):
    def unused(self, at: datetime) -> InvitationQuerySet:
        """Return the invitations that are neither used nor expired at a moment."""
        return self.filter(used_at=None, expires_at__gt=at)

    def granted(self) -> InvitationQuerySet:
        """Return the invitations made by the hub itself, and those whose maker may still grant the role in them.

        A superuser may grant every role. An admin of a store may only invite new people to a role in that store.
        Invitations to a deleted store are left out.
        """
        admin = Exists(Member.objects.filter(store=OuterRef("store"), user=OuterRef("made_by"), role=Role.ADMIN))
        role = Q(admin, user=None, is_superuser=False)
        by_person = Q(Q(made_by__is_superuser=True) | role, made_by__is_active=True)
        return self.filter(Q(made_by_hub=True) | by_person).filter(Q(store=None) | Q(store__deleted_at=None))

    def open(self, at: datetime) -> InvitationQuerySet:
        """Return the invitations that work at a moment: unused and still granted."""
        return self.unused(at).granted()

    def newest(self) -> InvitationQuerySet:
        return self.select_related("user", "store", "made_by").order_by("-id")


class Invitation(Sealed):
    """A one-time link by which a person sets a name and a password. Only the SHA-256 of its token is stored.

    The link works only while the person who made it may still grant the role in the invitation: see `granted`.
    """

    HOME: ClassVar = "store_id"

    id = IdField(primary_key=True)
    digest = models.TextField(unique=True)
    email = models.TextField(default="", blank=True)
    is_superuser = models.BooleanField(default=False)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="invitations")
    store = models.ForeignKey(MemoryStore, models.CASCADE, null=True, related_name="invitations")
    role = models.CharField(max_length=7, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    made_by = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    made_by_hub = models.BooleanField(default=False, db_default=False)

    objects = InvitationQuerySet.as_manager()


class AgentQuerySet(SealedQuerySet["Agent"]):
    def visible_to(self, user: User) -> AgentQuerySet:
        """Return the agents with a key that the person may see (`visible_to` of KeyQuerySet); all agents for a
        superuser."""
        if user.is_superuser:
            return self
        return self.filter(Exists(Key.objects.visible_to(user).filter(agent=OuterRef("pk"))))

    def of_store(self, store: MemoryStore) -> AgentQuerySet:
        """Return the agents that have or had a key to this store or to all stores."""
        return self.filter(Exists(Key.objects.for_store(store).filter(agent=OuterRef("pk"))))

    def known_in(self, chains: Sequence[str]) -> AgentQuerySet:
        """Return the agents with a key to all stores or to one of the stores with the ids `chains`, and the authors of
        entries in the chains of these stores."""
        keys = Key.objects.filter(agent=OuterRef("pk"))
        reaching = KeyStore.objects.filter(key__agent=OuterRef("pk"), store__in=chains)
        return self.filter(Exists(keys.filter(all_stores=True)) | Exists(reaching) | _did_something(chains))

    def without_hub_wide_keys(self, at: datetime) -> AgentQuerySet:
        """Return the agents that have no usable key to all stores at a moment."""
        return self.filter(~Exists(Key.objects.usable(at).filter(agent=OuterRef("pk"), all_stores=True)))

    def by_name(self) -> AgentQuerySet:
        return self.order_by("folded_name", "pk")

    def named(self, folded: str) -> AgentQuerySet:
        return self.filter(folded_name=folded)

    def after(self, id: str) -> AgentQuerySet:
        """Return the agents that follow the agent with this id in the order of names; all agents if the id is
        unknown."""
        last = Agent.objects.filter(pk=id).values_list("folded_name", flat=True).first()
        if last is None:
            return self.by_name()
        return self.filter(Q(folded_name__gt=last) | Q(folded_name=last, pk__gt=id)).by_name()


class Agent(Sealed):
    """A named program that has keys.

    Two agents may have the same name: to refuse a name would reveal an agent of other stores. `claude_for` is the
    person whose Claude runs act as this agent.
    """

    id = IdField(primary_key=True)
    name = models.CharField(max_length=100)
    folded_name = PathField(db_index=True)
    description = models.TextField(default="", blank=True)
    created_at = models.DateTimeField()
    claude_for = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    objects = AgentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


RUNS_KEY, EVALUATIONS_KEY = "Claude runs", "Claude (evaluations)"
"""The names of the keys that the hub issues to itself. No one knows their secrets."""


class KeyQuerySet(SealedQuerySet["Key"]):
    def usable(self, at: datetime) -> KeyQuerySet:
        """Return the keys that are neither revoked nor expired at a moment."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=at), revoked_at=None)

    def for_store(self, store: MemoryStore) -> KeyQuerySet:
        """Return the keys that were issued for this store or for all stores, including revoked and expired ones."""
        return self.filter(Q(all_stores=True) | Q(stores=store)).distinct()

    def visible_to(self, user: User) -> KeyQuerySet:
        """Return the keys to a store in which the person has a role; all keys for a superuser. Keys to all stores are
        visible to everyone who has a role in a store."""
        if user.is_superuser:
            return self
        roles = Member.objects.filter(user=user)
        shared = Exists(KeyStore.objects.filter(key=OuterRef("pk"), store__in=roles.values("store")))
        return self.filter(shared | Q(Exists(roles), all_stores=True))

    def governed_by(self, user: User) -> KeyQuerySet:
        """Return the keys that a person may revoke: all for a superuser. Anyone else may revoke a key if the person is
        an admin of each of its stores, but never a key to all stores."""
        if user.is_superuser:
            return self
        own = Member.objects.filter(user=user, role=Role.ADMIN).values("store")
        stores = KeyStore.objects.filter(key=OuterRef("pk"))
        return self.filter(Exists(stores), ~Exists(stores.exclude(store__in=own)), all_stores=False)

    def beyond(self, user: User) -> KeyQuerySet:
        """Return the keys that reach a store in which the person is not an admin.

        Only a superuser may issue such keys.
        """
        own = Member.objects.filter(user=user, role=Role.ADMIN).values("store")
        others = KeyStore.objects.filter(key=OuterRef("pk")).exclude(store__in=own)
        return self.filter(Q(all_stores=True) | Exists(others))

    def of_hub(self) -> KeyQuerySet:
        """Return the keys that the hub issued to itself; see `Key.is_of_hub`."""
        runs = Q(name=RUNS_KEY, agent__claude_for__isnull=False)
        return self.filter(runs | Q(name=EVALUATIONS_KEY, created_by=None))

    def made_by(self, user: User) -> KeyQuerySet:
        """Return the keys that a person issued: this person has seen their secrets."""
        return self.filter(created_by=user)

    def newest(self) -> KeyQuerySet:
        return self.select_related("agent", "created_by").order_by("-created_at", "-id")


class Key(Sealed):
    """A secret of an agent. It is shown once; only its SHA-256 is stored. `hint` is its last four characters."""

    OUTSIDE: ClassVar = {"last_used_at": "each call would seal it; the entries of the key say it"}

    id = IdField(primary_key=True)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, default="", blank=True)
    digest = models.TextField(unique=True)
    hint = models.CharField(max_length=4)
    access = models.CharField(max_length=6, choices=Access.choices)
    all_stores = models.BooleanField(default=False)
    stores = models.ManyToManyField(MemoryStore, through="KeyStore", related_name="keys")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = KeyQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.agent.name} …{self.hint}"

    @property
    def is_of_hub(self) -> bool:
        """Return whether the hub issued the key to itself, for Claude runs or evaluations."""
        if self.name == RUNS_KEY:
            return self.agent.claude_for_id is not None
        return self.name == EVALUATIONS_KEY and self.created_by_id is None


class KeyStoreQuerySet(SealedQuerySet["KeyStore"]):
    """A query of KeyStore rows. A model that is `Sealed` needs a `SealedQuerySet`."""


class KeyStore(Sealed):
    """One of the stores that a key may reach."""

    key = models.ForeignKey(Key, models.CASCADE, db_index=False)
    store = models.ForeignKey(MemoryStore, models.CASCADE)

    objects = KeyStoreQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["key", "store"], name="key_store_once")]


LOOKED_AT = 200
"""How many of an agent's newest sessions are searched for a session that a person may see."""


class SessionQuerySet(models.QuerySet["Session"]):
    def visible_to(self, user: User) -> SessionQuerySet:
        """Return the sessions with an act in a store in which the person has a role; all sessions for a superuser."""
        if user.is_superuser:
            return self
        return self.known_in(Member.objects.filter(user=user).values("store"))

    def known_in(self, chains: Sequence[str] | models.QuerySet[Any, Any]) -> SessionQuerySet:
        """Return the sessions that have an entry in one of these chains."""
        return self.filter(Exists(AuditEntry.objects.filter(chain__in=chains, session=OuterRef("pk"))))

    def latest_of(self, agent: Agent | OuterRef) -> SessionQuerySet:
        """Return the newest sessions of an agent, at most LOOKED_AT of them, newest first."""
        latest = Session.objects.filter(agent=agent).newest().values("pk")[:LOOKED_AT]
        return self.filter(pk__in=Subquery(latest)).newest()

    def newest(self) -> SessionQuerySet:
        """Order sessions by their start, newest first. Their ids are ordered by time."""
        return self.order_by("-id")


class Session(models.Model):
    """One run of an agent, with the name that the agent gave to it. `first_seen_at` and `last_seen_at` are exact to the
    second."""

    id = IdField(primary_key=True)
    agent = models.ForeignKey(Agent, models.CASCADE, db_index=False, related_name="sessions")
    name = PathField()
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "name"], name="session_once")]
        indexes = [models.Index(fields=["agent", "id"], name="session_by_agent")]
