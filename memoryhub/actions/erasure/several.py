"""Erases texts from several stores, one after the other. Each erasure is an act of its own.

If the erasure in one store fails, the texts stay erased in the other stores.
"""

import enum
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error, connection

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.erasure import erasure, sqlite_remains
from memoryhub.actions.erasure.erasure import FoundChanged, Held, Prepared
from memoryhub.models import AuditChain, Receipt
from memoryhub.pure import ids
from memoryhub.pure.protocol.errors import ToolError

logger = logging.getLogger(__name__)

MOMENT = 10
"""The number of characters of an id that encode only its time."""

MOST_READ = 1_000
"""The most receipts that are read to find the receipts of a group: those that were written after the group began."""


class How(enum.Enum):
    """How the erasure in one store ended. `WAITS` means that there was no time left for it."""

    DONE = "done"
    CHANGED = "changed"
    HELD = "held"
    FAILED = "failed"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Planned:
    """The texts to erase in a store, and the digest of the search result that the person saw."""

    store: str
    terms: Sequence[str]
    digest: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the erasure in one store ended. `receipt` is None unless the erasure was done."""

    store: str
    how: How
    receipt: Receipt | None = None


def erase_in_turn(
    planned: Sequence[Planned],
    subject: Sequence[str],
    act: Callable[[], Act],
    until: float,
    *,
    whole_hub: bool = False,
) -> list[Outcome]:
    """Erase the texts from each store, and return how each erasure ended.

    All acts have the same group. In a store that already has a receipt of this group, nothing is erased again. All
    other stores are searched again before the first erasure. Once the monotonic clock has reached `until`, no further
    store is searched; an unsearched store ends with `How.WAITS`.
    """
    doing = act()
    earlier = receipts_of(doing.group or "", [one.store for one in planned])
    outcomes = {receipt.store: Outcome(receipt.store, How.DONE, receipt) for receipt in earlier}
    ready: dict[str, Prepared] = {}
    for number, one in enumerate(one for one in planned if one.store not in outcomes):
        if number and time.monotonic() >= until:
            outcomes[one.store] = Outcome(one.store, How.WAITS)
            continue
        with _ending(one.store, outcomes):
            ready[one.store] = erasure.prepare(one.store, one.terms, one.digest, doing.at, subject, whole_hub=whole_hub)
    for store, prepared in ready.items():
        with _ending(store, outcomes):
            outcomes[store] = Outcome(store, How.DONE, erasure.erase_prepared(store, prepared, act()))
    if any(outcomes[store].receipt for store in ready):
        sqlite_remains.scrub_small()
    return [outcomes[one.store] for one in planned]


@contextmanager
def _ending(store: str, outcomes: dict[str, Outcome]) -> Iterator[None]:
    """Store the outcome of an erasure that raises an exception in the block."""
    try:
        with connection.wrap_database_errors:  # closing a cursor of PostgreSQL raises the driver's own
            yield
    except FoundChanged:
        outcomes[store] = Outcome(store, How.CHANGED)
    except Held:
        outcomes[store] = Outcome(store, How.HELD)
    except (AuditChain.DoesNotExist, DiskFull, Error, NoSuchStore, ToolError) as error:
        logger.warning("An erasure failed in the store %s: %s", store, type(error).__name__)
        outcomes[store] = Outcome(store, How.FAILED)


def receipts_of(group: str, stores: Iterable[str]) -> list[Receipt]:
    """Return the receipts of one group of erasures in some stores, oldest first."""
    moment = group.removeprefix(ids.GROUP)[:MOMENT]
    found = Receipt.objects.filter(store__in=list(stores), pk__gte=ids.RECEIPT + moment).order_by("pk")
    return [receipt for receipt in found[:MOST_READ] if receipt.content.get("group") == group]
