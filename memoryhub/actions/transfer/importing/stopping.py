"""Finds the reasons for which a running import must stop."""

from django.utils.translation import gettext as _

from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryStore, Role, User
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol import results

WHO, WHO_GOVERNS = Role.CURATOR, Role.ADMIN
"""The roles that may import, and that may take over path rules."""


def reason_to_stop(store: Tree) -> str:
    """Return a sentence that says why a running import must stop, or "" if it may continue. `store` is locked."""
    if store.archived:
        return results.store_archived()
    return "" if may(store, WHO) else _("The person who started the import may no longer change memories here.")


def may(store: Tree, role: Role) -> bool:
    """Return whether the person who started the import still has this role in the store.

    An actor that is not a person has every role.
    """
    actor = store.act.actor
    if actor.kind != ActorKind.USER:
        return True
    user = User.objects.filter(pk=actor.id, is_active=True).first()
    own = user.role_in(MemoryStore.objects.get(pk=store.store)) if user else None
    return own is not None and own.includes(role)
