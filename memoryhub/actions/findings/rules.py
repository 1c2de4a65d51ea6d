"""The rules for sensitive text: the action for each kind, in one store or by default in every store."""

from collections.abc import Mapping
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.rules.ruling import actions_of
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HubSettings, MemoryStore
from memoryhub.pure.sensitive import KINDS, Action

__all__ = ["UnknownRule", "actions_of", "save_rules"]


class UnknownRule(Exception):
    """There is no such kind, or no such action."""


def save_rules(store_id: str | None, rules: Mapping[str, str], act: Act) -> None:
    """Replace all rules of a store (None: of the hub). A kind that `rules` leaves out then has no rule there.

    The entry has the rules before and after. Without a change there is no entry. Raises UnknownRule.
    """
    after = _checked(rules)
    if store_id is None:
        _save_hubs(after, act)
        return
    with tree.locked(store_id, act) as store:
        before = _as_dict(MemoryStore.objects.get(pk=store_id).rules)
        if before != after:
            MemoryStore.objects.filter(pk=store_id).update(rules=after)
            tree.commit(store, _record_of(before, after, _as_dict(HubSettings.current().rules)))


def _save_hubs(after: dict[str, str], act: Act) -> None:
    with writing():
        audit.lock_hub()
        before = _as_dict(HubSettings.current().rules)
        if before != after:
            HubSettings.objects.update_or_create(pk=1, defaults={"rules": after})  # type: ignore[misc]
            audit.on_hub(act, _record_of(before, after, {}))


def _as_dict(rules: Any) -> dict[str, str]:
    return dict(rules)


def _checked(rules: Mapping[str, str]) -> dict[str, str]:
    known = {action.value for action in Action}
    given = {kind: str(action) for kind, action in rules.items() if action}
    for kind, action in given.items():
        if kind not in KINDS or action not in known:
            raise UnknownRule(f"{kind}: {action}")
    return dict(sorted(given.items()))


def _record_of(before: Mapping[str, str], after: Mapping[str, str], above: Mapping[str, str]) -> Record:
    """Return the record of a change of rules.

    `above` are the hub's rules: they apply to a kind for which a store has no rule. If the hub's rules themselves
    change, `above` is empty.
    """
    changed = {kind for kind in {*before, *after} if before.get(kind) != after.get(kind)}
    built_in = {kind: KINDS[kind].default.value for kind in changed if kind in KINDS}
    defaults = {kind: above.get(kind, built_in.get(kind)) for kind in sorted(changed - (set(before) & set(after)))}
    return Record("edit_rules", input=audit.to_json({"before": before, "after": after, "defaults": defaults}))
