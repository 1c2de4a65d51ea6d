"""The limits that a superuser sets for the hub. They apply to stores that have no limits of their own."""

from collections.abc import Mapping

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HubSettings
from memoryhub.pure.limits import COLUMNS


def set_limits(wanted: Mapping[str, int | None], act: Act) -> bool:
    """Set the hub's limits (`wanted`), and return whether anything changed.

    For a limit of None, MEMORYHUB_LIMITS applies.
    """
    with writing():
        head = audit.lock_hub()  # first, so that two people do not both change the same earlier values
        row, _ = HubSettings.objects.get_or_create(pk=1)
        changes = {name: [getattr(row, name), wanted[name]] for name in COLUMNS if getattr(row, name) != wanted[name]}
        if changes:
            HubSettings.objects.filter(pk=1).update(**{name: after for name, (_, after) in changes.items()})
            audit.append(head, act, Record("set_limits", input=audit.to_json(changes)))
        return bool(changes)
