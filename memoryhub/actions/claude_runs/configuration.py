"""What the hub's settings say about Claude runs: whether there is a key, the models, the budgets, and who may run."""

from django.conf import settings

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HubSettings, MemoryStore, Role, User

ROLES = ("", Role.CURATOR.value, Role.ADMIN.value)
"""The lowest roles that the hub can let start runs; "": no one may."""


def is_configured() -> bool:
    """Return whether the hub has a key for Claude's API."""
    return bool(settings.ANTHROPIC_API_KEY)


def models() -> list[str]:
    """Return the models that a run may use; the first is the default."""
    return list(settings.MEMORYHUB_CLAUDE_MODELS)


def least_role() -> Role | None:
    """Return the lowest role that may start runs; None: no one may."""
    role = HubSettings.current().claude_role
    return Role(role) if role else None


def may_run(user: User, store: MemoryStore) -> bool:
    """Return whether a person may start Claude runs on a store and see them."""
    least, role = least_role(), user.role_in(store) if user.is_active else None
    return least is not None and role is not None and role.includes(least)


def set_role(role: str, act: Act) -> bool:
    """Set the lowest role that may start runs ("": no one). Return whether it changed."""
    with writing():
        head = audit.lock_hub()  # first, so that two people do not both change the same earlier value
        row, _ = HubSettings.objects.get_or_create(pk=1)
        if row.claude_role == role:
            return False
        HubSettings.objects.filter(pk=1).update(claude_role=role)
        details = {"before": row.claude_role, "role": role}
        audit.append(head, act, Record("set_claude_role", input=audit.to_json(details)))
        return True
