"""The actions for each decision of a review: for one version, and for several versions of a store."""

from collections.abc import Callable, Sequence

from memoryhub.actions.core.audit import Act
from memoryhub.actions.history.revert import Skipped, revert, revert_many
from memoryhub.actions.review import decisions
from memoryhub.actions.review.decisions import Done
from memoryhub.models import MemoryVersion

ONE: dict[str, Callable[[MemoryVersion, Act, int], Done | None]] = {
    "approve": lambda version, act, earlier: decisions.approve(version.store_id, version.pk, act, earlier=earlier),
    "revert": lambda version, act, _: revert(version.store_id, version.pk, act),
    "flag": lambda version, act, _: decisions.flag(version.store_id, [version.pk], act),
    "unflag": lambda version, act, _: decisions.flag(version.store_id, [version.pk], act, flagged=False),
}
"""{decision: its action on one version}. The last argument of an action is the number of earlier versions that it
includes; the person has seen this number on the page."""

MANY: dict[str, Callable[[str, Sequence[str], Act], tuple[Done | None, Skipped]]] = {
    "approve": lambda store, versions, act: (decisions.approve_many(store, versions, act), Skipped()),
    "revert": revert_many,
    "flag": lambda store, versions, act: (decisions.flag(store, versions, act), Skipped()),
}
"""{decision: its action on several versions}. The action returns what was done, and which versions were
skipped."""
