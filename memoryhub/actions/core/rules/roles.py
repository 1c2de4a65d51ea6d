"""Writes the roles of people in a memory store, and checks that an acting person may still govern."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Actor
from memoryhub.models import Member, MemoryStore, Role, User
from memoryhub.models.audit import ActorKind


class RightLost(Exception):
    """The acting person may not, or may no longer, govern the memory store or the hub."""


def require_right(actor: Actor, store_id: str | None) -> None:
    """Raise RightLost if `actor` is a person who does not govern the store (None: the hub).

    Call it once the store is locked. The function locks the hub's chain, so that no one takes the right away at the
    same moment.
    """
    if actor.kind != ActorKind.USER:
        return
    audit.lock_hub()
    admins = Member.objects.filter(store=store_id, user=OuterRef("pk"), role=Role.ADMIN)
    active = User.objects.filter(pk=actor.id, is_active=True)
    if not active.filter(Q(is_superuser=True) | Exists(admins)).exists():
        raise RightLost


def write_role(store: MemoryStore, user: User, role: Role | None, at: datetime) -> Role | None:
    """Give a person a role in a store, or remove the role (None). Return the person's earlier role (None: no role)."""
    rows = Member.objects.filter(store=store, user=user)
    before = rows.values_list("role", flat=True).first()
    if role is None:
        rows.delete()
    elif before is None:
        Member.objects.create(store=store, user=user, role=role, created_at=at)
    else:
        rows.update(role=role)
    return Role(before) if before else None
