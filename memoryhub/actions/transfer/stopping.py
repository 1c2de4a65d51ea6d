"""Why a running import must stop."""

from django.utils.translation import gettext as _

from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryStore, Role, User
from memoryhub.models.audit import ActorKind
from memoryhub.protocol import results

WHO = Role.CURATOR
"""The role that may import."""


def reason_to_stop(store: Tree) -> str:
    """Return why a running import must stop, as a sentence, or "" if it may continue. `store` is locked."""
    if store.archived:
        return results.store_archived()
    return "" if _may_write(store) else _("The person who started it may no longer change memories here.")


def _may_write(store: Tree) -> bool:
    """Return whether the person who started the import may still import here. An actor that is not a person always
    may."""
    actor = store.act.actor
    if actor.kind != ActorKind.USER:
        return True
    user = User.objects.filter(pk=actor.id, is_active=True).first()
    role = user.role_in(MemoryStore.objects.get(pk=store.store)) if user else None
    return role is not None and role.includes(WHO)
