"""The texts that a person wants to erase from several stores, and the results so far.

These are passed between pages as a signed text in request bodies, so the hub does not store them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core import signing

from memoryhub.actions.erasure.elsewhere import MOST_SPELLINGS, Spelling
from memoryhub.actions.erasure.erasure import Found
from memoryhub.models import User
from memoryhub.pure import ids

_SALT = "memoryhub.erase."


class BadAsked(ValueError):
    """The text that came with a request has no signature of this hub for this person."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of the search of a store."""

    terms: tuple[str, ...]  # the texts to erase
    digest: str  # a digest of the places of these texts
    spellings: tuple[Spelling, ...]  # the spellings of these texts that were found
    near: tuple[Spelling, ...]  # similar texts, which are erased only if they are ticked
    places: int
    memories: int
    held: tuple[str, ...]  # the legal holds that forbid the erasure
    elsewhere: int  # how many texts people have to change themselves
    imports: tuple[str, ...]  # the open imports that the erasure cancels

    @classmethod
    def of(cls, found: Found, near: Sequence[Spelling], terms: Sequence[str]) -> Searched:
        held = sorted({hit.held_by for hit in found.hits if hit.held_by})
        counts = (len(found.hits), len(found.memories), tuple(held), len(found.elsewhere), found.imports)
        return cls(tuple(terms), found.digest, found.spellings, tuple(near), *counts)

    @property
    def may_erase(self) -> bool:
        return self.places > 0 and not self.held


@dataclass(frozen=True, slots=True)
class Asked:
    """The texts and the stores of a request, and the results so far by store."""

    group: str  # the common group in the audit entry of each erasure
    subject: tuple[str, ...]
    stores: tuple[str, ...]
    searched: Mapping[str, Searched] = field(default_factory=dict)
    off: frozenset[str] = frozenset()  # unticked spellings
    on: frozenset[str] = frozenset()  # spellings that were ticked by the person, not by default
    left_out: frozenset[str] = frozenset()  # unticked stores
    large: tuple[str, ...] = ()  # stores whose search would take too long
    erased: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the erased texts of each finished store
    left: frozenset[str] = frozenset()  # spellings that were kept on purpose

    @classmethod
    def new(cls, subject: Sequence[str], stores: Sequence[str], at: Any) -> Asked:
        return cls(ids.new_id(ids.GROUP, at), tuple(subject), tuple(stores))

    @property
    def unsearched(self) -> list[str]:
        """Return the stores that are still to be searched."""
        known = {*self.searched, *self.large, *self.erased}
        return [store for store in self.stores if store not in known]

    @property
    def spellings(self) -> list[Spelling]:
        """Return the spellings of all searched stores, each with the number of its places in all these stores."""
        return _summed(one for result in self.searched.values() for one in result.spellings)

    @property
    def listed(self) -> list[Spelling]:
        """Return the first MOST_SPELLINGS spellings, which are shown with checkboxes."""
        return self.spellings[:MOST_SPELLINGS]

    @property
    def near(self) -> list[Spelling]:
        return _summed(one for result in self.searched.values() for one in result.near)

    def takes(self, spelling: Spelling) -> bool:
        """Return whether a spelling is ticked."""
        return spelling.text in self.on or (spelling.same and spelling.text not in self.off)

    def to_erase(self) -> list[str]:
        """Return the stores in which the ticked spellings can be erased; unticked stores are left out."""
        return [store for store, result in self.searched.items() if result.may_erase and store not in self.left_out]

    def among(self, stores: Container[str]) -> Asked:
        """Return the request limited to `stores`. What was erased in other stores stays in the request."""
        kept = {store: result for store, result in self.searched.items() if store in stores}
        named = tuple(store for store in self.stores if store in stores)
        return replace(self, stores=named, searched=kept, large=tuple(store for store in self.large if store in stores))

    def without_held(self) -> Asked:
        """Return the request without the results of stores in which a hold protects a place. These stores are then
        searched again."""
        return replace(self, searched={store: result for store, result in self.searched.items() if not result.held})

    def ticked(self, texts: set[str], near: set[str], stores: set[str]) -> Asked:
        """Return the request with the ticks of a form: ticked spellings (`texts`), near spellings (`near`) and stores.

        If the tick of a spelling has changed, the results of the stores that contain this spelling are dropped. If a
        near spelling was ticked, it becomes one of the texts of the request, and the results of all stores are dropped.
        """
        known = self.listed
        off = self.off | {one.text for one in known if one.same} - texts
        on = self.on | {one.text for one in known if not one.same} & texts
        off, on = off - texts, on - {one.text for one in known if one.text not in texts}
        shown = {store for store, result in self.searched.items() if result.may_erase}
        left_out = (self.left_out - stores) | (shown - stores)
        asked = replace(self, off=off, on=on, left_out=left_out)
        added = [one.text for one in self.near if one.text in near and one.text not in self.subject]
        if added:
            return replace(asked, subject=(*self.subject, *added), searched={}, large=())
        kept = {store: result for store, result in self.searched.items() if asked._is_unchanged(result, self)}
        return replace(asked, searched=kept)

    def _is_unchanged(self, result: Searched, before: Asked) -> bool:
        return all(self.takes(one) == before.takes(one) for one in result.spellings)

    def written(self, user: User) -> str:
        """Return the request as a signed text that only `user` can send back."""
        searched = {store: _as_list(result) for store, result in self.searched.items()}
        lists = [sorted(self.off), sorted(self.on), sorted(self.left_out), sorted(self.left), list(self.large)]
        value = [self.group, self.subject, self.stores, searched, *lists, dict(self.erased)]
        return signing.dumps(value, salt=_SALT + user.pk, compress=True)

    @classmethod
    def read(cls, written: str, user: User) -> Asked:
        """Parse the signed text `written`. Raise BadAsked unless this hub signed it for `user`."""
        try:
            group, subject, stores, searched, *lists, erased = signing.loads(written, salt=_SALT + user.pk)
        except (signing.BadSignature, ValueError, TypeError) as error:
            raise BadAsked from error
        off, on, left_out, left, large = lists
        results = {store: _from_list(value) for store, value in searched.items()}
        sets = (frozenset(off), frozenset(on), frozenset(left_out), tuple(large))
        done = {store: tuple(texts) for store, texts in erased.items()}
        return cls(group, tuple(subject), tuple(stores), results, *sets, done, frozenset(left))


def _summed(spellings: Any) -> list[Spelling]:
    """Return each spelling once, with the number of its places in all stores."""
    counts: dict[str, tuple[int, bool]] = {}
    for one in spellings:
        counts[one.text] = (counts.get(one.text, (0, True))[0] + one.places, one.same)
    summed = [Spelling(text, places, same) for text, (places, same) in counts.items()]
    return sorted(summed, key=lambda one: (not one.same, -one.places, one.text))


def _as_list(result: Searched) -> list[Any]:
    spellings = [[one.text, one.places, one.same] for one in result.spellings]
    near = [[one.text, one.places, one.same] for one in result.near]
    counts = [result.places, result.memories, list(result.held), result.elsewhere, list(result.imports)]
    return [list(result.terms), result.digest, spellings, near, *counts]


def _from_list(value: Sequence[Any]) -> Searched:
    terms, digest, spellings, near, places, memories, held, elsewhere, imports = value
    rows = (tuple(Spelling(*one) for one in spellings), tuple(Spelling(*one) for one in near))
    return Searched(tuple(terms), digest, *rows, places, memories, tuple(held), elsewhere, tuple(imports))
