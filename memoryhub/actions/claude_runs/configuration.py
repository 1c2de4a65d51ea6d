"""What the hub's settings say about Claude runs: whether there is a key, the models, and who may start runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.rules.sight import sight_in
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Access, ClaudeModel, HubSettings, Key, MemoryStore, Role, User
from memoryhub.pure.conversation.options import SUMMARIZE

USUAL = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-4-5", "claude-opus-4-5")
"""Models that the API is known to have."""

ROLES = ("", Role.CURATOR.value, Role.ADMIN.value)
"""The lowest roles that the hub can let start runs; "": no one may."""

DREAMS = "dreams"
"""The name of dreams in the setting MEMORYHUB_EXPERIMENTAL."""


def is_configured() -> bool:
    """Return whether the hub has a key for Claude's API."""
    return bool(settings.ANTHROPIC_API_KEY)


def models() -> list[ClaudeModel]:
    """Return the models that a run may use; the first is the default.

    These are the models in the settings. If the settings name none, these are the models that the API offers, or USUAL
    until the hub has asked the API.
    """
    offered = {model.pk: model for model in ClaudeModel.objects.order_by("place")}
    named = settings.MEMORYHUB_CLAUDE_MODELS or list(offered) or USUAL
    return [offered.get(name) or ClaudeModel(id=name, name=name) for name in named]


def may_summarize(model: str) -> bool:
    """Return whether a model can be asked to summarize a conversation. True if the API has not said."""
    edits: Any = ClaudeModel.objects.filter(pk=model).values_list("edits", flat=True).first()
    return edits is None or SUMMARIZE in edits


def set_models(offered: Sequence[ClaudeModel]) -> None:
    """Store which models the API offers."""
    with writing():
        ClaudeModel.objects.exclude(pk__in=[model.pk for model in offered]).delete()
        for place, model in enumerate(offered):
            columns = {"name": model.name, "max_tokens": model.max_tokens, "thinks": model.thinks, "edits": model.edits}
            ClaudeModel.objects.update_or_create(pk=model.pk, defaults=columns | {"place": place})


def least_role() -> Role | None:
    """Return the lowest role that may start runs; None: no one may."""
    role = HubSettings.current().claude_role
    return Role(role) if role else None


def may_run(user: User, store: MemoryStore) -> bool:
    """Return whether a person may start Claude runs on a store and see them."""
    return role_may_run(user.role_in(store) if user.is_active else None)


def role_may_run(role: Role | None) -> bool:
    """Return whether a role in a store (None: no role) is enough to start Claude runs on it."""
    least = least_role()
    return least is not None and role is not None and role.includes(least)


def has_dreams() -> bool:
    """Return whether agents may start dreams: they are switched on, and some role may run Claude."""
    return DREAMS in settings.MEMORYHUB_EXPERIMENTAL and least_role() is not None


def may_dream(key_id: str, store_id: str, at: datetime, *, updates: bool) -> bool:
    """Return whether a key may start a dream of a store. False if a path rule hides anything in the store from the key.

    The key needs `manage` access to the store. If the result is to be a new store (not `updates`), the key needs this
    access to all stores.
    """
    key = Key.objects.usable(at).filter(pk=key_id, access=Access.MANAGE).select_related("agent").first()
    if key is None or not has_dreams():
        return False
    reaches = key.all_stores or (updates and key.stores.filter(pk=store_id).exists())
    return reaches and sight_in(store_id, audit.Actor.key(key.pk, key.agent), at) is None


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
