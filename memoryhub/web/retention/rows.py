"""The items of a rehearsal as rows of a list: what will happen to which memory, why and when."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeVar

from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.retention.rehearsal import Item
from memoryhub.models import Removal, RetentionPolicy
from memoryhub.web.retention import sentences

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """An item in words: what will happen, and why."""

    item: Item
    what: str
    why: str
    policy: str
    url: str  # the memory's page, or empty for audit entries

    @property
    def is_entries(self) -> bool:
        return bool(self.item.removal == Removal.ENTRIES)


def rows(store_id: str, at: datetime, items: Iterable[Item]) -> Sequence[Row]:
    """Return items as rows, with reasons as of the moment `at`."""
    shown = list(items)
    names = names_of({item.policy for item in shown})
    return [
        Row(
            item,
            what(item.removal, item.count),
            why(item, at),
            names.get(item.policy, ""),
            reverse("memory", args=[store_id, item.memory]) if item.memory else "",
        )
        for item in shown
    ]


def why(item: Item, at: datetime) -> str:
    """Return words for why an item will be removed, as of the moment `at`."""
    is_read = item.last_read_at is not None
    return sentences.reason(item.rule, item.since, at, item.days, is_read=is_read)


def names_of(policies: Iterable[str | None]) -> dict[str, str]:
    """Return {policy id: name}. Deleted policies are left out."""
    return dict(RetentionPolicy.objects.filter(pk__in=[pk for pk in policies if pk]).values_list("pk", "name"))


def what(removal: str, count: int) -> str:
    """Return words for what a removal does to an item, with the `count` of versions or audit entries."""
    if removal == Removal.EXPIRE:
        return _("to the trash")
    if removal == Removal.PURGE:
        return _("removed permanently")
    details = {"count": f"{count:,}"}
    if removal == Removal.VERSIONS:
        return ngettext("%(count)s old version", "%(count)s old versions", count) % details
    return ngettext("%(count)s audit entry", "%(count)s audit entries", count) % details


def counted(removal: str, count: int) -> str:
    """Return words for how many items of a kind a run removed."""
    details = {"count": f"{count:,}"}
    if removal == Removal.EXPIRE:
        return ngettext("%(count)s memory to the trash", "%(count)s memories to the trash", count) % details
    if removal == Removal.PURGE:
        return (
            ngettext("%(count)s memory removed permanently", "%(count)s memories removed permanently", count) % details
        )
    return what(removal, count)


def parts(found: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    left = iter(found)
    while part := list(islice(left, size)):
        yield part
