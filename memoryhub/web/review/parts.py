"""A decision about several versions: the versions that it covers, as one `Part` for each store."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.review import decisions
from memoryhub.actions.review.verbs import WHO, Verb
from memoryhub.models import Claim, Finding, Memory, MemoryStore, MemoryVersion, Role, User
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.items import roles_in
from memoryhub.web.review.queries import Row

MOST_PATHS = 10
"""The most memories of a store that are listed before a decision about several versions."""


@dataclass(frozen=True, slots=True)
class Part:
    """The versions of one store that a decision covers."""

    store: MemoryStore
    versions: Sequence[str]
    memories: Sequence[str]
    earlier: int = 0  # older versions that are covered although they were not selected

    @property
    def paths(self) -> list[str]:
        """Return the paths of the first MOST_PATHS memories of the part, in order."""
        found = Memory.objects.among(self.store.pk, self.memories[:MOST_PATHS]).order_by("path")
        return list(found.values_list("path", flat=True))

    @property
    def more(self) -> int:
        return max(0, len(self.memories) - MOST_PATHS)

    @property
    def count(self) -> int:
        return len(self.versions) + self.earlier


def parts_of(chosen: Sequence[str], verb: Verb, user: User) -> list[Part]:
    """Return the versions of `chosen` (ids) that the person may decide about, as one Part for each store.

    A flag covers versions in any state, other decisions only versions that await review. Raise PermissionDenied if
    `chosen` has such versions that the person sees, but the person may decide in none of the stores of these versions.
    """
    found = MemoryVersion.objects.filter(pk__in=chosen)
    if not user.is_superuser:
        found = found.filter(store_id__in=visible_stores(user))
    if verb.state:
        found = found.unreviewed()
    by_store: dict[str, dict[str, str]] = defaultdict(dict)
    for store, version, memory in found.values_list("store_id", "pk", "memory_id"):
        by_store[store][version] = memory
    roles = roles_in(user, by_store)
    mine = [s for s in by_store if user.is_superuser or roles.get(s, Role.VIEWER).includes(WHO)]
    if by_store and not mine:
        raise PermissionDenied
    stores = MemoryStore.objects.in_bulk(mine)
    return [_part(stores[store], by_store[store], verb) for store in sorted(mine)]


def _part(store: MemoryStore, versions: Mapping[str, str], verb: Verb) -> Part:
    earlier = 0
    if verb.takes_earlier:
        earlier = len(decisions.with_earlier(store.pk, list(versions))) - len(versions)
    return Part(store, sorted(versions), sorted(set(versions.values())), earlier)


def parts_of_rows(rows: Iterable[Row], stores: Mapping[str, MemoryStore]) -> list[Part]:
    """Return the versions `rows` as one Part for each store. Versions in stores that are not in `stores` are left
    out."""
    by_store: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_store[row.store].append(row)
    return [
        Part(stores[store], [row.id for row in by_store[store]], sorted({row.memory for row in by_store[store]}))
        for store in sorted(by_store)
        if store in stores
    ]


def with_earlier(parts: Iterable[Part], rows: Iterable[Row]) -> list[Part]:
    """Return the parts with `earlier` set: the number of earlier versions that an approval of the part includes. `rows`
    are the versions of the parts."""
    last: dict[str, int] = {}
    for row in rows:
        last[row.store] = max(row.seq, last.get(row.store, 0))
    return [
        replace(part, earlier=sum(_earlier(part, few, last[part.store.pk]) for few in in_parts(part.memories)))
        for part in parts
    ]


def _earlier(part: Part, memories: Sequence[str], seq: int) -> int:
    """Return the number of unreviewed versions of `memories` that are not in the part, but are approved together with
    later versions of the part. `seq` is the last seq of the part."""
    waiting = MemoryVersion.objects.filter(store=part.store, memory_id__in=memories, seq__lte=seq).unreviewed()
    rows, chosen = list(waiting.values_list("pk", "memory_id", "number")), frozenset(part.versions)
    last: dict[str, int] = {}
    for pk, memory, number in rows:
        if pk in chosen:
            last[memory] = max(number, last.get(memory, 0))
    return sum(
        pk not in chosen and last.get(memory, 0) - decisions.LOOK_BACK <= number < last.get(memory, 0)
        for pk, memory, number in rows
    )


def stores_to_decide(user: User) -> list[str]:
    """Return the ids of the stores in which a person may decide."""
    stores = visible_stores(user)
    roles = roles_in(user, stores)
    return [store for store in stores if user.is_superuser or roles.get(store, Role.VIEWER).includes(WHO)]


def found_in(verb: Verb, parts: Iterable[Part]) -> int:
    """Return the number of open findings in the memories of the parts, or 0 if `verb` is no approval."""
    if not verb.state or verb.changes_text:
        return 0
    findings = Finding.objects.open()
    few = ((part.store, memories) for part in parts for memories in in_parts(part.memories))
    return sum(findings.filter(store=store, memory_id__in=memories).count() for store, memories in few)


def claims_on(parts: Iterable[Part], user: User) -> list[dict[str, Any]]:
    """Return the other people who are looking at the memories, as dictionaries: the person (`by`), and the number of
    memories (`count`) at which the person is looking."""
    people: Counter[User] = Counter()
    for part in parts:
        claims = Claim.objects.open(timezone.now()).filter(store=part.store).exclude(by=user).select_related("by")
        people.update(claim.by for few in in_parts(part.memories) for claim in claims.filter(memory_id__in=few))
    return [{"by": by, "count": count} for by, count in people.items()]
