"""The list of an erasure in several stores: spellings to tick, and stores with their holds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.erasure.elsewhere import MOST_SPELLINGS, Spelling
from memoryhub.models import Hold, Import, MemoryStore
from memoryhub.pure.text.name_forms import NameForms
from memoryhub.pure.text.spellings import Spellings
from memoryhub.web.erasure import apart
from memoryhub.web.erasure.asked import Asked, Searched

MOST_HOLDS = 20
MOST_STORES = 200
"""The most stores that are listed by their names."""


@dataclass(frozen=True, slots=True)
class SpellingRow:
    """A spelling with its checkbox, and the stores that have it."""

    spelling: Spelling
    is_ticked: bool
    stores: list[MemoryStore]
    is_form: bool = False  # another form of a name to erase


@dataclass(frozen=True, slots=True)
class StoreRow:
    """A store with places to erase."""

    store: MemoryStore
    searched: Searched
    is_ticked: bool
    holds: list[Hold]  # the legal holds that forbid the erasure
    imports: list[Import]  # the open imports that the erasure cancels


def of(asked: Asked, stores: Mapping[str, MemoryStore]) -> dict[str, Any]:
    """Return the rows of the list for the template."""
    rows = _stores(asked, stores)
    free = [row for row in rows if row.searched.may_erase]
    spellings = _spellings(asked, stores, asked.listed)
    near = _spellings(asked, stores, asked.near[:MOST_SPELLINGS], near=True)
    unticked = [row.spelling.text for row in (*spellings, *near) if not row.is_ticked]
    return {
        "spellings": spellings,
        "unticked": unticked,
        "absent": _absent(asked),
        "unlisted": len(asked.spellings) - len(asked.listed),
        "near": near,
        "apart": _apart(asked, stores, [row.spelling.text for row in (*spellings, *near)]),
        "rows": rows,
        "free": free,
        "total": sum(row.searched.places for row in free if row.is_ticked),
        "ticked_stores": sum(row.is_ticked for row in free),
        "held": [row for row in rows if row.holds],
        "elsewhere": sum(row.searched.elsewhere for row in rows),
        "nothing": [stores[id] for id, found in asked.searched.items() if not _is_listed(found)][:MOST_STORES],
        "unsearched": [stores[id] for id in asked.unsearched][:MOST_STORES],
        "large": [stores[id] for id in asked.large if id in stores],
        "searched": len(asked.searched),
        "several": len(asked.stores) > 1,
    }


def _absent(asked: Asked) -> list[str]:
    """Return the texts that were found in no store.

    If a store was not searched, or if a store has texts that only people can change, return [].
    """
    if asked.unsearched or asked.large or any(found.elsewhere for found in asked.searched.values()):
        return []
    found = [one.text for one in (*asked.spellings, *asked.near)]
    return [text for text in asked.subject if not any(Spellings([text]).within(one) for one in found)]


def _apart(asked: Asked, stores: Mapping[str, MemoryStore], listed: Sequence[str]) -> apart.Apart | None:
    """Return the memories that have all words of a text, but contain none of the spellings in `listed`. Return None if
    there are stores that are still to be searched."""
    return (
        None if asked.unsearched else apart.memories(asked.subject, {id: stores[id] for id in asked.searched}, listed)
    )


def _is_listed(found: Searched) -> bool:
    return bool(found.places or found.elsewhere)


def _spellings(
    asked: Asked, stores: Mapping[str, MemoryStore], spellings: Iterable[Spelling], *, near: bool = False
) -> list[SpellingRow]:
    having: dict[str, list[MemoryStore]] = defaultdict(list)
    for id, found in asked.searched.items():
        for one in found.near if near else found.spellings:
            having[one.text].append(stores[id])
    named = NameForms(asked.subject)
    return [
        SpellingRow(one, not near and asked.takes(one), having[one.text], near and bool(named.within(one.text)))
        for one in spellings
    ]


def _stores(asked: Asked, stores: Mapping[str, MemoryStore]) -> list[StoreRow]:
    found = {id: result for id, result in asked.searched.items() if _is_listed(result)}
    holds = _holds(found)
    jobs = Import.objects.in_bulk({job for one in found.values() for job in one.imports})
    rows = [
        StoreRow(
            stores[id], one, id not in asked.left_out, holds[id], [jobs[job] for job in one.imports if job in jobs]
        )
        for id, one in found.items()
    ]
    return sorted(rows, key=lambda row: (not row.searched.held, -row.searched.places, row.store.name))


def _holds(found: Mapping[str, Searched]) -> Mapping[str, list[Hold]]:
    """Return {store: holds that forbid an erasure in it}."""
    held = {id: result.held[:MOST_HOLDS] for id, result in found.items() if result.held}
    by_store: dict[str, list[Hold]] = defaultdict(list)
    if held:
        wanted = [hold for some in held.values() for hold in some]
        for hold in Hold.objects.filter(store_id__in=held, pk__in=wanted).select_related("owner").order_by("pk"):
            by_store[hold.store_id].append(hold)
    return by_store
