"""The dangers on the home page: open findings, the worst first, at most one for each memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryhub.models import User
from memoryhub.web.findings import queries
from memoryhub.web.findings.rows import Item, items_of

SIZE = 6


@dataclass(frozen=True, slots=True)
class Danger:
    """A finding to show; `more` is the number of other open findings of the same memory."""

    item: Item
    more: int


def worst(stores: Sequence[str], user: User, at: datetime) -> list[Danger]:
    """Return the worst open findings, at most one of each memory and SIZE in all."""
    found = queries.worst(stores, SIZE)
    return [Danger(item, found[item.finding.pk]) for item in items_of(list(found), user, at)]
