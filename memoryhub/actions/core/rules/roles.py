"""Writes the rows of roles, inside the transaction of an act on their store."""

from datetime import datetime

from memoryhub.models import Member, MemoryStore, Role, User


def write_role(store: MemoryStore, user: User, role: Role | None, at: datetime) -> Role | None:
    """Give a person a role in a store, or remove it (None). Return the person's earlier role (None: no role)."""
    rows = Member.objects.filter(store=store, user=user)
    before = rows.values_list("role", flat=True).first()
    if role is None:
        rows.delete()
    elif before is None:
        Member.objects.create(store=store, user=user, role=role, created_at=at)
    else:
        rows.update(role=role)
    return Role(before) if before else None
